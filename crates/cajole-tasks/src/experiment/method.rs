//! One way of repairing outputs, applied to every failure of a network.
//!
//! Gradient-based inference and its rivals are measured alike: what came out, whether it
//! satisfies, how many sequences the network was run over, and how long one thread took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cajole::corpus::in_parallel;
use cajole::{
    Candidate, Constraint, Decoder, Found, Gbi, Model, Outcome, Symbol, UnknownGroup, Workspace,
};

use super::Watch;

/// What a method made of one failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The output: satisfying, or the best there was.
    pub output: Vec<Symbol>,
    /// Whether it satisfies the constraint.
    pub converted: bool,
    /// Nudges taken; none for methods that do not nudge.
    pub steps: Option<usize>,
    /// Sequences the network was run over.
    pub passes: usize,
    /// Wall-clock time on one thread.
    pub milliseconds: f64,
}

impl From<Outcome> for Repair {
    fn from(outcome: Outcome) -> Self {
        let last = outcome.trace.steps().last();
        Repair {
            converted: outcome.is_satisfied(),
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
) -> Result<Vec<Repair>, UnknownGroup>
where
    M: Model,
    D: Decoder<M> + ?Sized,
    C: Constraint<M::Input> + ?Sized,
{
    drop(Workspace::new(gbi.model, &gbi.config)?); // the configuration is sound
    let (done, converted) = (AtomicU64::new(0), AtomicU64::new(0));
    Ok(in_parallel(
        failures.len(),
        || Workspace::new(gbi.model, &gbi.config).expect("checked above"),
        |workspace, i| {
            let outcome = gbi.run(failures[i], workspace);
            let good = u64::from(outcome.is_satisfied());
            let good = good + converted.fetch_add(good, Ordering::Relaxed);
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            watch.advance(n, &format!("{good} converted"));
            Repair::from(outcome)
        },
    ))
}

/// A decoder that knows the constraint, on every failure. Where it finds nothing, or nothing that
/// satisfies, the first output stays.
pub fn with_decoder<M: Model>(
    model: &M,
    decoder: &dyn Decoder<M>,
    constraint: &(impl Constraint<M::Input> + ?Sized),
    failures: &[(&M::Input, &Candidate)],
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
                |y: &&Candidate| !y.capped && constraint.check(x, &y.output).is_satisfied();
            let good = found.best().filter(satisfies);
            watch.advance(done.fetch_add(1, Ordering::Relaxed) + 1, "");
            Repair {
                output: good.unwrap_or(first).output.clone(),
                converted: good.is_some(),
                steps: None,
                passes: found.passes,
                milliseconds: started.elapsed().as_secs_f64() * 1e3,
            }
        },
    )
}
