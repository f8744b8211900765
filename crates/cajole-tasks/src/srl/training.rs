//! Trains a tagger, evaluating dev F1 after every epoch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_core::constraints::TagSet;
use cajole_files::{Folder, fingerprint};
use cajole_nn::import::huggingface;
use cajole_nn::models::TaggerConfig;
use cajole_nn::{Example, Tagging, TrainConfig, Trained};
use cajole_treebank::roles::Reading;
use cajole_treebank::roles::eval::Score;
use cajole_treebank::roles::sentence::{Proposition, Sentence};
use serde::Serialize;

use super::config::{CorpusConfig, FineTuning, NetworkConfig, Sizes};
use super::constraint_loss::{ConstraintLoss, Lesson};
use super::corpora::Splits;
use super::instance::{Instance, Noise};
use super::network::{RoleNetwork, RoleNetworkConfig};
use super::splitter::{SplitError, Splitter};
use super::tagger::{Card, RoleTagger, Vocabulary};
use crate::Watch;
use crate::checkpoint::{Checkpoint, LoadError};
use crate::corpora::Contents;
use crate::training::{Training, initial};
use crate::words::{Lexicon, Reads};

/// A tagger to train.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'a> {
    /// The network.
    pub network: &'a NetworkConfig,
    /// The settings it shares with others.
    pub sizes: &'a Sizes,
    /// The training settings, which the network may override.
    pub training: &'a TrainConfig,
    /// Its corpus.
    pub corpus: &'a CorpusConfig,
    /// What counts as a node in the constraint loss.
    pub reading: Reading,
    /// The folder of the pretrained encoder, for a network that is one.
    pub encoder: Option<&'a Path>,
    /// The seed of all randomness.
    pub seed: u64,
}

/// Identifies a run; resuming with other settings is an error.
#[derive(Serialize)]
struct Run<'a> {
    network: &'a RoleNetworkConfig,
    training: &'a TrainConfig,
    corpus: &'a CorpusConfig,
    files: &'a Contents,
    of: &'a NetworkConfig,
    seed: u64,
    /// The weights of a pretrained encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoder: Option<u64>,
}

/// Why a recipe cannot be followed.
#[derive(Debug, thiserror::Error)]
enum RecipeError {
    #[error(
        "the network {name} is a pretrained encoder: give its folder, with `cajole train srl \
         --network {name} --encoder FOLDER`"
    )]
    NoFolder { name: String },
    #[error("the network {name} is not an encoder, but {folder} is one to train it from", folder = folder.display())]
    NoEncoder { name: String, folder: PathBuf },
    #[error("encoders read words, and the corpus {corpus} of the network {name} has none")]
    NoWords { name: String, corpus: String },
    #[error("sentence {id}: {source}")]
    Sentence { id: String, source: SplitError },
}

/// An untrained tagger.
struct Blank {
    tagger: RoleTagger,
    training: TrainConfig,
    /// The weights of a pretrained encoder.
    encoder: Option<u64>,
}

/// Trains a network on its corpus. With a `folder`, checkpoints the run there after every epoch,
/// and resumes a run found there.
///
/// # Errors
/// If the state in the folder cannot be read or written.
pub fn train(
    recipe: &Recipe<'_>,
    splits: &Splits,
    folder: Option<&Folder>,
    watch: &dyn Watch,
) -> Result<(RoleTagger, Card), LoadError> {
    let Recipe { network: of, corpus, seed, .. } = *recipe;
    let Blank { tagger: blank, training, encoder } = Blank::new(recipe, splits)?;
    let RoleTagger { model: Trained { net, .. }, vocabulary } = &blank;
    let network = net.net.config();
    let tagger = |weights: &[f32]| RoleTagger {
        model: Trained::new(net.clone(), weights),
        vocabulary: vocabulary.clone(),
    };
    let dev = instances(&blank, &splits.dev, corpus)?;
    let measure = |weights: &[f32]| {
        let f1 = evaluate(&tagger(weights), &dev).f1();
        (f1, format!("dev F1 {f1:.2}"))
    };

    let material = Material::new(&blank, recipe, splits)?;
    let lessons = material.lessons();
    let examples = lessons.iter().map(|&(ref input, output)| Example { input, output }).collect();
    let weight = of.constraint_loss.map_or(0.0, |loss| loss.weight);
    let loss = ConstraintLoss::new(net, &blank, weight);
    let files = &splits.contents;
    let run = Run { network: &network, training: &training, corpus, files, of, seed, encoder };
    let initial = blank.model.weights().to_vec();
    let (config, claim) = (&training, RoleTagger::claim);
    let job = Training { net: &loss, config, examples, seed, initial, every: 1, folder, claim };
    let state = job.run(&run, measure, watch)?;
    let card = Card {
        task: "srl".to_owned(),
        name: of.name.clone(),
        corpus: of.corpus.clone(),
        propositions: material.labelled.len(),
        reads: corpus.reads,
        network,
        seed,
        epochs: state.progress.epoch,
        best_epoch: state.progress.best_epoch,
        dev_f1: state.progress.best_score,
        imported: None,
    };
    Ok((tagger(&state.best_weights), card))
}

impl Blank {
    fn new(recipe: &Recipe<'_>, splits: &Splits) -> Result<Self, LoadError> {
        let Recipe { network: of, encoder, .. } = *recipe;
        let name = || of.name.clone();
        match (&of.encoder, encoder) {
            (None, None) => Blank::of_lstms(recipe, splits),
            (Some(tuning), Some(folder)) => Blank::of_encoder(recipe, tuning, folder, splits),
            (Some(_), None) => Err(LoadError::other(RecipeError::NoFolder { name: name() })),
            (None, Some(folder)) => {
                let folder = folder.to_owned();
                Err(LoadError::other(RecipeError::NoEncoder { name: name(), folder }))
            }
        }
    }

    fn of_lstms(recipe: &Recipe<'_>, splits: &Splits) -> Result<Self, LoadError> {
        let Recipe { network: of, sizes, corpus, seed, .. } = *recipe;
        let vocabulary = vocabulary(splits.train_share(of.share), corpus, splits);
        let network = network(of, sizes, &vocabulary, splits.vectors.size);
        let net = RoleNetwork::new(&RoleNetworkConfig::Lstm(network));
        let net = Tagging { net, tags: vocabulary.tags.clone() };
        let weights = weights(&net, splits, seed)?;
        let tagger = RoleTagger { model: Trained::new(net, weights), vocabulary };
        Ok(Blank { tagger, training: settings(of, recipe.training), encoder: None })
    }

    /// The encoder in a folder, with a new layer on top.
    fn of_encoder(
        recipe: &Recipe<'_>,
        tuning: &FineTuning,
        folder: &Path,
        splits: &Splits,
    ) -> Result<Self, LoadError> {
        let Recipe { network: of, corpus, seed, .. } = *recipe;
        if corpus.reads != Reads::Words {
            let (name, corpus) = (of.name.clone(), of.corpus.clone());
            return Err(LoadError::other(RecipeError::NoWords { name, corpus }));
        }
        let sentences = splits.train_share(of.share);
        let tags = tags(sentences, corpus);
        let (net, weights) = huggingface::Folder::open(folder)?.encoder(tags.n_tags(), seed)?;
        let splitter = Splitter::open(folder, net.config.embedding)?;
        let lexicon = Lexicon::new(corpus.reads, Vec::new(), Vec::new());
        let mut vocabulary =
            Vocabulary::new(lexicon, tags.clone(), Vec::new(), predicates(sentences, corpus));
        vocabulary.splitter = Some(Arc::new(splitter));
        let training = settings(of, &tuning.settings(net.config.stack.layers));
        let encoder = Some(fingerprint(&weights));
        let net = Tagging { net: RoleNetwork::Encoder(Box::new(net)), tags };
        let tagger = RoleTagger { model: Trained::new(net, weights), vocabulary };
        Ok(Blank { tagger, training, encoder })
    }
}

/// The training settings of this network.
fn settings(of: &NetworkConfig, all: &TrainConfig) -> TrainConfig {
    all.clone().with(|config| {
        config.epochs = of.epochs.unwrap_or(config.epochs);
        config.step_size = of.step_size.unwrap_or(config.step_size);
    })
}

/// The initial weights: random, except for pretrained word vectors.
fn weights(net: &Tagging<RoleNetwork>, splits: &Splits, seed: u64) -> Result<Vec<f32>, LoadError> {
    let mut initial = initial(net, seed)?;
    if let RoleNetwork::Lstm(net) = &net.net
        && let Some(table) = net.vectors()
    {
        let table = &mut initial[table.range()];
        table[splits.vectors.size..].copy_from_slice(&splits.vectors.values);
    }
    Ok(initial)
}

/// The training data of a tagger.
struct Material {
    labelled: Vec<Instance>,
    /// The gold tags of each.
    golds: Vec<Vec<Symbol>>,
    /// Instances with a tree, whose roles are ignored.
    unlabelled: Vec<Instance>,
    /// Placeholder tags as long as the longest unlabelled sentence; never read.
    unknown: Vec<Symbol>,
}

impl Material {
    fn new(tagger: &RoleTagger, recipe: &Recipe<'_>, splits: &Splits) -> Result<Self, LoadError> {
        let Recipe { network: of, corpus, reading, .. } = *recipe;
        let (sentences, others) = splits.train.split_at(splits.train_share(of.share).len());
        let golds =
            propositions(sentences, corpus).map(|(_, p)| tagger.vocabulary.symbols(&p.tags));
        let taken = of.constraint_loss.map_or(0, |loss| others.len() * loss.share.min(100) / 100);
        let unlabelled = propositions(&others[..taken], corpus).filter_map(|(s, p)| {
            let tree = s.tree.as_ref()?;
            let instance = instance(tagger, s, p);
            Some(instance.map(|instance| instance.within(tree, reading, Noise::Noisy)))
        });
        let unlabelled: Vec<Instance> = unlabelled.collect::<Result<_, _>>()?;
        let longest = unlabelled.iter().map(|x| x.features.tokens.len()).max().unwrap_or(0);
        Ok(Material {
            labelled: instances(tagger, sentences, corpus)?,
            golds: golds.map(|y| y.expect("every tag of these is known")).collect(),
            unlabelled,
            unknown: vec![0; longest],
        })
    }

    /// All lessons; without unlabelled sentences, this is plain training.
    fn lessons(&self) -> Vec<(Lesson<'_>, &[Symbol])> {
        let known = self.labelled.iter().zip(&self.golds);
        let known = known.map(|(x, y)| (Lesson::Labelled(x), y.as_slice()));
        let unknown = |x: &Instance| &self.unknown[..x.features.tokens.len()];
        let others = self.unlabelled.iter().map(|x| (Lesson::Unlabelled(x), unknown(x)));
        known.chain(others).collect()
    }
}

/// The propositions of the task: all, or only those of verbs.
pub fn propositions<'a>(
    sentences: &'a [Sentence],
    corpus: &CorpusConfig,
) -> impl Iterator<Item = (&'a Sentence, &'a Proposition)> {
    let verbal = corpus.verbal;
    sentences.iter().flat_map(move |s| {
        let taken = s.propositions.iter().filter(move |p| !verbal || s.is_verbal(p));
        taken.map(move |p| (s, p))
    })
}

/// The same as unconstrained inputs.
///
/// # Errors
/// If a sentence is longer than the network reads.
pub fn instances(
    tagger: &RoleTagger,
    sentences: &[Sentence],
    corpus: &CorpusConfig,
) -> Result<Vec<Instance>, LoadError> {
    propositions(sentences, corpus).map(|(s, p)| instance(tagger, s, p)).collect()
}

/// One of them.
///
/// # Errors
/// If the sentence is longer than the network reads.
pub fn instance(
    tagger: &RoleTagger,
    sentence: &Sentence,
    proposition: &Proposition,
) -> Result<Instance, LoadError> {
    Instance::new(tagger, sentence, proposition).map_err(|source| {
        LoadError::other(RecipeError::Sentence { id: sentence.id.clone(), source })
    })
}

/// The words, lemmas and tags of the training set.
fn vocabulary(sentences: &[Sentence], corpus: &CorpusConfig, splits: &Splits) -> Vocabulary {
    let leaves: Vec<Vec<(&str, &str)>> = sentences.iter().map(Sentence::leaves).collect();
    let words = splits.vectors.words.clone();
    let lexicon = Lexicon::of(corpus.reads, leaves.iter().map(Vec::as_slice), corpus.often, words);
    let lemmas = || propositions(sentences, corpus).map(|(_, p)| p.lemma.as_str());
    let lemmas = match corpus.lemmas {
        true => Vocabulary::frequent(lemmas(), corpus.often),
        false => Vec::new(),
    };
    Vocabulary::new(lexicon, tags(sentences, corpus), lemmas, predicates(sentences, corpus))
}

/// `O`, and `B` and `I` of every role of the training set.
fn tags(sentences: &[Sentence], corpus: &CorpusConfig) -> TagSet {
    let tags = propositions(sentences, corpus).flat_map(|(_, p)| &p.tags);
    let roles: BTreeSet<&str> = tags.filter_map(|tag| tag.get(2..)).collect();
    let spans = roles.iter().flat_map(|role| [format!("B-{role}"), format!("I-{role}")]);
    TagSet::new(std::iter::once("O".to_owned()).chain(spans))
        .expect("made of O, and of B and I for every role")
}

/// The lower-cased words that are predicates more often than not.
fn predicates(sentences: &[Sentence], corpus: &CorpusConfig) -> impl Iterator<Item = String> {
    let mut counts = BTreeMap::<String, (usize, usize)>::new();
    for word in sentences.iter().flat_map(|s| &s.tokens) {
        counts.entry(word.to_lowercase()).or_default().0 += 1;
    }
    for word in propositions(sentences, corpus).filter_map(|(s, p)| s.tokens.get(p.predicate)) {
        counts.entry(word.to_lowercase()).or_default().1 += 1;
    }
    counts.into_iter().filter(|(_, (all, as_predicate))| *all < 2 * as_predicate).map(|(w, _)| w)
}

fn network(
    of: &NetworkConfig,
    sizes: &Sizes,
    vocabulary: &Vocabulary,
    vector_size: usize,
) -> TaggerConfig {
    let Sizes { embedding, indicator, lemma_embedding, .. } = *sizes;
    TaggerConfig {
        words: vocabulary.lexicon.words().len(),
        embedding,
        vectors: vocabulary.lexicon.n_vectors(),
        vector_size,
        dense: 0,
        lemmas: vocabulary.lemmas().len(),
        lemma_embedding,
        indicator,
        tags: vocabulary.tags.n_tags(),
        cell: sizes.cell,
        reading: sizes.reading,
        layers: of.layers,
        hidden: of.hidden,
        input_dropout: sizes.input_dropout,
        recurrent_dropout: sizes.recurrent_dropout,
        dropout: sizes.dropout,
    }
}

/// The score of Viterbi decoding on these.
pub fn evaluate(tagger: &RoleTagger, instances: &[Instance]) -> Score {
    let xs: Vec<&Instance> = instances.iter().collect();
    let decoded = tagger.model.decode_all(&tagger.viterbi(), &xs);
    let pairs = decoded.iter().zip(instances);
    let mut total = Score::default();
    for (y, x) in pairs {
        total += Score::of(&x.gold, &tagger.vocabulary.arguments(&y.output));
    }
    total
}
