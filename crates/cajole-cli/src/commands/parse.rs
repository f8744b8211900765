//! `cajole parse`: sentences in, trees out, one for each line, in order.

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;

use cajole_infer::Run;
use cajole_infer::engine::Engine;
use cajole_infer::infer::{InferError, Tally};
use cajole_infer::record::{Answered, Record};
use cajole_infer::run::Each;
use cajole_infer::source::Source;
use cajole_treebank::{Pretty, penn};
use serde_json::{Value, json};

use super::explain::show_example;
use super::infer::{self, Infer};
use crate::Session;
use crate::asking::{self, Asking};
use crate::flags::Flags;
use crate::output::Output;
use crate::screen;
use crate::source::{check_bad, check_measured, files, only, warn_of_time};

/// Parse sentences; every output is a tree over its sentence
///
/// One sentence a line: plain text, or a JSON object with "tokens" (and "pos", "tree") or "text".
///
/// A tree comes out for every line, in order; a blank line for a blank or a bad one, which is
/// reported and skipped. Trees are drawn on a terminal and written in brackets elsewhere. With
/// --json, records are those of `cajole infer --model parser`; a blank line then has none. With
/// --out, these records go to a file, and a killed run resumes with --resume.
#[derive(clap::Args, Debug)]
pub(crate) struct Parse {
    /// Files to parse; by default, standard input
    files: Vec<PathBuf>,

    #[command(flatten)]
    asking: Asking,

    #[command(flatten)]
    output: Output,

    /// Show every decode, and why it is not a tree; if nothing needs a repair, also an example
    #[arg(long)]
    explain: bool,

    /// Draw trees even if the output is not a terminal
    #[arg(long)]
    pretty: bool,
}

pub(crate) fn run(what: &Parse, session: &Session) -> anyhow::Result<()> {
    let network = what.asking.open_for(session, "parser", "parsing")?;
    if what.output.file()?.is_some() {
        return infer::run(&to_file(what)?, session);
    }
    let file = what.asking.rule_file(&*network)?;
    let rules =
        file.as_ref().map(|file| asking::compile(file, network.vocabulary())).transpose()?;
    let settings = what.asking.settings(&*network)?.traces(what.explain);
    let (mut bad, mut unmeasured, mut timed_out) = (0, 0, 0);
    let mut is_repaired = false;
    for path in files(&what.files) {
        let mut source = what.asking.source(path)?;
        let mut printer = Printer::new(what, &source, session);
        let tally = Tally::default();
        let mut put = |records: Vec<Record>| records.iter().try_for_each(|r| printer.print(r));
        let told = |error: Option<&InferError>| error.into_iter().for_each(screen::complain_of);
        let each = Each { source: &mut source, put: &mut put, tally: &tally, told: &told };
        network.infer_each(rules.as_ref(), &settings, each)?;
        is_repaired |= printer.is_repaired;
        printer.blanks(Tally::get(&tally.lines) + 1)?;
        bad += Tally::get(&tally.bad);
        unmeasured += Tally::get(&tally.unmeasured);
        timed_out += Tally::get(&tally.timed_out);
    }
    if what.explain && !session.json && !is_repaired {
        show_example(&network, "parser", rules.as_ref(), &settings)?;
    }
    warn_of_time(timed_out);
    check_measured(unmeasured)?;
    check_bad(bad, "parsed")
}

/// The same as a run of `cajole infer`, which writes records to a file.
fn to_file(what: &Parse) -> anyhow::Result<Infer> {
    Ok(Infer {
        input: only(&what.files)?.to_owned(),
        output: what.output.clone(),
        asking: what.asking.clone().or_model("parser"),
        flags: Flags(Run {
            engine: Some(Engine::gbi()),
            trace: Some(what.explain),
            times: Some(false),
            ..Run::default()
        }),
    })
}

/// Prints the records of one source.
struct Printer<'a> {
    what: &'a Parse,
    json: bool,
    /// The source, if there are several.
    source: Option<String>,
    /// The last line that was printed.
    line: u64,
    /// Whether any output was not a tree at first.
    is_repaired: bool,
}

impl<'a> Printer<'a> {
    fn new(what: &'a Parse, source: &Source, session: &Session) -> Self {
        let source = (1 < what.files.len()).then(|| source.name.clone());
        Printer { what, json: session.json, source, line: 0, is_repaired: false }
    }

    fn print(&mut self, record: &Record) -> Result<(), InferError> {
        self.blanks(record.line)?;
        self.line = record.line;
        let mut answers = record.answers.iter().flatten();
        self.is_repaired |= answers.any(|answer| answer.answer.g_before != 0.0);
        if self.json {
            return screen::write(&with_source(record, self.source.as_deref()));
        }
        match record.answers.as_ref().ok().and_then(|answers| answers.first()) {
            Some(answer) => self.tree(answer),
            None => screen::write(""),
        }
    }

    /// A blank line for every blank line before this one.
    fn blanks(&self, before: u64) -> Result<(), InferError> {
        let n = if self.json { 0 } else { before.saturating_sub(self.line + 1) };
        (0..n).try_for_each(|_| screen::write(""))
    }

    fn tree(&self, answer: &Answered) -> Result<(), InferError> {
        let (width, colour) = (screen::width(), screen::has_colour());
        if let Some(trace) = &answer.trace {
            let mut study = trace.study.clone();
            study.title = "commands, step by step".to_owned();
            screen::write(&study.to_text(width, colour))?;
        }
        let text = answer.fields.get("tree").and_then(Value::as_str).unwrap_or_default();
        let is_drawn = stdout().is_terminal() || self.what.pretty;
        match penn::parse_tree(text).ok().filter(|_| is_drawn) {
            Some(tree) => {
                screen::write(&Pretty { width, colour, tags: false }.draw(&tree))?;
                screen::write("") // trees take several lines: a blank one between them
            }
            None => screen::write(text),
        }
    }
}

/// A record as a line of JSON. If there are several sources, it names its own.
pub(super) fn with_source(record: &Record, source: Option<&str>) -> String {
    let mut line = record.to_line(false);
    // Written as text: values would round an "id" of many digits.
    if let Some(source) = source
        && line.pop() == Some('}')
    {
        line += &format!(",\"source\":{}}}", json!(source));
    }
    line
}
