//! One thread's work: first passes, and engines on the outputs that violate.
//!
//! Everything is done for many inputs at once. Those that are under the same rules are repaired in
//! step; what comes out for one does not depend on the others.

use std::time::{Duration, Instant};

use cajole_core::decoders::Beam;
use cajole_core::{
    Candidate, Decoder, Failure, Force, Found, Gbi, Job, Model, Pass, Sought, Symbol,
    UnknownParameter, Wanted, Workspace,
};
use cajole_rules::{Bound, Rules};

use crate::attempt::Attempt;
use crate::engine::{Answer, Engine, Rival, Status};
use crate::lots::lots;
use crate::settings::Settings;
use crate::task::{Case, Task, Together};
use crate::waiter::Awaited;

/// What one thread works with.
pub struct Worker<'t, T: Task> {
    task: &'t T,
    settings: &'t Settings,
    own: Box<dyn Decoder<T::Model> + 't>,
    workspace: Workspace<T::Model>,
    found: Vec<Found>,
}

/// The network's own output.
#[derive(Clone, Debug, Default)]
pub struct First {
    /// The output; capped if the deadline cut it off.
    pub output: Candidate,
    /// How much of its line's time was used up then. Inputs that go together use an equal share.
    pub used: Duration,
}

impl First {
    /// Of an input whose line had no time left.
    fn late(used: Duration) -> Self {
        let output = Candidate { capped: true, ..Candidate::default() };
        First { output, used }
    }

    /// Whether time ran out before the network said anything.
    pub fn is_late(&self) -> bool {
        self.output.capped && self.output.output.is_empty()
    }
}

/// An output of the network's own that violates its rules.
pub struct Failing<'a, T: Task> {
    /// The input.
    pub case: &'a Case<T::Input>,
    /// The network's own output.
    pub first: &'a Candidate,
    /// How much of its line's time is used up.
    pub used: Duration,
    /// How many inputs of its line share the rest.
    pub among: usize,
    /// Who waits for it.
    pub(crate) awaited: Option<&'a Awaited<'a, T>>,
}

impl<T: Task> Clone for Failing<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Task> Copy for Failing<'_, T> {}

impl<'t, T: Task> Worker<'t, T> {
    /// For a task, with these settings.
    ///
    /// # Errors
    /// If they name parameters that the network does not have.
    pub fn new(task: &'t T, settings: &'t Settings) -> Result<Self, UnknownParameter> {
        Worker::within(task, settings, Workspace::new(task.model()))
    }

    /// The same, in memory that was used before.
    ///
    /// # Errors
    /// As [`Worker::new`].
    pub fn within(
        task: &'t T,
        settings: &'t Settings,
        workspace: Workspace<T::Model>,
    ) -> Result<Self, UnknownParameter> {
        Gbi::with(task.model(), settings.config.clone())?;
        let own = task.decoder(settings.limits.beam());
        let found = vec![Found::default(); task.together().inputs];
        Ok(Worker { task, settings, own, workspace, found })
    }

    /// The memory, to be used again.
    pub fn into_workspace(self) -> Workspace<T::Model> {
        self.workspace
    }

    /// The network's own output for every input, in batches of similar size. `lines` says which
    /// inputs share the time of a line; what comes after its end gets no output. `until` is when
    /// whoever waits for an input will not wait any longer: its output is cut off then.
    pub fn firsts(
        &mut self,
        cases: &[&Case<T::Input>],
        lines: &[usize],
        until: impl Fn(usize) -> Option<Instant>,
    ) -> Vec<Result<First, Failure>> {
        let model = self.task.model();
        let mut used = vec![Duration::ZERO; lines.iter().max().map_or(0, |last| last + 1)];
        let (deadline, together) = (self.settings.deadline(), self.task.together());
        let order = lots((0..cases.len()).collect(), (together.inputs, together.tokens), |i| {
            model.size(input::<T>(cases[i]))
        });
        let nothing = || Err(Failure::new("the network gave no output"));
        let mut firsts: Vec<_> = cases.iter().map(|_| nothing()).collect();
        for batch in order.iter().flat_map(|lot| lot.chunks(together.inputs)) {
            // The first input of a line is always taken up.
            let is_late = |i: &&usize| {
                let used = used[lines[**i]];
                !used.is_zero() && deadline.is_some_and(|most| most <= used)
            };
            let (late, batch): (Vec<usize>, Vec<usize>) = batch.iter().partition(is_late);
            late.iter().for_each(|&i| firsts[i] = Ok(First::late(used[lines[i]])));
            if self.skim(cases, &batch, &until, &mut firsts).is_err() {
                // The others of a batch must not suffer for one.
                for &i in &batch {
                    if let Err(failure) = self.skim(cases, &[i], &until, &mut firsts) {
                        firsts[i] = Err(failure);
                    }
                }
            }
            for &i in &batch {
                used[lines[i]] += firsts[i].as_ref().map_or(Duration::ZERO, |first| first.used);
                firsts[i].iter_mut().for_each(|first| first.used = used[lines[i]]);
            }
        }
        firsts
    }

    fn skim(
        &mut self,
        cases: &[&Case<T::Input>],
        batch: &[usize],
        until: impl Fn(usize) -> Option<Instant>,
        firsts: &mut [Result<First, Failure>],
    ) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        let (model, started) = (self.task.model(), Instant::now());
        let all = self.settings.until(|each| each.checked_mul(batch.len() as u32));
        let pass = |&i: &usize| {
            let until = [all, until(i)].into_iter().flatten().min();
            Pass { until, ..Pass::base(input::<T>(cases[i])) }
        };
        let set: Vec<Pass<'_, T::Model>> = batch.iter().map(pass).collect();
        let found = &mut self.found[..set.len()];
        self.own.skim(&mut self.workspace.session(model), &set, found)?;
        let used = started.elapsed() / batch.len() as u32;
        for (&i, found) in batch.iter().zip(found) {
            let first = found.best().map(|output| First { output: output.clone(), used });
            firsts[i] = first.ok_or_else(|| Failure::new("the network gave no output"));
        }
        Ok(())
    }

    /// Makes outputs obey the rules that each of them violates. Those under the same rules go
    /// together.
    pub fn repair_all<'r>(
        &mut self,
        engine: Engine,
        failing: &[(Failing<'_, T>, &Rules<'r>)],
    ) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = failing.iter().map(|_| None).collect();
        let mut open: Vec<usize> = (0..failing.len()).collect();
        while let Some(&one) = open.first() {
            let rules = failing[one].1;
            let is_same = |i: &usize| std::ptr::eq(failing[*i].1, rules);
            let (same, others): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| is_same(i));
            let Together { inputs, tokens_in_step, .. } = self.task.together();
            for some in
                lots(same, (inputs, tokens_in_step), |i| failing[i].0.case.subject.symbols.len())
            {
                let outputs: Vec<Failing<'_, T>> = some.iter().map(|&i| failing[i].0).collect();
                let repaired = self.repair(engine, rules, &outputs);
                some.into_iter().zip(repaired).for_each(|(i, answer)| answers[i] = Some(answer));
            }
            open = others;
        }
        answers.into_iter().flatten().collect()
    }

    /// Makes outputs that violate `rules` obey. Those that are under the same engine go together.
    pub fn repair(
        &mut self,
        engine: Engine,
        rules: &Rules<'_>,
        failing: &[Failing<'_, T>],
    ) -> Vec<Answer> {
        let attempts: Vec<Attempt<'_, '_, T>> =
            failing.iter().map(|&of| Attempt::new(of, rules, self.settings)).collect();
        let chosen: Vec<Engine> = attempts.iter().map(|of| self.chosen(engine, of)).collect();
        let mut answers: Vec<Answer> =
            attempts.iter().zip(&chosen).map(|(of, &engine)| of.keep(engine, 0)).collect();
        // What the first pass has used up the time of stays as it is.
        let mut open: Vec<usize> =
            (0..attempts.len()).filter(|&i| !attempts[i].is_late()).collect();
        while let Some(&one) = open.first() {
            let is_same = |i: &usize| chosen[*i] == chosen[one];
            let (same, others): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| is_same(i));
            let some: Vec<Attempt<'_, '_, T>> = same.iter().map(|&i| attempts[i]).collect();
            let repaired = self.repaired(chosen[one], rules, &some);
            same.into_iter().zip(repaired).for_each(|(i, answer)| answers[i] = answer);
            open = others;
        }
        attempts.iter().zip(&mut answers).for_each(|(of, answer)| of.complete(answer));
        answers
    }

    /// What an engine makes of them.
    fn repaired(
        &mut self,
        engine: Engine,
        rules: &Rules<'_>,
        attempts: &[Attempt<'_, '_, T>],
    ) -> Vec<Answer> {
        let bounds: Vec<Bound<'_>> = attempts.iter().map(Attempt::bound).collect();
        match engine {
            Engine::Usual | Engine::Gbi => self.gbi(rules, attempts, &bounds, None),
            Engine::Rival(rival) => self.rival(rival, rules, attempts, &bounds),
            Engine::Network => attempts.iter().map(|of| of.keep(engine, 0)).collect(),
            Engine::Auto => self.auto(rules, attempts, &bounds),
        }
    }

    /// The engine for one input. Others do not matter: rules that cannot be followed for a long
    /// input can be followed for a short one.
    fn chosen(&self, engine: Engine, attempt: &Attempt<'_, '_, T>) -> Engine {
        let bound = attempt.bound();
        let follows = || {
            let wanted = Wanted::new(input::<T>(attempt.of.case), &bound as _);
            !attempt.is_late() && wanted.automaton().is_some()
        };
        match engine {
            Engine::Usual => self.task.usual_engine(&follows),
            named => named,
        }
    }

    /// `log p(y | x, W)` of every output.
    ///
    /// # Errors
    /// If the network fails.
    pub fn log_probs(
        &mut self,
        outputs: &[(&Case<T::Input>, &[Symbol])],
    ) -> Result<Vec<f32>, Failure> {
        let model = self.task.model();
        let mut log_probs = Vec::new();
        for batch in outputs.chunks(self.found.len()) {
            let set: Vec<Pass<'_, T::Model>> =
                batch.iter().map(|(case, _)| Pass::base(input::<T>(case))).collect();
            let mut session = self.workspace.session(model);
            self.own.decode(&mut session, &set, &mut self.found[..set.len()])?;
            let mut forced = vec![Candidate::default(); set.len()];
            let mut forces: Vec<Force<'_, T::Model>> = set
                .iter()
                .zip(batch)
                .zip(&mut forced)
                .enumerate()
                .map(|(i, ((pass, (_, y)), forced))| Force {
                    pass: Pass { place: Some(i), ..*pass },
                    output: y,
                    forced,
                    passes: 0,
                })
                .collect();
            model.force(session.scratch, &mut forces)?;
            drop(forces);
            log_probs.extend(forced.iter().map(|y| y.log_prob));
        }
        Ok(log_probs)
    }

    /// Gradient-based inference, in step. `targets` are satisfying outputs that are known already.
    fn gbi(
        &mut self,
        rules: &Rules<'_>,
        attempts: &[Attempt<'_, '_, T>],
        bounds: &[Bound<'_>],
        targets: Option<&[Vec<Vec<Symbol>>]>,
    ) -> Vec<Answer> {
        let Settings { config, cancel, .. } = self.settings;
        let gbi = Gbi::with(self.task.model(), config.clone());
        let gbi = gbi.expect("settings were checked").cancel(cancel.clone());
        // Never narrower than what the network itself decodes with.
        let width = config.width.max(self.settings.limits.width);
        let mut gbi = gbi.decoder(self.task.decoder(Beam { width, ranking: config.ranking }));
        if let Some(sources) = self.task.sources(config, rules) {
            gbi = gbi.sources(sources);
        }
        let jobs: Vec<Job<'_, _>> = attempts
            .iter()
            .enumerate()
            .map(|(i, attempt)| Job {
                until: attempt.until,
                watcher: attempt.watcher(),
                targets: targets.map(|targets| targets[i].as_slice()),
                ..Job::new(input::<T>(attempt.of.case), &bounds[i])
            })
            .collect();
        let mut answers: Vec<Answer> = attempts.iter().map(|a| a.keep(Engine::Gbi, 0)).collect();
        gbi.run_set(&jobs, &mut self.workspace, |i, outcome| {
            answers[i] = attempts[i].outcome(outcome);
        });
        answers
    }

    fn rival(
        &mut self,
        rival: Rival,
        rules: &Rules<'_>,
        attempts: &[Attempt<'_, '_, T>],
        bounds: &[Bound<'_>],
    ) -> Vec<Answer> {
        const NO_FIT: &str =
            "the engine does not fit these rules: they cannot be followed symbol by symbol";
        let engine = Engine::Rival(rival);
        let mut answers: Vec<Answer> = attempts.iter().map(|a| a.keep(engine, 0)).collect();
        let Some(search) = self.task.rival(rival, rules, &self.settings.limits) else {
            answers.iter_mut().for_each(|answer| answer.note = Some(NO_FIT));
            return answers;
        };
        let model = self.task.model();
        let all: Vec<usize> = (0..attempts.len()).collect();
        for batch in all.chunks(self.found.len()) {
            let started = Instant::now();
            let wanted = |&i: &usize| {
                let mut wanted = Wanted::new(input::<T>(attempts[i].of.case), &bounds[i] as _);
                (wanted.until, wanted.watcher) = (attempts[i].until, attempts[i].watcher());
                wanted.cancel = Some(self.settings.cancel.clone());
                wanted
            };
            let wanted: Vec<Wanted<'_, _>> = batch.iter().map(wanted).collect();
            let sought: Vec<Sought<'_, '_, T::Model>> = wanted
                .iter()
                .map(|wanted| Sought { pass: Pass::base(wanted.input()), wanted })
                .collect();
            let found = &mut self.found[..batch.len()];
            let mut session = self.workspace.session(model);
            let searched = search.search(&mut session, &sought, found);
            let elapsed = started.elapsed() / batch.len() as u32;
            for ((&i, found), wanted) in batch.iter().zip(found).zip(&wanted) {
                let answer = &mut answers[i];
                match &searched {
                    Ok(()) => *answer = attempts[i].found(engine, found),
                    Err(failure) => {
                        (answer.status, answer.failure) = (Status::Failed, Some(failure.clone()));
                    }
                }
                let is_masked = rival == Rival::Masked && answer.status != Status::Satisfied;
                answer.note = (is_masked && wanted.automaton().is_none()).then_some(NO_FIT);
                answer.elapsed = elapsed;
            }
        }
        answers
    }

    /// What promises most comes first; what is left of the time goes to the others. A search that
    /// has just failed is not tried again by gradient-based inference.
    fn auto(
        &mut self,
        rules: &Rules<'_>,
        attempts: &[Attempt<'_, '_, T>],
        bounds: &[Bound<'_>],
    ) -> Vec<Answer> {
        let mut best: Vec<Answer> = attempts.iter().map(|a| a.keep(Engine::Auto, 0)).collect();
        let mut targets: Vec<Vec<Vec<Symbol>>> = vec![Vec::new(); attempts.len()];
        let mut open: Vec<usize> = (0..attempts.len()).collect();
        let order = [Rival::Masked, Rival::Exact, Rival::Beam].map(Engine::Rival);
        for engine in order.into_iter().chain([Engine::Gbi]) {
            open.retain(|&i| !attempts[i].is_late());
            let some: Vec<Attempt<'_, '_, T>> = open.iter().map(|&i| attempts[i]).collect();
            let bounds: Vec<Bound<'_>> = open.iter().map(|&i| bounds[i]).collect();
            let mut answers = match engine {
                Engine::Rival(rival) => self.rival(rival, rules, &some, &bounds),
                _ => {
                    let known: Vec<_> = open.iter().map(|&i| targets[i].clone()).collect();
                    self.gbi(rules, &some, &bounds, Some(&known))
                }
            };
            let cases: Vec<&Case<T::Input>> = some.iter().map(|attempt| attempt.of.case).collect();
            self.judge(&cases, &mut answers, |answer| answer.status == Status::Satisfied);
            let mut settled = Vec::new();
            for (&i, answer) in open.iter().zip(answers) {
                let is_satisfied = answer.status == Status::Satisfied;
                if is_satisfied && !targets[i].contains(&answer.output) {
                    targets[i].push(answer.output.clone());
                }
                // Nothing that satisfies is more probable than what was proven to be.
                settled.push(is_satisfied && engine == Engine::Rival(Rival::Exact));
                let passes = best[i].passes + answer.passes;
                let elapsed = best[i].elapsed + answer.elapsed;
                if answer.is_better_than(&best[i]) || engine == Engine::Gbi && !is_satisfied {
                    let is_better = answer.is_better_than(&best[i]);
                    let status = answer.status;
                    if is_better {
                        best[i] = answer;
                    } else if best[i].status == Status::Unchanged {
                        best[i].status = status;
                    }
                }
                (best[i].passes, best[i].elapsed) = (passes, elapsed);
            }
            let mut settled = settled.into_iter();
            open.retain(|_| !settled.next().unwrap_or(false));
        }
        best
    }

    /// Fills in how probable outputs are, where an engine did not say and it is asked for.
    pub(crate) fn judge(
        &mut self,
        cases: &[&Case<T::Input>],
        answers: &mut [Answer],
        is_asked: impl Fn(&Answer) -> bool,
    ) {
        let unknown = |a: &Answer| a.log_prob.is_none() && is_asked(a);
        let which: Vec<usize> = (0..answers.len()).filter(|&i| unknown(&answers[i])).collect();
        let outputs: Vec<(&Case<T::Input>, &[Symbol])> =
            which.iter().map(|&i| (cases[i], answers[i].output.as_slice())).collect();
        if let Ok(log_probs) = self.log_probs(&outputs) {
            which.iter().zip(log_probs).for_each(|(&i, p)| answers[i].log_prob = Some(p));
        }
    }
}

/// What the network reads.
pub(crate) fn input<T: Task>(case: &Case<T::Input>) -> &<T::Model as Model>::Input {
    std::borrow::Borrow::borrow(&case.input)
}
