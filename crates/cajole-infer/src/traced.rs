//! The trace of a repair, as records have it.

use cajole_core::{Constraint, Fault, Step, Symbol};
use cajole_report::CaseStudy;
use cajole_rules::Rules;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::case::Case;
use crate::record::{faults_json, milliseconds, short};
use crate::study::study;
use crate::task::Task;

/// Every decode of one input.
#[derive(Debug)]
pub struct Traced {
    /// How many weights were free to move.
    pub moving: usize,
    /// Patterns over the names of these weights; empty if all were free.
    pub moves: Vec<String>,
    /// The decodes, as records have them: figures, output and faults.
    pub steps: Vec<Map<String, Value>>,
    /// Those worth showing, as a table.
    pub study: CaseStudy,
}

impl Traced {
    /// The trace of an answer; for the network's own output, a single decode. Engines without steps
    /// have none.
    pub(crate) fn new(
        task: &dyn Task,
        case: &Case,
        rules: &Rules,
        answer: &Answer,
        moves: &[String],
    ) -> Option<Traced> {
        let study = study(task, "step by step".to_owned(), case, rules, answer)?;
        let explain = |y: &[Symbol]| rules.explain(&case.subject, y);
        let Some(trace) = &answer.trace else {
            let log_prob = answer.log_prob.unwrap_or(f32::NAN);
            let (y, figures) = (&answer.output, [answer.g_after, log_prob, 0.0]);
            let own = row(task, case, (0, 0), y, &explain(y), figures, 0);
            return Some(Traced { moving: 0, moves: Vec::new(), steps: vec![own], study });
        };
        let steps = trace.steps().iter().map(|of| {
            let y = trace.output(of);
            step(task, case, y, &explain(y), of)
        });
        let moves = moves.to_vec();
        Some(Traced { moving: trace.moving, moves, steps: steps.collect(), study })
    }

    /// As a JSON object, with times if `times` is set.
    pub fn to_json(&self, times: bool) -> Value {
        let mut steps = self.steps.clone();
        if !times {
            steps.iter_mut().for_each(|step| drop(step.shift_remove("milliseconds")));
        }
        json!({ "moving": self.moving, "moves": self.moves, "steps": steps })
    }
}

/// One decode, with what is wrong with it.
pub(crate) fn step(
    task: &dyn Task,
    case: &Case,
    y: &[Symbol],
    faults: &[Fault],
    step: &Step,
) -> Map<String, Value> {
    let at = (step.attempt, step.iteration);
    let figures = [step.g, step.log_prob, step.distance];
    let mut row = row(task, case, at, y, faults, figures, step.passes);
    row.insert("milliseconds".to_owned(), milliseconds(step.elapsed));
    row
}

fn row(
    task: &dyn Task,
    case: &Case,
    (attempt, iteration): (usize, usize),
    y: &[Symbol],
    faults: &[Fault],
    figures: [f32; 3],
    passes: usize,
) -> Map<String, Value> {
    let [g, log_prob, distance] = figures.map(short);
    let mut row = Map::from_iter(
        [
            ("attempt", json!(attempt)),
            ("iteration", json!(iteration)),
            ("g", g),
            ("log_prob", log_prob),
            ("distance", distance),
            ("passes", json!(passes)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
    row.extend(task.record(case, y));
    if !faults.is_empty() {
        row.insert("faults".to_owned(), faults_json(faults));
    }
    row
}
