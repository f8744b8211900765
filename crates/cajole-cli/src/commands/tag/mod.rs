//! `cajole tag`: sentences in, the arguments of their predicates out, in order.

mod print;
mod trees;

use std::cell::Cell;
use std::io::stdout;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::{Located, text_of};
use cajole_infer::infer::{InferError, Tally};
use cajole_infer::limits::BYTES_IN_FLIGHT;
use cajole_infer::line::LineError;
use cajole_infer::record::Record;
use cajole_infer::run::Each;
use cajole_infer::sink::{Opened, Sink};
use cajole_infer::source::{Listed, Numbered, Source};
use cajole_infer::task::Task;
use cajole_infer::{Run, Settings};
use cajole_rules::{RuleText, Rules};
use cajole_tasks::srl::Query;
use cajole_treebank::read::is_columns;
use cajole_treebank::roles::conll2012;
use serde_json::json;

use self::print::Printer;
use self::trees::{Forest, Sentence, Trees};
use crate::Session;
use crate::asking::{self, Asking};
use crate::commands::explain::show_example;
use crate::note::Noted;
use crate::output::Output;
use crate::screen;
use crate::source::{self, cannot_read, check_bad, check_measured, files, only, warn_of_time};

/// Nudges before an output is left alone if its tree is predicted; chosen on development data.
const CAUTION: usize = 1;

/// Lines that are answered together: bounds memory, and keeps all cores busy.
const CHUNK: usize = 480;

/// Tag who did what to whom so that every argument is a phrase of its sentence
///
/// One sentence per line: plain text, or a JSON object with "tokens", "text" or a bracketed "tree":
///
///     echo "The dog chased the cat." | cajole tag
///     [ARG0 The dog] [V chased] [ARG1 the cat] .
///
///     {"tokens": ["Dogs", "bark"], "pos": ["NNS", "VBP"], "predicates": [1]}
///     {"tree": "(S (NP (NNS Dogs)) (VP (VBP bark)))", "id": "dogs/1"}
///
/// A file whose name ends in .conll or _conll is read as CoNLL-2012; any may be gzipped.
///
/// Each predicate is tagged by itself. A line may list its predicates: as "predicates", word
/// indices from 0, or as "srl", objects with "p", "lemma" and the right "bio", as in corpora.
/// Otherwise they are the words whose "pos" begins with V or, without tags, the words that were
/// predicates more often than not in training.
///
/// Arguments must be nodes of a tree. If the network's output has an argument that is not a node,
/// its weights are nudged, for this predicate alone, until all arguments are nodes; --explain shows
/// how. The tree is the input's, or else one that the built-in parser predicts, which may itself be
/// wrong: --trees says which trees to trust.
///
/// Answers come in the order of the lines, with a blank line after each sentence. A bad line is
/// reported and skipped, and the command fails at the end. With --json, records are those of
/// `cajole infer --model tagger`, one per sentence, and "tree_from" says where the tree is from:
/// input, file or parser. With --out, these records go to a file, and a killed run resumes with
/// --resume.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Tag {
    /// Files to tag; by default, standard input
    files: Vec<PathBuf>,

    #[command(flatten)]
    asking: Asking,

    #[command(flatten)]
    output: Output,

    /// The trees whose nodes arguments must be: auto, input, parser, none or a file
    ///
    /// auto: the input's trees, or the parser's if it has none;
    /// input: the input's trees, and a line without one is bad;
    /// parser: trees that the built-in parser predicts;
    /// none: arguments may be any words;
    /// FILE: a treebank (.ptb, .mrg, .trees, .jsonl, _conll) with a tree for each sentence of the
    /// input, in order.
    #[arg(long, value_name = "WHICH", default_value = "auto", verbatim_doc_comment)]
    trees: Trees,

    /// What counts as a node
    #[arg(long, value_enum, default_value_t = Nodes::All, conflicts_with = "constraint")]
    nodes: Nodes,

    /// The format of answers; --json is short for --format json
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Show every decode, and which arguments are not nodes; if nothing needs a repair, also an
    /// example
    #[arg(long)]
    explain: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Nodes {
    /// Phrases only, as the paper reads it; then no modal, negation or other bare word is an argument
    Phrasal,
    /// Phrases, and every word by itself, since bare words are arguments in most corpora and predicted
    /// trees lack small phrases
    All,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// [ARG0 The dog] [V chased] [ARG1 the cat] . -- a line for each predicate
    Text,
    /// One word per row, with a BIO tag for each predicate
    Bio,
    /// The records of `cajole infer`, one per sentence
    Json,
    /// The rows of CoNLL-2012
    Conll,
    /// The rows of CoNLL-2005, as cajole srl-eval reads them
    Props,
}

pub(crate) fn run(what: &Tag, session: &Session) -> anyhow::Result<()> {
    let format = format(what, session)?;
    let network = what.asking.open_for(session, "tagger", "srl")?;
    let file = rule_file(what, &*network)?;
    let rules = asking::compile(&file, network.vocabulary())?;
    let settings = what.asking.settings(&*network)?.traces(what.explain);
    let job = Job {
        network: &network,
        rules: &rules,
        predicted: settings.clone().patient(what.asking.flags.0.patience.unwrap_or(CAUTION)),
        given: settings,
        unmeasured: Cell::new(0),
        timed_out: Cell::new(0),
        is_repaired: Cell::new(false),
    };
    let mut forest = Forest::new(&what.trees, session)?;
    let printer =
        Printer { vocabulary: network.vocabulary(), format, several: 1 < what.files.len() };
    let Opened { mut sink, last, tally } = output(what, session, &job, &file)?;
    let mut bad = Tally::get(&tally.bad);
    job.unmeasured.set(Tally::get(&tally.unmeasured));
    job.timed_out.set(Tally::get(&tally.timed_out));
    let mut answer = |name: &str, some: Vec<Read>| {
        let (done, some): (Vec<Read>, Vec<Read>) = some.into_iter().partition(|r| r.line <= last);
        // A file of trees has one for every sentence, even for those that are already answered.
        done.into_iter().for_each(|read| drop(forest.next(read)));
        bad += job.some(name, some, &mut forest, (&printer, &mut sink))?;
        anyhow::Ok(())
    };
    let most = what.asking.flags.0.max_tokens();
    for path in files(&what.files) {
        match is_columns(path) {
            true => columns(path, most, &mut answer)?,
            false => lines(what.asking.source(path)?, most, &mut answer)?,
        }
    }
    forest.finish()?;
    sink.finish()?;
    let is_shown = what.output.file()?.is_none() && format == Format::Text;
    if what.explain && is_shown && !job.is_repaired.get() {
        show_example(&network, "tagger", Some(&rules), &job.given)?;
    }
    warn_of_time(job.timed_out.get());
    check_measured(job.unmeasured.get())?;
    check_bad(bad, "tagged")
}

/// Where answers go.
fn output(what: &Tag, session: &Session, job: &Job<'_>, file: &RuleText) -> anyhow::Result<Opened> {
    let Some(out) = what.output.file()? else { return Ok(Opened::stream(stdout())) };
    let (input, asking) = (only(&what.files)?, &what.asking);
    // The lines are opened later.
    drop(source::open(input)?);
    let noted = Noted {
        model: asking.model("tagger"),
        asking,
        run: Run { trace: Some(what.explain), ..asking.flags.0.clone() },
        network: &**job.network,
        settings: &job.given,
    };
    let mut note = noted.note(input, Some(file))?;
    note["trees"] = json!(format!("{:?}", what.trees));
    // All settings of a run share one cancel flag.
    session.interrupt.cancels(&job.given.cancel);
    session.interrupt.advise(&format!(
        ": {} is whole up to here, and the same command with --resume goes on",
        out.display()
    ));
    what.output.open(out, input, &note)
}

fn format(what: &Tag, session: &Session) -> anyhow::Result<Format> {
    let is_filed = what.output.file()?.is_some();
    let format = match (what.format, session.json) {
        (Some(Format::Json) | None, true) => Format::Json,
        (Some(_), true) => bail!("--json is a format of its own, and another is given"),
        (Some(Format::Json) | None, false) if is_filed => Format::Json,
        (Some(_), false) if is_filed => {
            bail!("--out takes records as JSON only, and another format is given")
        }
        (format, false) => format.unwrap_or(Format::Text),
    };
    match format {
        Format::Text | Format::Json => Ok(format),
        _ if what.explain => bail!("--explain goes with the formats text and json only"),
        _ => Ok(format),
    }
}

/// The rules: a constraint file, or that arguments must be nodes.
fn rule_file(what: &Tag, network: &dyn Task) -> anyhow::Result<RuleText> {
    let usual = what.asking.rule_file(network)?;
    match (usual, what.nodes) {
        (Some(rules), _) if what.asking.constraint.is_some() => Ok(rules),
        (_, nodes) => {
            let nodes = if nodes == Nodes::Phrasal { "phrasal" } else { "all" };
            let text = format!("name = \"arguments are nodes\"\nspans-in-tree = {nodes:?}\n");
            Ok(RuleText::new("arguments are nodes", text))
        }
    }
}

/// A sentence as it was read, or why it is bad: its line, the text, and the parsed text.
struct Read {
    line: u64,
    text: Result<String, LineError>,
    query: Option<Query>,
}

/// A sentence of at most `most` tokens. A bad line gets an answer, too: its record says why.
fn sentence(line: u64, text: Result<String, LineError>, most: usize) -> Read {
    let query = text.as_ref().ok().and_then(|text| Query::parse(text).ok().flatten());
    short(Read { line, text, query }, most)
}

/// The same sentence, unless it has too many tokens.
fn short(read: Read, most: usize) -> Read {
    match &read.query {
        Some(query) if most < query.tokens.len() => {
            Read { text: Err(LineError::TooLong { most }), query: None, ..read }
        }
        _ => read,
    }
}

/// Passes on all lines of a source, some at a time. Blank lines are not sentences.
fn lines(
    mut source: Source,
    most: usize,
    answer: &mut dyn FnMut(&str, Vec<Read>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = source.name.clone();
    loop {
        let (mut some, mut bytes) = (Vec::new(), 0);
        // A user who types wants an answer to every line.
        while some.len() < CHUNK
            && bytes < BYTES_IN_FLIGHT
            && (some.is_empty() || source.has_line())
        {
            let next = source.line().with_context(|| format!("cannot read {name}"))?;
            let Some((line, text)) = next else { break };
            let text = text.map_err(LineError::from);
            if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                continue;
            }
            bytes += text.as_ref().map_or(0, String::len);
            some.push(sentence(line, text, most));
        }
        if some.is_empty() {
            return Ok(());
        }
        answer(&name, some)?;
    }
}

/// Passes on all sentences of a CoNLL-2012 file, some at a time.
fn columns(
    path: &Path,
    most: usize,
    answer: &mut dyn FnMut(&str, Vec<Read>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let text = text_of(path, MOST_CORPUS_BYTES).with_context(|| cannot_read(path))?;
    let mut sentences = conll2012::sentences(&text).map(|found| match found {
        Ok(Located { line, item }) => {
            let query = Query::from(item);
            let text = Ok(trees::line_of(&query));
            short(Read { line: line as u64, text, query: Some(query) }, most)
        }
        Err(error) => {
            let text = Err(LineError::other(error.fault));
            Read { line: error.line as u64, text, query: None }
        }
    });
    loop {
        let some: Vec<Read> = sentences.by_ref().take(CHUNK).collect();
        if some.is_empty() {
            return Ok(());
        }
        answer(&path.display().to_string(), some)?;
    }
}

struct Job<'a> {
    network: &'a cajole_infer::Opened,
    rules: &'a Arc<Rules>,
    /// Settings for sentences with given trees.
    given: Settings,
    /// Settings for predicted trees, which are trusted less.
    predicted: Settings,
    /// Inputs so far whose rules could not be measured.
    unmeasured: Cell<u64>,
    /// Inputs so far that ran out of time.
    timed_out: Cell<u64>,
    /// Whether any output violated the rules at first.
    is_repaired: Cell<bool>,
}

impl Job<'_> {
    /// Tags a few sentences and prints what is found; returns how many are bad.
    fn some(
        &self,
        name: &str,
        some: Vec<Read>,
        forest: &mut Forest<'_>,
        (printer, sink): (&Printer<'_>, &mut Sink),
    ) -> anyhow::Result<u64> {
        let mut sentences: Vec<Sentence> = some.into_iter().map(|read| forest.next(read)).collect();
        forest.grow(&mut sentences)?;
        let (mut records, mut bad) = (Vec::new(), 0);
        for (is_predicted, settings) in [(false, &self.given), (true, &self.predicted)] {
            let lines = sentences.iter_mut().filter(|s| s.is_predicted == is_predicted);
            let lines = lines.map(|s| -> Numbered<LineError> { (s.line, s.take_text()) });
            let mut source = Listed { name: name.to_owned(), lines: lines.collect() };
            let tally = Tally::default();
            let mut put = |some: Vec<Record>| {
                records.extend(some);
                Ok(())
            };
            let told = |error: Option<&InferError>| error.into_iter().for_each(screen::complain_of);
            let each = Each { source: &mut source, put: &mut put, tally: &tally, told: &told };
            self.network.infer_each(Some(self.rules), settings, each)?;
            bad += Tally::get(&tally.bad);
            self.unmeasured.set(self.unmeasured.get() + Tally::get(&tally.unmeasured));
            self.timed_out.set(self.timed_out.get() + Tally::get(&tally.timed_out));
        }
        records.sort_by_key(|record| record.line);
        let mut answers = records.iter().flat_map(|record| record.answers.iter().flatten());
        let is_repaired = answers.any(|answer| answer.answer.g_before != 0.0);
        self.is_repaired.set(self.is_repaired.get() || is_repaired);
        for (sentence, record) in sentences.into_iter().zip(&records) {
            match printer.show(name, sentence, record) {
                Ok(Some(text)) => {
                    sink.write(format!("{}\n", text.trim_end_matches('\n')).as_bytes())?;
                }
                Ok(None) => continue,
                Err(fault) => {
                    let line = record.line;
                    screen::complain(&anyhow::Error::from(fault).context(format!("{name}:{line}")));
                    bad += 1;
                    continue;
                }
            }
            if printer.format != Format::Json {
                sink.write(b"\n")?; // sentences take several lines: a blank one after each
            }
        }
        Ok(bad)
    }
}
