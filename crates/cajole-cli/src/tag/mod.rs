//! `cajole tag`: sentences in, the arguments of their predicates out, in order.

mod print;
mod trees;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use cajole_core::{Config, Gbi, Outcome};
use cajole_nn::decoders::{Exact, Tagged};
use cajole_tasks::srl::input::is_columns;
use cajole_tasks::srl::{
    Instance, Noise, Query, Reading, RoleTagger, Sentence, conll2012, tagger as checkpoint,
};
use cajole_tasks::treebank::Located;
use cajole_tasks::treebank::read::text_of;

use self::print::Printer;
use self::trees::{Forest, PARSER};
use crate::args::{Args, Data, Format, Nodes, Preset, Tag};
use crate::lines::Lines;
use crate::screen;
use crate::train::srl_config;

/// Nudges before an output is let be where the tree is predicted, chosen on development data.
const CAUTION: usize = 1;

pub(crate) fn run(what: &Tag, args: &Args) -> anyhow::Result<()> {
    let format = format(what, args)?;
    let tagger = load(what.model.as_deref())?;
    let presets = srl_config(&what.settings, &Data { folder: None, quick: false })?.gbi;
    let mut config = match what.preset {
        Preset::Paper => presets.paper,
        Preset::Best => presets.best,
    };
    config.deadline.get_or_insert(Duration::from_secs(what.deadline));
    let reading = match what.nodes {
        Nodes::Phrasal => Reading::Phrasal,
        Nodes::All => Reading::All,
    };
    let forest = Forest::new(&what.trees)?;
    let printer = Printer { tagger: &tagger, format, explain: what.explain };
    let patience = what.patience;
    let mut job = Job { tagger: &tagger, config, patience, reading, forest, printer, bad: 0 };
    if what.files.is_empty() {
        job.lines(Lines::typed())?;
    }
    for path in &what.files {
        match is_columns(path) {
            true => job.columns(path)?,
            false => job.lines(Lines::of(path)?)?,
        }
    }
    job.forest.finish()?;
    match job.bad {
        0 => Ok(()),
        1 => bail!("1 line could not be tagged; see above"),
        n => bail!("{n} lines could not be tagged; see above"),
    }
}

fn load(folder: Option<&Path>) -> anyhow::Result<RoleTagger> {
    let Some(folder) = folder else { return Ok(checkpoint::built_in()) };
    let loaded = checkpoint::load(folder);
    Ok(loaded.with_context(|| format!("cannot load the tagger in {}", folder.display()))?.0)
}

fn format(what: &Tag, args: &Args) -> anyhow::Result<Format> {
    let format = match (what.format, args.json) {
        (Some(Format::Json) | None, true) => Format::Json,
        (Some(_), true) => bail!("--json is a format of its own, and another is given"),
        (format, false) => format.unwrap_or(Format::Text),
    };
    match format {
        Format::Text | Format::Json => Ok(format),
        _ if what.explain => bail!("--explain goes with the formats text and json only"),
        _ => Ok(format),
    }
}

/// A sentence whose predicates are to be tagged.
struct Asked {
    /// Where it was read.
    source: String,
    /// Its line there, from 1.
    line: usize,
    /// With a proposition for each predicate.
    sentence: Sentence,
    /// Whose tree the sentence has, if arguments are to be its nodes.
    tree_of: Option<&'static str>,
}

/// What was found for one predicate.
struct Found {
    x: Instance,
    outcome: Outcome,
}

struct Job<'a> {
    tagger: &'a RoleTagger,
    config: Config,
    /// Nudges before an output is let be; by default it depends on whose tree it is.
    patience: Option<usize>,
    reading: Reading,
    forest: Forest,
    printer: Printer<'a>,
    /// Lines that could not be tagged.
    bad: usize,
}

/// A line with the sentence that it holds; none, if it is blank.
type Read = (usize, anyhow::Result<Option<Query>>);

impl Job<'_> {
    /// Tags every line.
    fn lines(&mut self, mut lines: Lines) -> anyhow::Result<()> {
        loop {
            let some = lines.some()?;
            if some.is_empty() {
                return Ok(());
            }
            let query = |line: anyhow::Result<String>| Ok(Query::parse(&line?)?);
            let queries = some.into_iter().map(|(number, line)| (number, query(line)));
            self.some(&lines.name, queries)?;
        }
    }

    /// Tags every sentence of a CoNLL-2012 file.
    fn columns(&mut self, path: &Path) -> anyhow::Result<()> {
        let name = path.display().to_string();
        let text = text_of(path).with_context(|| format!("cannot read {name}"))?;
        let mut sentences = conll2012::sentences(&text).map(|found| match found {
            Ok(Located { line, item }) => (line, Ok(Some(Query::from(item)))),
            Err(error) => (error.line, Err(error.fault.into())),
        });
        loop {
            let some: Vec<Read> = sentences.by_ref().take(Lines::CHUNK).collect();
            if some.is_empty() {
                return Ok(());
            }
            self.some(&name, some)?;
        }
    }

    /// Tags a few sentences on all cores, and prints what is found.
    fn some(&mut self, name: &str, queries: impl IntoIterator<Item = Read>) -> anyhow::Result<()> {
        let mut asked = Vec::new();
        for (line, query) in queries {
            match query.transpose().map(|query| self.ask(name, line, query)) {
                None => {}
                Some(Ok(sentence)) => asked.push(sentence),
                Some(Err(error)) => self.complain(error, name, line),
            }
        }
        self.forest.grow(&mut asked);
        let mut found = self.tag(&asked)?.into_iter();
        for asked in &asked {
            let found: Vec<Found> =
                found.by_ref().take(asked.sentence.propositions.len()).collect();
            match self.printer.show(asked, &found) {
                Ok(text) => screen::print(&text)?,
                Err(fault) => {
                    self.complain(fault.into(), &asked.source, asked.line);
                    continue;
                }
            }
            if self.printer.format != Format::Json {
                screen::print("")?; // sentences take several lines: a blank one after each
            }
        }
        Ok(())
    }

    fn complain(&mut self, error: anyhow::Error, name: &str, line: usize) {
        screen::complain(&error.context(format!("{name}:{line}")));
        self.bad += 1;
    }

    fn ask(
        &mut self,
        name: &str,
        line: usize,
        query: anyhow::Result<Query>,
    ) -> anyhow::Result<Asked> {
        let given = self.forest.next(query.as_ref().ok());
        let mut sentence = query?.asked(&self.tagger.vocabulary)?;
        let tree_of = given?.map(|(tree, whose)| {
            sentence.tree = Some(tree);
            whose
        });
        Ok(Asked { source: name.to_owned(), line, sentence, tree_of })
    }

    /// Every predicate of these sentences, in order.
    fn tag(&self, asked: &[Asked]) -> anyhow::Result<Vec<Found>> {
        let mut found = Vec::new();
        // Trees that are given and predicted ones are not trusted alike.
        for is_predicted in [false, true] {
            let mut instances = Vec::new();
            for (i, Asked { sentence, tree_of, .. }) in asked.iter().enumerate() {
                if (*tree_of == Some(PARSER)) != is_predicted {
                    continue;
                }
                instances.extend(sentence.propositions.iter().map(|proposition| {
                    let x = Instance::new(self.tagger, sentence, proposition);
                    match tree_of.and(sentence.tree.as_ref()) {
                        Some(tree) => (i, x.within(tree, self.reading, Noise::Noisy)),
                        None => (i, x),
                    }
                }));
            }
            let patience = self.patience.or(is_predicted.then_some(CAUTION));
            let outcomes = self.cajole(&instances, patience)?;
            let outcomes = instances.into_iter().zip(outcomes);
            found.extend(outcomes.map(|((i, x), outcome)| (i, Found { x, outcome })));
        }
        found.sort_by_key(|(i, _)| *i); // a stable sort: predicates of a sentence stay in order
        Ok(found.into_iter().map(|(_, found)| found).collect())
    }

    /// Gradient-based inference with so many nudges at most.
    fn cajole(
        &self,
        instances: &[(usize, Instance)],
        patience: Option<usize>,
    ) -> anyhow::Result<Vec<Outcome>> {
        let mut config = self.config.clone();
        if let Some(nudges) = patience {
            config.schedule.max_steps = nudges;
            config.restarts.clear();
        }
        let (model, constraint) = (&self.tagger.model, &self.tagger.constraint());
        let search = Exact { free: &constraint.free };
        let exact = Tagged { tags: &self.tagger.vocabulary.tags, search };
        let (decoder, sources) = (&self.tagger.viterbi(), vec![&exact as _]);
        let gbi = Gbi { model, decoder, constraint, sources, config };
        let xs: Vec<&Instance> = instances.iter().map(|(_, x)| x).collect();
        Ok(gbi.run_all(&xs, |_, _| {})?)
    }
}
