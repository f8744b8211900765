//! A parser's failures, and every method of repairing them.

use std::sync::Arc;
use std::time::Instant;

use cajole_core::corpus::n_threads;
use cajole_core::decoders::Beam;
use cajole_core::{Config, Constraint, Search, UnknownParameter};
use cajole_infer::decoded::{Decoded, decode, repair};
use cajole_infer::engine::Engine;
use cajole_infer::task::Task;
use cajole_infer::{Parsing, Settings};
use cajole_report::{Figure, Row};
use cajole_rules::Rules;
use cajole_tasks::Watch;
use cajole_tasks::parsing::USUAL_RULES;
use cajole_tasks::parsing::metric::{Score, scores};
use cajole_treebank::evalb::Params;
use cajole_treebank::shift_reduce::constrained::complete;
use cajole_treebank::{Sentence, Tree};

use super::config::{ParsingConfig, Rivals};
use crate::{Interval, Repair, Tally, with_costs};

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
    /// The gold tree.
    pub gold: &'a Tree,
    /// The input, with the network's own output.
    pub decoded: Decoded,
}

/// The sentences for which a parser's own output is not a tree.
pub struct Failures<'a> {
    /// The parser.
    pub task: &'a Parsing,
    /// The beam it decodes with.
    pub beam: Beam,
    /// The failures.
    pub cases: Vec<Case<'a>>,
    /// The number of sentences.
    pub total: usize,
    /// The score of the outputs that are trees.
    rest: Score,
}

impl<'a> Failures<'a> {
    /// Decodes `sentences` with this beam and keeps the failures.
    ///
    /// # Errors
    /// If the usual preset names a parameter that the network does not have.
    pub fn find(
        task: &'a Parsing,
        beam: Beam,
        sentences: &'a [Sentence],
        watch: &dyn Watch,
    ) -> Result<Self, UnknownParameter> {
        let trees: Vec<&Tree> = sentences.iter().map(|sentence| &sentence.tree).collect();
        watch.begin(&decoder_name(beam.width), sentences.len() as u64);
        let decoded = decode_trees(task, beam, &trees, watch)?;
        watch.end();
        let (mut rest, mut golds, mut cases) = (Vec::new(), Vec::new(), Vec::new());
        for ((index, decoded), gold) in decoded.into_iter().enumerate().zip(trees) {
            if decoded.is_failure() {
                cases.push(Case { index, gold, decoded });
            } else {
                rest.push(decoded.own.output);
                golds.push(gold);
            }
        }
        let outputs: Vec<_> = rest.iter().map(Vec::as_slice).collect();
        let rest = scores(task.parser(), &outputs, &golds, &Params::collins()).into_iter().sum();
        Ok(Failures { task, beam, cases, total: sentences.len(), rest })
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
        let Failures { task, beam, total, rest, .. } = *self;
        Failures { task, beam, cases, total, rest }
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
        let presets = config.presets(&self.task.parser().model.net);
        match method {
            Method::Paper(step_size) => self.gbi(presets.paper_by(step_size), watch),
            Method::Best => self.gbi(presets.best.clone(), watch),
            Method::Small => self.gbi(presets.small.clone(), watch),
            Method::Constrained => Ok(self.constrained()),
            Method::MaskedGreedy => self.by(Search::Masked { width: 1 }, watch),
            Method::MaskedBeam => {
                self.by(Search::Masked { width: config.rivals.masked_width }, watch)
            }
            Method::Beam(width) => self.decoded_by(width, watch),
        }
    }

    /// Gradient-based inference with these settings, whose beam is at least as wide as the one that
    /// failed.
    pub(super) fn gbi(
        &self,
        mut config: Config,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownParameter> {
        config.ranking = self.beam.ranking;
        self.by(Search::Gbi(Box::new(config)), watch)
    }

    fn by(&self, search: Search, watch: &dyn Watch) -> Result<Vec<Repair>, UnknownParameter> {
        let failures: Vec<&Decoded> = self.cases.iter().map(|case| &case.decoded).collect();
        let settings = settings(self.task, self.beam, search);
        let answers = repair(self.task, &settings, &failures, watch)?;
        Ok(answers.iter().map(Repair::from).collect())
    }

    /// The outputs of the network's own decoder with another beam, which may not be trees either.
    fn decoded_by(&self, width: usize, watch: &dyn Watch) -> Result<Vec<Repair>, UnknownParameter> {
        let trees: Vec<&Tree> = self.cases.iter().map(|case| case.gold).collect();
        let beam = Beam { width, ..self.beam };
        let started = Instant::now();
        let decoded = decode_trees(self.task, beam, &trees, watch)?;
        // As many threads as there are work at the same time.
        let all = started.elapsed().as_secs_f64() * n_threads() as f64;
        let repair = |decoded: &Decoded| Repair {
            converted: !decoded.is_failure(),
            milliseconds: all * 1e3 / trees.len() as f64,
            ..Repair::untouched(&decoded.own, width)
        };
        Ok(decoded.iter().map(repair).collect())
    }

    fn constrained(&self) -> Vec<Repair> {
        let repair = |case: &Case<'_>| {
            let started = Instant::now();
            let (own, n_tokens) = (&case.decoded.own.output, case.gold.leaves().len());
            let output = complete(&self.task.parser().commands, own, n_tokens);
            let Decoded { rules, case, .. } = &case.decoded;
            let converted = rules.check(&case.subject, &output).is_satisfied();
            let milliseconds = started.elapsed().as_secs_f64() * 1e3;
            Repair { output, converted, gave_up: false, steps: None, passes: 1, milliseconds }
        };
        self.cases.iter().map(repair).collect()
    }

    /// The network's own outputs, as a method that changes nothing.
    pub fn untouched(&self) -> Vec<Repair> {
        let own = |case: &Case<'_>| Repair::untouched(&case.decoded.own, self.beam.width);
        self.cases.iter().map(own).collect()
    }

    /// The score of these outputs on the failures.
    pub fn score(&self, repairs: &[Repair]) -> Score {
        self.scores(repairs).into_iter().sum()
    }

    fn scores(&self, repairs: &[Repair]) -> Vec<Score> {
        let outputs: Vec<_> = repairs.iter().map(|r| r.output.as_slice()).collect();
        let golds: Vec<_> = self.cases.iter().map(|case| case.gold).collect();
        scores(self.task.parser(), &outputs, &golds, &Params::collins())
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

/// The network's own outputs for these sentences, with this beam.
fn decode_trees(
    task: &Parsing,
    beam: Beam,
    trees: &[&Tree],
    watch: &dyn Watch,
) -> Result<Vec<Decoded>, UnknownParameter> {
    let rules = Rules::parse("one tree", USUAL_RULES, None, task.vocabulary());
    let rules = Arc::new(rules.expect("they are tested"));
    let cases = trees.iter().map(|tree| (task.case(tree), rules.clone())).collect();
    decode(task, &settings(task, beam, Search::Network), cases, watch)
}

/// The settings of a run by one search, with this beam.
pub(super) fn settings(task: &Parsing, beam: Beam, search: Search) -> Settings {
    let mut settings = Settings::of(task).by(Engine::exactly(search));
    settings.beam = beam;
    settings
}
