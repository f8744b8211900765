//! Applies one repair method to every failure of a network.
//!
//! Gradient-based inference and its competitors are measured alike: the output, whether it
//! satisfies the constraint, the number of sequences the network was run over, and the time on one
//! thread. Inputs processed together share that time.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cajole_core::corpus::{BATCH, in_parallel, together_or_alone};
use cajole_core::{
    BackendError, Candidate, ConstrainedDecoder, Constraint, Decoder, Found, Gbi, Job, Model,
    Outcome, Pass, Session, Sought, Step, Symbol, Wanted, Workspace,
};
use cajole_tasks::Watch;

/// The result of a method on one failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The output: feasible, or the best one found.
    pub output: Vec<Symbol>,
    /// Whether it satisfies the constraint.
    pub converted: bool,
    /// Whether the method hit a limit without finding a feasible output.
    pub gave_up: bool,
    /// The number of nudges; `None` for methods that do not nudge.
    pub steps: Option<usize>,
    /// Sequences the network was run over.
    pub passes: usize,
    /// Wall-clock time on one thread.
    pub milliseconds: f64,
}

impl Repair {
    /// The network's own output, which took `passes` passes, as a repair that changes nothing.
    pub fn untouched(first: &Candidate, passes: usize) -> Self {
        Repair {
            output: first.output.clone(),
            converted: false,
            gave_up: false,
            steps: None,
            passes,
            milliseconds: f64::NAN,
        }
    }
}

/// The result of gradient-based inference on one failure.
#[derive(Clone, Debug)]
pub struct Nudged {
    /// Its outcome.
    pub outcome: Outcome,
    /// The fraction of its thread that it used while it was processed; 1 if it ran alone.
    pub share: f64,
}

impl Nudged {
    /// The result of Algorithm 1 if it had been stopped after `limit` nudges.
    pub fn within(&self, limit: usize) -> Repair {
        let steps = self.outcome.trace.steps();
        let steps = &steps[..steps.len().min(limit.saturating_add(1))];
        let g = |step: &&Step| if step.g.is_nan() { f32::INFINITY } else { step.g };
        // Ties go to the earliest.
        let best = steps.iter().min_by(|a, b| g(a).total_cmp(&g(b)));
        let last = steps.last();
        Repair {
            output: best.map_or_else(Vec::new, |step| self.outcome.trace.output(step).to_vec()),
            converted: best.is_some_and(|step| step.g == 0.0 && !step.capped),
            gave_up: false,
            steps: Some(steps.len().saturating_sub(1)),
            passes: last.map_or(0, |step| step.passes),
            milliseconds: self.milliseconds(last),
        }
    }

    /// The time up to this step.
    pub fn milliseconds(&self, step: Option<&Step>) -> f64 {
        step.map_or(f64::NAN, |step| step.elapsed.as_secs_f64() * 1e3 * self.share)
    }
}

impl From<Nudged> for Repair {
    fn from(nudged: Nudged) -> Self {
        let milliseconds = nudged.milliseconds(nudged.outcome.trace.steps().last());
        let outcome = nudged.outcome;
        Repair {
            converted: outcome.is_satisfied(),
            gave_up: false,
            steps: Some(outcome.steps),
            passes: outcome.passes,
            milliseconds,
            output: outcome.output,
        }
    }
}

/// The outcome of an input that ran alone on its thread.
impl From<Outcome> for Repair {
    fn from(outcome: Outcome) -> Self {
        Nudged { outcome, share: 1.0 }.into()
    }
}

/// Runs gradient-based inference on every failure, several in lockstep where that pays.
pub(crate) fn with_gbi<M: Model>(
    model: &M,
    gbi: &Gbi<'_, M>,
    constraint: &dyn Constraint<M::Input>,
    failures: &[&M::Input],
    watch: &dyn Watch,
) -> Vec<Nudged> {
    let (done, converted) = (AtomicU64::new(0), AtomicU64::new(0));
    let jobs: Vec<_> = failures.iter().map(|&input| Job::new(input, constraint)).collect();
    // Enough inputs per chunk to fill a batch, and enough chunks to keep all threads busy.
    let size = jobs.len().div_ceil(4 * rayon::current_num_threads()).clamp(1, 4 * BATCH);
    let shares: Vec<&[Job<'_, M::Input>]> = jobs.chunks(size).collect();
    let nudged = in_parallel(
        shares.len(),
        || Workspace::new(model),
        |workspace, i| {
            let mut outcomes: Vec<Option<Outcome>> = vec![None; shares[i].len()];
            let started = Instant::now();
            gbi.run_set(shares[i], workspace, |i, outcome| {
                let good = u64::from(outcome.is_satisfied());
                let good = good + converted.fetch_add(good, Ordering::Relaxed);
                let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                watch.advance(n, &format!("{good} converted"));
                outcomes[i] = Some(outcome);
            });
            shared(outcomes.into_iter().flatten().collect(), started.elapsed().as_secs_f64())
        },
    );
    nudged.into_iter().flatten().collect()
}

/// Splits a thread's time among its inputs, in proportion to how long each was in progress.
fn shared(outcomes: Vec<Outcome>, seconds: f64) -> Vec<Nudged> {
    let elapsed = |outcome: &Outcome| {
        outcome.trace.steps().last().map_or(0.0, |step| step.elapsed.as_secs_f64())
    };
    let total: f64 = outcomes.iter().map(elapsed).sum();
    // The remainder is overhead between inputs, and charged to none.
    let share = (seconds / total).min(1.0);
    outcomes.into_iter().map(|outcome| Nudged { outcome, share }).collect()
}

/// Runs gradient-based inference on one input, reusing memory.
pub(crate) fn alone<M: Model>(
    gbi: &Gbi<'_, M>,
    x: &M::Input,
    constraint: &dyn Constraint<M::Input>,
    workspace: &mut Workspace<M>,
) -> Option<Outcome> {
    let mut found = None;
    gbi.run_set(&[Job::new(x, constraint)], workspace, |_, outcome| found = Some(outcome));
    found
}

/// Which output to keep if a search does not satisfy the constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// The network's first output.
    First,
    /// The search's output.
    Found,
}

/// A decoder that ignores the constraint, as a constrained decoder.
pub(crate) struct Unconstrained<D>(pub(crate) D);

impl<M: Model, D: Decoder<M>> ConstrainedDecoder<M> for Unconstrained<D> {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        let passes: Vec<Pass<'_, M>> = set.iter().map(|sought| sought.pass).collect();
        self.0.skim(at, &passes, found)
    }
}

/// Runs another search on every failure, several at a time. If it finds nothing, the first output
/// stays.
pub(crate) fn with_search<M: Model>(
    model: &M,
    search: &dyn ConstrainedDecoder<M>,
    constraint: &dyn Constraint<M::Input>,
    failures: &[(&M::Input, &Candidate)],
    otherwise: Otherwise,
    watch: &dyn Watch,
) -> Vec<Repair> {
    let done = AtomicU64::new(0);
    // Batch inputs of similar length.
    let mut order: Vec<usize> = (0..failures.len()).collect();
    order.sort_by_key(|&i| Reverse(model.size(failures[i].0)));
    let batches: Vec<&[usize]> = order.chunks(BATCH).collect();
    let repaired = in_parallel(
        batches.len(),
        || (Workspace::new(model), vec![Found::default(); BATCH]),
        |(workspace, found), i| {
            let wanted: Vec<_> =
                batches[i].iter().map(|&i| Wanted::new(failures[i].0, constraint)).collect();
            let sought: Vec<_> = batches[i]
                .iter()
                .zip(&wanted)
                .map(|(&i, wanted)| Sought::base(failures[i].0, wanted))
                .collect();
            let first = |&i: &usize| failures[i].1;
            let failed = |y| Repair { gave_up: true, milliseconds: 0.0, ..Repair::untouched(y, 0) };
            let mut repairs: Vec<Repair> = batches[i].iter().map(first).map(failed).collect();
            let all: Vec<usize> = (0..sought.len()).collect();
            // What the network fails for stays as it is.
            together_or_alone(&all, |set| {
                let sought: Vec<_> = set.iter().map(|&one| sought[one]).collect();
                let found = &mut found[..set.len()];
                let started = Instant::now();
                search.search(&mut workspace.session(model), &sought, found)?;
                let milliseconds = started.elapsed().as_secs_f64() * 1e3 / set.len() as f64;
                for (&one, found) in set.iter().zip(found) {
                    let first = first(&batches[i][one]);
                    repairs[one] = judged(found, &wanted[one], first, otherwise, milliseconds);
                }
                Ok(())
            });
            let n = sought.len() as u64;
            watch.advance(done.fetch_add(n, Ordering::Relaxed) + n, "");
            batches[i].iter().copied().zip(repairs).collect::<Vec<_>>()
        },
    );
    let mut repairs: Vec<(usize, Repair)> = repaired.into_iter().flatten().collect();
    repairs.sort_by_key(|(i, _)| *i);
    repairs.into_iter().map(|(_, repair)| repair).collect()
}

/// The search's output, or the first output.
fn judged(
    found: &Found,
    wanted: &Wanted<'_>,
    first: &Candidate,
    otherwise: Otherwise,
    milliseconds: f64,
) -> Repair {
    let converted = found.best().is_some_and(|y| wanted.accepts(y));
    let kept = found.best().filter(|_| converted || otherwise == Otherwise::Found);
    Repair {
        output: kept.unwrap_or(first).output.clone(),
        converted,
        gave_up: found.best().is_none(),
        steps: None,
        passes: found.passes,
        milliseconds,
    }
}

/// The mean time a decoder takes for one input at a time, if the network does not fail for it.
pub(crate) fn mean_milliseconds<M: Model>(
    model: &M,
    decoder: &dyn Decoder<M>,
    xs: &[M::Input],
) -> f64
where
    M::Input: Sized,
{
    let times = in_parallel(
        xs.len(),
        || (Workspace::new(model), [Found::default()]),
        |(workspace, found), i| {
            let started = Instant::now();
            let decoded =
                decoder.decode(&mut workspace.session(model), &[Pass::base(&xs[i])], found);
            decoded.ok().map(|()| started.elapsed().as_secs_f64() * 1e3)
        },
    );
    let times: Vec<f64> = times.into_iter().flatten().collect();
    times.iter().sum::<f64>() / times.len() as f64
}

#[cfg(test)]
mod tests {
    use cajole_core::Symbol;
    use cajole_core::decoders::Greedy;
    use cajole_tasks::transduction::{Net, parse};
    use cajole_tasks::{Checkpoint, Silent};

    use super::*;

    /// Decodes, but fails if this input is in the set.
    struct Frail(Vec<Symbol>);

    impl ConstrainedDecoder<Net> for Frail {
        fn search(
            &self,
            at: &mut Session<'_, Net>,
            set: &[Sought<'_, '_, Net>],
            found: &mut [Found],
        ) -> Result<(), BackendError> {
            match set.iter().any(|sought| sought.pass.input == self.0) {
                true => Err(BackendError::new("the cache is full")),
                false => Unconstrained(Greedy).search(at, set, found),
            }
        }
    }

    #[test]
    fn an_input_that_the_network_fails_for_keeps_its_first_output() {
        let model = Net::built_in();
        let inputs = ["azbz", "bzaz", "azazbz"].map(|text| parse(text).unwrap());
        let first = Candidate { output: vec![1], ..Candidate::default() };
        let cases: Vec<_> = inputs.iter().map(|x| (x.as_slice(), &first)).collect();
        let constraint = |_: &[Symbol], _: &[Symbol]| 0.0;
        let with = |failing: &str| {
            let search = Frail(parse(failing).unwrap());
            with_search(&model, &search, &constraint, &cases, Otherwise::First, &Silent)
        };
        let (fine, frail) = (with("az"), with("bzaz"));
        assert_eq!((&frail[1].output, frail[1].converted), (&vec![1], false));
        assert!(frail[1].gave_up && frail[1].milliseconds == 0.0);
        for i in [0, 2] {
            assert_eq!((&frail[i].output, frail[i].converted), (&fine[i].output, true));
        }
    }
}
