//! PyTorch's networks as tasks, so that lines, records, engines and comparisons work as for all
//! others.

use std::sync::Arc;

use cajole_core::decoders::Sampled;
use cajole_core::{Config, Model, Objective, Search};
use cajole_infer::case::Case;
use cajole_infer::line::{Line, LineError};
use cajole_infer::solver::{Network, Solver, solver};
use cajole_infer::task::{Task, Together};
use cajole_infer::{sequences, tags};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::{Preset, Presets};

use super::backend::{Backend, Item};
use super::stepper::PyStepper;
use super::tagger::PyTagger;

/// The most prefixes that a search extends: passes cost more here than elsewhere.
pub(super) const EXPANSIONS: usize = 256;

/// A network in PyTorch with the names of its symbols.
pub(crate) struct Torch<M> {
    model: M,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

/// A kind of network in PyTorch.
pub(crate) trait TorchModel: Model<Input = Item> + Send {
    /// The task's name.
    const NAME: &'static str;

    /// The Python object that computes.
    fn backend(&self) -> &Backend;

    /// The searches that fit.
    fn searches() -> Vec<Search>;
}

impl TorchModel for PyTagger {
    const NAME: &'static str = "tagging";

    fn backend(&self) -> &Backend {
        &self.backend
    }

    fn searches() -> Vec<Search> {
        tags::searches()
    }
}

impl TorchModel for PyStepper {
    const NAME: &'static str = "sequences";

    fn backend(&self) -> &Backend {
        &self.backend
    }

    fn searches() -> Vec<Search> {
        sequences::searches(sequences::MASKED_WIDTH, EXPANSIONS, Sampled::default())
    }
}

impl<M> Torch<M> {
    /// Unless settings say otherwise, the parameters that match `moves` move.
    pub(super) fn new(model: M, vocabulary: Vocabulary, moves: Vec<String>) -> Self {
        // Passes cost more here than elsewhere, so decode greedily, and search fewer prefixes.
        let cheap = |config: Config| {
            config.with(|config| {
                config.width = 1;
                config.sources =
                    vec![Search::Masked { width: 5 }, Search::BlackBox { limit: EXPANSIONS }];
                if let Objective::Contrast { otherwise, .. } = &mut config.objective {
                    *otherwise = 1;
                }
            })
        };
        let moving = |config: Config| config.with(|config| config.moves = moves.clone());
        let presets = Presets {
            default: Preset::Small,
            paper: moving(Config::paper()),
            best: moving(cheap(Config::best())),
            small: moving(cheap(Config::small())),
        };
        Torch { model, vocabulary: Arc::new(vocabulary), presets }
    }
}

/// How many inputs go through the network together.
pub(super) fn together(backend: &Backend) -> Together {
    let mut together = Together::default();
    (together.lines, together.inputs) = (4 * backend.in_step, backend.in_step);
    (together.tokens, together.tokens_in_step) = (usize::MAX, usize::MAX);
    together
}

impl<M: TorchModel> Network for Torch<M> {
    type Model = M;
    type Input = Item;

    fn model(&self) -> &M {
        &self.model
    }
}

impl<M: TorchModel> Task for Torch<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    fn fingerprint(&self) -> u64 {
        self.model.backend().fingerprint
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn together(&self) -> Together {
        together(self.model.backend())
    }

    /// The input of a line must be JSON that the network's `prepare` takes.
    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let value = line.input()?;
        let prepared = self.model.backend().prepare(&value);
        let (object, symbols, size, cap) =
            prepared.map_err(|error| LineError::other(error.to_string()))?;
        line.check_length(&symbols)?;
        let gold = line.gold().and_then(|right| match right {
            serde_json::Value::Array(names) => {
                names.iter().map(|name| self.vocabulary.symbol(name.as_str()?)).collect()
            }
            text => self.vocabulary.read(text.as_str()?).ok(),
        });
        let subject = Subject::new(symbols, value);
        Ok(vec![Case::new(Item { object, size, cap }, subject).with_gold(gold)])
    }

    fn searches(&self) -> Vec<Search> {
        M::searches()
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }
}
