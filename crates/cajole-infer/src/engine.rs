//! Ways of making one output obey: gradient-based inference, and its rivals.
//!
//! Whatever the engine, an output of the network that satisfies its rules is left alone. Where an
//! engine finds nothing, the least violating output that was seen is the answer, and the record says
//! so.

use std::time::{Duration, Instant};

use cajole_core::{
    Candidate, Config, Constraint, Fault, Found, Gbi, Model, Outcome, Stop, Symbol, Trace,
    UnknownGroup, Workspace,
};
use cajole_rules::{Bound, Rules};
use serde::Serialize;

use crate::task::{Case, Task};

/// How outputs are made to obey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Gradient-based inference.
    Gbi,
    /// One of its rivals.
    Rival(Rival),
    /// The cheapest that can promise to satisfy, then the others; of what satisfies, the output
    /// that the network finds most probable.
    Auto,
}

/// Other ways than gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// Ever wider beams, until something in them satisfies.
    Beam,
    /// Only what the rules allow is decoded, symbol by symbol.
    Masked,
    /// A* search: best first, with a limit on the agenda.
    Astar,
    /// The most probable output that satisfies, proven to be.
    Exact,
    /// Samples.
    Sample,
}

impl Engine {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Gbi => "gbi",
            Engine::Rival(Rival::Beam) => "beam",
            Engine::Rival(Rival::Masked) => "masked",
            Engine::Rival(Rival::Astar) => "astar",
            Engine::Rival(Rival::Exact) => "exact",
            Engine::Rival(Rival::Sample) => "sample",
            Engine::Auto => "auto",
        }
    }
}

/// Settings of gradient-based inference, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Algorithm 1 as printed.
    Paper,
    /// What works best.
    Best,
}

/// How far engines go.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Width of the network's own decoder; 1 is greedy.
    pub width: usize,
    /// Width of the beam that `gbi` decodes with.
    pub inner_width: usize,
    /// Widths of the masked beams that `gbi` takes candidates from.
    pub sources: Vec<usize>,
    /// First width of the doubling beam.
    pub beam_from: usize,
    /// Its last width.
    pub beam_to: usize,
    /// Width of the masked beam.
    pub masked_width: usize,
    /// Prefixes that a best-first search may extend.
    pub expansions: usize,
    /// Samples drawn.
    pub samples: usize,
    /// When to give up on one input.
    pub deadline: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            width: 1,
            inner_width: 5,
            sources: vec![5, 1],
            beam_from: 2,
            beam_to: 64,
            masked_width: 5,
            expansions: 4096,
            samples: 64,
            deadline: None,
        }
    }
}

/// How it went with one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The output satisfies all rules.
    Satisfied,
    /// It violates them less than the network's own.
    Improved,
    /// It is the network's own, or no better.
    Unchanged,
    /// Time ran out; it is the least violating one seen.
    TimedOut,
    /// A rule could not be measured, such as by a checker that crashed.
    Unmeasured,
}

/// What became of one input.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The output.
    pub output: Vec<Symbol>,
    /// How it went.
    pub status: Status,
    /// `g` of the network's own output.
    pub g_before: f32,
    /// `g` of this one.
    pub g_after: f32,
    /// `log p(y | x, W)` under the network's own weights, where it was asked for.
    pub log_prob: Option<f32>,
    /// Nudges taken; none, by engines that do not nudge.
    pub steps: Option<usize>,
    /// Sequences the network was run over.
    pub passes: usize,
    /// Why it does not satisfy.
    pub faults: Vec<Fault>,
    /// What else there is to say.
    pub note: Option<&'static str>,
    /// The engine that gave it.
    pub engine: &'static str,
    /// Every decode, of gradient-based inference.
    pub trace: Option<Trace>,
    /// Time spent on this input alone, beside the first pass.
    pub elapsed: Duration,
}

/// What one thread works with.
pub struct Worker<'t, T: Task> {
    task: &'t T,
    config: Config,
    limits: Limits,
    workspace: Workspace<T::Model>,
    scratch: <T::Model as Model>::Scratch,
    found: Found,
}

/// One input, its rules, and the network's own output.
struct Job<'a, 'v, T: Task> {
    case: &'a Case<T::Input>,
    rules: &'a Rules<'v>,
    first: &'a Candidate,
    g_before: f32,
    started: Instant,
}

impl<'t, T: Task> Worker<'t, T> {
    /// For a task, with these settings.
    ///
    /// # Errors
    /// If they name a parameter group that the network does not have.
    pub fn new(task: &'t T, config: &Config, limits: &Limits) -> Result<Self, UnknownGroup> {
        let (mut config, mut limits) = (config.clone(), limits.clone());
        limits.deadline = limits.deadline.or(config.deadline);
        config.deadline = limits.deadline;
        Ok(Worker {
            workspace: Workspace::new(task.model(), &config)?,
            scratch: task.model().scratch(),
            found: Found::default(),
            limits,
            config,
            task,
        })
    }

    /// The network's own outputs, of all inputs at once.
    pub fn first(&mut self, cases: &[&Case<T::Input>]) -> Vec<Candidate> {
        let model = self.task.model();
        let xs: Vec<_> = cases.iter().map(|case| input::<T>(case)).collect();
        let own = self.task.decoders().own(self.limits.width);
        own.decode_many(model, model.weights(), &xs, &mut self.scratch, &mut self.found);
        self.found.candidates().to_vec()
    }

    /// Makes the output of one input obey; `first` is the network's own.
    pub fn answer(
        &mut self,
        engine: Engine,
        case: &Case<T::Input>,
        rules: &Rules<'_>,
        first: &Candidate,
    ) -> Answer {
        let started = Instant::now();
        let g_before = g_of(rules, case, first);
        let job = Job { case, rules, first, g_before, started };
        let mut answer = match engine {
            _ if g_before == 0.0 => job.keep("network", 0),
            _ if g_before.is_nan() => job.keep("network", 0),
            Engine::Gbi => self.gbi(&job),
            Engine::Rival(rival) => self.rival(&job, rival),
            Engine::Auto => self.auto(&job),
        };
        if matches!(answer.status, Status::Improved | Status::Unchanged)
            && job.left(self.limits.deadline) == Some(Duration::ZERO)
        {
            answer.status = Status::TimedOut;
        }
        answer.faults = match answer.status {
            Status::Satisfied => Vec::new(),
            _ => job.explain(&answer),
        };
        answer.elapsed = started.elapsed();
        answer
    }

    /// `log p(y | x, W)`.
    pub fn log_prob(&mut self, case: &Case<T::Input>, y: &[Symbol]) -> f32 {
        let (model, x) = (self.task.model(), input::<T>(case));
        let w = model.weights();
        let mut forced = Candidate::default();
        self.task.decoders().own(1).decode(model, w, x, &mut self.scratch, &mut self.found);
        model.force(w, x, y, &mut self.scratch, &mut forced);
        forced.log_prob
    }

    fn gbi(&mut self, job: &Job<'_, '_, T>) -> Answer {
        let bound = job.bound();
        let sources = self.task.decoders().sources(job.rules, &bound, &self.limits);
        let decoder = self.task.decoders().own(self.limits.inner_width);
        let gbi = Gbi {
            model: self.task.model(),
            decoder: &*decoder,
            constraint: &bound,
            sources: sources.iter().map(|source| &**source as _).collect(),
            config: Config { deadline: job.left(self.limits.deadline), ..self.config.clone() },
        };
        job.outcome(gbi.run(input::<T>(job.case), &mut self.workspace))
    }

    fn rival(&mut self, job: &Job<'_, '_, T>, rival: Rival) -> Answer {
        let bound = job.bound();
        let name = Engine::Rival(rival).name();
        let limits = Limits { deadline: job.left(self.limits.deadline), ..self.limits.clone() };
        let search = self.task.decoders().rival(rival, job.rules, &bound, &limits);
        let Some(search) = search else {
            let note =
                "the engine does not fit these rules: they cannot be followed symbol by symbol";
            return Answer { note: Some(note), ..job.keep(name, 0) };
        };
        let (model, x) = (self.task.model(), input::<T>(job.case));
        search.decode(model, model.weights(), x, &mut self.scratch, &mut self.found);
        let passes = self.found.passes;
        let g = |y: &Candidate| g_of(job.rules, job.case, y);
        let least = self.found.candidates().iter().map(|y| (g(y), y));
        let least = least.filter(|(g, _)| *g < job.g_before);
        match least.reduce(|a, b| if b.0 < a.0 { b } else { a }) {
            Some((g_after, y)) => Answer {
                output: y.output.clone(),
                status: if g_after == 0.0 { Status::Satisfied } else { Status::Improved },
                g_after,
                log_prob: Some(y.log_prob),
                ..job.keep(name, passes)
            },
            None => job.keep(name, passes),
        }
    }

    /// What promises most comes first; what is left of the time goes to the others.
    fn auto(&mut self, job: &Job<'_, '_, T>) -> Answer {
        const ORDER: [Engine; 4] = [
            Engine::Rival(Rival::Masked),
            Engine::Rival(Rival::Exact),
            Engine::Rival(Rival::Beam),
            Engine::Gbi,
        ];
        let mut best: Option<Answer> = None;
        let mut passes = 0;
        for engine in ORDER {
            let mut answer = match engine {
                Engine::Rival(rival) => self.rival(job, rival),
                _ => self.gbi(job),
            };
            passes += answer.passes;
            if answer.status == Status::Satisfied && answer.log_prob.is_none() {
                answer.log_prob = Some(self.log_prob(job.case, &answer.output));
            }
            // Nothing that satisfies is more probable than what was proven to be most probable.
            let is_proven =
                engine == Engine::Rival(Rival::Exact) && answer.status == Status::Satisfied;
            if best.as_ref().is_none_or(|best| answer.is_better_than(best)) {
                best = Some(answer);
            }
            if is_proven || job.left(self.limits.deadline) == Some(Duration::ZERO) {
                break;
            }
        }
        Answer { passes, ..best.unwrap_or_else(|| job.keep("auto", passes)) }
    }
}

impl Answer {
    /// Whether it violates less, or is more probable and violates no more.
    fn is_better_than(&self, other: &Answer) -> bool {
        let of = |answer: &Answer| (-answer.g_after, answer.log_prob.unwrap_or(f32::NEG_INFINITY));
        of(other) < of(self)
    }
}

impl<T: Task> Job<'_, '_, T> {
    fn bound(&self) -> Bound<'_> {
        Bound { rule: self.rules, subject: &self.case.subject }
    }

    /// How much of the time for this input is left, if it is limited.
    fn left(&self, deadline: Option<Duration>) -> Option<Duration> {
        deadline.map(|deadline| deadline.saturating_sub(self.started.elapsed()))
    }

    /// Why an output does not satisfy.
    fn explain(&self, answer: &Answer) -> Vec<Fault> {
        let y = &answer.output;
        let mut faults = self.rules.explain(&self.case.subject, y);
        if faults.is_empty() {
            let message = "the output was cut off: the network did not end it".to_owned();
            faults.push(Fault { at: y.len()..y.len() + 1, cost: answer.g_after, message });
        }
        faults
    }

    /// The network's own output, after so many passes in vain.
    fn keep(&self, engine: &'static str, passes: usize) -> Answer {
        Answer {
            output: self.first.output.clone(),
            status: match self.g_before {
                0.0 => Status::Satisfied,
                g if g.is_nan() => Status::Unmeasured,
                _ => Status::Unchanged,
            },
            g_before: self.g_before,
            g_after: self.g_before,
            log_prob: Some(self.first.log_prob),
            steps: None,
            passes,
            faults: Vec::new(),
            note: None,
            engine,
            trace: None,
            elapsed: Duration::ZERO,
        }
    }

    /// What gradient-based inference came to. It decodes in its own way, so that the network's first
    /// output may be better still.
    fn outcome(&self, outcome: Outcome) -> Answer {
        let status = match outcome.stop {
            Stop::AlreadySatisfied | Stop::Satisfied => Status::Satisfied,
            Stop::Deadline => Status::TimedOut,
            Stop::Unmeasured => Status::Unmeasured,
            _ if outcome.g_after < self.g_before => Status::Improved,
            _ => Status::Unchanged,
        };
        let is_better = outcome.g_after < self.g_before;
        let Outcome { output, g_after, steps, passes, trace, .. } = outcome;
        let kept = self.keep(Engine::Gbi.name(), passes);
        let (trace, steps) = (Some(trace), Some(steps));
        match is_better {
            true => Answer { output, g_after, log_prob: None, status, steps, trace, ..kept },
            false => Answer { status, steps, trace, ..kept },
        }
    }
}

/// `g` of a candidate; one that was cut off violates, whatever it contains.
fn g_of<I>(rules: &Rules<'_>, case: &Case<I>, y: &Candidate) -> f32 {
    match rules.check(&case.subject, &y.output).total() {
        0.0 if y.capped => 1.0 / y.output.len().max(1) as f32,
        g => g,
    }
}

/// What the network reads.
fn input<T: Task>(case: &Case<T::Input>) -> &<T::Model as Model>::Input {
    std::borrow::Borrow::borrow(&case.input)
}
