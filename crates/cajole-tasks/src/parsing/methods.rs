//! A parser's failures, and every way of repairing them.

use std::time::Instant;

use cajole_core::corpus::decode_all;
use cajole_core::report::Row;
use cajole_core::{Candidate, Config, Constraint, Decoder, Gbi, UnknownGroup};
use cajole_nn::decoders::{Beam, Greedy, MaskedBeam};
use cajole_nn::models::Token;

use super::config::{ParsingConfig, Rivals};
use super::constrained::complete;
use super::constraint::ShiftReduce;
use super::evalb::Params;
use super::metric::{Score, scores};
use super::parser::{Net, Parser};
use crate::experiment::{Otherwise, Repair, Watch, with_costs, with_decoder, with_gbi};
use crate::treebank::{Sentence, Tree};

/// A way of repairing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Algorithm 1 as printed, with this step size.
    Paper(f32),
    /// The best preset, with masked beams as sources of candidates.
    Best,
    /// The paper's constrained decoder: leave out what is impossible, add what is missing.
    Constrained,
    /// Masked greedy decoding.
    MaskedGreedy,
    /// A masked beam.
    MaskedBeam,
    /// A plain beam, whatever comes out of it.
    Beam,
}

impl Method {
    /// As it is called in tables.
    pub fn name(&self, rivals: &Rivals) -> String {
        match self {
            Method::Paper(_) => "gbi paper".to_owned(),
            Method::Best => "gbi best".to_owned(),
            Method::Constrained => "constrained greedy".to_owned(),
            Method::MaskedGreedy => "masked greedy".to_owned(),
            Method::MaskedBeam => format!("masked beam {}", rivals.masked_width),
            Method::Beam => format!("beam {}", rivals.beam_width),
        }
    }
}

/// What a beam of this width is called; a beam of one is greedy decoding.
pub fn decoder_name(width: usize) -> String {
    if width == 1 { "greedy".to_owned() } else { format!("beam {width}") }
}

/// The decoder of this width.
pub fn decoder(width: usize) -> Box<dyn Decoder<Net>> {
    if width == 1 { Box::new(Greedy) } else { Box::new(Beam { width }) }
}

/// A sentence whose output is no tree.
pub struct Case<'a> {
    /// What the network reads.
    pub tokens: Vec<Token>,
    /// What should come out.
    pub gold: &'a Tree,
    /// What does.
    pub first: Candidate,
}

/// The sentences for which a parser's own output is no tree.
pub struct Failures<'a> {
    /// The parser.
    pub parser: &'a Parser,
    /// The width of the beam it decodes with.
    pub width: usize,
    /// The failures.
    pub cases: Vec<Case<'a>>,
    /// How many sentences there were.
    pub total: usize,
    constraint: ShiftReduce,
    /// Score of the outputs that are trees.
    rest: Score,
}

impl<'a> Failures<'a> {
    /// Decodes `sentences` with a beam of this width and keeps those that fail.
    pub fn find(
        parser: &'a Parser,
        width: usize,
        sentences: &'a [Sentence],
        watch: &dyn Watch,
    ) -> Self {
        /// Sentences between two signs of progress.
        const CHUNK: usize = 128;
        let constraint = parser.constraint();
        let (mut rest, mut cases) = (Vec::new(), Vec::new());
        watch.begin(&decoder_name(width), sentences.len() as u64);
        for (i, chunk) in sentences.chunks(CHUNK).enumerate() {
            let tokens: Vec<Vec<Token>> =
                chunk.iter().map(|s| parser.lexicon.tokens(&s.tree.leaves())).collect();
            let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
            let decoded = match width {
                1 => decode_all(&parser.model, &Greedy, &xs),
                _ => decode_all(&parser.model, &Beam { width }, &xs),
            };
            for ((tokens, first), sentence) in tokens.into_iter().zip(decoded).zip(chunk) {
                let gold = &sentence.tree;
                let is_tree = constraint.check(tokens.as_slice(), &first.output).is_satisfied();
                match is_tree && !first.capped {
                    true => rest.push((first.output, gold)),
                    false => cases.push(Case { tokens, gold, first }),
                }
            }
            watch.advance((i * CHUNK + chunk.len()) as u64, &format!("{} fail", cases.len()));
        }
        watch.end();
        let outputs: Vec<_> = rest.iter().map(|(y, _)| y.as_slice()).collect();
        let golds: Vec<_> = rest.iter().map(|(_, gold)| *gold).collect();
        let rest = scores(parser, &outputs, &golds, &Params::collins()).into_iter().sum();
        Failures { parser, width, cases, total: sentences.len(), constraint, rest }
    }

    /// Only the first `n` failures.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        self.cases.truncate(n);
        self
    }

    /// Repairs all of them.
    ///
    /// # Errors
    /// If a preset names a parameter group that the network does not have.
    pub fn repair(
        &self,
        method: Method,
        config: &ParsingConfig,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownGroup> {
        let constraint = &self.constraint;
        let masked = |width| MaskedBeam { width, constraint };
        match method {
            Method::Paper(step_size) => {
                let mut paper = config.gbi.paper.clone();
                paper.schedule.step_size = step_size;
                self.gbi(self.width, paper, Vec::new(), watch)
            }
            Method::Best => {
                let sources: Vec<_> = config.gbi.sources.iter().map(|&w| masked(w)).collect();
                let sources = sources.iter().map(|s| s as &dyn Decoder<Net>).collect();
                let width = self.width.max(config.gbi.width);
                self.gbi(width, config.gbi.best.clone(), sources, watch)
            }
            Method::Constrained => Ok(self.constrained()),
            Method::MaskedGreedy => Ok(self.with(&masked(1), Otherwise::First, watch)),
            Method::MaskedBeam => {
                Ok(self.with(&masked(config.rivals.masked_width), Otherwise::First, watch))
            }
            // What comes out may be no tree either.
            Method::Beam => {
                let width = config.rivals.beam_width;
                Ok(self.with(&Beam { width }, Otherwise::Found, watch))
            }
        }
    }

    /// Gradient-based inference with a beam of this width inside.
    fn gbi(
        &self,
        width: usize,
        config: Config,
        sources: Vec<&dyn Decoder<Net>>,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownGroup> {
        let xs: Vec<&[Token]> = self.cases.iter().map(|case| case.tokens.as_slice()).collect();
        let decoder = &*decoder(width);
        let (model, constraint) = (&self.parser.model, &self.constraint);
        let gbi = Gbi { model, decoder, constraint, sources, config };
        Ok(with_gbi(&gbi, &xs, watch)?.into_iter().map(Repair::from).collect())
    }

    fn with(
        &self,
        decoder: &dyn Decoder<Net>,
        otherwise: Otherwise,
        watch: &dyn Watch,
    ) -> Vec<Repair> {
        let cases: Vec<_> = self.cases.iter().map(|c| (c.tokens.as_slice(), &c.first)).collect();
        with_decoder(&self.parser.model, decoder, &self.constraint, &cases, otherwise, watch)
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
        self.cases.iter().map(|case| Repair::untouched(&case.first, self.width)).collect()
    }

    /// The score of these outputs on the failures.
    pub fn score(&self, repairs: &[Repair]) -> Score {
        let outputs: Vec<_> = repairs.iter().map(|r| r.output.as_slice()).collect();
        let golds: Vec<_> = self.cases.iter().map(|case| case.gold).collect();
        scores(self.parser, &outputs, &golds, &Params::collins()).into_iter().sum()
    }

    /// All figures of one method, in per cent where they are shares.
    pub fn row(&self, net: &str, method: &str, data: &str, repairs: &[Repair]) -> Row {
        let n = repairs.len() as f64;
        let mean = |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / n;
        let (before, after) = (self.score(&self.untouched()), self.score(repairs));
        let whole = |score: &Score| [*score, self.rest].into_iter().sum::<Score>();
        // Of nothing there is no F1.
        let f1 = |score: &Score| if repairs.is_empty() { f64::NAN } else { score.f1() };
        let row = Row::new(net, method, data)
            .counted(self.total, self.cases.len())
            .with("width", self.width as f64)
            .with("failure_rate", 100.0 * self.cases.len() as f64 / self.total as f64)
            .with("conversion", 100.0 * mean(&|r| f64::from(u8::from(r.converted))))
            .with("f1_before", f1(&before))
            .with("f1_after", f1(&after))
            .with("precision_after", after.brackets.precision())
            .with("recall_after", after.brackets.recall())
            .with("exact_before", before.exact_match())
            .with("exact_after", after.exact_match())
            .with("whole_f1_before", whole(&before).f1())
            .with("whole_f1_after", whole(&after).f1())
            .with("mended_before", before.repairs.total() as f64)
            .with("mended_after", after.repairs.total() as f64);
        with_costs(row, repairs)
    }
}
