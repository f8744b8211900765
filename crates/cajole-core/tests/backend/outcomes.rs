//! Runs, and what may be compared between them.

use cajole_core::{Constraint, Gbi, Job, Model, Outcome, Workspace};

/// The outcome of every job, in order. Every job must be reported exactly once.
pub(crate) fn run_set<M: Model>(
    gbi: &Gbi<'_, M>,
    model: &M,
    jobs: &[Job<'_, M::Input>],
) -> Vec<Outcome> {
    run_in(gbi, &mut Workspace::new(model), jobs)
}

/// The same in a workspace that may have been used before.
pub(crate) fn run_in<M: Model>(
    gbi: &Gbi<'_, M>,
    workspace: &mut Workspace<M>,
    jobs: &[Job<'_, M::Input>],
) -> Vec<Outcome> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; jobs.len()];
    gbi.run_set(jobs, workspace, |i, outcome| {
        assert!(outcomes[i].replace(outcome).is_none(), "job {i} is reported twice");
    });
    let reported = outcomes.into_iter().enumerate();
    reported.map(|(i, o)| o.unwrap_or_else(|| panic!("job {i} is never reported"))).collect()
}

/// Every input under the same constraint.
pub(crate) fn jobs<'a, X>(inputs: &'a [X], constraint: &'a dyn Constraint<X>) -> Vec<Job<'a, X>> {
    inputs.iter().map(|input| Job::new(input, constraint)).collect()
}

/// Everything about an outcome except how long it took.
pub(crate) fn told(outcome: &Outcome) -> String {
    let Outcome { output, stop, g_before, g_after, capped, steps, passes, failure, trace } =
        outcome;
    let mut told = format!(
        "{stop:?} {output:?} capped {capped} g {g_before:?} to {g_after:?}, {steps} steps, \
         {passes} passes, {} weights, {failure:?}\n",
        trace.moving
    );
    for step in trace.steps() {
        let at = (step.attempt, step.iteration, step.passes, step.capped);
        let values = (step.g, step.log_prob, step.distance);
        told += &format!("  {at:?} {values:?} {:?}\n", trace.output(step));
    }
    told
}

pub(crate) fn all_told(outcomes: &[Outcome]) -> Vec<String> {
    outcomes.iter().map(told).collect()
}
