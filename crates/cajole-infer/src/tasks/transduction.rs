//! The paper's synthetic transduction: letters in, letters out.

use cajole_core::Symbol;
use cajole_files::fingerprint;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::transduction::{ALPHABET, Net, USUAL_RULES};
use serde_json::Value;

use super::sequences;
use crate::engine::{Engine, Limits, Rival};
use crate::line::{Line, LineError, list};
use crate::task::{Case, Search, Task};

/// A transducer.
pub struct Transduction {
    model: Net,
    vocabulary: Vocabulary,
    presets: Presets,
}

impl Transduction {
    /// With its network.
    pub fn new(model: Net) -> Self {
        let vocabulary = Vocabulary::new(ALPHABET.map(String::from), "");
        Transduction { model, vocabulary, presets: Presets::built_in(Presets::TRANSDUCTION) }
    }

    /// The symbols of a text or a list of letters.
    fn letters(&self, field: &'static str, value: &Value) -> Result<Vec<String>, LineError> {
        let text = || value.as_str().unwrap_or_default().chars().map(String::from).collect();
        Ok(list(field, value)?.unwrap_or_else(text))
    }
}

impl Task for Transduction {
    const NAME: &'static str = "transduction";
    type Model = Net;
    type Input = Vec<Symbol>;

    fn model(&self) -> &Net {
        &self.model
    }

    fn vocabulary(&self) -> &Vocabulary {
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

    fn cases(&self, line: &Line, _: &Rules<'_>) -> Result<Vec<Case<Vec<Symbol>>>, LineError> {
        let value = line.input()?;
        line.check_length(value.as_str().unwrap_or_default().chars())?;
        let symbols = self.letters("input", &value)?;
        // The network reads the same letters that it writes.
        let symbol = |letter: &String| {
            let unknown = || LineError::UnknownInput { symbol: letter.clone() };
            self.vocabulary.symbol(letter).ok_or_else(unknown)
        };
        let input = symbols.iter().map(symbol).collect::<Result<_, _>>()?;
        let gold = line.gold().map(|gold| self.letters("output", gold)).transpose()?;
        // A right output that the network cannot write is no use for comparison.
        let gold = gold.and_then(|gold| self.vocabulary.read(&gold.concat()).ok());
        Ok(vec![Case { input, subject: Subject::new(symbols, value), gold }])
    }

    fn engines(&self) -> Vec<Engine> {
        sequences::engines()
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
