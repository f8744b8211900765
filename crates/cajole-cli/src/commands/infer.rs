//! `cajole infer`: users' own lines through any checkpoint, under any rules.

use std::io::{IsTerminal, stderr, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cajole_infer::infer::{InferError, Tally};
use cajole_infer::run::Stream;
use cajole_infer::sink::Opened;
use cajole_tasks::Watch;
use serde_json::json;

use crate::Session;
use crate::asking::{self, Asking};
use crate::flags::Flags;
use crate::note::Noted;
use crate::output::Output;
use crate::screen::{self, Screen};
use crate::source::{cannot_read, check_bad, check_measured, open, warn_of_time};

/// Run your own lines through a network so that every output obeys your own rules
///
/// One input per line: text, or a JSON object with "input" ("tokens", "text" or "tree" for parsers
/// and taggers), and optionally an "id", the right "output", and a "constraint" of its own:
///
///     echo '{"id": 1, "input": "azbz"}' | cajole infer --constraint count.toml
///     {"line":1,"id":1,"output":"aaazb","status":"satisfied","g_before":0.0,...}
///
/// A constraint file is a few lines of TOML. A rule is a table with one of these keys:
///
///     arithmetic = 'count(out,"a") = 3*count(in,"a") and len(out) <= 2*len(in)'
///     pattern = "(aaa|zb)*"                 # a regular expression over characters
///     symbols = '("a" "a" "a" | "z" "b")*'  # the same over symbols
///     grammar = 'e = "x" | "(" e ")" ;'     # context-free; or grammar-file = "e.ebnf"
///     must-have = ["a"]                     # and must-not-have
///     shift-reduce = "full"                 # commands that build one tree
///     bio = true                            # and other rules about tags:
///     unique-roles = ["ARG0", "ARG1"]       # continuations, references = true,
///     spans-in-tree = "phrasal"             # "phrasal" or "all" nodes
///     consistent = true                     # the same string, the same label
///     valid = { roles = ["CARD"], checksum = "luhn" }
///     copies = { numbers = true }           # names, pattern, glossary: of the input
///     json-schema-file = "person.json"      # or json-schema = { type = "object" }
///     sql = { schema-file = "schema.sql" }  # parses, and names only what exists
///     checker = { command = ["python3", "check.py"] }
///     all = [{ ... }, { ... }]              # or any; a rule may have name and weight
///
/// Records come in the order of the lines. Each has the output, a status, g before and after, steps,
/// passes, and milliseconds. The status is one of:
///
///     satisfied    the output satisfies all rules
///     improved     it violates them less than the network's own output
///     unchanged    it is the network's own output, or no better
///     timed-out    time ran out (--deadline-ms); it is the least violating output seen
///     unmeasured   a rule could not be measured, for example because a checker crashed
///     failed       the network or a decoder failed
///     bad-line     the line cannot be read
///
/// An output that violates a rule has "faults", with positions and costs. Positions count from 0,
/// and "end" is the position after the last: {"start": 2, "end": 4} is the third and the fourth
/// symbol. Messages count in the same way.
///
/// A killed run resumes with --resume, and loses nothing.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Infer {
    /// Lines to answer; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(super) input: PathBuf,

    #[command(flatten)]
    pub(super) output: Output,

    #[command(flatten)]
    pub(super) asking: Asking,

    #[command(flatten)]
    pub(super) flags: Flags<true>,
}

/// The default network.
const DEFAULT: &str = "transducer";

pub(crate) fn run(what: &Infer, session: &Session) -> anyhow::Result<()> {
    let network = what.asking.open(session, DEFAULT)?;
    let file = what.asking.rule_file(&*network)?;
    let rules =
        file.as_ref().map(|file| asking::compile(file, network.vocabulary())).transpose()?;
    let run = what.flags.0.clone().over(what.asking.flags.0.clone());
    let settings = run.settings(&*network)?;
    // Find all errors before an output is created or replaced.
    network.check(&settings)?;
    let mut source = what.asking.source(&what.input)?;
    let out = what.output.file()?;
    let Opened { mut sink, last, tally } = match out {
        None => Opened::stream(stdout()),
        Some(out) => {
            let (asking, model) = (&what.asking, what.asking.model(DEFAULT));
            let note = Noted { model, asking, run, network: &*network, settings: &settings };
            let note = note.note(&what.input, file.as_ref())?;
            session.interrupt.cancels(&settings.cancel);
            session.interrupt.advise(&format!(
                ": {} is whole up to here, and the same command with --resume goes on",
                out.display()
            ));
            what.output.open(out, &what.input, &note)?
        }
    };
    source.skip_to(last).with_context(|| cannot_read(&what.input))?;
    let screen = Screen::new();
    let is_watched = out.is_some() || !stdout().is_terminal();
    if is_watched && stderr().is_terminal() {
        screen.begin("lines", n_lines(&what.input)?);
    }
    let told = |error: Option<&InferError>| match error {
        Some(error) => screen.say(&format!("passed over: {error}")),
        None => screen.advance(Tally::get(&tally.lines), &progress(&tally)),
    };
    let stream = Stream { source: &mut source, sink: &mut sink, tally: &tally, told: &told };
    let ended = network.infer(rules.as_ref(), &settings, stream);
    screen.end();
    ended?;
    sink.finish()?;
    match out {
        Some(out) => tell(out, last, &tally, session)?,
        None => warn_of_time(Tally::get(&tally.timed_out)),
    }
    check_measured(Tally::get(&tally.unmeasured))?;
    check_bad(Tally::get(&tally.bad), "worked on")
}

/// How many lines there are, as far as that can be known: only a file can be read twice.
fn n_lines(path: &Path) -> anyhow::Result<u64> {
    match path.is_file() {
        true => open(path)?.count().with_context(|| cannot_read(path)),
        false => Ok(0),
    }
}

/// The progress, in a few words.
fn progress(tally: &Tally) -> String {
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

fn tell(out: &Path, last: u64, tally: &Tally, session: &Session) -> anyhow::Result<()> {
    let get = Tally::get;
    let (inputs, failures) = (get(&tally.inputs), get(&tally.failures));
    let converted = get(&tally.converted);
    if session.json {
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
