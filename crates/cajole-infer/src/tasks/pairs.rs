//! Users' own pairs: symbols in, symbols out.

use cajole_core::{Config, Symbol};
use cajole_nn::models::Token;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::pairs::PairsModel;
use cajole_tasks::pairs::model::Net;
use serde_json::{Map, Value};

use super::sequences::{self, Sequences};
use crate::engine::Preset;
use crate::line::{Line, LineError};
use crate::task::{Case, Decoders, Output, Task};

/// A network for pairs.
pub struct Pairs {
    pairs: PairsModel,
    vocabulary: Vocabulary,
}

impl Pairs {
    /// With its network.
    pub fn new(pairs: PairsModel) -> Self {
        let vocabulary = Vocabulary::new(pairs.target.names(), pairs.spelling.separator());
        Pairs { pairs, vocabulary }
    }

    fn symbols(&self, field: &'static str, value: &Value) -> Result<Vec<String>, LineError> {
        let symbols = self.pairs.spelling.symbols(value);
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

    fn usual_rules(&self) -> Option<&'static str> {
        None
    }

    fn gbi(&self, preset: Preset) -> Config {
        match preset {
            Preset::Paper => Config::paper(),
            Preset::Best => Config::best(),
        }
    }

    fn cases(&self, line: &Line, _: &Rules<'_>) -> Result<Vec<Case<Vec<Token>>>, LineError> {
        let value = line.input()?;
        let symbols = self.symbols("input", &value)?;
        let gold = line.gold().map(|gold| self.symbols("output", gold)).transpose()?;
        // What the network cannot write has no right output to be compared with.
        let known = |gold: Vec<String>| gold.iter().map(|s| self.vocabulary.symbol(s)).collect();
        let gold = gold.and_then(known);
        let input = self.pairs.tokens(&symbols);
        Ok(vec![Case { input, subject: Subject::new(symbols, value), gold, about: Map::new() }])
    }

    fn record(&self, case: &Case<Vec<Token>>, y: &[Symbol]) -> Map<String, Value> {
        sequences::record(&self.vocabulary, case, y)
    }

    fn decoders(&self) -> &dyn Decoders<Net> {
        &Sequences
    }

    fn score(&self, outputs: &[Output<'_, Vec<Token>>]) -> (&'static str, f64) {
        sequences::score(outputs)
    }
}
