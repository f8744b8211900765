//! The network's failures, and every method of repairing them.

use cajole_core::decoders::{DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_core::{Candidate, ConstrainedDecoder, Constraint, Gbi, Symbol, UnknownParameter};
use cajole_report::{Figure, Row};
use cajole_tasks::Watch;
use cajole_tasks::transduction::{A, B, ConstraintKind, Net, Score, Z, transduce};

use super::config::{Rivals, TransductionConfig};
use crate::{Otherwise, Repair, with_costs, with_gbi, with_search};

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
}

/// The inputs for which a network's own output violates a constraint.
pub struct Failures<'a> {
    /// The network.
    pub model: &'a Net,
    /// Which constraint.
    pub kind: ConstraintKind,
    /// The constraint.
    pub constraint: Box<dyn Constraint<[Symbol]> + Send>,
    /// Inputs with the network's outputs.
    pub cases: Vec<(&'a [Symbol], Candidate)>,
    /// The number of inputs.
    pub total: usize,
    /// The score of the outputs that satisfy the constraint.
    rest: Score,
    /// How many outputs consist of `aaa` and `zb` only.
    grammatical: usize,
}

impl<'a> Failures<'a> {
    /// Decodes `inputs` greedily and keeps the failures.
    pub fn find(model: &'a Net, kind: ConstraintKind, inputs: &'a [Vec<Symbol>]) -> Self {
        let xs: Vec<&[Symbol]> = inputs.iter().map(Vec::as_slice).collect();
        let constraint = kind.build();
        let mut rest = Score::default();
        let mut cases = Vec::new();
        let mut grammatical = 0;
        for (x, y) in xs.iter().zip(model.decode_all(&Greedy, &xs)) {
            grammatical += usize::from(!y.capped && is_grammatical(&y.output));
            if y.capped || !constraint.check(x, &y.output).is_satisfied() {
                cases.push((*x, y));
            } else {
                rest.add(&y.output, &transduce(x));
            }
        }
        Failures { model, kind, constraint, cases, total: inputs.len(), rest, grammatical }
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
        let Rivals { beam_from: from, beam_to: to, masked_width, samples } = config.rivals;
        let presets = &config.gbi;
        match method {
            Method::Paper(step_size) | Method::PaperPoint(step_size) => {
                Ok(self.gbi(&Gbi::with(self.model, presets.paper_by(*step_size))?, watch))
            }
            Method::BestBlackBox => {
                let gbi = Gbi::with(self.model, presets.best.clone())?;
                Ok(self.gbi(&gbi.sources(Vec::new()), watch))
            }
            Method::Best => Ok(self.gbi(&Gbi::with(self.model, presets.best.clone())?, watch)),
            Method::Small => Ok(self.gbi(&Gbi::with(self.model, presets.small.clone())?, watch)),
            Method::DoublingBeam => Ok(self.search(&DoublingBeam::of(from, to), watch)),
            Method::MaskedGreedy => Ok(self.search(&MaskedBeam::of(1), watch)),
            Method::MaskedBeam => Ok(self.search(&MaskedBeam::of(masked_width), watch)),
            Method::Sampling => Ok(self.search(&Sampling::of(samples, 1), watch)),
        }
    }

    pub(super) fn gbi(&self, gbi: &Gbi<'_, Net>, watch: &dyn Watch) -> Vec<Repair> {
        let xs: Vec<&[Symbol]> = self.cases.iter().map(|(x, _)| *x).collect();
        let nudged = with_gbi(self.model, gbi, &*self.constraint, &xs, watch);
        nudged.into_iter().map(Repair::from).collect()
    }

    fn search(&self, search: &dyn ConstrainedDecoder<Net>, watch: &dyn Watch) -> Vec<Repair> {
        let cases: Vec<_> = self.cases.iter().map(|(x, y)| (*x, y)).collect();
        with_search(self.model, search, &*self.constraint, &cases, Otherwise::First, watch)
    }

    /// The network's own outputs, as a method that changes nothing.
    pub fn untouched(&self) -> Vec<Repair> {
        self.cases.iter().map(|(_, first)| Repair::untouched(first, 1)).collect()
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
