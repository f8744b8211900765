//! Follows single inputs step by step, like the tables in the paper's appendix.

use cajole_core::{Gbi, Outcome, Symbol, UnknownParameter, Workspace};
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_tasks::edit_distance;
use cajole_tasks::transduction::{ConstraintKind, Net, Text, accuracy, parse, transduce};

use super::config::TransductionConfig;
use super::methods::Failures;
use crate::{NEAREST, Repair, alone, choose};

/// The paper's example of a repair.
const EXAMPLE: &str = "azazbzazbzbzazbzbzbzbzbz";

/// The repair of the paper's example under the count constraint, or else of the nearest failure
/// that Algorithm 1 repairs for the better.
///
/// # Errors
/// If the preset names a parameter that the network does not have.
pub(super) fn case_study(
    name: &str,
    model: &Net,
    config: &TransductionConfig,
    inputs: &[Vec<Symbol>],
) -> Result<Option<CaseStudy>, UnknownParameter> {
    let failures = Failures::find(model, ConstraintKind::Count, inputs);
    let gbi = Gbi::with(model, config.gbi.paper.clone())?;
    let mut workspace = Workspace::new(model);
    let mut repaired = |x: &[Symbol]| {
        let outcome = alone(&gbi, x, &*failures.constraint, &mut workspace)?;
        let is_repaired = outcome.g_before != 0.0 && outcome.is_satisfied();
        let title = format!("{name}, count constraint, paper preset");
        is_repaired.then(|| trace_of(title, x, &outcome))
    };
    let example = parse(EXAMPLE).expect("the example is an input");
    let own = repaired(&example);
    let distance = |x: &[Symbol]| edit_distance(x, &example);
    let mut near: Vec<(usize, &[Symbol])> =
        failures.cases.iter().map(|(x, _)| (distance(x), *x)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let others = near.iter().take(NEAREST);
    let others = others.filter_map(|(distance, x)| Some((*distance, repaired(x)?)));
    Ok(choose(EXAMPLE, own, others))
}

/// The trace of one input as a table: the decoded outputs, with errors marked. Of repeated outputs,
/// only the first and the last are shown.
fn trace_of(title: String, x: &[Symbol], outcome: &Outcome) -> CaseStudy {
    let gold = transduce(x);
    let trace = &outcome.trace;
    let shown = trace.changes().map(|step| {
        let y = trace.output(step);
        CaseStep {
            attempt: step.attempt,
            iteration: step.iteration,
            pieces: pieces(y, &gold),
            g: step.g,
            log_prob: step.log_prob,
            distance: step.distance,
            accuracy: 100.0 * accuracy(y, &gold),
        }
    });
    CaseStudy {
        title,
        source: Text(x).to_string(),
        target: Text(&gold).to_string(),
        steps: shown.collect(),
        note: describe(outcome),
    }
}

/// How the run ended: `41 steps in 2 descents, satisfied: aaazb`.
fn describe(outcome: &Outcome) -> String {
    let descents = 1 + outcome.trace.steps().last().map_or(0, |step| step.attempt);
    let descents = if descents == 1 { String::new() } else { format!(" in {descents} descents") };
    let verdict = match outcome.is_satisfied() {
        true => "satisfied".to_owned(),
        false => format!("not satisfied ({:?}); the least violating output is kept", outcome.stop),
    };
    let plural = if outcome.steps == 1 { "" } else { "s" };
    format!("{} step{plural}{descents}, {verdict}: {}", outcome.steps, Text(&outcome.output))
}

/// The output in runs of correct and wrong positions.
fn pieces(y: &[Symbol], gold: &[Symbol]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (i, symbol) in y.iter().enumerate() {
        let wrong = gold.get(i) != Some(symbol);
        let letter = Text(std::slice::from_ref(symbol)).to_string();
        match pieces.last_mut() {
            Some(last) if last.wrong == wrong => last.text.push_str(&letter),
            _ => pieces.push(Piece { text: letter, wrong }),
        }
    }
    pieces
}

/// A few repairs, one line each, as a progress report.
pub(super) fn sample_repairs(failures: &Failures<'_>, repairs: &[Repair]) -> Vec<String> {
    let every = (repairs.len() / 3).max(1);
    let shown = failures.cases.iter().zip(repairs).step_by(every).take(3);
    let line = |((x, first), repair): (&(&[Symbol], cajole_core::Candidate), &Repair)| {
        let verdict = match (repair.converted, repair.output == transduce(x)) {
            (true, true) => "right",
            (true, false) => "satisfied",
            (false, _) => "not converted",
        };
        let steps = repair.steps.unwrap_or(0);
        format!(
            "      {} →\n      {} ({verdict}, {steps} step{})",
            Text(&first.output),
            Text(&repair.output),
            if steps == 1 { "" } else { "s" }
        )
    };
    shown.map(line).collect()
}
