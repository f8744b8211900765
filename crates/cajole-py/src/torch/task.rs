//! PyTorch's networks as tasks, so that lines, records, engines and comparisons work as for all
//! others.

use std::sync::Arc;

use cajole_core::{Config, Objective, Search};
use cajole_infer::engine::{Engine, Limits, Rival};
use cajole_infer::line::{Line, LineError};
use cajole_infer::task::{Case, Search, Task, Together};
use cajole_infer::{sequences, tags};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::{Preset, Presets};

use super::backend::{Backend, Item};
use super::stepper::PyStepper;
use super::tagger::PyTagger;

/// A network in PyTorch with the names of its symbols.
pub(crate) struct Torch<M> {
    model: M,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

impl<M> Torch<M> {
    /// Unless settings say otherwise, the parameters that match `moves` move.
    pub(super) fn new(model: M, vocabulary: Vocabulary, moves: Vec<String>) -> Self {
        // Passes cost more here than elsewhere, so decode greedily, and search fewer prefixes.
        let cheap = |config: Config| {
            config.with(|config| {
                config.width = 1;
                config.sources = vec![Search::Masked { width: 5 }, Search::BlackBox { limit: 256 }];
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

/// The input of a line, which must be JSON that the network's `prepare` takes.
fn cases(backend: &Backend, line: &Line, gold: &Vocabulary) -> Result<Vec<Case<Item>>, LineError> {
    let value = line.input()?;
    let prepared = backend.prepare(&value).map_err(|failure| LineError::other(failure.to_string()));
    let (object, symbols, size, cap) = prepared?;
    line.check_length(&symbols)?;
    let gold = line.gold().and_then(|right| match right {
        serde_json::Value::Array(names) => {
            names.iter().map(|name| gold.symbol(name.as_str()?)).collect()
        }
        text => gold.read(text.as_str()?).ok(),
    });
    let (input, subject) = (Item { object, size, cap }, Subject::new(symbols, value));
    Ok(vec![Case { input, subject, gold }])
}

impl Task for Torch<PyTagger> {
    const NAME: &'static str = "tagging";
    type Model = PyTagger;
    type Input = Item;

    fn model(&self) -> &PyTagger {
        &self.model
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    fn fingerprint(&self) -> u64 {
        self.model.backend.fingerprint
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn together(&self) -> Together {
        together(&self.model.backend)
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case<Item>>, LineError> {
        cases(&self.model.backend, line, &self.vocabulary)
    }

    fn engines(&self) -> Vec<Engine> {
        tags::engines()
    }

    fn rival<'a>(
        &'a self,
        rival: Rival,
        _: &'a Rules,
        limits: &Limits,
    ) -> Option<Search<'a, PyTagger>> {
        Some(tags::rival(&self.model.tags, rival, limits))
    }
}

impl Task for Torch<PyStepper> {
    const NAME: &'static str = "sequences";
    type Model = PyStepper;
    type Input = Item;

    fn model(&self) -> &PyStepper {
        &self.model
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    fn fingerprint(&self) -> u64 {
        self.model.backend.fingerprint
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.expansions = 256;
        limits
    }

    fn together(&self) -> Together {
        together(&self.model.backend)
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case<Item>>, LineError> {
        cases(&self.model.backend, line, &self.vocabulary)
    }

    fn engines(&self) -> Vec<Engine> {
        sequences::engines()
    }

    fn rival<'a>(
        &'a self,
        rival: Rival,
        _: &'a Rules,
        limits: &Limits,
    ) -> Option<Search<'a, PyStepper>> {
        Some(sequences::rival(rival, limits))
    }
}
