//! One way of repairing outputs, applied to every failure of a network.
//!
//! Gradient-based inference and its rivals are measured alike: what came out, whether it
//! satisfies, how many sequences the network was run over, and how long one thread took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cajole_core::Step;
use cajole_core::corpus::in_parallel;
use cajole_core::{
    Candidate, Constraint, Decoder, Found, Gbi, Model, Outcome, Symbol, UnknownGroup,
};

use super::Watch;

/// What a method made of one failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The output: satisfying, or the best there was.
    pub output: Vec<Symbol>,
    /// Whether it satisfies the constraint.
    pub converted: bool,
    /// Whether the method ran into a limit and found nothing.
    pub gave_up: bool,
    /// Nudges taken; none for methods that do not nudge.
    pub steps: Option<usize>,
    /// Sequences the network was run over.
    pub passes: usize,
    /// Wall-clock time on one thread.
    pub milliseconds: f64,
}

impl Repair {
    /// The network's own output, which took so many passes, as a repair that changes nothing.
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

    /// What Algorithm 1 would have given, had it been stopped after `limit` nudges.
    pub fn within(outcome: &Outcome, limit: usize) -> Self {
        let steps = outcome.trace.steps();
        let steps = &steps[..steps.len().min(limit.saturating_add(1))];
        let g = |step: &&Step| if step.g.is_nan() { f32::INFINITY } else { step.g };
        // Of equals, the earliest.
        let best = steps.iter().min_by(|a, b| g(a).total_cmp(&g(b)));
        let last = steps.last();
        Repair {
            output: best.map_or_else(Vec::new, |step| outcome.trace.output(step).to_vec()),
            converted: best.is_some_and(|step| step.g == 0.0 && !step.capped),
            gave_up: false,
            steps: Some(steps.len().saturating_sub(1)),
            passes: last.map_or(0, |step| step.passes),
            milliseconds: last.map_or(f64::NAN, |step| step.elapsed.as_secs_f64() * 1e3),
        }
    }
}

impl From<Outcome> for Repair {
    fn from(outcome: Outcome) -> Self {
        let last = outcome.trace.steps().last();
        Repair {
            converted: outcome.is_satisfied(),
            gave_up: false,
            steps: Some(outcome.steps),
            passes: outcome.passes,
            milliseconds: last.map_or(f64::NAN, |step| step.elapsed.as_secs_f64() * 1e3),
            output: outcome.output,
        }
    }
}

/// Gradient-based inference on every failure.
///
/// # Errors
/// If the configuration names a parameter group that the model does not have.
pub fn with_gbi<M, D, C>(
    gbi: &Gbi<'_, M, D, C>,
    failures: &[&M::Input],
    watch: &dyn Watch,
) -> Result<Vec<Outcome>, UnknownGroup>
where
    M: Model,
    D: Decoder<M> + ?Sized,
    C: Constraint<M::Input> + ?Sized,
{
    let (done, converted) = (AtomicU64::new(0), AtomicU64::new(0));
    gbi.run_all(failures, |_, outcome| {
        let good = u64::from(outcome.is_satisfied());
        let good = good + converted.fetch_add(good, Ordering::Relaxed);
        let n = done.fetch_add(1, Ordering::Relaxed) + 1;
        watch.advance(n, &format!("{good} converted"));
    })
}

/// What stays where a decoder's output does not satisfy the constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// The network's first output.
    First,
    /// What the decoder found.
    Found,
}

/// Another decoder on every failure. Where it finds nothing, the first output stays.
pub fn with_decoder<M: Model>(
    model: &M,
    decoder: &dyn Decoder<M>,
    constraint: &(impl Constraint<M::Input> + ?Sized),
    failures: &[(&M::Input, &Candidate)],
    otherwise: Otherwise,
    watch: &dyn Watch,
) -> Vec<Repair> {
    let done = AtomicU64::new(0);
    in_parallel(
        failures.len(),
        || (model.scratch(), Found::default()),
        |(scratch, found), i| {
            let (x, first) = failures[i];
            let started = Instant::now();
            decoder.decode(model, model.weights(), x, scratch, found);
            let satisfies =
                |y: &Candidate| !y.capped && constraint.check(x, &y.output).is_satisfied();
            let converted = found.best().is_some_and(satisfies);
            watch.advance(done.fetch_add(1, Ordering::Relaxed) + 1, "");
            let kept = found.best().filter(|_| converted || otherwise == Otherwise::Found);
            Repair {
                output: kept.unwrap_or(first).output.clone(),
                converted,
                gave_up: found.best().is_none(),
                steps: None,
                passes: found.passes,
                milliseconds: started.elapsed().as_secs_f64() * 1e3,
            }
        },
    )
}

/// How long a decoder takes for one input at a time, on average.
pub fn mean_milliseconds<M: Model, D: Decoder<M>>(model: &M, decoder: &D, xs: &[M::Input]) -> f64
where
    M::Input: Sized,
{
    let times = in_parallel(
        xs.len(),
        || (model.scratch(), Found::default()),
        |(scratch, found), i| {
            let started = Instant::now();
            decoder.decode(model, model.weights(), &xs[i], scratch, found);
            started.elapsed().as_secs_f64() * 1e3
        },
    );
    times.iter().sum::<f64>() / times.len() as f64
}
