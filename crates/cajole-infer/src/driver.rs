//! Runs a plan on a batch of inputs: the network's own outputs, then searches on those that violate
//! their rules.
//!
//! This is the only code that does. Commands, comparisons, experiments, the service, Python and
//! clusters call it. Everything is done for many inputs at once; the answer to one does not depend on
//! the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cajole_core::corpus::together_or_alone;
use cajole_core::{BackendError, Config, Found, Search, UnknownParameter};
use cajole_rules::Rules;

use crate::answer::{Answer, Status};
use crate::batches::batches;
use crate::case::{Case, Output};
use crate::input::Input;
use crate::plan::{Choose, Plan, Plans};
use crate::settings::Settings;
use crate::solver::Solver;
use crate::task::Task;

/// Why a search of symbols that rules allow found nothing.
const NO_FIT: &str =
    "the engine does not fit these rules: they cannot be followed symbol by symbol";

/// One thread's work with one network.
pub struct Driver<'n> {
    pub(crate) task: &'n dyn Task,
    pub(crate) settings: Settings,
    plans: Arc<Plans>,
    solver: Box<dyn Solver + 'n>,
    found: Vec<Found>,
}

/// An input under a plan.
struct Attempt<'p> {
    /// Its place among the inputs.
    input: usize,
    plan: &'p Plan,
    /// The network's own output, which violates.
    own: Answer,
    /// Whether the best answer there is has been found.
    is_proven: bool,
}

impl<'n> Driver<'n> {
    /// For a network, with these settings.
    ///
    /// # Errors
    /// If they name parameters that the network does not have.
    pub fn new(task: &'n dyn Task, settings: &Settings) -> Result<Self, UnknownParameter> {
        Driver::with_memory(task, settings, task.solver())
    }

    /// Like [`Driver::new`], with memory that is reused.
    pub(crate) fn with_memory(
        task: &'n dyn Task,
        settings: &Settings,
        mut solver: Box<dyn Solver + 'n>,
    ) -> Result<Self, UnknownParameter> {
        let plans = Arc::new(settings.engine.plans(task, settings));
        for config in plans.searches().filter_map(Search::config) {
            solver.in_step(&settings.widened(config))?;
        }
        let found = vec![Found::default(); task.together().inputs];
        Ok(Driver { task, settings: settings.clone(), plans, solver, found })
    }

    /// The memory, for reuse.
    pub(crate) fn into_memory(self) -> Box<dyn Solver + 'n> {
        self.solver
    }

    /// The answer to every input, in order.
    pub fn answer(&mut self, inputs: &mut [Input<'_>]) -> Vec<Answer> {
        let mut answers = self.own_outputs(inputs);
        let mut n_failing: HashMap<usize, u32> = HashMap::new();
        for (input, answer) in inputs.iter().zip(&answers) {
            *n_failing.entry(input.line).or_default() += u32::from(answer.is_failing());
        }
        let deadline = self.settings.deadline();
        let mut failing = Vec::new();
        for (i, input) in inputs.iter_mut().enumerate().filter(|(i, _)| answers[*i].is_failing()) {
            // The failures of a line share what is left of its time.
            let n = n_failing[&input.line].max(1);
            let left = deadline.map(|all| all.saturating_sub(input.used) / n);
            input.begin(left, &self.settings.cancel);
            failing.push(i);
        }
        let plans = Arc::clone(&self.plans);
        self.repair_all(&plans, failing, inputs, &mut answers);
        if self.settings.log_probs {
            self.judge(inputs, &mut answers);
        }
        answers
    }

    /// The answers to inputs whose own outputs violate, with their log-probabilities. Each input has
    /// all the time there is.
    pub(crate) fn repair_failures(
        &mut self,
        inputs: &mut [Input<'_>],
        mut answers: Vec<Answer>,
    ) -> Vec<Answer> {
        let deadline = self.settings.deadline();
        inputs.iter_mut().for_each(|input| input.begin(deadline, &self.settings.cancel));
        let plans = Arc::clone(&self.plans);
        self.repair_all(&plans, (0..inputs.len()).collect(), inputs, &mut answers);
        self.judge(inputs, &mut answers);
        answers
    }

    /// The network's own output for every input, in batches of similar size. Inputs whose line has
    /// no time left get none.
    pub fn own_outputs(&mut self, inputs: &mut [Input<'_>]) -> Vec<Answer> {
        let (deadline, together) = (self.settings.deadline(), self.task.together());
        let nothing = || Answer::failed(BackendError::new("the network gave no output"));
        let mut answers: Vec<Answer> = inputs.iter().map(|_| nothing()).collect();
        let mut used: HashMap<usize, Duration> = HashMap::new();
        let all = (0..inputs.len()).collect();
        let order =
            batches(all, together.inputs, together.tokens, |i| self.solver.size(inputs[i].case));
        for batch in order.iter().flat_map(|batch| batch.chunks(together.inputs)) {
            let mut in_time = Vec::with_capacity(batch.len());
            for &i in batch {
                // The first input of a line is always taken up.
                let used = used.get(&inputs[i].line).copied().unwrap_or_default();
                if !used.is_zero() && deadline.is_some_and(|most| most <= used) {
                    inputs[i].used = used;
                    answers[i] = Answer::late();
                } else {
                    in_time.push(i);
                }
            }
            let failed = together_or_alone(&in_time, |set| self.decode(set, inputs, &mut answers));
            for (i, failure) in failed {
                inputs[i].used = Duration::ZERO;
                answers[i] = Answer::failed(failure);
            }
            for &i in &in_time {
                let used = used.entry(inputs[i].line).or_default();
                *used += inputs[i].used;
                inputs[i].used = *used;
            }
        }
        if !self.task.sums_log_probs() {
            self.state_log_probs(inputs, &mut answers);
        }
        answers
    }

    /// Decodes some inputs together, and measures their outputs.
    fn decode(
        &mut self,
        set: &[usize],
        inputs: &mut [Input<'_>],
        answers: &mut [Answer],
    ) -> Result<(), BackendError> {
        if set.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let each = self.settings.deadline();
        let all = each.and_then(|each| each.checked_mul(set.len() as u32));
        let all = all.and_then(|all| started.checked_add(all));
        let mut cases: Vec<(&Case, Option<Instant>)> = Vec::with_capacity(set.len());
        for &i in set {
            let wanted = &inputs[i].wanted;
            let until = if wanted.has_left() { Some(started) } else { wanted.until };
            cases.push((inputs[i].case, [all, until].into_iter().flatten().min()));
        }
        let found = &mut self.found[..set.len()];
        self.solver.decode(self.settings.beam, &cases, found)?;
        let used = started.elapsed() / set.len() as u32;
        for (&i, found) in set.iter().zip(found) {
            inputs[i].used = used;
            answers[i] = Answer::decoded(&inputs[i], found);
        }
        Ok(())
    }

    /// Tries plans on the outputs that violate. Inputs under the same rules go together.
    fn repair_all(
        &mut self,
        plans: &Plans,
        mut open: Vec<usize>,
        inputs: &mut [Input<'_>],
        answers: &mut [Answer],
    ) {
        let together = self.task.together();
        while let Some(&first) = open.first() {
            let rules: *const Rules = inputs[first].rules;
            let is_same = |i: &usize| std::ptr::eq(inputs[*i].rules, rules);
            let (same, others): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| is_same(i));
            let n_tokens = |i: usize| inputs[i].case.subject.symbols.len();
            for set in batches(same, together.inputs, together.tokens_in_step, n_tokens) {
                self.repair(plans, &set, inputs, answers);
            }
            open = others;
        }
    }

    /// Tries plans on inputs under the same rules.
    fn repair(
        &mut self,
        plans: &Plans,
        set: &[usize],
        inputs: &mut [Input<'_>],
        answers: &mut [Answer],
    ) {
        let mut attempts = Vec::with_capacity(set.len());
        // Automata may be large, so only those of one batch are in memory.
        for batch in set.chunks(self.found.len()) {
            let begin = attempts.len();
            for &i in batch {
                let plan = plans.choose(&inputs[i]);
                let own = answers[i].clone();
                if !plan.searches.is_empty() {
                    answers[i] = own.kept(plan.name, 0);
                }
                attempts.push(Attempt { input: i, plan, own, is_proven: false });
            }
            for search in plans.searches().filter(|search| !search.is_gbi()) {
                self.run(search, &mut attempts[begin..], inputs, answers);
            }
            batch.iter().for_each(|&i| inputs[i].wanted.free_automaton());
        }
        // Gradient-based inference fills its sets from all of them.
        for search in plans.searches() {
            if let Search::Gbi(config) = search {
                self.descend(search, config, &mut attempts, inputs, answers);
            }
        }
        for &i in set {
            answers[i].complete(&inputs[i]);
        }
    }

    /// Runs a search on the inputs whose plan includes it, and that still need one.
    fn run(
        &mut self,
        search: &Search,
        attempts: &mut [Attempt<'_>],
        inputs: &mut [Input<'_>],
        answers: &mut [Answer],
    ) {
        let open = open(search, attempts, inputs, answers);
        let Some(&first) = open.first() else { return };
        for &at in &open {
            let input = &mut inputs[attempts[at].input];
            input.wanted.allow(input.time.left);
        }
        let set: Vec<&Input<'_>> = open.iter().map(|&at| &inputs[attempts[at].input]).collect();
        let own: Vec<&Answer> = open.iter().map(|&at| &attempts[at].own).collect();
        let ranking = self.settings.beam.ranking;
        let rules = inputs[attempts[first].input].rules;
        let results = match self.solver.fits(search, ranking, rules) {
            Ok(()) => self.search(search, &set, &own),
            Err(error) => {
                let note = format!("the engine does not fit: {}", error.why);
                let kept = |own: &&Answer| Answer {
                    note: Some(note.clone()),
                    ..own.kept(search.name(), 0)
                };
                own.iter().map(kept).collect()
            }
        };
        for (at, answer) in open.into_iter().zip(results) {
            let attempt = &mut attempts[at];
            let input = &mut inputs[attempt.input];
            input.time.spend(input.wanted.took());
            consider(attempt, input, search, answer, &mut answers[attempt.input]);
        }
    }

    /// The results of one search. If the network fails for some inputs together, each is tried alone.
    fn search(&mut self, search: &Search, set: &[&Input<'_>], own: &[&Answer]) -> Vec<Answer> {
        let mut results: Vec<Answer> = own.iter().map(|own| own.kept(search.name(), 0)).collect();
        let ranking = self.settings.beam.ranking;
        let all: Vec<usize> = (0..set.len()).collect();
        let failed = together_or_alone(&all, |some| {
            let started = Instant::now();
            let inputs: Vec<&Input<'_>> = some.iter().map(|&i| set[i]).collect();
            let found = &mut self.found[..some.len()];
            self.solver.search(search, ranking, &inputs, found)?;
            let elapsed = started.elapsed() / some.len() as u32;
            for (&i, found) in some.iter().zip(found) {
                results[i] = Answer { elapsed, ..own[i].found(search, set[i], found) };
            }
            Ok(())
        });
        for (i, failure) in failed {
            (results[i].status, results[i].failure) = (Status::Failed, Some(failure));
        }
        for (answer, input) in results.iter_mut().zip(set) {
            let is_masked = matches!(search, Search::Masked { .. });
            if is_masked && answer.status != Status::Satisfied && !input.wanted.has_automaton() {
                answer.note = Some(NO_FIT.to_owned());
            }
        }
        results
    }

    /// Runs gradient-based inference on the inputs whose plan includes it, in step.
    fn descend(
        &mut self,
        search: &Search,
        config: &Config,
        attempts: &mut [Attempt<'_>],
        inputs: &mut [Input<'_>],
        answers: &mut [Answer],
    ) {
        let open = open(search, attempts, inputs, answers);
        if open.is_empty() {
            return;
        }
        let config = self.settings.widened(config);
        let mut n_of_line: HashMap<usize, usize> = HashMap::new();
        for &at in &open {
            *n_of_line.entry(inputs[attempts[at].input].line).or_default() += 1;
        }
        // The settings were checked when the driver was made.
        let in_step = self.solver.in_step(&config).unwrap_or(1);
        for &at in &open {
            let Attempt { input, plan, .. } = &attempts[at];
            let input = &mut inputs[*input];
            input.wanted.allow(None);
            input.wanted.within = input.time.within(n_of_line[&input.line], in_step);
            // Searches that have just failed are not repeated.
            if plan.choose == Choose::MostProbable {
                input.wanted.targets.get_or_insert_default();
            }
        }
        let set: Vec<&Input<'_>> = open.iter().map(|&at| &inputs[attempts[at].input]).collect();
        let own: Vec<&Answer> = open.iter().map(|&at| &attempts[at].own).collect();
        let mut results: Vec<Answer> = own.iter().map(|own| own.kept(search.name(), 0)).collect();
        let done = &mut |i: usize, outcome| results[i] = own[i].descended(search, outcome);
        let started = Instant::now();
        // The settings were checked when the driver was made.
        let _ = self.solver.descend(&config, &self.settings.cancel, &set, done);
        share_time(started.elapsed(), &mut results);
        let is_compared = |at: usize, answer: &Answer| {
            attempts[at].plan.choose == Choose::MostProbable && answer.status == Status::Satisfied
        };
        let mut compared: Vec<(&Case, &mut Answer)> = Vec::new();
        for (n, answer) in results.iter_mut().enumerate() {
            if is_compared(open[n], answer) {
                compared.push((set[n].case, answer));
            }
        }
        self.fill_log_probs(compared);
        for (at, answer) in open.into_iter().zip(results) {
            let attempt = &mut attempts[at];
            let input = &mut inputs[attempt.input];
            consider(attempt, input, search, answer, &mut answers[attempt.input]);
        }
    }

    /// Fills in how probable outputs are, where no search has said.
    fn judge(&mut self, inputs: &[Input<'_>], answers: &mut [Answer]) {
        let mut judged: Vec<(&Case, &mut Answer)> = Vec::new();
        for (input, answer) in inputs.iter().zip(answers) {
            if answer.failure.is_none() {
                judged.push((input.case, answer));
            }
        }
        self.fill_log_probs(judged);
    }

    /// Gives own outputs the network's own log-probabilities, where its decoder has others.
    fn state_log_probs(&mut self, inputs: &[Input<'_>], answers: &mut [Answer]) {
        let mut stated: Vec<(&Case, &mut Answer)> = Vec::new();
        for (input, answer) in inputs.iter().zip(answers) {
            if answer.log_prob.is_some() {
                stated.push((input.case, answer));
            }
        }
        let outputs: Vec<Output<'_>> =
            stated.iter().map(|(case, answer)| (*case, &*answer.output)).collect();
        let log_probs = self.log_probs(&outputs);
        for ((_, answer), log_prob) in stated.into_iter().zip(log_probs) {
            match log_prob {
                Ok(log_prob) => answer.log_prob = Some(log_prob),
                Err(failure) => *answer = Answer::failed(failure),
            }
        }
    }

    /// Fills in the log-probabilities that are not known.
    fn fill_log_probs(&mut self, mut answers: Vec<(&Case, &mut Answer)>) {
        let are_sums = self.task.sums_log_probs();
        answers.retain(|(_, answer)| answer.log_prob.is_none() || !are_sums);
        let outputs: Vec<Output<'_>> =
            answers.iter().map(|(case, answer)| (*case, &*answer.output)).collect();
        let log_probs = self.log_probs(&outputs);
        for ((_, answer), log_prob) in answers.into_iter().zip(log_probs) {
            answer.log_prob = log_prob.ok();
        }
    }

    /// `log p(y | x, W)` of every output, or why the network failed.
    pub fn log_probs(&mut self, outputs: &[Output<'_>]) -> Vec<Result<f32, BackendError>> {
        let mut log_probs: Vec<Result<f32, BackendError>> =
            outputs.iter().map(|_| Ok(f32::NAN)).collect();
        let all: Vec<usize> = (0..outputs.len()).collect();
        for batch in all.chunks(self.found.len()) {
            let failed = together_or_alone(batch, |set| {
                let some: Vec<Output<'_>> = set.iter().map(|&i| outputs[i]).collect();
                let of_set = self.solver.log_probs(self.settings.beam, &some)?;
                set.iter().zip(of_set).for_each(|(&i, log_prob)| log_probs[i] = Ok(log_prob));
                Ok(())
            });
            failed.into_iter().for_each(|(i, failure)| log_probs[i] = Err(failure));
        }
        log_probs
    }
}

/// Splits a thread's time among inputs that were in step, in proportion to how long each was. The
/// remainder is overhead between inputs, and charged to none.
fn share_time(all: Duration, answers: &mut [Answer]) {
    let total: f64 = answers.iter().map(|answer| answer.elapsed.as_secs_f64()).sum();
    let share = all.as_secs_f64() / total;
    if share < 1.0 {
        answers.iter_mut().for_each(|answer| answer.elapsed = answer.elapsed.mul_f64(share));
    }
}

/// The places of attempts that await a search: their plan includes it, and neither time nor the need
/// for another answer is over.
fn open(
    search: &Search,
    attempts: &[Attempt<'_>],
    inputs: &[Input<'_>],
    answers: &[Answer],
) -> Vec<usize> {
    let awaits = |attempt: &Attempt<'_>| {
        let is_found = attempt.plan.choose == Choose::First
            && answers[attempt.input].status == Status::Satisfied;
        let is_over = attempt.is_proven || is_found || inputs[attempt.input].time.is_up();
        !is_over && attempt.plan.contains(search)
    };
    (0..attempts.len()).filter(|&at| awaits(&attempts[at])).collect()
}

/// Takes in the answer of a search.
fn consider(
    attempt: &mut Attempt<'_>,
    input: &mut Input<'_>,
    search: &Search,
    answer: Answer,
    best: &mut Answer,
) {
    if answer.status == Status::TimedOut {
        input.time.left = input.time.left.map(|_| Duration::ZERO);
    }
    if attempt.plan.searches.len() == 1 {
        *best = answer;
        return;
    }
    if answer.status == Status::Satisfied {
        let targets = input.wanted.targets.get_or_insert_default();
        if !targets.contains(&answer.output) {
            targets.push(answer.output.clone());
        }
        attempt.is_proven |= matches!(search, Search::Exact { .. });
    }
    best.consider(answer, attempt.plan);
}
