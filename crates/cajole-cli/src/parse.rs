//! `cajole parse`: sentences in, trees out, one for each line, in order.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use cajole::{Decoder, Gbi, Outcome};
use cajole_nn::decoders::MaskedBeam;
use cajole_nn::models::Token;
use cajole_tasks::parsing::input::Sentence;
use cajole_tasks::parsing::methods::decoder;
use cajole_tasks::parsing::{Net, Parser, ParsingConfig, parser, trace_of};
use cajole_tasks::treebank::Pretty;
use serde_json::json;

use crate::args::{Args, Data, Parse, Preset};
use crate::screen;
use crate::train::parsing_config;

/// Lines that are parsed together: bounds memory, and keeps all cores busy.
const CHUNK: usize = 64;

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
        true => bad += job.lines("standard input", BufReader::new(stdin()))?,
        false => {
            for path in &what.files {
                bad += job.lines(&path.display().to_string(), open(path)?)?;
            }
        }
    }
    match bad {
        0 => Ok(()),
        n => bail!("{n} line{} could not be parsed; see above", if n == 1 { "" } else { "s" }),
    }
}

fn open(path: &PathBuf) -> anyhow::Result<BufReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BufReader::new(file))
}

struct Job<'a> {
    what: &'a Parse,
    args: &'a Args,
    parser: &'a Parser,
    config: &'a ParsingConfig,
}

impl Job<'_> {
    /// Parses every line; returns how many could not be.
    fn lines(&self, name: &str, mut reader: impl BufRead) -> anyhow::Result<usize> {
        let (mut number, mut bad) = (0, 0);
        loop {
            let mut chunk = Vec::new();
            while chunk.len() < self.chunk() {
                let mut line = Vec::new();
                let read = reader.read_until(b'\n', &mut line);
                if read.with_context(|| format!("cannot read {name}"))? == 0 {
                    break;
                }
                number += 1;
                let sentence = match String::from_utf8(line) {
                    Ok(line) => Sentence::parse(&line).map_err(anyhow::Error::from),
                    Err(_) => Err(anyhow::anyhow!("the line is not UTF-8")),
                };
                chunk.push(sentence.unwrap_or_else(|error| {
                    screen::complain(&error.context(format!("{name}:{number}")));
                    bad += 1;
                    None
                }));
            }
            if chunk.is_empty() {
                return Ok(bad);
            }
            self.chunk_of(&chunk)?;
        }
    }

    /// Someone who types wants an answer to every line.
    fn chunk(&self) -> usize {
        if self.what.files.is_empty() && stdin().is_terminal() { 1 } else { CHUNK }
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
