//! `cajole explain`: the trace of single inputs.

use cajole_core::{Outcome, Symbol, Workspace};
use cajole_tasks::transduction::{Failures, Splits, Text, parse, trace_of, transduce};
use serde_json::{Value, json};

use crate::args::{Args, Explain};
use crate::model::Ready;
use crate::screen;

/// Failures shown when no input is given.
const SHOWN: usize = 3;

pub(crate) fn run(what: &Explain, args: &Args) -> anyhow::Result<()> {
    let ready = Ready::new(&what.cajoling)?;
    let inputs = match what.inputs.is_empty() {
        true => some_failures(&ready),
        false => what.inputs.iter().map(|text| parse(text)).collect::<Result<_, _>>()?,
    };
    let outcomes = ready.with_gbi(|gbi| {
        let mut workspace = Workspace::new(gbi.model, &gbi.config)?;
        let run = |x: &Vec<Symbol>| gbi.run(x, &mut workspace);
        anyhow::Ok(inputs.iter().map(run).collect::<Vec<Outcome>>())
    })?;
    if args.json {
        let all: Vec<Value> = inputs.iter().zip(&outcomes).map(|(x, y)| to_json(x, y)).collect();
        return screen::print(&serde_json::to_string_pretty(&all)?);
    }
    for (x, outcome) in inputs.iter().zip(&outcomes) {
        let case = trace_of(ready.kind.describe().to_owned(), x, outcome);
        screen::print(&case.to_text(screen::width(), screen::has_colour()))?;
        screen::print("")?;
    }
    Ok(())
}

/// The first, the middle and the last of the test inputs that the network gets wrong.
fn some_failures(ready: &Ready) -> Vec<Vec<Symbol>> {
    let splits = Splits::new(0);
    let failures = Failures::find(&ready.model, ready.kind, &splits.test);
    let every = failures.cases.len().div_ceil(SHOWN).max(1);
    failures.cases.iter().step_by(every).map(|(x, _)| x.to_vec()).collect()
}

fn to_json(x: &[Symbol], outcome: &Outcome) -> Value {
    let trace = &outcome.trace;
    let steps = trace.steps().iter().map(|step| {
        let mut value = serde_json::to_value(step).unwrap_or_default();
        value["output"] = json!(Text(trace.output(step)).to_string());
        value
    });
    json!({
        "input": Text(x).to_string(),
        "gold": Text(&transduce(x)).to_string(),
        "output": Text(&outcome.output).to_string(),
        "stop": outcome.stop,
        "satisfied": outcome.is_satisfied(),
        "g_before": outcome.g_before,
        "g_after": outcome.g_after,
        "steps": outcome.steps,
        "passes": outcome.passes,
        "trace": steps.collect::<Vec<_>>(),
    })
}
