//! The repair of one failure, as tables count it.

use cajole_core::{Step, Symbol};
use cajole_infer::answer::{Answer, Status};

/// The result of a method on one failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The output: feasible, or the best one found.
    pub output: Vec<Symbol>,
    /// Whether it satisfies the constraint.
    pub converted: bool,
    /// Whether the method hit a limit without finding an output.
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
    pub fn untouched(own: &Answer, passes: usize) -> Self {
        Repair {
            output: own.output.clone(),
            converted: false,
            gave_up: false,
            steps: None,
            passes,
            milliseconds: f64::NAN,
        }
    }

    /// The result of Algorithm 1 if it had been stopped after `limit` nudges.
    pub fn within(answer: &Answer, limit: usize) -> Self {
        let Some(trace) = &answer.trace else {
            // It satisfied at once, in the pass that every input takes.
            return Repair { steps: Some(0), passes: 1, ..Repair::from(answer) };
        };
        let steps = &trace.steps()[..trace.steps().len().min(limit.saturating_add(1))];
        let g = |step: &&Step| if step.g.is_nan() { f32::INFINITY } else { step.g };
        // Ties go to the earliest.
        let best = steps.iter().min_by(|a, b| g(a).total_cmp(&g(b)));
        let last = steps.last();
        Repair {
            output: best.map_or_else(Vec::new, |step| trace.output(step).to_vec()),
            converted: best.is_some_and(|step| step.g == 0.0 && !step.capped),
            gave_up: false,
            steps: Some(steps.len().saturating_sub(1)),
            passes: last.map_or(0, |step| step.passes),
            milliseconds: milliseconds_to(answer, last),
        }
    }
}

impl From<&Answer> for Repair {
    fn from(answer: &Answer) -> Self {
        Repair {
            output: answer.output.clone(),
            converted: answer.status == Status::Satisfied,
            gave_up: answer.search.is_none() && answer.steps.is_none(),
            steps: answer.steps,
            passes: answer.passes,
            milliseconds: answer.elapsed.as_secs_f64() * 1e3,
        }
    }
}

/// The time up to this step of a descent. Inputs that are in step share their thread's time.
pub(crate) fn milliseconds_to(answer: &Answer, step: Option<&Step>) -> f64 {
    let last = answer.trace.as_ref().and_then(|trace| trace.steps().last());
    let (Some(step), Some(last)) = (step, last) else { return f64::NAN };
    let share = answer.elapsed.as_secs_f64() / last.elapsed.as_secs_f64();
    step.elapsed.as_secs_f64() * 1e3 * share
}
