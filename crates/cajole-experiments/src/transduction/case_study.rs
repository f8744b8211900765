//! Follows single inputs step by step, like the tables in the paper's appendix.

use cajole_core::{Search, Symbol, Trace, UnknownParameter};
use cajole_infer::Transduction;
use cajole_infer::answer::{Answer, Status};
use cajole_infer::decoded::{Decoded, repair};
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_tasks::Silent;
use cajole_tasks::edit_distance;
use cajole_tasks::transduction::{Kind, Text, accuracy, parse, transduce};

use super::config::TransductionConfig;
use super::methods::{Failures, settings};
use crate::{NEAREST, Repair, choose};

/// The paper's example of a repair.
const EXAMPLE: &str = "azazbzazbzbzazbzbzbzbzbz";

/// The repair of the paper's example under the count constraint, or else of the nearest failure
/// that Algorithm 1 repairs for the better.
///
/// # Errors
/// If the preset names a parameter that the network does not have.
pub(super) fn case_study(
    name: &str,
    task: &Transduction,
    config: &TransductionConfig,
    inputs: &[Vec<Symbol>],
) -> Result<Option<CaseStudy>, UnknownParameter> {
    let failures = Failures::find(task, Kind::Count, inputs)?;
    let paper = Search::Gbi(Box::new(config.gbi.paper.clone()));
    let repaired = |x: &[Symbol], decoded: &Decoded| {
        let settings = settings(task, paper.clone());
        let answer = repair(task, &settings, &[decoded], &Silent).ok()?.pop()?;
        let title = format!("{name}, count constraint, paper preset");
        (answer.status == Status::Satisfied).then(|| trace_of(title, x, &answer))?
    };
    let example = vec![parse(EXAMPLE).expect("the example is an input")];
    let of_example = Failures::find(task, Kind::Count, &example)?;
    let own = of_example.cases.first().and_then(|(x, decoded)| repaired(x, decoded));
    let distance = |x: &[Symbol]| edit_distance(x, &example[0]);
    let mut near: Vec<(usize, &[Symbol], &Decoded)> =
        failures.cases.iter().map(|(x, decoded)| (distance(x), *x, decoded)).collect();
    near.sort_by_key(|(distance, ..)| *distance);
    let others = near.iter().take(NEAREST);
    let others =
        others.filter_map(|(distance, x, decoded)| Some((*distance, repaired(x, decoded)?)));
    Ok(choose(EXAMPLE, own, others))
}

/// The trace of one input as a table: the decoded outputs, with errors marked. Of repeated outputs,
/// only the first and the last are shown.
fn trace_of(title: String, x: &[Symbol], answer: &Answer) -> Option<CaseStudy> {
    let gold = transduce(x);
    let trace = answer.trace.as_ref()?;
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
    Some(CaseStudy {
        title,
        source: Text(x).to_string(),
        target: Text(&gold).to_string(),
        steps: shown.collect(),
        note: describe(answer, trace),
    })
}

/// How the run ended: `41 steps in 2 descents, satisfied: aaazb`.
fn describe(answer: &Answer, trace: &Trace) -> String {
    let descents = 1 + trace.steps().last().map_or(0, |step| step.attempt);
    let descents = if descents == 1 { String::new() } else { format!(" in {descents} descents") };
    let steps = answer.steps.unwrap_or(0);
    let plural = if steps == 1 { "" } else { "s" };
    format!("{steps} step{plural}{descents}, satisfied: {}", Text(&answer.output))
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
    let line = |((x, decoded), repair): (&(&[Symbol], Decoded), &Repair)| {
        let verdict = match (repair.converted, repair.output == transduce(x)) {
            (true, true) => "right",
            (true, false) => "satisfied",
            (false, _) => "not converted",
        };
        let steps = repair.steps.unwrap_or(0);
        format!(
            "      {} →\n      {} ({verdict}, {steps} step{})",
            Text(&decoded.own.output),
            Text(&repair.output),
            if steps == 1 { "" } else { "s" }
        )
    };
    shown.map(line).collect()
}
