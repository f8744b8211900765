//! `cajole infer`: users' own lines through any checkpoint, under any rules.

use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;

use anyhow::{Context, bail};
use cajole_infer::AnyTask;
use cajole_infer::engine::Worker;
use cajole_infer::infer::{Inference, Tally};
use cajole_infer::sink::{Existing, Sink};
use cajole_infer::source::Source;
use cajole_infer::task::Task;
use cajole_tasks::experiment::Watch;
use serde_json::{Value, json};

use crate::args::Args;
use crate::args::infer::Infer;
use crate::ruled;
use crate::screen::{self, Screen};

pub(crate) fn run(what: &Infer, args: &Args) -> anyhow::Result<()> {
    match ruled::open(&what.ruled)? {
        AnyTask::Transduction(task) => infer(&task, what, args),
        AnyTask::Parsing(task) => infer(&task, what, args),
        AnyTask::Roles(task) => infer(&task, what, args),
        AnyTask::Pairs(task) => infer(&task, what, args),
    }
}

fn infer<T: Task>(task: &T, what: &Infer, args: &Args) -> anyhow::Result<()> {
    let rules = ruled::rules(&what.ruled, task)?;
    let inference = Inference {
        task,
        rules: rules.as_ref().map(|(_, rules)| rules),
        engine: ruled::engine(what.engine),
        config: ruled::config(&what.ruled, task)?,
        limits: ruled::limits(&what.ruled, task),
        strict: what.strict,
        times: !what.no_times,
        threads: rayon::current_num_threads(),
    };
    // All that can be wrong is found out before an output is begun, or begun anew.
    Worker::new(task, &inference.config, &inference.limits)?;
    let mut source = source(&what.input)?;
    let (mut sink, last) = sink(what, &about(&inference, what)?)?;
    source.skip_to(last).with_context(|| cannot_read(&what.input))?;
    let (screen, tally) = (Screen::new(), Tally::default());
    let is_watched = what.out.is_some() || !stdout().is_terminal();
    if is_watched && stderr().is_terminal() {
        screen.begin("lines", n_lines(&what.input)?);
    }
    let told = |error: Option<&cajole_infer::infer::InferError>| match error {
        Some(error) => screen.say(&format!("passed over: {error}")),
        None => screen.advance(last + Tally::get(&tally.lines), &note(&tally)),
    };
    let ended = inference.run(&mut source, &mut sink, &tally, &told);
    screen.end();
    ended?;
    sink.finish().context("cannot write the output")?;
    if let Some(out) = &what.out {
        tell(out, last, &tally, args)?;
    }
    match Tally::get(&tally.bad) {
        0 => Ok(()),
        n => bail!("{n} line{} could not be worked on; see above", if n == 1 { "" } else { "s" }),
    }
}

/// What a run is about: with anything else, its output must not be gone on with.
fn about<T: Task>(inference: &Inference<'_, T>, what: &Infer) -> anyhow::Result<Value> {
    let rules = match &what.ruled.constraint {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?,
        None => inference.task.usual_rules().unwrap_or_default().to_owned(),
    };
    Ok(json!({
        "input": what.input.display().to_string(),
        "input_bytes": std::fs::metadata(&what.input).map(|file| file.len()).ok(),
        "model": what.ruled.model,
        "weights": format!("{:016x}", cajole_infer::fingerprint(inference.task.model())),
        "rules": rules,
        "engine": inference.engine.name(),
        "gbi": inference.config,
        "limits": inference.limits,
        "times": inference.times,
    }))
}

fn sink(what: &Infer, about: &Value) -> anyhow::Result<(Sink, u64)> {
    let Some(path) = &what.out else { return Ok((Sink::of(stdout()), 0)) };
    if what.resume && is_stdin(&what.input) {
        bail!("what came from standard input cannot be read again: --resume needs a file");
    }
    if what.input.canonicalize().is_ok_and(|input| path.canonicalize().is_ok_and(|p| p == input)) {
        bail!("{} cannot be both the input and the output", path.display());
    }
    let existing = match (what.resume, what.overwrite) {
        (true, _) => Existing::Resume,
        (false, true) => Existing::Replace,
        (false, false) => Existing::Keep,
    };
    Ok(Sink::open(path, existing, about)?)
}

/// How many lines there are, as far as that can be known: only a file can be read twice.
fn n_lines(path: &Path) -> anyhow::Result<u64> {
    match path.is_file() {
        true => source(path)?.count().with_context(|| cannot_read(path)),
        false => Ok(0),
    }
}

pub(crate) fn source(path: &Path) -> anyhow::Result<Source> {
    let source = if is_stdin(path) { Source::stdin() } else { Source::open(path) };
    source.with_context(|| cannot_read(path))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// How it goes, in a few words.
fn note(tally: &Tally) -> String {
    let get = Tally::get;
    format!(
        "{} violated, {} of these converted",
        get(&tally.failures),
        share(get(&tally.converted), get(&tally.failures))
    )
}

fn share(n: u64, of: u64) -> String {
    if of == 0 { "–".to_owned() } else { format!("{:.2} %", 100.0 * n as f64 / of as f64) }
}

fn tell(out: &Path, last: u64, tally: &Tally, args: &Args) -> anyhow::Result<()> {
    let get = Tally::get;
    let (inputs, failures) = (get(&tally.inputs), get(&tally.failures));
    let converted = get(&tally.converted);
    if args.json {
        let summary = json!({
            "out": out.display().to_string(),
            "resumed_after_line": last,
            "lines": get(&tally.lines),
            "inputs": inputs,
            "failures": failures,
            "converted": converted,
            "timed_out": get(&tally.timed_out),
            "unmeasured": get(&tally.unmeasured),
            "bad_lines": get(&tally.bad),
        });
        return screen::print(&serde_json::to_string_pretty(&summary)?);
    }
    let resumed = match last {
        0 => String::new(),
        last => format!(" (gone on after line {last})"),
    };
    let mut text = format!(
        "{}: {inputs} inputs{resumed}. The network's own output violated the rules for {failures} \
         ({}); {converted} of these ({}) satisfy them now.",
        out.display(),
        share(failures, inputs),
        share(converted, failures)
    );
    for (n, what) in
        [(&tally.timed_out, "ran out of time"), (&tally.unmeasured, "could not be measured")]
    {
        if 0 < get(n) {
            text += &format!(" {} {what}.", get(n));
        }
    }
    screen::print(&text)
}
