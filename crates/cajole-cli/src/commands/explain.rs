//! `cajole explain`: how single inputs are repaired, step by step.

use std::sync::Arc;

use anyhow::bail;
use cajole_core::Symbol;
use cajole_infer::engine::Engine;
use cajole_infer::infer::Tally;
use cajole_infer::line::LineError;
use cajole_infer::run::Each;
use cajole_infer::source::{Listed, Numbered};
use cajole_infer::{Opened, Settings};
use cajole_rules::Rules;
use cajole_serve::examples;
use cajole_tasks::transduction::{Splits, Text, parse, transduce};
use serde_json::{Value, json};

use crate::Session;
use crate::asking::{self, Asking};
use crate::screen;
use crate::source::{check_bad, check_measured, warn_of_time};

/// Watch gradient-based inference repair single inputs, step by step
///
/// Works for every network, with inputs as `cajole infer` reads them:
///
///     cajole explain azbzbzaz
///     cajole explain --model tagger "The dog chased the cat."
///     cajole explain --model parser '{"tokens": ["Dogs", "bark"]}'
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Explain {
    /// Inputs: text or JSON objects; without any, a few that the transducer gets wrong
    inputs: Vec<String>,

    #[command(flatten)]
    asking: Asking,
}

/// Failures shown when no input is given.
const SHOWN: usize = 3;

pub(crate) fn run(what: &Explain, session: &Session) -> anyhow::Result<()> {
    let network = what.asking.open(session, "transducer")?;
    let file = what.asking.rule_file(&*network)?;
    let rules =
        file.as_ref().map(|file| asking::compile(file, network.vocabulary())).transpose()?;
    let settings = what.asking.settings(&*network)?;
    let is_transducer = network.name() == "transduction";
    let inputs = match (what.inputs.is_empty(), is_transducer) {
        (false, true) => what.inputs.iter().map(|text| with_right_output(text)).collect(),
        (false, false) => what.inputs.clone(),
        (true, true) => some_failures(&network, rules.as_ref(), &settings)?,
        (true, false) => bail!("give the inputs to explain, such as \"The dog barked.\""),
    };
    let title = file.map_or_else(|| "its own rules".to_owned(), |file| file.title);
    let print = |text: &str| screen::write(text);
    let mut lines = listed(&inputs);
    let tally = Tally::default();
    let told = |error: Option<&_>| {
        if let Some(error) = error {
            screen::complain_of(error);
        }
    };
    let settings = settings.traces(true);
    let mut put = |records: Vec<cajole_infer::record::Record>| {
        for record in records {
            if session.json {
                print(&record.to_line(true))?;
                continue;
            }
            for answer in record.answers.iter().flatten() {
                let Some(trace) = &answer.trace else { continue };
                let mut study = trace.study.clone();
                study.title.clone_from(&title);
                print(&study.to_text(screen::width(), screen::has_colour()))?;
                print("")?;
            }
        }
        Ok(())
    };
    let each = Each { source: &mut lines, put: &mut put, tally: &tally, told: &told };
    network.infer_each(rules.as_ref(), &settings, each)?;
    warn_of_time(Tally::get(&tally.timed_out));
    check_measured(Tally::get(&tally.unmeasured))?;
    check_bad(Tally::get(&tally.bad), "explained")
}

fn listed(inputs: &[String]) -> Listed {
    let lines = (1..).zip(inputs).map(|(i, text)| -> Numbered<LineError> { (i, Ok(text.clone())) });
    Listed { name: "input".to_owned(), lines: lines.collect() }
}

/// Shows a repair if there was none to explain: the first built-in example of the network called
/// `built_in` whose output this network gets wrong.
pub(super) fn show_example(
    network: &Opened,
    built_in: &str,
    rules: Option<&Arc<Rules>>,
    settings: &Settings,
) -> anyhow::Result<()> {
    let inputs: Vec<String> = examples::of(built_in)
        .iter()
        .filter_map(|example| match example.get("input")? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
        .collect();
    let mut studies = Vec::new();
    let mut put = |records: Vec<cajole_infer::record::Record>| {
        for answer in records.iter().flat_map(|record| record.answers.iter().flatten()) {
            let failing = answer.trace.as_ref().filter(|_| answer.answer.g_before != 0.0);
            studies.extend(failing.map(|trace| trace.study.clone()));
        }
        Ok(())
    };
    let settings = settings.clone().traces(true);
    let tally = Tally::default();
    let mut lines = listed(&inputs);
    let each = Each { source: &mut lines, put: &mut put, tally: &tally, told: &|_| {} };
    network.infer_each(rules, &settings, each)?;
    let Some(mut study) = studies.into_iter().next() else {
        return screen::print("\nNothing here needs a repair, nor does any built-in example.");
    };
    study.title = "a built-in example that does".to_owned();
    screen::print("\nNothing here needs a repair. To show one:\n")?;
    screen::print(&study.to_text(screen::width(), screen::has_colour()))
}

/// An input of the transducer, with what should come out if that is known.
pub(super) fn with_right_output(text: &str) -> String {
    match parse(text) {
        Ok(x) => line_of(&x),
        Err(_) => text.to_owned(),
    }
}

/// An input of the transducer with its right output, as a line.
pub(super) fn line_of(x: &[Symbol]) -> String {
    let (input, output) = (Text(x).to_string(), Text(&transduce(x)).to_string());
    json!({"input": input, "output": output}).to_string()
}

/// The first, the middle and the last of the test inputs that the transducer gets wrong.
fn some_failures(
    network: &Opened,
    rules: Option<&Arc<Rules>>,
    settings: &Settings,
) -> anyhow::Result<Vec<String>> {
    let inputs: Vec<String> = Splits::new(0).test.iter().map(|x| line_of(x)).collect();
    let settings = settings.clone().by(Engine::network());
    let mut failing = Vec::new();
    let mut put = |records: Vec<cajole_infer::record::Record>| {
        for record in records {
            let is_failing = record.answers.iter().flatten().any(|a| a.answer.g_before != 0.0);
            failing.extend(is_failing.then(|| inputs[record.line as usize - 1].clone()));
        }
        Ok(())
    };
    let tally = Tally::default();
    let mut lines = listed(&inputs);
    let each = Each { source: &mut lines, put: &mut put, tally: &tally, told: &|_| {} };
    network.infer_each(rules, &settings, each)?;
    let every = failing.len().div_ceil(SHOWN).max(1);
    Ok(failing.into_iter().step_by(every).collect())
}
