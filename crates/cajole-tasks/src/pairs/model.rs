//! A pairs network with its input and output vocabularies. As a checkpoint folder, it has the
//! vocabularies `vocab.source.txt` and `vocab.target.txt`.

use cajole_core::Symbol;
use cajole_nn::Trained;
use cajole_nn::models::{SequenceConfig, SequenceNetwork, Token};
use serde::{Deserialize, Serialize};

use super::spelling::{Spelling, SpellingError};
use super::symbols::{Symbols, UNKNOWN};
use crate::checkpoint::{self, Checkpoint, Entries, Files, LoadError, to_lines};
use crate::sequence;

/// The networks of this task.
pub type Net = Trained<SequenceNetwork>;

/// A trained network with its vocabularies.
#[derive(Clone, Debug)]
pub struct PairsModel {
    /// The network.
    pub model: Net,
    /// The input vocabulary, including [`UNKNOWN`].
    pub source: Symbols,
    /// The output vocabulary, without the end symbol, which comes last.
    pub target: Symbols,
    /// How text is split into symbols.
    pub spelling: Spelling,
}

impl PairsModel {
    /// Converts an input to tokens.
    pub fn tokens(&self, input: &[String]) -> Vec<Token> {
        let unknown = self.source.symbol(UNKNOWN).unwrap_or(0);
        let token = |name: &String| {
            let word = self.source.symbol(name).unwrap_or(unknown);
            Token { word, vector: 0 }
        };
        input.iter().map(token).collect()
    }

    /// The network's view of an input that is given as text.
    ///
    /// # Errors
    /// If text of this network's spelling cannot have these symbols.
    pub fn read(&self, text: &str) -> Result<Vec<Token>, SpellingError> {
        Ok(self.tokens(&self.spelling.symbols(&text.into())?))
    }

    /// The names of an output's symbols.
    pub fn names(&self, y: &[Symbol]) -> Vec<&str> {
        y.iter().map(|&symbol| self.target.name(symbol)).collect()
    }

    /// Formats an output as text.
    pub fn text(&self, y: &[Symbol]) -> String {
        self.names(y).join(self.spelling.separator())
    }
}

/// The `config.json` of a pairs network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `pairs`.
    pub task: String,
    /// How text is split into symbols.
    pub symbols: Spelling,
    /// The size of the training set.
    pub pairs: usize,
    /// The size of the dev set.
    pub dev_pairs: usize,
    /// The architecture.
    pub network: SequenceConfig,
    /// The training seed.
    pub seed: u64,
    /// The number of training epochs.
    pub epochs: usize,
    /// The epoch with the best dev score, whose weights these are.
    pub best_epoch: usize,
    /// Exact match on the dev set with greedy decoding, in per cent.
    pub dev_exact: f64,
    /// The percentage of dev symbols that need no edit.
    pub dev_symbols: f64,
}

const SOURCE: &str = "vocab.source.txt";
const TARGET: &str = "vocab.target.txt";

impl Checkpoint for PairsModel {
    type Card = Card;
    type Network = SequenceNetwork;
    const VOCABULARIES: &'static [&'static str] = &[SOURCE, TARGET];
    const BUILT_IN: &'static [(&'static str, &'static [u8])] = cajole_model_expressions::FILES;

    fn trained(&self) -> &Net {
        &self.model
    }

    fn vocabularies(&self) -> Vec<(&'static str, String)> {
        vec![(SOURCE, to_lines(self.source.names())), (TARGET, to_lines(self.target.names()))]
    }

    fn assemble(card: &Card, files: &Files<'_>) -> Result<PairsModel, LoadError> {
        let network = &card.network;
        let kind = match card.symbols {
            Spelling::Words => Entries::Words,
            Spelling::Characters => Entries::Characters,
        };
        let source = Symbols::new(files.entries(SOURCE, network.words(), kind)?);
        // Besides the end.
        let outputs = files.beyond(network.output_symbols(), 1)?;
        let target = Symbols::new(files.entries(TARGET, outputs, kind)?);
        let model = files.trained(SequenceNetwork::new(network.clone()))?;
        Ok(PairsModel { model, source, target, spelling: card.symbols })
    }
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "pairs";

    fn to_markdown(&self) -> String {
        let Card { pairs, dev_pairs, network, seed, epochs, best_epoch, .. } = self;
        let architecture = sequence::describe(network, "input symbols");
        let flag = match network {
            SequenceConfig::Lstm(_) => "",
            SequenceConfig::Transformer(_) => " --network transformer",
        };
        let symbols = match self.symbols {
            Spelling::Words => "words",
            Spelling::Characters => "characters",
        };
        format!(
            "# A network trained on pairs\n\n\
             Reads a sequence of {symbols} and writes another.\n\n\
             - **Architecture**: {architecture}, {outputs} output symbols.\n\
             - **Data**: {pairs} training pairs, {dev_pairs} dev pairs.\n\
             - **Command**: `cajole train pairs{flag} --train FILE --dev FILE --seed {seed}`, \
             {epochs} epochs, keeping epoch {best_epoch}.\n\
             - **Exact match** (greedy decoding): {exact:.1} % on the dev set; {right:.2} % \
             of the symbols need no edit.\n",
            outputs = network.output_symbols().saturating_sub(1),
            exact = self.dev_exact,
            right = self.dev_symbols,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::generated::{Split, generate};
    use crate::pairs::training::evaluate;

    #[test]
    fn the_built_in_network_is_right_on_short_expressions_and_not_on_long_ones() {
        let exact = |operands: &str| {
            let pairs = generate(Split::Test, 100, &operands.parse().unwrap(), 1);
            let pairs: Vec<_> = pairs.collect();
            evaluate(&PairsModel::built_in(), &pairs).exact_match()
        };
        assert!(95.0 < exact("2..=8"));
        assert!((20.0..90.0).contains(&exact("9..=11")));
    }
}
