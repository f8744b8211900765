//! A network for pairs, what it reads and what it writes. As a folder: a checkpoint with the
//! vocabularies `vocab.source.txt` and `vocab.target.txt`.

use std::fs;
use std::path::Path;

use cajole_core::Symbol;
use cajole_nn::checkpoint::{Precision, from_bytes};
use cajole_nn::models::{Seq2Seq, Seq2SeqConfig, Token};
use cajole_nn::{AutoRegressive, Trained};
use serde::{Deserialize, Serialize};

use super::spelling::Spelling;
use super::symbols::{Symbols, UNKNOWN};
use crate::checkpoint::{self, LoadError, from_lines, to_lines};

/// The networks of this task.
pub type Net = Trained<Seq2Seq>;

/// A trained network with its vocabularies.
#[derive(Clone, Debug)]
pub struct PairsModel {
    /// The network.
    pub model: Net,
    /// What it reads, [`UNKNOWN`] among it.
    pub source: Symbols,
    /// What it writes, but for the end symbol, which comes after these.
    pub target: Symbols,
    /// How text becomes symbols; [`Spelling::symbols`] reads those of a line.
    pub spelling: Spelling,
}

impl PairsModel {
    /// The network's view of an input.
    pub fn tokens(&self, input: &[String]) -> Vec<Token> {
        let unknown = self.source.symbol(UNKNOWN).unwrap_or(0);
        let token = |name: &String| {
            let word = self.source.symbol(name).unwrap_or(unknown);
            Token { word, vector: 0 }
        };
        input.iter().map(token).collect()
    }

    /// What the symbols of an output are called.
    pub fn names(&self, y: &[Symbol]) -> Vec<&str> {
        y.iter().map(|&symbol| self.target.name(symbol)).collect()
    }

    /// An output as text.
    pub fn text(&self, y: &[Symbol]) -> String {
        self.names(y).join(self.spelling.separator())
    }
}

/// What `config.json` says of a network for pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `pairs`.
    pub task: String,
    /// How text becomes symbols.
    pub symbols: Spelling,
    /// How many pairs it was trained on.
    pub pairs: usize,
    /// How many it was judged by.
    pub dev_pairs: usize,
    /// The architecture.
    pub network: Seq2SeqConfig,
    /// The seed it was trained from.
    pub seed: u64,
    /// Epochs of training.
    pub epochs: usize,
    /// The epoch with the best development score, whose weights these are.
    pub best_epoch: usize,
    /// Development pairs whose output is exactly right by greedy decoding, in per cent.
    pub dev_exact: f64,
    /// Symbols of these that need no edit, in per cent.
    pub dev_symbols: f64,
}

const SOURCE: &str = "vocab.source.txt";
const TARGET: &str = "vocab.target.txt";

/// Writes a checkpoint folder.
///
/// # Errors
/// If a file cannot be written.
pub fn save(
    folder: &Path,
    model: &PairsModel,
    card: &Card,
    precision: Precision,
) -> Result<(), LoadError> {
    let vocabularies =
        [(SOURCE, to_lines(model.source.names())), (TARGET, to_lines(model.target.names()))];
    checkpoint::save(folder, &model.model, card, precision, &vocabularies)
}

/// Reads a checkpoint folder.
///
/// # Errors
/// If a file is missing, damaged, or for something else.
pub fn load(folder: &Path) -> Result<(PairsModel, Card), LoadError> {
    let card: Card = checkpoint::load_card(folder)?;
    let network = &card.network;
    let read = |name: &str, expected: usize| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).map_err(LoadError::io(&path))?;
        from_lines(&path, &text, expected).map(Symbols::new)
    };
    let source = read(SOURCE, network.words)?;
    let target = read(TARGET, network.output_symbols.saturating_sub(1))?;
    let model = checkpoint::load_weights(folder, Seq2Seq::new(network.clone()))?;
    Ok((PairsModel { model, source, target, spelling: card.symbols }, card))
}

/// The network that puts brackets into expressions: see its model card in `models/expressions`.
pub fn built_in() -> PairsModel {
    const CONFIG: &str = include_str!("../../../../models/expressions/config.json");
    const SOURCE: &str = include_str!("../../../../models/expressions/vocab.source.txt");
    const TARGET: &str = include_str!("../../../../models/expressions/vocab.target.txt");
    const WEIGHTS: &[u8] = include_bytes!("../../../../models/expressions/model.safetensors");
    let card: Card = serde_json::from_str(CONFIG).expect("the built-in card is tested");
    let net = Seq2Seq::new(card.network);
    let weights = from_bytes(Path::new("(built in)"), WEIGHTS, net.layout())
        .expect("the built-in weights are tested");
    let symbols = |text: &str| Symbols::new(text.lines().map(str::to_owned).collect());
    PairsModel {
        model: Trained { net, weights: weights.into() },
        source: symbols(SOURCE),
        target: symbols(TARGET),
        spelling: card.symbols,
    }
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "pairs";

    fn to_markdown(&self) -> String {
        let Card { pairs, dev_pairs, network, seed, epochs, best_epoch, .. } = self;
        let architecture = serde_json::to_value(network.architecture).unwrap_or_default();
        let symbols = match self.symbols {
            Spelling::Words => "words",
            Spelling::Characters => "characters",
        };
        format!(
            "# A network trained on pairs\n\n\
             Reads a sequence of {symbols} and writes another.\n\n\
             - **Architecture**: {architecture}, {layers} layers of {hidden} units, additive \
             attention, dropout {dropout}; {words} input symbols with embeddings of {embedding}, \
             {outputs} output symbols.\n\
             - **Data**: {pairs} pairs for training, {dev_pairs} for development.\n\
             - **Command**: `cajole train pairs --train FILE --dev FILE --seed {seed}`, {epochs} \
             epochs, of which number {best_epoch} was kept.\n\
             - **Exact match** (greedy decoding): {exact:.1} % of the development pairs; {right:.2} % \
             of their symbols need no edit.\n",
            architecture = architecture.as_str().unwrap_or_default(),
            layers = network.layers,
            hidden = network.hidden,
            dropout = network.dropout,
            words = network.words,
            embedding = network.embedding,
            outputs = network.output_symbols.saturating_sub(1),
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
    fn the_built_in_network_is_the_one_under_models() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/expressions");
        let (model, card) = load(&folder).unwrap();
        let built_in = built_in();
        assert_eq!(built_in.model.weights, model.model.weights);
        assert_eq!((built_in.source, built_in.target), (model.source, model.target));
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        let facts = checkpoint::Card::to_markdown(&card);
        let (_, facts) = facts.split_once("\n\n").unwrap();
        assert!(text.contains(facts.trim_end()), "the model card says what its settings say");
    }

    #[test]
    fn the_built_in_network_is_right_on_short_expressions_and_not_on_long_ones() {
        let exact = |operands: &str| {
            let pairs = generate(Split::Test, 100, &operands.parse().unwrap(), 1);
            let pairs: Vec<_> = pairs.collect();
            evaluate(&built_in(), &pairs).exact_match()
        };
        assert!(95.0 < exact("2..=8"));
        assert!((20.0..90.0).contains(&exact("9..=11")));
    }
}
