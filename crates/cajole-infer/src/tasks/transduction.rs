//! The paper's synthetic transduction: letters in, letters out.

use cajole_files::fingerprint;
use std::sync::Arc;

use cajole_core::{Search, Symbol};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::transduction::{ALPHABET, Net, USUAL_RULES};
use serde_json::Value;

use super::sequences;
use crate::case::Case;
use crate::line::{Line, LineError, list};
use crate::solver::{Network, Solver, solver};
use crate::task::Task;

/// The task's name in checkpoints.
pub(crate) const NAME: &str = "transduction";

/// A transducer.
pub struct Transduction {
    model: Net,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

impl Transduction {
    /// With its network.
    pub fn new(model: Net) -> Self {
        let vocabulary = Arc::new(Vocabulary::new(ALPHABET.map(String::from), ""));
        Transduction { model, vocabulary, presets: Presets::built_in(Presets::TRANSDUCTION) }
    }

    /// The symbols of a text or a list of letters.
    fn letters(&self, field: &'static str, value: &Value) -> Result<Vec<String>, LineError> {
        let text = || value.as_str().unwrap_or_default().chars().map(String::from).collect();
        Ok(list(field, value)?.unwrap_or_else(text))
    }
}

impl Network for Transduction {
    type Model = Net;
    type Input = Vec<Symbol>;

    fn model(&self) -> &Self::Model {
        &self.model
    }
}

impl Task for Transduction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    fn usual_rules(&self) -> Option<&'static str> {
        Some(USUAL_RULES)
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let value = line.input()?;
        line.check_length(value.as_str().unwrap_or_default().chars())?;
        let symbols = self.letters("input", &value)?;
        // The network reads the same letters that it writes.
        let symbol = |letter: &String| {
            let unknown = || LineError::UnknownInput { symbol: letter.clone() };
            self.vocabulary.symbol(letter).ok_or_else(unknown)
        };
        let input: Vec<Symbol> = symbols.iter().map(symbol).collect::<Result<_, _>>()?;
        let gold = line.gold().map(|gold| self.letters("output", gold)).transpose()?;
        // A right output that the network cannot write is no use for comparison.
        let gold = gold.and_then(|gold| self.vocabulary.read(&gold.concat()).ok());
        Ok(vec![Case::new(input, Subject::new(symbols, value)).with_gold(gold)])
    }

    fn searches(&self) -> Vec<Search> {
        sequences::usual_searches()
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }
}
