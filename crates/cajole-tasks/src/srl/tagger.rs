//! A role tagger: a network with its input and output vocabularies. As a checkpoint folder, it has
//! the vocabularies `vocab.words.txt`, `vocab.vectors.txt`, `vocab.lemmas.txt`,
//! `vocab.predicates.txt` and `vocab.tags.txt`. A tagger that reads ELMo also has its two files in
//! `elmo/`; a tagger that is an encoder has a `tokenizer.json`, and no vocabularies of its input.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_core::constraints::{PREDICATE_ROLES, RoleSet, SpansInTree, TagSet};
use cajole_core::decoders::tags::{Space, Tagged, Viterbi};
use cajole_files::Folder;
use cajole_nn::models::elmo::Mix;
use cajole_nn::models::transformer::EncoderTaggerConfig;
use cajole_nn::models::{CellKind, Features, Reading, TaggerConfig};
use cajole_nn::{Tagging, Trained};
use cajole_treebank::roles::bio::Argument;
use cajole_treebank::roles::sentence::{Proposition, Sentence};
use serde::{Deserialize, Serialize};

use super::embedder::{ElmoFiles, Embedder};
use super::imported::Imported;
use super::instance::Instance;
use super::network::{RoleNetwork, RoleNetworkConfig};
use super::splitter::{SplitError, Splitter};
use crate::checkpoint::{self, Checkpoint, Entries, Files, LoadError, to_lines};
use crate::words::tokens::TOKENIZER;
use crate::words::{Lexicon, Reads, is_entry};

/// The networks of this task.
pub type Net = Trained<Tagging<RoleNetwork>>;

/// A trained tagger.
#[derive(Clone, Debug)]
pub struct RoleTagger {
    /// The network.
    pub model: Net,
    /// Its input and output vocabularies.
    pub vocabulary: Vocabulary,
}

/// Converts sentences to a network's input, and its output to roles.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Maps words to tokens.
    pub lexicon: Lexicon,
    /// Maps symbols to tags.
    pub tags: TagSet,
    /// Computes contextual word vectors, if the network reads them.
    pub embedder: Option<Arc<Embedder>>,
    /// Splits words into pieces, if the network is an encoder.
    pub splitter: Option<Arc<Splitter>>,
    /// What its own decoder maximises.
    pub space: Space,
    lemmas: Vec<String>,
    lemma_numbers: HashMap<String, Symbol>,
    predicates: BTreeSet<String>,
}

/// Stands for lemmas unseen in training.
const UNKNOWN: &str = "UNK";

impl Vocabulary {
    /// A vocabulary with these entries. Without lemmas, the network reads none. `predicates` are
    /// the lower-cased words that are predicates more often than not.
    pub fn new(
        lexicon: Lexicon,
        tags: TagSet,
        lemmas: Vec<String>,
        predicates: impl IntoIterator<Item = String>,
    ) -> Self {
        let lemma_numbers = lemmas.iter().cloned().zip(0..).collect();
        let predicates = predicates.into_iter().collect();
        let (embedder, splitter, space) = (None, None, Space::Log);
        Vocabulary { lexicon, tags, embedder, splitter, space, lemmas, lemma_numbers, predicates }
    }

    /// Whether a word is a predicate more often than not: a guess for text without POS tags.
    pub fn is_predicate(&self, word: &str) -> bool {
        self.predicates.contains(&word.to_lowercase())
    }

    /// The lemmas of predicates, by index.
    pub fn lemmas(&self) -> &[String] {
        &self.lemmas
    }

    /// The lemmas that occur at least `often` times, and an entry for all others.
    pub fn frequent<'a>(lemmas: impl Iterator<Item = &'a str>, often: usize) -> Vec<String> {
        let mut counts = BTreeMap::<&str, usize>::new();
        let is_entry = |lemma: &&str| is_entry(lemma) && *lemma != UNKNOWN;
        let lemmas = lemmas.filter(is_entry);
        lemmas.for_each(|lemma| *counts.entry(lemma).or_default() += 1);
        let known = counts.into_iter().filter(|(_, n)| often <= *n).map(|(lemma, _)| lemma);
        [UNKNOWN].into_iter().chain(known).map(str::to_owned).collect()
    }

    /// What all predicates of a sentence have in common.
    ///
    /// # Errors
    /// If the sentence is longer than the network reads.
    pub fn unmarked(&self, sentence: &Sentence) -> Result<Instance, SplitError> {
        let embedder = self.embedder.as_deref();
        let features = Features {
            tokens: self.lexicon.tokens(&sentence.leaves()).into(),
            dense: embedder.map_or_else(Arc::default, |e| e.embed(&sentence.tokens)),
            ..Features::default()
        };
        let splitter = self.splitter.as_deref();
        let pieces = splitter.map(|splitter| splitter.split(&sentence.tokens)).transpose()?;
        let pieces = pieces.unwrap_or_default();
        Ok(Instance { features, pieces, ..Instance::default() })
    }

    /// One predicate of a sentence.
    pub(super) fn marked(&self, sentence: &Features, proposition: &Proposition) -> Features {
        Features {
            predicate: proposition.predicate,
            lemma: self.lemma_numbers.get(&proposition.lemma).copied().unwrap_or(0),
            ..sentence.clone()
        }
    }

    /// The symbols of these tags; `None` if one is unknown.
    pub fn symbols(&self, tags: &[String]) -> Option<Vec<Symbol>> {
        tags.iter().map(|tag| self.tags.find(tag)).collect()
    }

    /// The arguments that an output marks.
    pub fn arguments(&self, y: &[Symbol]) -> Vec<Argument> {
        let mut spans = Vec::new();
        self.tags.spans(y, &mut spans);
        let role = |role| self.tags.role_name(role).to_owned();
        spans.iter().map(|span| Argument { at: span.at(), role: role(span.role) }).collect()
    }
}

impl RoleTagger {
    /// Its own decoder.
    pub fn viterbi(&self) -> Tagged<'_, Viterbi> {
        let Vocabulary { tags, space, .. } = &self.vocabulary;
        Tagged { tags, search: Viterbi { space: *space } }
    }

    /// The constraint that arguments are among an instance's brackets.
    pub fn constraint(&self) -> SpansInTree {
        let tags = &self.vocabulary.tags;
        SpansInTree { tags: tags.clone(), free: RoleSet::named(tags, PREDICATE_ROLES) }
    }
}

/// The `config.json` of a tagger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `srl`.
    pub task: String,
    /// The network's name in the experiment.
    pub name: String,
    /// The corpus it was trained on.
    pub corpus: String,
    /// The number of training propositions.
    pub propositions: usize,
    /// What it reads.
    pub reads: Reads,
    /// The architecture.
    pub network: RoleNetworkConfig,
    /// The training seed.
    pub seed: u64,
    /// The number of training epochs.
    pub epochs: usize,
    /// The epoch with the best dev score, whose weights these are.
    pub best_epoch: usize,
    /// Dev F1 with Viterbi decoding, in per cent.
    pub dev_f1: f64,
    /// Its origin if it was imported; then the four fields above are zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

const WORDS: &str = "vocab.words.txt";
const VECTORS: &str = "vocab.vectors.txt";
const LEMMAS: &str = "vocab.lemmas.txt";
const PREDICATES: &str = "vocab.predicates.txt";
const TAGS: &str = "vocab.tags.txt";
const ELMO: &str = "elmo";

impl Checkpoint for RoleTagger {
    type Card = Card;
    type Network = Tagging<RoleNetwork>;
    const VOCABULARIES: &'static [&'static str] = &[
        WORDS,
        VECTORS,
        LEMMAS,
        PREDICATES,
        TAGS,
        TOKENIZER,
        "elmo/options.json",
        "elmo/weights.hdf5",
    ];
    const BUILT_IN: &'static [(&'static str, &'static [u8])] = cajole_model_tagger::FILES;

    fn trained(&self) -> &Net {
        &self.model
    }

    fn vocabularies(&self) -> Vec<(&'static str, String)> {
        let Vocabulary { lexicon, tags, lemmas, predicates, splitter, .. } = &self.vocabulary;
        if let Some(splitter) = splitter {
            return vec![
                (TOKENIZER, splitter.text().to_owned()),
                (PREDICATES, to_lines(predicates)),
                (TAGS, to_lines(tags.names())),
            ];
        }
        vec![
            (WORDS, to_lines(lexicon.words())),
            (VECTORS, to_lines(lexicon.vectors())),
            (LEMMAS, to_lines(lemmas)),
            (PREDICATES, to_lines(predicates)),
            (TAGS, to_lines(tags.names())),
        ]
    }

    fn assemble(card: &Card, files: &Files<'_>) -> Result<RoleTagger, LoadError> {
        let vocabulary = vocabulary(card, files)?;
        let net = RoleNetwork::new(&card.network);
        let model = files.trained(Tagging { net, tags: vocabulary.tags.clone() })?;
        Ok(RoleTagger { model, vocabulary })
    }

    fn save_more(&self, folder: &Folder) -> Result<(), LoadError> {
        match &self.vocabulary.embedder {
            Some(embedder) => embedder.files().copy_to(&folder.within(ELMO)?),
            None => Ok(()),
        }
    }
}

/// Reads the vocabularies of a checkpoint and checks their sizes.
fn vocabulary(card: &Card, files: &Files<'_>) -> Result<Vocabulary, LoadError> {
    let tags = TagSet::new(files.entries(TAGS, card.network.tags(), Entries::Words)?)
        .map_err(|source| LoadError::Tags { path: files.path(TAGS), source })?;
    let predicates = files.list(PREDICATES, Entries::Texts)?;
    let network = match &card.network {
        RoleNetworkConfig::Lstm(network) => network,
        RoleNetworkConfig::Encoder(network) => {
            let folder = files.path("");
            let splitter = Splitter::open(&folder, network.embedding)?;
            let lexicon = Lexicon::new(card.reads, Vec::new(), Vec::new());
            let mut vocabulary = Vocabulary::new(lexicon, tags, Vec::new(), predicates);
            vocabulary.splitter = Some(Arc::new(splitter));
            return Ok(vocabulary);
        }
    };
    let words = files.entries(WORDS, network.words, Entries::Texts)?;
    let vectors = files.entries(VECTORS, network.vectors.saturating_sub(1), Entries::Texts)?;
    let lemmas = files.entries(LEMMAS, network.lemmas, Entries::Texts)?;
    let lexicon = Lexicon::new(card.reads, words, vectors);
    let mut vocabulary = Vocabulary::new(lexicon, tags, lemmas, predicates);
    if let Some(imported) = &card.imported {
        vocabulary.lexicon = vocabulary.lexicon.with_lookup(imported.lookup);
        vocabulary.space = imported.space;
        if let Some(mix) = &imported.elmo {
            let embedder = embedder(&files.path(ELMO), mix)?.of_size(network.dense)?;
            vocabulary.embedder = Some(Arc::new(embedder));
        }
    }
    Ok(vocabulary)
}

/// Loads the ELMo of a checkpoint. Its outputs are large, so they are cached only if there is a
/// folder for them.
fn embedder(folder: &Path, mix: &Mix) -> Result<Embedder, LoadError> {
    let embedder = Embedder::load(ElmoFiles::within(folder))?.with_mix(mix.clone())?;
    let cache = folder.join("cache");
    Ok(if cache.is_dir() { embedder.kept_in(&cache)? } else { embedder })
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "srl";

    fn to_markdown(&self) -> String {
        let Card { name, corpus, propositions, seed, epochs, best_epoch, dev_f1, .. } = self;
        let (input, architecture, flag) = match &self.network {
            RoleNetworkConfig::Lstm(network) => (self.lstm_input(network), self.lstms(network), ""),
            RoleNetworkConfig::Encoder(network) => {
                ("words".to_owned(), encoder(network), " --encoder FOLDER")
            }
        };
        let origin = match &self.imported {
            Some(imported) => imported.to_markdown(corpus),
            None => format!(
                "- **Data**: {propositions} training propositions of `{corpus}`.\n\
                 - **Command**: `cajole train srl --network {name}{flag} --seed {seed}`, {epochs} \
                 epochs, keeping epoch {best_epoch}.\n\
                 - **F1** (srl-eval, Viterbi decoding): {dev_f1:.2} on the dev set.\n"
            ),
        };
        format!(
            "# Role tagger {name}\n\n\
             Reads the {input} of a sentence and tags the arguments of one predicate with their \
             roles.\n\n\
             - **Architecture**: {architecture}; {tags} tags.\n\
             {origin}",
            tags = self.network.tags(),
        )
    }
}

impl Card {
    /// What LSTMs read.
    fn lstm_input(&self, network: &TaggerConfig) -> String {
        let input = match (self.reads, network.lemmas) {
            (Reads::Words, 0) => "words",
            (Reads::Words, _) => "words, and the predicate's lemma,",
            (Reads::Tags, 0) => "part-of-speech tags",
            (Reads::Tags, _) => "part-of-speech tags, and the predicate's lemma,",
        };
        input.to_owned()
    }

    /// The size of LSTMs.
    fn lstms(&self, network: &TaggerConfig) -> String {
        let TaggerConfig { layers, hidden, words, embedding, recurrent_dropout, .. } = network;
        let vectors = match network.vectors {
            0 => String::new(),
            n => format!(", and {n} word vectors of {}", network.vector_size),
        };
        let dense = match network.dense {
            0 => String::new(),
            n => format!(", and ELMo vectors of {n}"),
        };
        let entries = if self.imported.is_some() { "words" } else { "words and word classes" };
        let cell = match network.cell {
            CellKind::Lstm => "LSTMs",
            CellKind::Highway => "LSTMs with highway connections",
        };
        let reading = match network.reading {
            Reading::Forward => "reading forward",
            Reading::Alternating => "reading in alternating directions",
        };
        format!(
            "{layers} layers of {hidden} units, {cell} {reading}, recurrent dropout \
             {recurrent_dropout}; {words} {entries} with embeddings of {embedding}{vectors}{dense}"
        )
    }
}

/// The size of an encoder.
fn encoder(network: &EncoderTaggerConfig) -> String {
    let EncoderTaggerConfig { embedding, stack, .. } = network;
    format!(
        "transformer encoder, {} layers of width {}, {} heads; {} pieces of words; the predicate's \
         first piece is of the second type",
        stack.layers, stack.width, stack.heads, embedding.symbols
    )
}
