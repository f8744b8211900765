//! A parser: a network with its input and output vocabularies. As a checkpoint folder, it has the
//! vocabularies `vocab.words.txt`, `vocab.vectors.txt` and `vocab.labels.txt`.

use cajole_core::{Decoder, Symbol};
use cajole_nn::Trained;
use cajole_nn::models::{SequenceConfig, SequenceNetwork, Token};
use cajole_treebank::Tree;
use cajole_treebank::shift_reduce::commands::Commands;
use cajole_treebank::shift_reduce::constraint::ShiftReduce;
use cajole_treebank::shift_reduce::repair::{Repairs, repair};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, Checkpoint, Entries, Files, LoadError, to_lines};
use crate::sequence;
use crate::words::{Lexicon, Reads};

/// The networks of this task.
pub type Net = Trained<SequenceNetwork>;

/// A trained parser.
#[derive(Clone, Debug)]
pub struct Parser {
    /// The network.
    pub model: Net,
    /// Maps words to tokens.
    pub lexicon: Lexicon,
    /// Maps symbols to commands.
    pub commands: Commands,
}

impl Parser {
    /// The constraint that outputs build one tree over the sentence.
    pub fn constraint(&self) -> ShiftReduce {
        ShiftReduce::new(&self.commands)
    }

    /// The tree of an output over `(tag, word)` leaves, repaired if it is invalid.
    pub fn tree(&self, y: &[Symbol], leaves: &[(&str, &str)]) -> (Tree, Repairs) {
        repair(&self.commands, y, leaves)
    }

    /// Parses these sentences, on all cores.
    pub fn trees<D: Decoder<Net>>(
        &self,
        decoder: &D,
        sentences: &[Vec<(&str, &str)>],
    ) -> Vec<Tree> {
        let tokens: Vec<Vec<Token>> = sentences.iter().map(|s| self.lexicon.tokens(s)).collect();
        let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
        let outputs = self.model.decode_all(decoder, &xs);
        outputs.iter().zip(sentences).map(|(y, leaves)| self.tree(&y.output, leaves).0).collect()
    }
}

/// The `config.json` of a parser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `parsing`.
    pub task: String,
    /// The network's name in the experiment.
    pub name: String,
    /// The treebank it was trained on.
    pub treebank: String,
    /// The number of training sentences.
    pub sentences: usize,
    /// What it reads.
    pub reads: Reads,
    /// The architecture.
    pub network: SequenceConfig,
    /// The training seed.
    pub seed: u64,
    /// The number of training epochs.
    pub epochs: usize,
    /// The epoch with the best dev score, whose weights these are.
    pub best_epoch: usize,
    /// Dev F1 with greedy decoding, in per cent.
    pub dev_f1: f64,
}

const LABELS: &str = "vocab.labels.txt";
const WORDS: &str = "vocab.words.txt";
const VECTORS: &str = "vocab.vectors.txt";

impl Checkpoint for Parser {
    type Card = Card;
    type Network = SequenceNetwork;
    const VOCABULARIES: &'static [&'static str] = &[LABELS, WORDS, VECTORS];
    const BUILT_IN: &'static [(&'static str, &'static [u8])] = cajole_model_parser::FILES;

    fn trained(&self) -> &Net {
        &self.model
    }

    fn vocabularies(&self) -> Vec<(&'static str, String)> {
        vec![
            (LABELS, to_lines(&self.commands.labels)),
            (WORDS, to_lines(self.lexicon.words())),
            (VECTORS, to_lines(self.lexicon.vectors())),
        ]
    }

    fn assemble(card: &Card, files: &Files<'_>) -> Result<Parser, LoadError> {
        let network = &card.network;
        // Besides shift, reduce and the end.
        let n_labels = files.beyond(network.output_symbols(), 3)?;
        let labels = files.entries(LABELS, n_labels, Entries::Labels)?;
        let words = files.entries(WORDS, network.words(), Entries::Texts)?;
        let n_vectors = network.vectors().map_or(0, |(rows, _)| rows - 1);
        let vectors = files.entries(VECTORS, n_vectors, Entries::Texts)?;
        let model = files.trained(SequenceNetwork::new(network.clone()))?;
        let lexicon = Lexicon::new(card.reads, words, vectors);
        Ok(Parser { model, lexicon, commands: Commands::new(labels) })
    }
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "parsing";

    fn to_markdown(&self) -> String {
        let Card { name, treebank, sentences, network, seed, epochs, best_epoch, dev_f1, .. } =
            self;
        let architecture = sequence::describe(network, "words and word classes");
        let input = match self.reads {
            Reads::Words => "words",
            Reads::Tags => "part-of-speech tags",
        };
        format!(
            "# Parser {name}\n\n\
             Reads the {input} of a sentence and writes the shift-reduce commands of its \
             constituency tree.\n\n\
             - **Architecture**: {architecture}.\n\
             - **Data**: {sentences} training sentences of `{treebank}`.\n\
             - **Command**: `cajole train parsing --network {name} --seed {seed}`, {epochs} \
             epochs, keeping epoch {best_epoch}.\n\
             - **F1** (evalb, greedy decoding, invalid outputs repaired): {dev_f1:.2} on the \
             dev set.\n",
        )
    }
}
