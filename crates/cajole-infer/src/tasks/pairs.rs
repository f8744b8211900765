//! Users' own pairs: symbols in, symbols out.

use cajole_files::fingerprint;
use std::sync::Arc;

use cajole_core::Search;
use cajole_nn::models::{SequenceNetwork, Token};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::pairs::PairsModel;
use cajole_tasks::pairs::model::Net;
use cajole_tasks::pairs::spelling::MOST_SYMBOLS;
use serde_json::Value;

use super::sequences;
use crate::case::Case;
use crate::line::{Line, LineError};
use crate::plan::{Plan, Plans};
use crate::settings::Settings;
use crate::solver::{Network, Solver, solver};
use crate::task::Task;

/// The task's name in checkpoints.
pub(crate) const NAME: &str = "pairs";

/// A network for pairs.
pub struct Pairs {
    pairs: PairsModel,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

impl Pairs {
    /// With its network.
    pub fn new(pairs: PairsModel) -> Self {
        let vocabulary =
            Arc::new(Vocabulary::new(pairs.target.names(), pairs.spelling.separator()));
        let presets = Presets::built_in(match pairs.model.net {
            SequenceNetwork::Lstm(_) => Presets::PAIRS,
            SequenceNetwork::Transformer(_) => Presets::PAIRS_TRANSFORMER,
        });
        Pairs { pairs, vocabulary, presets }
    }

    fn symbols(
        &self,
        field: &'static str,
        value: &Value,
        most: usize,
    ) -> Result<Vec<String>, LineError> {
        let symbols = self.pairs.spelling.symbols_up_to(most, value);
        symbols.map_err(|source| LineError::Symbols { field, source })
    }
}

impl Network for Pairs {
    type Model = Net;
    type Input = Vec<Token>;

    fn model(&self) -> &Self::Model {
        &self.pairs.model
    }
}

impl Task for Pairs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.pairs.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let value = line.input()?;
        let most = line.max_tokens();
        let symbols = self.symbols("input", &value, most)?;
        let gold = |gold| self.symbols("output", gold, most.max(MOST_SYMBOLS));
        let gold = line.gold().map(gold).transpose()?;
        // A right output that the network cannot write is no use for comparison.
        let known = |gold: Vec<String>| gold.iter().map(|s| self.vocabulary.symbol(s)).collect();
        let gold = gold.and_then(known);
        let input = self.pairs.tokens(&symbols);
        Ok(vec![Case::new(input, Subject::new(symbols, value)).with_gold(gold)])
    }

    fn searches(&self) -> Vec<Search> {
        sequences::usual_searches()
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }

    /// Searches that follow the rules are as accurate on pairs as nudging, in fewer passes.
    fn usual_plans(&self, settings: &Settings) -> Plans {
        Plans { followed: Plan::auto(settings), otherwise: Some(Plan::gbi(settings)) }
    }
}
