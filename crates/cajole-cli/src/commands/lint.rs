//! `cajole lint`: what rules say about outputs that are known to be right.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use cajole_infer::compare::Options;
use cajole_infer::engine::Engine;
use cajole_infer::limits::{MAX_TOKENS, MOST_SHOWN};
use cajole_infer::line::{Line, LineError};
use cajole_infer::lint::{Gold, Lint as Linter, Look, Names};
use cajole_infer::task::Task;
use cajole_infer::{Run, Settings};
use cajole_report::Report;
use cajole_rules::{RuleText, Rules, Vocabulary};
use cajole_tasks::Watch;
use serde_json::Value;

use crate::Session;
use crate::asking;
use crate::range::within;
use crate::screen::{self, Screen};
use crate::source::{check_bad, lines, open};

/// Count how often right outputs violate a rule, before you insist on it
///
///     cajole lint rules/spans.toml ewt.dev.jsonl.gz --verbs
///     cajole lint copies.toml translations.jsonl --text
///     cajole lint rules/transduction.toml gold.jsonl --characters --model transducer
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Lint {
    /// The constraint file
    #[arg(value_name = "CONSTRAINT")]
    constraint: PathBuf,

    /// Files of JSON lines with right outputs: "output", "gold", or "srl" with "bio"
    #[arg(value_name = "GOLD", required = true)]
    files: Vec<PathBuf>,

    /// The field by whose values counts are grouped
    #[arg(long, value_name = "FIELD", default_value = "genre")]
    by: String,

    /// Leave out predicates that are not verbs
    #[arg(long)]
    verbs: bool,

    /// Every character of a text is a symbol; by default, every word is
    #[arg(long)]
    characters: bool,

    /// Outputs are text, as for networks that write pieces; by default, they are symbols
    #[arg(long, conflicts_with = "characters")]
    text: bool,

    /// Also make this network obey the rules on these lines, and warn if its outputs get worse
    ///
    /// A rule that right outputs satisfy may still say too little about what is right.
    #[arg(long, value_name = "NAME|FOLDER")]
    model: Option<String>,

    /// How many examples to show for each rule
    #[arg(long, value_name = "N", default_value = "3", value_parser = within(0, MOST_SHOWN))]
    examples: usize,
}

pub(crate) fn run(what: &Lint, session: &Session) -> anyhow::Result<()> {
    let separator = if what.characters { "" } else { " " };
    let split = Some(separator.to_owned()).filter(|_| !what.text);
    let look = Look { by: what.by.clone(), verbs: what.verbs, separator: split };
    let screen = Screen::new();
    let file = RuleText::read(&what.constraint)?;
    match what.text {
        true => file.compile(Vocabulary::bytes())?.try_programs()?,
        false => check_rules(&file, separator)?,
    }
    let network = what
        .model
        .as_ref()
        .map(|name| session.registry.open(name).with_context(|| format!("cannot load {name}")));
    let network = network.transpose()?;
    let obeying = network.as_deref().map(|network| Obeying::new(network, &file)).transpose()?;
    // Read twice: first to collect the symbols, then to apply the rules.
    for path in &what.files {
        let cannot = || format!("cannot read {}", path.display());
        if !path.metadata().with_context(cannot)?.is_file() {
            bail!("{} is no file, and cannot be read twice", path.display());
        }
    }
    let mut names = Names::default();
    let bad = each(what, &look, Some(&screen), |gold| {
        names.add(gold);
        Ok(())
    })?;
    let of_symbols;
    let vocabulary = match what.text {
        true => Vocabulary::bytes(),
        false => {
            of_symbols = names.with_rules(separator, |known| file.compile(known).map(drop));
            &of_symbols
        }
    };
    let rules = asking::compile(&file, vocabulary)?;
    let mut lint = Linter::new(&rules, vocabulary, what.examples);
    each(what, &look, None, |gold| {
        lint.add(gold)?;
        Ok(())
    })?;
    let report = lint.report(&what.constraint.display().to_string());
    let obeyed = obeying.as_ref().map(|obeying| obeying.on(&what.files, &screen));
    let obeyed = obeyed.transpose()?.unwrap_or_default();
    if session.json {
        let mut all: Value = serde_json::from_str(&report.to_json())?;
        if what.model.is_some() {
            let values =
                obeyed.iter().map(|report| serde_json::from_str::<Value>(&report.to_json()));
            all["obeyed"] = values.collect::<Result<Value, _>>()?;
        }
        screen::print(&serde_json::to_string_pretty(&all)?)?;
        return check_bad(bad as u64, "read");
    }
    for table in
        report.tables.iter().chain(obeyed.iter().filter_map(|report| report.tables.first()))
    {
        let text = table.to_text(screen::width(), screen::has_colour());
        screen::print(&format!("{text}\n"))?;
        screen::print("")?;
    }
    obeyed.iter().flat_map(|report| &report.notes).for_each(|note| screen::warn(note));
    check_bad(bad as u64, "read")
}

/// A network that must obey the rules.
struct Obeying<'a> {
    network: &'a dyn Task,
    rules: Arc<Rules>,
    rules_name: String,
    settings: Settings,
}

impl<'a> Obeying<'a> {
    fn new(network: &'a dyn Task, file: &RuleText) -> anyhow::Result<Self> {
        let rules = Arc::new(file.compile(network.vocabulary())?);
        let settings = Run::default().settings(network)?.by(Engine::gbi());
        Ok(Obeying { network, rules, rules_name: file.title.clone(), settings })
    }

    /// The effect on the outputs, file by file.
    fn on(&self, files: &[PathBuf], screen: &Screen) -> anyhow::Result<Vec<Report>> {
        let of = Options::new(&self.rules_name, [Engine::gbi()]);
        let of_file = |path: &PathBuf| {
            let (lines, _) = lines(open(path)?, None, MAX_TOKENS, screen)?;
            let (report, bad) =
                self.network.compare(Some(&self.rules), &self.settings, &of, &lines, screen)?;
            for (line, error) in bad {
                screen.say(&format!("passed over: {}:{line}: {error}", path.display()));
            }
            Ok(report)
        };
        files.iter().map(of_file).collect()
    }
}

/// Finds errors in the rules that do not depend on the data, and checkers that cannot run, before
/// all data is read for its symbols.
fn check_rules(file: &RuleText, separator: &str) -> anyhow::Result<()> {
    let own = Names::default().with_rules(separator, |known| file.compile(known).map(drop));
    match file.compile(&own) {
        Err(error) if !error.depends_on_vocabulary() => Err(error.into()),
        Err(_) => Ok(()),
        Ok(rules) => Ok(rules.try_programs()?),
    }
}

/// Calls `look` with every right output; returns how many lines are bad.
fn each(
    what: &Lint,
    look: &Look,
    told: Option<&Screen>,
    mut at: impl FnMut(&Gold) -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let mut bad = 0;
    for path in &what.files {
        let mut source = open(path)?;
        while let Some((number, text)) =
            source.line().with_context(|| format!("cannot read {}", path.display()))?
        {
            let line = text.map_err(LineError::from).and_then(|text| Line::parse(number, text));
            let golds = line.and_then(|line| line.map_or(Ok(Vec::new()), |line| look.golds(&line)));
            match golds {
                Ok(golds) => golds.iter().try_for_each(&mut at)?,
                Err(error) => {
                    bad += 1;
                    if let Some(screen) = told {
                        screen.say(&format!("passed over: {}:{number}: {error}", path.display()));
                    }
                }
            }
        }
    }
    Ok(bad)
}
