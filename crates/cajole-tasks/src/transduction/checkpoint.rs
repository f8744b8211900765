//! A transducer as a folder: weights, architecture, vocabularies, model card.

use cajole_nn::Trained;
use cajole_nn::models::{Transducer, TransducerConfig};
use serde::{Deserialize, Serialize};

use super::language::ALPHABET;
use crate::checkpoint::{self, Checkpoint, Entries, Files, LoadError, to_lines};

/// The networks of this task.
pub type Net = Trained<Transducer>;

/// The `config.json` of a transducer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `transduction`.
    pub task: String,
    /// The architecture.
    pub network: TransducerConfig,
    /// The training seed.
    pub seed: u64,
    /// The number of training epochs.
    pub epochs: usize,
    /// Exact match on the training set, in per cent.
    pub train_exact: f64,
    /// Exact match on the dev set, in per cent.
    pub dev_exact: f64,
}

const SOURCE: &str = "vocab.source.txt";
const TARGET: &str = "vocab.target.txt";
/// What the vocabulary calls the end of an output.
const END: &str = "</s>";

impl Checkpoint for Net {
    type Card = Card;
    type Network = Transducer;
    const VOCABULARIES: &'static [&'static str] = &[SOURCE, TARGET];
    const BUILT_IN: &'static [(&'static str, &'static [u8])] = cajole_model_transducer::FILES;

    fn trained(&self) -> &Net {
        self
    }

    fn vocabularies(&self) -> Vec<(&'static str, String)> {
        let letters = to_lines(ALPHABET.map(String::from));
        let target = letters.clone() + END + "\n";
        vec![(SOURCE, letters), (TARGET, target)]
    }

    fn assemble(card: &Card, files: &Files<'_>) -> Result<Net, LoadError> {
        let network = &card.network;
        let letters = ALPHABET.map(String::from);
        let [source, target] = [(SOURCE, network.input_symbols), (TARGET, network.output_symbols)]
            .map(|(name, n_symbols)| files.entries(name, n_symbols, Entries::Words));
        let expected = letters.iter().map(String::as_str).chain([END]);
        for (name, found) in [(SOURCE, source?), (TARGET, target?)] {
            let mut pairs = (1..).zip(found.iter().zip(expected.clone()));
            if let Some((line, (entry, letter))) =
                pairs.find(|(_, (entry, letter))| entry != letter)
            {
                let (path, entry) = (files.path(name), entry.clone());
                let why = format!("should be {letter:?}");
                return Err(LoadError::Entry { path, line, entry, why });
            }
        }
        files.trained(Transducer::new(network.clone()))
    }
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
