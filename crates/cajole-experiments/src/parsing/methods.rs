//! A parser's failures, and every method of repairing them.

use std::time::Instant;

use cajole_core::decoders::{Beam, MaskedBeam};
use cajole_core::{
    Candidate, Config, ConstrainedDecoder, Constraint, Gbi, Model, UnknownParameter,
};
use cajole_nn::models::Token;
use cajole_report::{Figure, Row};
use cajole_tasks::Watch;
use cajole_tasks::parsing::metric::{Score, scores};
use cajole_tasks::parsing::parser::{Net, Parser};
use cajole_treebank::evalb::Params;
use cajole_treebank::shift_reduce::constrained::complete;
use cajole_treebank::shift_reduce::constraint::ShiftReduce;
use cajole_treebank::{Sentence, Tree};

use super::config::{ParsingConfig, Rivals};
use crate::{Interval, Otherwise, Repair, Tally, Unconstrained, with_costs, with_gbi, with_search};

/// A repair method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Algorithm 1 as printed, with this step size.
    Paper(f32),
    /// The best preset, with masked beams as sources of candidates.
    Best,
    /// The small preset, with the same sources.
    Small,
    /// The paper's constrained decoder: drop impossible commands, append missing ones.
    Constrained,
    /// Masked greedy decoding.
    MaskedGreedy,
    /// A masked beam.
    MaskedBeam,
    /// A plain beam of this width, which may not satisfy the constraint.
    Beam(usize),
}

impl Method {
    /// Its name in tables.
    pub fn name(&self, rivals: &Rivals) -> String {
        match self {
            Method::Paper(_) => "gbi paper".to_owned(),
            Method::Best => "gbi best".to_owned(),
            Method::Small => "gbi small".to_owned(),
            Method::Constrained => "constrained greedy".to_owned(),
            Method::MaskedGreedy => "masked greedy".to_owned(),
            Method::MaskedBeam => format!("masked beam {}", rivals.masked_width),
            Method::Beam(width) => decoder_name(*width),
        }
    }
}

/// The name of a beam of this width; width 1 is greedy decoding.
pub(super) fn decoder_name(width: usize) -> String {
    if width == 1 { "greedy".to_owned() } else { format!("beam {width}") }
}

/// A sentence whose output is not a tree.
#[derive(Clone)]
pub struct Case<'a> {
    /// The sentence's place in the data.
    pub index: usize,
    /// The network's input.
    pub tokens: Vec<Token>,
    /// The gold tree.
    pub gold: &'a Tree,
    /// The network's output.
    pub first: Candidate,
}

/// The sentences for which a parser's own output is not a tree.
pub struct Failures<'a> {
    /// The parser.
    pub parser: &'a Parser,
    /// The beam it decodes with.
    pub beam: Beam,
    /// The failures.
    pub cases: Vec<Case<'a>>,
    /// The number of sentences.
    pub total: usize,
    constraint: ShiftReduce,
    /// The score of the outputs that are trees.
    rest: Score,
}

impl<'a> Failures<'a> {
    /// Decodes `sentences` with this beam and keeps the failures.
    pub fn find(
        parser: &'a Parser,
        beam: Beam,
        sentences: &'a [Sentence],
        watch: &dyn Watch,
    ) -> Self {
        /// Sentences between progress reports.
        const CHUNK: usize = 128;
        let constraint = parser.constraint();
        let (mut rest, mut cases) = (Vec::new(), Vec::new());
        watch.begin(&decoder_name(beam.width), sentences.len() as u64);
        for (i, chunk) in sentences.chunks(CHUNK).enumerate() {
            let tokens: Vec<Vec<Token>> =
                chunk.iter().map(|s| parser.lexicon.tokens(&s.tree.leaves())).collect();
            let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
            let decoded = parser.model.decode_all(&*parser.model.decoder(beam), &xs);
            let inputs = tokens.into_iter().zip(decoded).zip(chunk);
            for (at, ((tokens, first), sentence)) in inputs.enumerate() {
                let gold = &sentence.tree;
                let is_tree = constraint.check(tokens.as_slice(), &first.output).is_satisfied();
                match is_tree && !first.capped {
                    true => rest.push((first.output, gold)),
                    false => cases.push(Case { index: i * CHUNK + at, tokens, gold, first }),
                }
            }
            watch.advance((i * CHUNK + chunk.len()) as u64, &format!("{} fail", cases.len()));
        }
        watch.end();
        let outputs: Vec<_> = rest.iter().map(|(y, _)| y.as_slice()).collect();
        let golds: Vec<_> = rest.iter().map(|(_, gold)| *gold).collect();
        let rest = scores(parser, &outputs, &golds, &Params::collins()).into_iter().sum();
        Failures { parser, beam, cases, total: sentences.len(), constraint, rest }
    }

    /// Keeps only the first `n` failures.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        self.cases.truncate(n);
        self
    }

    /// The first `n` failures, as a set of their own.
    pub(super) fn first(&self, n: usize) -> Failures<'a> {
        let cases = self.cases.iter().take(n).cloned().collect();
        let Failures { parser, beam, total, rest, .. } = *self;
        Failures { parser, beam, cases, total, constraint: parser.constraint(), rest }
    }

    /// Repairs all failures.
    ///
    /// # Errors
    /// If a preset names a parameter that the network does not have.
    pub fn repair(
        &self,
        method: Method,
        config: &ParsingConfig,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownParameter> {
        let ranking = self.beam.ranking;
        let presets = config.presets(&self.parser.model.net);
        let masked = |width| self.search(&MaskedBeam { width, ranking }, Otherwise::First, watch);
        match method {
            Method::Paper(step_size) => {
                let mut paper = presets.paper_by(step_size);
                paper.width = self.beam.width;
                self.gbi(paper, watch)
            }
            Method::Best => self.gbi(self.widened(&presets.best), watch),
            Method::Small => self.gbi(self.widened(&presets.small), watch),
            Method::Constrained => Ok(self.constrained()),
            Method::MaskedGreedy => Ok(masked(1)),
            Method::MaskedBeam => Ok(masked(config.rivals.masked_width)),
            // The output may not be a tree either.
            Method::Beam(width) => {
                let beam = Unconstrained(Beam { width, ranking });
                Ok(self.search(&beam, Otherwise::Found, watch))
            }
        }
    }

    /// A preset whose beam is at least as wide as the one that failed.
    fn widened(&self, preset: &Config) -> Config {
        let mut preset = preset.clone();
        preset.width = preset.width.max(self.beam.width);
        preset
    }

    /// Gradient-based inference with these settings.
    pub(super) fn gbi(
        &self,
        mut config: Config,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownParameter> {
        config.ranking = self.beam.ranking;
        let model = &self.parser.model;
        let xs: Vec<&[Token]> = self.cases.iter().map(|case| case.tokens.as_slice()).collect();
        let gbi = Gbi::with(model, config)?;
        let nudged = with_gbi(model, &gbi, &self.constraint, &xs, watch);
        Ok(nudged.into_iter().map(Repair::from).collect())
    }

    fn search(
        &self,
        search: &dyn ConstrainedDecoder<Net>,
        otherwise: Otherwise,
        watch: &dyn Watch,
    ) -> Vec<Repair> {
        let cases: Vec<_> = self.cases.iter().map(|c| (c.tokens.as_slice(), &c.first)).collect();
        with_search(&self.parser.model, search, &self.constraint, &cases, otherwise, watch)
    }

    fn constrained(&self) -> Vec<Repair> {
        let repair = |case: &Case<'_>| {
            let started = Instant::now();
            let output = complete(&self.parser.commands, &case.first.output, case.tokens.len());
            let converted = self.constraint.check(case.tokens.as_slice(), &output).is_satisfied();
            let milliseconds = started.elapsed().as_secs_f64() * 1e3;
            Repair { output, converted, gave_up: false, steps: None, passes: 1, milliseconds }
        };
        self.cases.iter().map(repair).collect()
    }

    /// The network's own outputs, as a method that changes nothing.
    pub fn untouched(&self) -> Vec<Repair> {
        self.cases.iter().map(|case| Repair::untouched(&case.first, self.beam.width)).collect()
    }

    /// The score of these outputs on the failures.
    pub fn score(&self, repairs: &[Repair]) -> Score {
        self.scores(repairs).into_iter().sum()
    }

    fn scores(&self, repairs: &[Repair]) -> Vec<Score> {
        let outputs: Vec<_> = repairs.iter().map(|r| r.output.as_slice()).collect();
        let golds: Vec<_> = self.cases.iter().map(|case| case.gold).collect();
        scores(self.parser, &outputs, &golds, &Params::collins())
    }

    /// The tallies of these outputs, failure by failure.
    pub(crate) fn tallies(&self, repairs: &[Repair]) -> Vec<Tally> {
        let tally = |score: Score| Tally {
            correct: score.brackets.matched as u32,
            found: score.brackets.test as u32,
            gold: score.brackets.gold as u32,
            exact: score.exact as u32,
            outputs: 1,
        };
        self.scores(repairs).into_iter().map(tally).collect()
    }

    /// All figures of one method; rates are in per cent.
    pub fn row(&self, net: &str, method: &str, data: &str, repairs: &[Repair]) -> Row {
        let n = repairs.len() as f64;
        let mean = |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / n;
        let (before, after) = (self.score(&self.untouched()), self.score(repairs));
        let whole = |score: &Score| [*score, self.rest].into_iter().sum::<Score>();
        // F1 of the empty set is undefined.
        let f1 = |score: &Score| if repairs.is_empty() { f64::NAN } else { score.f1() };
        let interval = Interval::of(&self.tallies(repairs), Tally::f1);
        let row = Row::new(net, method, data)
            .counted(self.total, self.cases.len())
            .with(Figure::Width, self.beam.width as f64)
            .with(Figure::FailureRate, 100.0 * self.cases.len() as f64 / self.total as f64)
            .with(Figure::Conversion, 100.0 * mean(&|r| f64::from(u8::from(r.converted))))
            .with(Figure::F1Before, f1(&before))
            .with(Figure::F1After, f1(&after))
            .with(Figure::F1Low, interval.low)
            .with(Figure::F1High, interval.high)
            .with(Figure::PrecisionAfter, after.brackets.precision())
            .with(Figure::RecallAfter, after.brackets.recall())
            .with(Figure::ExactBefore, before.exact_match())
            .with(Figure::ExactAfter, after.exact_match())
            .with(Figure::WholeF1Before, whole(&before).f1())
            .with(Figure::WholeF1After, whole(&after).f1())
            .with(Figure::MendedBefore, before.repairs.total() as f64)
            .with(Figure::MendedAfter, after.repairs.total() as f64);
        with_costs(row, repairs)
    }
}
