//! Users' own pairs: symbols in, symbols out.

use cajole_files::fingerprint;
use cajole_nn::models::{SequenceNetwork, Token};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::pairs::PairsModel;
use cajole_tasks::pairs::model::Net;
use cajole_tasks::pairs::spelling::MOST_SYMBOLS;
use serde_json::Value;

use super::sequences;
use crate::engine::{Engine, Limits, Rival};
use crate::line::{Line, LineError};
use crate::task::{Case, Search, Task};

/// A network for pairs.
pub struct Pairs {
    pairs: PairsModel,
    vocabulary: Vocabulary,
    presets: Presets,
}

impl Pairs {
    /// With its network.
    pub fn new(pairs: PairsModel) -> Self {
        let vocabulary = Vocabulary::new(pairs.target.names(), pairs.spelling.separator());
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

impl Task for Pairs {
    const NAME: &'static str = "pairs";
    type Model = Net;
    type Input = Vec<Token>;

    fn model(&self) -> &Net {
        &self.pairs.model
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.pairs.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules<'_>) -> Result<Vec<Case<Vec<Token>>>, LineError> {
        let value = line.input()?;
        let most = line.max_tokens();
        let symbols = self.symbols("input", &value, most)?;
        let gold = |gold| self.symbols("output", gold, most.max(MOST_SYMBOLS));
        let gold = line.gold().map(gold).transpose()?;
        // A right output that the network cannot write is no use for comparison.
        let known = |gold: Vec<String>| gold.iter().map(|s| self.vocabulary.symbol(s)).collect();
        let gold = gold.and_then(known);
        let input = self.pairs.tokens(&symbols);
        Ok(vec![Case { input, subject: Subject::new(symbols, value), gold }])
    }

    fn engines(&self) -> Vec<Engine> {
        sequences::engines()
    }

    /// Searches that follow the rules are as accurate on pairs as nudging, in fewer passes.
    fn usual_engine(&self, follows: &dyn Fn() -> bool) -> Engine {
        if follows() { Engine::Auto } else { Engine::Gbi }
    }

    fn rival<'a>(
        &'a self,
        rival: Rival,
        _: &'a Rules<'_>,
        limits: &Limits,
    ) -> Option<Search<'a, Net>> {
        Some(sequences::rival(rival, limits))
    }
}
