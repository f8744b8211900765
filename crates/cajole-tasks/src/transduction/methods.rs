//! The network's failures, and every way of repairing them.

use cajole_core::corpus::decode_all;
use cajole_core::report::Row;
use cajole_core::{Candidate, Config, Constraint, Decoder, Gbi, Symbol, UnknownGroup};
use cajole_nn::Trained;
use cajole_nn::decoders::{Beam, DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_nn::models::Transducer;

use super::config::{Rivals, TransductionConfig};
use super::constraint::ConstraintKind;
use super::language::transduce;
use super::metric::Score;
use crate::experiment::{Otherwise, Repair, Watch, with_costs, with_decoder, with_gbi};

/// The networks of this task.
pub type Net = Trained<Transducer>;

/// A way of repairing.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Algorithm 1 as printed, with this step size.
    Paper(f32),
    /// The same with a shorter step, which converts about as many as the paper reports.
    PaperPoint(f32),
    /// The best preset, the constraint being a black box to it.
    BestBlackBox,
    /// The best preset, with masked decoders as sources of candidates.
    Best,
    /// Ever wider beams.
    DoublingBeam,
    /// Masked greedy decoding.
    MaskedGreedy,
    /// A masked beam.
    MaskedBeam,
    /// Sampling.
    Sampling,
}

impl Method {
    /// As it is called in tables.
    pub fn name(&self, rivals: &Rivals) -> String {
        match self {
            Method::Paper(_) => "gbi paper".to_owned(),
            Method::PaperPoint(_) => "gbi paper, short steps".to_owned(),
            Method::BestBlackBox => "gbi best, black box".to_owned(),
            Method::Best => "gbi best".to_owned(),
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
    /// How many inputs there were.
    pub total: usize,
    /// Score of the outputs that do not violate.
    rest: Score,
}

impl<'a> Failures<'a> {
    /// Decodes `inputs` greedily and keeps those that fail.
    pub fn find(model: &'a Net, kind: ConstraintKind, inputs: &'a [Vec<Symbol>]) -> Self {
        let xs: Vec<&[Symbol]> = inputs.iter().map(Vec::as_slice).collect();
        let constraint = kind.build();
        let mut rest = Score::default();
        let mut cases = Vec::new();
        for (x, y) in xs.iter().zip(decode_all(model, &Greedy, &xs)) {
            if y.capped || !constraint.check(x, &y.output).is_satisfied() {
                cases.push((*x, y));
            } else {
                rest.add(&y.output, &transduce(x));
            }
        }
        Failures { model, kind, constraint, cases, total: inputs.len(), rest }
    }

    /// Only the first `n` failures.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        self.cases.truncate(n);
        self
    }

    /// The inputs of at most `n` failures, evenly spread.
    pub fn inputs(&self, n: usize) -> Vec<Vec<Symbol>> {
        let every = self.cases.len().div_ceil(n.max(1)).max(1);
        self.cases.iter().step_by(every).map(|(x, _)| x.to_vec()).collect()
    }

    /// Repairs all of them.
    ///
    /// # Errors
    /// If a preset names a parameter group that the network does not have.
    pub fn repair(
        &self,
        method: &Method,
        config: &TransductionConfig,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownGroup> {
        let constraint = &*self.constraint;
        let greedy = MaskedBeam { width: 1, constraint };
        let narrow = MaskedBeam { width: 5, constraint };
        let rivals = &config.rivals;
        match method {
            Method::Paper(step_size) | Method::PaperPoint(step_size) => {
                let mut paper = config.gbi.paper.clone();
                paper.schedule.step_size = *step_size;
                self.gbi(&Greedy, paper, Vec::new(), watch)
            }
            Method::BestBlackBox => {
                self.gbi(&Beam { width: 5 }, config.gbi.best.clone(), Vec::new(), watch)
            }
            Method::Best => {
                let sources: Vec<&dyn Decoder<Net>> = vec![&narrow, &greedy];
                self.gbi(&Beam { width: 5 }, config.gbi.best.clone(), sources, watch)
            }
            Method::DoublingBeam => {
                let (from, to) = (rivals.beam_from, rivals.beam_to);
                Ok(self.decode(&DoublingBeam { from, to, constraint, deadline: None }, watch))
            }
            Method::MaskedGreedy => Ok(self.decode(&greedy, watch)),
            Method::MaskedBeam => {
                Ok(self.decode(&MaskedBeam { width: rivals.masked_width, constraint }, watch))
            }
            Method::Sampling => {
                let samples = rivals.samples;
                let sampling = Sampling { samples, temperature: 1.0, seed: 1, constraint };
                Ok(self.decode(&sampling, watch))
            }
        }
    }

    fn gbi(
        &self,
        decoder: &dyn Decoder<Net>,
        config: Config,
        sources: Vec<&dyn Decoder<Net>>,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownGroup> {
        let xs: Vec<&[Symbol]> = self.cases.iter().map(|(x, _)| *x).collect();
        let constraint = &*self.constraint;
        let gbi = Gbi { model: self.model, decoder, constraint, sources, config };
        Ok(with_gbi(&gbi, &xs, watch)?.into_iter().map(Repair::from).collect())
    }

    fn decode(&self, decoder: &dyn Decoder<Net>, watch: &dyn Watch) -> Vec<Repair> {
        let cases: Vec<_> = self.cases.iter().map(|(x, y)| (*x, y)).collect();
        with_decoder(self.model, decoder, &*self.constraint, &cases, Otherwise::First, watch)
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

    /// All figures of one method, in per cent where they are shares.
    pub fn row(&self, net: &str, method: &str, repairs: &[Repair]) -> Row {
        let n = repairs.len() as f64;
        let mean = |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / n;
        let (before, after) = (self.score(&self.untouched()), self.score(repairs));
        let whole =
            |score: &Score| 100.0 * (score.exact + self.rest.exact) as f64 / self.total as f64;
        let row = Row::new(net, method, self.kind.name())
            .counted(self.total, self.cases.len())
            .with("failure_rate", 100.0 * self.cases.len() as f64 / self.total as f64)
            .with("conversion", 100.0 * mean(&|r| f64::from(u8::from(r.converted))))
            .with("accuracy_before", before.accuracy())
            .with("accuracy_after", after.accuracy())
            .with("exact_before", before.exact_match())
            .with("exact_after", after.exact_match())
            .with("whole_exact_before", whole(&before))
            .with("whole_exact_after", whole(&after));
        with_costs(row, repairs)
    }
}
