//! A role tagger: a network, what it reads and what it writes. As a folder: a checkpoint with the
//! vocabularies `vocab.words.txt`, `vocab.vectors.txt`, `vocab.lemmas.txt`, `vocab.predicates.txt`
//! and `vocab.tags.txt`, and for a tagger that reads ELMo's vectors its two files in `elmo/`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_core::constraints::{PREDICATE_ROLES, RoleSet, SpansInTree, TagSet};
use cajole_nn::checkpoint::{Precision, from_bytes};
use cajole_nn::decoders::{Space, Tagged, Viterbi};
use cajole_nn::models::elmo::Mix;
use cajole_nn::models::{CellKind, Features, LstmTagger, Reading, TaggerConfig};
use cajole_nn::{Network, Tagging, Trained};
use serde::{Deserialize, Serialize};

use super::bio::Argument;
use super::embedder::{ElmoFiles, Embedder};
use super::import::Imported;
use super::instance::Instance;
use super::sentence::{Proposition, Sentence};
use crate::checkpoint::{self, LoadError, from_lines, to_lines};
use crate::words::{Lexicon, Reads};

/// The networks of this task.
pub type Net = Trained<Tagging<LstmTagger<Instance>>>;

/// A trained tagger.
#[derive(Clone, Debug)]
pub struct RoleTagger {
    /// The network.
    pub model: Net,
    /// What goes in and comes out of it.
    pub vocabulary: Vocabulary,
}

/// From sentences to a network's input, and from its output to roles.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// From words to tokens.
    pub lexicon: Lexicon,
    /// From symbols to tags.
    pub tags: TagSet,
    /// What gives words in their sentence a vector, if the network reads such.
    pub embedder: Option<Arc<Embedder>>,
    /// What its own decoder maximises.
    pub space: Space,
    lemmas: Vec<String>,
    lemma_numbers: HashMap<String, Symbol>,
    predicates: BTreeSet<String>,
}

/// The lemma of a predicate that training never saw.
const UNKNOWN: &str = "UNK";

impl Vocabulary {
    /// One with these entries; without lemmas, the network reads none. `predicates` are the words,
    /// in lower case, that are predicates more often than not.
    pub fn new(
        lexicon: Lexicon,
        tags: TagSet,
        lemmas: Vec<String>,
        predicates: impl IntoIterator<Item = String>,
    ) -> Self {
        let lemma_numbers = lemmas.iter().cloned().zip(0..).collect();
        let predicates = predicates.into_iter().collect();
        let (embedder, space) = (None, Space::Log);
        Vocabulary { lexicon, tags, embedder, space, lemmas, lemma_numbers, predicates }
    }

    /// Whether a word is a predicate more often than not: a guess for text without tags.
    pub fn is_predicate(&self, word: &str) -> bool {
        self.predicates.contains(&word.to_lowercase())
    }

    /// The lemmas of predicates, by number.
    pub fn lemmas(&self) -> &[String] {
        &self.lemmas
    }

    /// The lemmas that occur at least `often` times among these, and what stands for all others.
    /// As each is to be a line of a file, none is of several.
    pub fn frequent<'a>(lemmas: impl Iterator<Item = &'a str>, often: usize) -> Vec<String> {
        let mut counts = BTreeMap::<&str, usize>::new();
        let lemmas = lemmas.filter(|lemma| !lemma.contains(['\n', '\r']));
        lemmas.for_each(|lemma| *counts.entry(lemma).or_default() += 1);
        let known = counts.into_iter().filter(|(_, n)| often <= *n).map(|(lemma, _)| lemma);
        [UNKNOWN].into_iter().chain(known).map(str::to_owned).collect()
    }

    /// A predicate as the network sees it.
    pub fn features(&self, sentence: &Sentence, proposition: &Proposition) -> Features {
        let embedder = self.embedder.as_deref();
        Features {
            tokens: self.lexicon.tokens(&sentence.leaves()),
            dense: embedder.map_or_else(Arc::default, |e| e.embed(&sentence.tokens)),
            predicate: proposition.predicate,
            lemma: self.lemma_numbers.get(&proposition.lemma).copied().unwrap_or(0),
        }
    }

    /// The symbols of these tags; none, if one is unknown.
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
    /// A predicate as the network sees it.
    pub fn features(&self, sentence: &Sentence, proposition: &Proposition) -> Features {
        self.vocabulary.features(sentence, proposition)
    }

    /// Its own inference procedure.
    pub fn viterbi(&self) -> Tagged<'_, Viterbi> {
        let Vocabulary { tags, space, .. } = &self.vocabulary;
        Tagged { tags, search: Viterbi { space: *space } }
    }

    /// What its outputs have to satisfy: arguments are among an instance's brackets.
    pub fn constraint(&self) -> SpansInTree<'_> {
        let tags = &self.vocabulary.tags;
        SpansInTree { tags, free: RoleSet::named(tags, PREDICATE_ROLES) }
    }
}

/// What `config.json` says of a tagger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `srl`.
    pub task: String,
    /// As the experiment calls it.
    pub name: String,
    /// What it was trained on.
    pub corpus: String,
    /// How many propositions of it.
    pub propositions: usize,
    /// What it reads.
    pub reads: Reads,
    /// The architecture.
    pub network: TaggerConfig,
    /// The seed it was trained from.
    pub seed: u64,
    /// Epochs of training.
    pub epochs: usize,
    /// The epoch with the best development score, whose weights these are.
    pub best_epoch: usize,
    /// F1 on the development data by Viterbi decoding, in per cent.
    pub dev_f1: f64,
    /// Where it comes from, if it was not trained here; then the four above are zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

const WORDS: &str = "vocab.words.txt";
const VECTORS: &str = "vocab.vectors.txt";
const LEMMAS: &str = "vocab.lemmas.txt";
const PREDICATES: &str = "vocab.predicates.txt";
const TAGS: &str = "vocab.tags.txt";
const ELMO: &str = "elmo";

/// Writes a checkpoint folder.
///
/// # Errors
/// If a file cannot be written.
pub fn save(
    folder: &Path,
    tagger: &RoleTagger,
    card: &Card,
    precision: Precision,
) -> Result<(), LoadError> {
    let Vocabulary { lexicon, tags, lemmas, predicates, .. } = &tagger.vocabulary;
    let vocabularies = [
        (WORDS, to_lines(lexicon.words())),
        (VECTORS, to_lines(lexicon.vectors())),
        (LEMMAS, to_lines(lemmas)),
        (PREDICATES, to_lines(predicates)),
        (TAGS, to_lines(tags.names())),
    ];
    if let Some(embedder) = &tagger.vocabulary.embedder {
        embedder.files().copy_to(&folder.join(ELMO))?;
    }
    checkpoint::save(folder, &tagger.model, card, precision, &vocabularies)
}

/// Reads a checkpoint folder.
///
/// # Errors
/// If it is missing, damaged, or for another task.
pub fn load(folder: &Path) -> Result<(RoleTagger, Card), LoadError> {
    let card: Card = checkpoint::load_card(folder)?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(LoadError::io(&path))
    };
    let vocabulary = vocabulary(&card, folder, read)?;
    let net = Tagging(LstmTagger::new(card.network.clone()));
    let model = checkpoint::load_weights(folder, net)?;
    Ok((RoleTagger { model, vocabulary }, card))
}

/// The English tagger that comes with cajole: see its model card in `models/tagger`.
pub fn built_in() -> RoleTagger {
    const CONFIG: &str = include_str!("../../../../models/tagger/config.json");
    const WEIGHTS: &[u8] = include_bytes!("../../../../models/tagger/model.safetensors");
    let card: Card = serde_json::from_str(CONFIG).expect("the built-in card is tested");
    let place = Path::new("(built in)");
    let text = |name: &str| {
        let text = match name {
            WORDS => include_str!("../../../../models/tagger/vocab.words.txt"),
            VECTORS => include_str!("../../../../models/tagger/vocab.vectors.txt"),
            LEMMAS => include_str!("../../../../models/tagger/vocab.lemmas.txt"),
            PREDICATES => include_str!("../../../../models/tagger/vocab.predicates.txt"),
            _ => include_str!("../../../../models/tagger/vocab.tags.txt"),
        };
        Ok(text.to_owned())
    };
    let vocabulary = vocabulary(&card, place, text).expect("the built-in vocabularies are tested");
    let net = Tagging(LstmTagger::new(card.network));
    let weights =
        from_bytes(place, WEIGHTS, net.layout()).expect("the built-in weights are tested");
    RoleTagger { model: Trained { net, weights: weights.into() }, vocabulary }
}

/// The vocabularies of a checkpoint, each as long as its network says.
fn vocabulary(
    card: &Card,
    folder: &Path,
    text: impl Fn(&str) -> Result<String, LoadError>,
) -> Result<Vocabulary, LoadError> {
    let read = |name: &str, expected: usize| from_lines(&folder.join(name), &text(name)?, expected);
    let network = &card.network;
    let words = read(WORDS, network.words)?;
    let vectors = read(VECTORS, network.vectors.saturating_sub(1))?;
    let lemmas = read(LEMMAS, network.lemmas)?;
    let tags = TagSet::new(read(TAGS, network.tags)?)
        .map_err(|source| LoadError::Tags { path: folder.join(TAGS), source })?;
    let predicates: Vec<String> = text(PREDICATES)?.lines().map(str::to_owned).collect();
    let lexicon = Lexicon::new(card.reads, words, vectors);
    let mut vocabulary = Vocabulary::new(lexicon, tags, lemmas, predicates);
    if let Some(imported) = &card.imported {
        vocabulary.lexicon = vocabulary.lexicon.with_lookup(imported.lookup);
        vocabulary.space = imported.space;
        if let Some(mix) = &imported.elmo {
            let embedder = embedder(folder, mix)?.of_size(network.dense)?;
            vocabulary.embedder = Some(Arc::new(embedder));
        }
    }
    Ok(vocabulary)
}

/// The ELMo of a checkpoint. Sentences take much room, so they are kept only where a folder is.
fn embedder(folder: &Path, mix: &Mix) -> Result<Embedder, LoadError> {
    let folder = folder.join(ELMO);
    let embedder = Embedder::load(ElmoFiles::within(&folder))?.with_mix(mix.clone())?;
    let cache = folder.join("cache");
    Ok(if cache.is_dir() { embedder.kept_in(&cache)? } else { embedder })
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "srl";

    fn to_markdown(&self) -> String {
        let Card { name, corpus, propositions, network, seed, epochs, best_epoch, dev_f1, .. } =
            self;
        let input = match (self.reads, network.lemmas) {
            (Reads::Words, 0) => "words",
            (Reads::Words, _) => "words, and the predicate's lemma,",
            (Reads::Tags, 0) => "part-of-speech tags",
            (Reads::Tags, _) => "part-of-speech tags, and the predicate's lemma,",
        };
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
        let origin = match &self.imported {
            Some(imported) => imported.to_markdown(corpus),
            None => format!(
                "- **Data**: {propositions} training propositions of `{corpus}`.\n\
                 - **Command**: `cajole train srl --network {name} --seed {seed}`, {epochs} epochs, \
                 of which number {best_epoch} was kept.\n\
                 - **F1** (srl-eval, Viterbi decoding): {dev_f1:.2} on the development data.\n"
            ),
        };
        format!(
            "# Role tagger {name}\n\n\
             Reads the {input} of a sentence and tags the arguments of one predicate with their \
             roles.\n\n\
             - **Architecture**: {layers} layers of {hidden} units, {cell} {reading}, recurrent \
             dropout {dropout}; {words} {entries} with embeddings of \
             {embedding}{vectors}{dense}; {tags} tags.\n\
             {origin}",
            layers = network.layers,
            hidden = network.hidden,
            dropout = network.recurrent_dropout,
            words = network.words,
            embedding = network.embedding,
            tags = network.tags,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_tagger_is_the_one_under_models() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/tagger");
        let (tagger, card) = load(&folder).unwrap();
        let built_in = built_in();
        assert_eq!(built_in.model.weights, tagger.model.weights);
        assert_eq!(built_in.vocabulary.tags.names(), tagger.vocabulary.tags.names());
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        let facts = checkpoint::Card::to_markdown(&card);
        let (_, facts) = facts.split_once("\n\n").unwrap();
        assert!(text.contains(facts.trim_end()), "the model card says what its settings say");
    }
}
