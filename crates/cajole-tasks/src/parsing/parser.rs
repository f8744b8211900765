//! A parser: a network, what it reads and what it writes. As a folder: a checkpoint with the
//! vocabularies `vocab.words.txt`, `vocab.vectors.txt` and `vocab.labels.txt`.

use std::fs;
use std::path::Path;

use cajole_core::corpus::decode_all;
use cajole_core::{Decoder, Symbol};
use cajole_nn::checkpoint::{Precision, from_bytes};
use cajole_nn::models::{Seq2Seq, Seq2SeqConfig, Token};
use cajole_nn::{AutoRegressive, Trained};
use serde::{Deserialize, Serialize};

use super::commands::Commands;
use super::constraint::{ShiftReduce, Tokens};
use super::repair::{Repairs, repair};
use crate::checkpoint::{self, LoadError, from_lines, to_lines};
use crate::treebank::Tree;
use crate::words::{Lexicon, Reads};

/// The networks of this task.
pub type Net = Trained<Seq2Seq>;

/// A trained parser.
#[derive(Clone, Debug)]
pub struct Parser {
    /// The network.
    pub model: Net,
    /// From words to its tokens.
    pub lexicon: Lexicon,
    /// From its symbols to commands.
    pub commands: Commands,
}

impl Parser {
    /// What its outputs have to satisfy: to build one tree over the sentence.
    pub fn constraint(&self) -> ShiftReduce {
        ShiftReduce::new(&self.commands)
    }

    /// The tree that an output stands for, over `(tag, word)`, mended where it is none.
    pub fn tree(&self, y: &[Symbol], leaves: &[(&str, &str)]) -> (Tree, Repairs) {
        repair(&self.commands, y, leaves)
    }

    /// The trees that it gives these sentences, on all cores.
    pub fn trees<D: Decoder<Net>>(
        &self,
        decoder: &D,
        sentences: &[Vec<(&str, &str)>],
    ) -> Vec<Tree> {
        let tokens: Vec<Vec<Token>> = sentences.iter().map(|s| self.lexicon.tokens(s)).collect();
        let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
        let outputs = decode_all(&self.model, decoder, &xs);
        outputs.iter().zip(sentences).map(|(y, leaves)| self.tree(&y.output, leaves).0).collect()
    }
}

impl Tokens for [Token] {
    fn n_tokens(&self) -> usize {
        self.len()
    }
}

/// What `config.json` says of a parser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `parsing`.
    pub task: String,
    /// As the experiment calls it.
    pub name: String,
    /// What it was trained on.
    pub treebank: String,
    /// How many sentences of it.
    pub sentences: usize,
    /// What it reads.
    pub reads: Reads,
    /// The architecture.
    pub network: Seq2SeqConfig,
    /// The seed it was trained from.
    pub seed: u64,
    /// Epochs of training.
    pub epochs: usize,
    /// The epoch with the best development score, whose weights these are.
    pub best_epoch: usize,
    /// F1 on the development data by greedy decoding, in per cent.
    pub dev_f1: f64,
}

const LABELS: &str = "vocab.labels.txt";
const WORDS: &str = "vocab.words.txt";
const VECTORS: &str = "vocab.vectors.txt";

/// Writes a checkpoint folder.
///
/// # Errors
/// If a file cannot be written.
pub fn save(
    folder: &Path,
    parser: &Parser,
    card: &Card,
    precision: Precision,
) -> Result<(), LoadError> {
    let vocabularies = [
        (LABELS, to_lines(&parser.commands.labels)),
        (WORDS, to_lines(parser.lexicon.words())),
        (VECTORS, to_lines(parser.lexicon.vectors())),
    ];
    checkpoint::save(folder, &parser.model, card, precision, &vocabularies)
}

/// Reads a checkpoint folder.
///
/// # Errors
/// If a file is missing, damaged, or for something else.
pub fn load(folder: &Path) -> Result<(Parser, Card), LoadError> {
    let card: Card = checkpoint::load_card(folder)?;
    let network = &card.network;
    let read = |name: &str, expected: usize| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).map_err(LoadError::io(&path))?;
        from_lines(&path, &text, expected)
    };
    let labels = read(LABELS, network.output_symbols.saturating_sub(3))?;
    let words = read(WORDS, network.words)?;
    let vectors = read(VECTORS, network.vectors.saturating_sub(1))?;
    let model = checkpoint::load_weights(folder, Seq2Seq::new(network.clone()))?;
    let lexicon = Lexicon::new(card.reads, words, vectors);
    Ok((Parser { model, lexicon, commands: Commands::new(labels) }, card))
}

/// The English parser that comes with cajole: see its model card in `models/parser`.
pub fn built_in() -> Parser {
    const CONFIG: &str = include_str!("../../../../models/parser/config.json");
    const LABELS: &str = include_str!("../../../../models/parser/vocab.labels.txt");
    const WORDS: &str = include_str!("../../../../models/parser/vocab.words.txt");
    const VECTORS: &str = include_str!("../../../../models/parser/vocab.vectors.txt");
    const WEIGHTS: &[u8] = include_bytes!("../../../../models/parser/model.safetensors");
    let card: Card = serde_json::from_str(CONFIG).expect("the built-in card is tested");
    let net = Seq2Seq::new(card.network);
    let weights = from_bytes(Path::new("(built in)"), WEIGHTS, net.layout())
        .expect("the built-in weights are tested");
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    Parser {
        model: Trained { net, weights: weights.into() },
        lexicon: Lexicon::new(card.reads, lines(WORDS), lines(VECTORS)),
        commands: Commands::new(lines(LABELS)),
    }
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "parsing";

    fn to_markdown(&self) -> String {
        let Card { name, treebank, sentences, network, seed, epochs, best_epoch, dev_f1, .. } =
            self;
        let architecture = serde_json::to_value(network.architecture).unwrap_or_default();
        let input = match self.reads {
            Reads::Words => "words",
            Reads::Tags => "part-of-speech tags",
        };
        let vectors = match network.vectors {
            0 => String::new(),
            n => format!(", and {n} fixed vectors of {}", network.vector_size),
        };
        format!(
            "# Parser {name}\n\n\
             Reads the {input} of a sentence and writes the shift-reduce commands of its \
             constituency tree.\n\n\
             - **Architecture**: {architecture}, {layers} layers of {hidden} units, additive \
             attention, dropout {dropout}; {words} words and word classes with embeddings of \
             {embedding}{vectors}.\n\
             - **Data**: {sentences} training sentences of `{treebank}`.\n\
             - **Command**: `cajole train parsing --network {name} --seed {seed}`, {epochs} \
             epochs, of which number {best_epoch} was kept.\n\
             - **F1** (evalb, greedy decoding, invalid outputs mended): {dev_f1:.2} on the \
             development data.\n",
            architecture = architecture.as_str().unwrap_or_default(),
            layers = network.layers,
            hidden = network.hidden,
            dropout = network.dropout,
            words = network.words,
            embedding = network.embedding,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_parser_is_the_one_under_models() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/parser");
        let (parser, card) = load(&folder).unwrap();
        let built_in = built_in();
        assert_eq!(built_in.model.weights, parser.model.weights);
        assert_eq!(built_in.commands, parser.commands);
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        let facts = checkpoint::Card::to_markdown(&card);
        let (_, facts) = facts.split_once("\n\n").unwrap();
        assert!(text.contains(facts.trim_end()), "the model card says what its settings say");
    }
}
