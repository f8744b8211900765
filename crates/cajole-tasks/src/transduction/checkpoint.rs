//! A transducer as a folder: weights, architecture, vocabularies, model card.

use std::path::Path;

use cajole_nn::checkpoint::{Precision, from_bytes};
use cajole_nn::models::{Transducer, TransducerConfig};
use cajole_nn::{AutoRegressive, Trained};
use serde::{Deserialize, Serialize};

use super::language::ALPHABET;
use crate::checkpoint::{self, LoadError};

/// What `config.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `transduction`.
    pub task: String,
    /// The architecture.
    pub network: TransducerConfig,
    /// The seed it was trained from.
    pub seed: u64,
    /// Epochs of training.
    pub epochs: usize,
    /// Exact match on the training inputs, in per cent.
    pub train_exact: f64,
    /// Exact match on the development inputs, in per cent.
    pub dev_exact: f64,
}

/// Writes a checkpoint folder.
///
/// # Errors
/// If a file cannot be written.
pub fn save(folder: &Path, model: &Trained<Transducer>, card: &Card) -> Result<(), LoadError> {
    let letters = ALPHABET.map(String::from).join("\n") + "\n";
    let target = letters.clone() + "</s>\n";
    let vocabularies = [("vocab.source.txt", letters), ("vocab.target.txt", target)];
    checkpoint::save(folder, model, card, Precision::F32, &vocabularies)
}

/// The transducer that comes with cajole: see its model card in `models/transducer`.
pub fn built_in() -> Trained<Transducer> {
    const CONFIG: &str = include_str!("../../../../models/transducer/config.json");
    const WEIGHTS: &[u8] = include_bytes!("../../../../models/transducer/model.safetensors");
    let card: Card = serde_json::from_str(CONFIG).expect("the built-in card is tested");
    let net = Transducer::new(card.network);
    let weights = from_bytes(Path::new("(built in)"), WEIGHTS, net.layout())
        .expect("the built-in weights are tested");
    Trained { net, weights: weights.into() }
}

/// Reads a checkpoint folder.
///
/// # Errors
/// If a file is missing, damaged, or for something else.
pub fn load(folder: &Path) -> Result<(Trained<Transducer>, Card), LoadError> {
    let card: Card = checkpoint::load_card(folder)?;
    let model = checkpoint::load_weights(folder, Transducer::new(card.network.clone()))?;
    Ok((model, card))
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "transduction";

    fn to_markdown(&self) -> String {
        let Card { network, seed, epochs, train_exact, dev_exact, .. } = self;
        let state = serde_json::to_value(network.start_state).unwrap_or_default();
        let state = state.as_str().unwrap_or_default();
        format!(
            "# Transducer, decoder started from {state}, seed {seed}\n\n\
             Maps `(az|bz)*` to `(aaa|zb)*`: `az` becomes `aaa`, `bz` becomes `zb`.\n\n\
             - **Architecture**: LSTM encoder and decoder, one layer of {hidden} units each, \
             embeddings of {embedding}; the encoder's final state is an input at every step.\n\
             - **Data**: 1934 generated inputs of 2 to 20 symbols; nothing to license.\n\
             - **Command**: `cajole train transduction --seed {seed} \
             --set network.start-state={state}`, {epochs} epochs.\n\
             - **Exact match**: {train_exact:.1} % on the training inputs, {dev_exact:.1} % on the \
             112 held-out inputs of the same lengths.\n\
             - **Licence**: MIT OR Apache-2.0.\n",
            hidden = network.hidden,
            embedding = network.embedding,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::checkpoint::Card as _;

    #[test]
    fn the_built_in_model_is_the_one_under_models() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/transducer");
        let (model, card) = load(&folder).unwrap();
        assert_eq!(built_in().weights, model.weights);
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        assert_eq!(card.to_markdown(), text, "the model card is what its settings say");
    }
}
