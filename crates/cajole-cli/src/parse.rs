//! `cajole parse`: sentences in, trees out, one for each line, in order.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use anyhow::{Context, bail};
use cajole_core::{Decoder, Gbi, Outcome};
use cajole_nn::decoders::MaskedBeam;
use cajole_nn::models::Token;
use cajole_tasks::parsing::input::Sentence;
use cajole_tasks::parsing::methods::decoder;
use cajole_tasks::parsing::{Net, Parser, ParsingConfig, parser, trace_of};
use cajole_tasks::treebank::Pretty;
use serde_json::json;

use crate::args::{Args, Data, Parse, Preset};
use crate::lines::Lines;
use crate::screen;
use crate::train::parsing_config;

pub(crate) fn run(what: &Parse, args: &Args) -> anyhow::Result<()> {
    let parser = match &what.model {
        Some(folder) => {
            let loaded = parser::load(folder);
            loaded.with_context(|| format!("cannot load the parser in {}", folder.display()))?.0
        }
        None => parser::built_in(),
    };
    let data = Data { folder: None, quick: false };
    let config = parsing_config(&what.settings, &data)?;
    let job = Job { what, args, parser: &parser, config: &config };
    let mut bad = 0;
    match what.files.is_empty() {
        true => bad += job.lines(Lines::typed())?,
        false => {
            for path in &what.files {
                bad += job.lines(Lines::of(path)?)?;
            }
        }
    }
    match bad {
        0 => Ok(()),
        n => bail!("{n} line{} could not be parsed; see above", if n == 1 { "" } else { "s" }),
    }
}

struct Job<'a> {
    what: &'a Parse,
    args: &'a Args,
    parser: &'a Parser,
    config: &'a ParsingConfig,
}

impl Job<'_> {
    /// Parses every line; returns how many could not be.
    fn lines(&self, mut lines: Lines) -> anyhow::Result<usize> {
        let mut bad = 0;
        loop {
            let some = lines.some()?;
            if some.is_empty() {
                return Ok(bad);
            }
            let sentences = some.into_iter().map(|(number, line)| {
                let sentence = line.and_then(|line| Ok(Sentence::parse(&line)?));
                sentence.unwrap_or_else(|error| {
                    screen::complain(&error.context(format!("{}:{number}", lines.name)));
                    bad += 1;
                    None
                })
            });
            self.chunk_of(&sentences.collect::<Vec<_>>())?;
        }
    }

    /// Parses a few sentences on all cores and prints their trees; a blank line for none.
    fn chunk_of(&self, sentences: &[Option<Sentence>]) -> anyhow::Result<()> {
        let tokens: Vec<Vec<Token>> = sentences
            .iter()
            .flatten()
            .map(|sentence| self.parser.lexicon.tokens(&sentence.leaves()))
            .collect();
        let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
        let constraint = &self.parser.constraint();
        let sources: Vec<MaskedBeam<'_, _>> =
            self.config.gbi.sources.iter().map(|&width| MaskedBeam { width, constraint }).collect();
        let (config, sources) = match self.what.preset {
            Preset::Paper => (&self.config.gbi.paper, Vec::new()),
            Preset::Best => (
                &self.config.gbi.best,
                sources.iter().map(|source| source as &dyn Decoder<Net>).collect(),
            ),
        };
        let (model, decoder) = (&self.parser.model, &*decoder(self.what.width.get()));
        let mut config = config.clone();
        config.deadline.get_or_insert(Duration::from_secs(self.what.deadline));
        let gbi = Gbi { model, decoder, constraint, sources, config };
        let mut outcomes = gbi.run_all(&xs, |_, _| {})?.into_iter();
        for sentence in sentences {
            match sentence {
                Some(sentence) => {
                    let outcome = outcomes.next().context("every sentence has an outcome")?;
                    self.print(sentence, &outcome)?;
                }
                None if self.args.json => screen::print("null")?,
                None => writeln!(stdout().lock())?,
            }
        }
        Ok(())
    }

    fn print(&self, sentence: &Sentence, outcome: &Outcome) -> anyhow::Result<()> {
        let leaves = sentence.leaves();
        let (tree, repairs) = self.parser.tree(&outcome.output, &leaves);
        if self.args.json {
            let mut line = json!({
                "tree": tree.to_string(),
                "commands": self.parser.commands.text(&outcome.output).to_string(),
                "satisfied": outcome.is_satisfied(),
                "stop": outcome.stop,
                "g_before": outcome.g_before,
                "g_after": outcome.g_after,
                "steps": outcome.steps,
                "passes": outcome.passes,
                "mended": repairs.total(),
            });
            if self.what.explain {
                let case =
                    trace_of(String::new(), self.parser, sentence.gold.as_ref(), &leaves, outcome);
                line["trace"] = serde_json::to_value(case.steps)?;
            }
            return screen::print(&line.to_string());
        }
        let (width, colour) = (screen::width(), screen::has_colour());
        if self.what.explain {
            let title = "commands, step by step".to_owned();
            let case = trace_of(title, self.parser, sentence.gold.as_ref(), &leaves, outcome);
            screen::print(&case.to_text(width, colour))?;
        }
        match stdout().is_terminal() || self.what.pretty {
            true => {
                screen::print(&Pretty { width, colour, tags: false }.draw(&tree))?;
                screen::print("") // trees take several lines: a blank one between them
            }
            false => screen::print(&tree.to_string()),
        }
    }
}
