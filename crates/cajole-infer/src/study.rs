//! How one input was repaired, step by step, for people.

use std::ops::Range;

use cajole_core::{Constraint, Fault, Search, Symbol};
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::transduction::accuracy;

use crate::answer::{Answer, Status};
use crate::case::Case;
use crate::task::Task;

/// The most faults of one step that the note spells out.
const SPELT_OUT: usize = 3;

/// The steps of an answer as a table. The network's own output makes a table of one step; engines
/// other than gradient-based inference have no steps.
pub(crate) fn study(
    task: &dyn Task,
    title: String,
    case: &Case,
    rules: &Rules,
    answer: &Answer,
) -> Option<CaseStudy> {
    let row = |(attempt, iteration): (usize, usize), y: &[Symbol]| {
        let faults = rules.explain(&case.subject, y);
        let gold = case.gold.as_deref();
        let step = CaseStep {
            attempt,
            iteration,
            pieces: task.pieces(case, y, &blamed(&faults, y.len())),
            accuracy: gold.map_or(f64::NAN, |gold| 100.0 * accuracy(y, gold)),
            ..CaseStep::default()
        };
        (step, faults)
    };
    let rows: Vec<(CaseStep, Vec<Fault>)> = match &answer.trace {
        Some(trace) => {
            let rows = trace.changes().map(|step| {
                let (row, faults) = row((step.attempt, step.iteration), trace.output(step));
                let (g, log_prob, distance) = (step.g, step.log_prob, step.distance);
                (CaseStep { g, log_prob, distance, ..row }, faults)
            });
            rows.collect()
        }
        None if answer.search == Some(Search::Network) => {
            let (row, faults) = row((0, 0), &answer.output);
            let log_prob = answer.log_prob.unwrap_or(f32::NAN);
            vec![(CaseStep { g: answer.g_after, log_prob, ..row }, faults)]
        }
        None => return None,
    };
    let vocabulary = task.vocabulary();
    let note = describe(answer, &rows);
    Some(CaseStudy {
        title,
        source: source(task, case),
        target: case.gold.as_ref().map_or_else(String::new, |gold| vocabulary.text(gold)),
        steps: rows.into_iter().map(|(step, _)| step).collect(),
        note,
    })
}

/// An input as people read it: its symbols, or its text if outputs are text.
pub(crate) fn source(task: &dyn Task, case: &Case) -> String {
    let vocabulary = task.vocabulary();
    match vocabulary.spelling() {
        Some(_) => case.subject.text().into_owned(),
        None => case.subject.symbols.join(vocabulary.separator()),
    }
}

/// The positions that faults point at. A fault of the whole output points nowhere.
fn blamed(faults: &[Fault], n: usize) -> Vec<Range<usize>> {
    faults.iter().map(|fault| fault.at.clone()).filter(|at| at.len() <= n).collect()
}

/// An output in runs of sound and wrong positions, by the names of its symbols. Wrong positions are
/// those that rules blame; if they blame none in particular, those that differ from the right
/// output.
pub(crate) fn pieces(
    vocabulary: &Vocabulary,
    y: &[Symbol],
    gold: Option<&[Symbol]>,
    blamed: &[Range<usize>],
) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (at, wrong) in runs(y, gold, blamed) {
        if let Some(last) = pieces.last_mut() {
            last.text += vocabulary.separator();
        }
        let names: Vec<&str> = y[at].iter().map(|&symbol| vocabulary.name(symbol)).collect();
        pieces.push(Piece { text: names.join(vocabulary.separator()), wrong });
    }
    pieces
}

/// The runs of sound and wrong positions.
pub(crate) fn runs(
    y: &[Symbol],
    gold: Option<&[Symbol]>,
    blamed: &[Range<usize>],
) -> Vec<(Range<usize>, bool)> {
    let is_wrong = |i: usize| match (blamed, gold) {
        ([], Some(gold)) => gold.get(i) != Some(&y[i]),
        (blamed, _) => blamed.iter().any(|at| at.contains(&i)),
    };
    let mut runs: Vec<(Range<usize>, bool)> = Vec::new();
    for i in 0..y.len() {
        match runs.last_mut() {
            Some((at, wrong)) if *wrong == is_wrong(i) => at.end = i + 1,
            _ => runs.push((i..i + 1, is_wrong(i))),
        }
    }
    runs
}

/// The faults of every step shown, and how it ended.
fn describe(answer: &Answer, rows: &[(CaseStep, Vec<Fault>)]) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let mut before = String::new();
    for (CaseStep { attempt, iteration, .. }, faults) in rows {
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        let mut text = messages[..messages.len().min(SPELT_OUT)].join("; ");
        if SPELT_OUT < messages.len() {
            text += &format!("; and {} more", messages.len() - SPELT_OUT);
        }
        // Report what is wrong only when it is new.
        if !text.is_empty() && text != before {
            sentences.push(match attempt {
                0 => format!("Step {iteration}: {text}."),
                attempt => format!("Step {}:{iteration}: {text}.", attempt + 1),
            });
        }
        before = text;
    }
    let steps = answer.steps.unwrap_or(0);
    let plural = if steps == 1 { "" } else { "s" };
    sentences.push(match answer.status {
        Status::Satisfied if steps == 0 => "Satisfied at once.".to_owned(),
        Status::Satisfied => format!("Satisfied after {steps} step{plural}."),
        status => {
            let status = serde_json::to_value(status).unwrap_or_default();
            let status = status.as_str().unwrap_or_default().to_owned();
            format!(
                "Not satisfied after {steps} step{plural} ({status}); the least violating output is \
                 kept."
            )
        }
    });
    sentences.join(" ")
}
