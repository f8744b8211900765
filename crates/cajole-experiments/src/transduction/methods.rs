//! The network's failures, and every method of repairing them.

use std::sync::Arc;

use cajole_core::{Config, Search, Symbol, UnknownParameter};
use cajole_infer::decoded::{Decoded, decode, repair};
use cajole_infer::engine::Engine;
use cajole_infer::task::Task;
use cajole_infer::{Settings, Transduction};
use cajole_report::{Figure, Row};
use cajole_rules::Rules;
use cajole_tasks::transduction::{A, B, Kind, Score, Z, transduce};
use cajole_tasks::{Silent, Watch};

use super::config::{Rivals, TransductionConfig};
use crate::{Repair, with_costs};

/// A repair method.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Algorithm 1 as printed, with this step size.
    Paper(f32),
    /// The same with a smaller step size, which converts about as many failures as the paper
    /// reports.
    PaperPoint(f32),
    /// The best preset, with the constraint as a black box.
    BestBlackBox,
    /// The best preset, with masked decoders as sources of candidates.
    Best,
    /// The small preset, with the same sources.
    Small,
    /// A beam that doubles its width.
    DoublingBeam,
    /// Masked greedy decoding.
    MaskedGreedy,
    /// A masked beam.
    MaskedBeam,
    /// Sampling.
    Sampling,
}

impl Method {
    /// Its name in tables.
    pub fn name(&self, rivals: &Rivals) -> String {
        match self {
            Method::Paper(_) => "gbi paper".to_owned(),
            Method::PaperPoint(_) => "gbi paper, short steps".to_owned(),
            Method::BestBlackBox => "gbi best, black box".to_owned(),
            Method::Best => "gbi best".to_owned(),
            Method::Small => "gbi small".to_owned(),
            Method::DoublingBeam => format!("beam {}..{}", rivals.beam_from, rivals.beam_to),
            Method::MaskedGreedy => "masked greedy".to_owned(),
            Method::MaskedBeam => format!("masked beam {}", rivals.masked_width),
            Method::Sampling => format!("sampling {}", rivals.samples),
        }
    }

    /// The search behind it.
    fn search(&self, config: &TransductionConfig) -> Search {
        let Rivals { beam_from: from, beam_to: to, masked_width, samples } = config.rivals;
        let presets = &config.gbi;
        let gbi = |config: Config| Search::Gbi(Box::new(config));
        match self {
            Method::Paper(step_size) | Method::PaperPoint(step_size) => {
                gbi(presets.paper_by(*step_size))
            }
            Method::BestBlackBox => gbi(presets.best.clone().with(|best| best.sources.clear())),
            Method::Best => gbi(presets.best.clone()),
            Method::Small => gbi(presets.small.clone()),
            Method::DoublingBeam => Search::Beam { from, to },
            Method::MaskedGreedy => Search::Masked { width: 1 },
            Method::MaskedBeam => Search::Masked { width: masked_width },
            Method::Sampling => Search::sample(samples),
        }
    }
}

/// The inputs for which a network's own output violates a constraint.
pub struct Failures<'a> {
    /// The network.
    pub task: &'a Transduction,
    /// Which constraint.
    pub kind: Kind,
    /// The failures, each with its input.
    pub cases: Vec<(&'a [Symbol], Decoded)>,
    /// The number of inputs.
    pub total: usize,
    /// The score of the outputs that satisfy the constraint.
    rest: Score,
    /// How many outputs consist of `aaa` and `zb` only.
    grammatical: usize,
}

impl<'a> Failures<'a> {
    /// Decodes `inputs` greedily and keeps the failures.
    ///
    /// # Errors
    /// If the usual preset names a parameter that the network does not have.
    pub fn find(
        task: &'a Transduction,
        kind: Kind,
        inputs: &'a [Vec<Symbol>],
    ) -> Result<Self, UnknownParameter> {
        let rules = Rules::parse(kind.name(), kind.rules(), None, task.vocabulary());
        let rules = Arc::new(rules.expect("they are tested"));
        let cases = inputs.iter().map(|x| (task.case(x), rules.clone())).collect();
        let decoded = decode(task, &settings(task, Search::Network), cases, &Silent)?;
        let (mut rest, mut cases, mut grammatical) = (Score::default(), Vec::new(), 0);
        for (x, decoded) in inputs.iter().zip(decoded) {
            let y = &decoded.own.output;
            grammatical += usize::from(is_grammatical(y));
            if decoded.is_failure() {
                cases.push((x.as_slice(), decoded));
            } else {
                rest.add(y, &transduce(x));
            }
        }
        Ok(Failures { task, kind, cases, total: inputs.len(), rest, grammatical })
    }

    /// Keeps only the first `n` failures.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        self.cases.truncate(n);
        self
    }

    /// The inputs of at most `n` failures, evenly spaced.
    pub fn inputs(&self, n: usize) -> Vec<Vec<Symbol>> {
        let every = self.cases.len().div_ceil(n.max(1)).max(1);
        self.cases.iter().step_by(every).map(|(x, _)| x.to_vec()).collect()
    }

    /// Repairs all failures.
    ///
    /// # Errors
    /// If a preset names a parameter that the network does not have.
    pub fn repair(
        &self,
        method: &Method,
        config: &TransductionConfig,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownParameter> {
        self.by(method.search(config), watch)
    }

    /// Repairs all failures by one search.
    ///
    /// # Errors
    /// If its settings name a parameter that the network does not have.
    pub(super) fn by(
        &self,
        search: Search,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownParameter> {
        let failures: Vec<&Decoded> = self.cases.iter().map(|(_, decoded)| decoded).collect();
        let answers = repair(self.task, &settings(self.task, search), &failures, watch)?;
        Ok(answers.iter().map(Repair::from).collect())
    }

    /// The network's own outputs, as a method that changes nothing.
    pub fn untouched(&self) -> Vec<Repair> {
        self.cases.iter().map(|(_, decoded)| Repair::untouched(&decoded.own, 1)).collect()
    }

    /// The score of these outputs on the failures.
    pub fn score(&self, repairs: &[Repair]) -> Score {
        let mut score = Score::default();
        for ((x, _), repair) in self.cases.iter().zip(repairs) {
            score.add(&repair.output, &transduce(x));
        }
        score
    }

    /// All figures of one method; rates are in per cent.
    pub fn row(&self, net: &str, method: &str, repairs: &[Repair]) -> Row {
        let n = repairs.len() as f64;
        let mean = |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / n;
        let (before, after) = (self.score(&self.untouched()), self.score(repairs));
        let whole =
            |score: &Score| 100.0 * (score.exact + self.rest.exact) as f64 / self.total as f64;
        let row = Row::new(net, method, self.kind.name())
            .counted(self.total, self.cases.len())
            .with(Figure::FailureRate, 100.0 * self.cases.len() as f64 / self.total as f64)
            .with(Figure::WholeGrammatical, 100.0 * self.grammatical as f64 / self.total as f64)
            .with(Figure::Conversion, 100.0 * mean(&|r| f64::from(u8::from(r.converted))))
            .with(Figure::AccuracyBefore, before.accuracy())
            .with(Figure::AccuracyAfter, after.accuracy())
            .with(Figure::ExactBefore, before.exact_match())
            .with(Figure::ExactAfter, after.exact_match())
            .with(Figure::WholeExactBefore, whole(&before))
            .with(Figure::WholeExactAfter, whole(&after));
        with_costs(row, repairs)
    }
}

/// The settings of a run by one search, with greedy decoding.
pub(super) fn settings(task: &Transduction, search: Search) -> Settings {
    Settings::of(task).by(Engine::exactly(search))
}

/// Whether an output consists of `aaa` and `zb` only.
fn is_grammatical(mut y: &[Symbol]) -> bool {
    while !y.is_empty() {
        let rest = y.strip_prefix(&[A, A, A]).or_else(|| y.strip_prefix(&[Z, B]));
        match rest {
            Some(rest) => y = rest,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_grammar() {
        for x in [&[][..], &[A, Z, B, Z, A, Z]] {
            assert!(is_grammatical(&transduce(x)));
        }
        for y in [&[A][..], &[A, A, A, A], &[Z, B, Z], &[B, Z]] {
            assert!(!is_grammatical(y), "{y:?}");
        }
    }
}
