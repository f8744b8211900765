//! Role labelers of AllenNLP, as taggers.
//!
//! AllenNLP's `srl` model and our tagger are both the tagger of He et al. 2017: words and a
//! predicate indicator go through LSTMs to one tag per word. So importing an archive only renames
//! and transposes tensors, and the result computes the same. Every tensor must have a place and
//! every place a tensor; an archive with more or less in it is another network, and an error.
//!
//! Three things are specific to AllenNLP and recorded on the card: how words are looked up, that
//! decoding sums probabilities instead of their logarithms, and the ELMo layer mix. ELMo itself is
//! read from its published files. Here it starts every sentence with a fresh state, where AllenNLP
//! carries the state over from the previous sentence.

mod settings;
mod weights;

use std::path::Path;
use std::sync::Arc;

use cajole_core::constraints::TagSet;
use cajole_core::decoders::tags::Space;
use cajole_nn::import::ImportError;
use cajole_nn::models::TaggerConfig;
use cajole_nn::models::elmo::Hdf5;
use cajole_nn::{Tagging, Trained};
use cajole_tasks::srl::{
    Card, ElmoFiles, Embedder, Imported, RoleNetwork, RoleNetworkConfig, RoleTagger, Vocabulary,
};
use cajole_tasks::words::lexicon::OUT_OF_VOCABULARY;
use cajole_tasks::words::{Lexicon, Reads};

use crate::allennlp::Archive;
use settings::{Embedding, Settings};
use weights::Tensors;

/// Imports a role labeler from AllenNLP's `model.tar.gz`, or from a folder with the same contents.
///
/// If it uses ELMo, `elmo` names the files of that ELMo.
///
/// # Errors
/// If a file is missing or damaged, or the archive contains another kind of network.
pub fn allennlp(path: &Path, elmo: Option<&ElmoFiles>) -> Result<(RoleTagger, Card), ImportError> {
    from_archive(path, &Archive::read(path)?, elmo)
}

/// Converts an archive that has been read; errors call it `path`.
///
/// # Errors
/// See [`allennlp`].
pub fn from_archive(
    path: &Path,
    archive: &Archive,
    elmo: Option<&ElmoFiles>,
) -> Result<(RoleTagger, Card), ImportError> {
    let settings = Settings::of(path, &archive.config)?;
    let mut tensors = Tensors::new(path, &archive.tensors);
    let mut vocabulary = vocabulary(path, archive, &settings)?;
    for (name, embedding) in &settings.embedders {
        if let Embedding::Elmo = embedding {
            let embedder = embedder(path, &mut tensors, name, elmo)?;
            vocabulary.embedder = Some(Arc::new(embedder));
        }
    }
    if let (Some(files), None) = (elmo, &vocabulary.embedder) {
        let problem = "is not needed: the archive's network does not read ELMo".to_owned();
        return Err(ImportError::Options { path: files.options.clone(), problem });
    }
    let network = network(path, &settings, &vocabulary)?;
    let weights = weights::weights(&mut tensors, &settings, &network)?;
    tensors.expect_none()?;

    let network = RoleNetworkConfig::Lstm(network);
    let card = card(path, settings, &vocabulary, network.clone());
    let net = Tagging { net: RoleNetwork::new(&network), tags: vocabulary.tags.clone() };
    let model = Trained::new(net, weights);
    Ok((RoleTagger { model, vocabulary }, card))
}

/// The card of an imported network.
fn card(
    path: &Path,
    settings: Settings,
    vocabulary: &Vocabulary,
    network: RoleNetworkConfig,
) -> Card {
    let file_name = path.file_name().unwrap_or(path.as_os_str());
    let imported = Imported {
        archive: file_name.to_string_lossy().into_owned(),
        lookup: vocabulary.lexicon.lookup,
        space: vocabulary.space,
        elmo: vocabulary.embedder.as_ref().map(|embedder| embedder.mix().clone()),
    };
    Card {
        task: "srl".to_owned(),
        name: "allennlp-srl".to_owned(),
        corpus: settings.corpus,
        propositions: 0,
        reads: Reads::Words,
        network,
        seed: 0,
        epochs: 0,
        best_epoch: 0,
        dev_f1: 0.0,
        imported: Some(imported),
    }
}

/// Words and tags, in the order of the archive's files.
fn vocabulary(
    path: &Path,
    archive: &Archive,
    settings: &Settings,
) -> Result<Vocabulary, ImportError> {
    let file = |namespace: &str| format!("vocabulary/{namespace}.txt");
    let entries = |namespace: &str| {
        let missing = || ImportError::Missing { path: path.to_owned(), name: file(namespace) };
        archive.vocabulary.get(namespace).ok_or_else(missing)
    };
    let mut lexicon = Lexicon::new(Reads::Words, Vec::new(), Vec::new());
    for (_, embedding) in &settings.embedders {
        if let Embedding::Words { namespace, lookup, .. } = embedding {
            let mut words = entries(namespace)?.clone();
            if !words.iter().any(|word| word == OUT_OF_VOCABULARY) {
                let name = format!("{OUT_OF_VOCABULARY} in {}", file(namespace));
                return Err(ImportError::Missing { path: path.to_owned(), name });
            }
            // Index 0 is padding, which is not in the file.
            words.insert(0, "@@PADDING@@".to_owned());
            lexicon = Lexicon::new(Reads::Words, words, Vec::new()).with_lookup(*lookup);
        }
    }
    let tags = TagSet::new(entries("labels")?.iter().cloned()).map_err(|error| {
        let problem = error.to_string();
        ImportError::Options { path: path.join(file("labels")), problem }
    })?;
    let mut vocabulary = Vocabulary::new(lexicon, tags, Vec::new(), []);
    vocabulary.space = Space::Probability;
    Ok(vocabulary)
}

/// The architecture to fill.
fn network(
    path: &Path,
    settings: &Settings,
    vocabulary: &Vocabulary,
) -> Result<TaggerConfig, ImportError> {
    let encoder = &settings.encoder;
    let dense = vocabulary.embedder.as_ref().map_or(0, |embedder| embedder.elmo().dim());
    let embedding = settings.embedders.iter().map(|(_, embedding)| match embedding {
        Embedding::Words { size, .. } => *size,
        Embedding::Elmo => 0,
    });
    let network = TaggerConfig {
        words: vocabulary.lexicon.words().len(),
        embedding: embedding.sum(),
        vectors: 0,
        vector_size: 0,
        dense,
        lemmas: 0,
        lemma_embedding: 0,
        indicator: settings.indicator,
        tags: vocabulary.tags.n_tags(),
        cell: encoder.kind.cell(),
        reading: encoder.kind.reading(),
        layers: encoder.layers,
        hidden: encoder.hidden,
        input_dropout: settings.embedding_dropout,
        recurrent_dropout: encoder.recurrent_dropout,
        dropout: encoder.dropout,
    };
    let inputs = network.embedding + network.dense + network.indicator;
    if inputs != encoder.input {
        let problem = format!(
            "model.encoder.input_size is {}, but word vectors have size {}, ELMo's {} and the \
             predicate indicator {}",
            encoder.input, network.embedding, network.dense, network.indicator
        );
        return Err(ImportError::Options { path: path.join("config.json"), problem });
    }
    Ok(network)
}

/// Loads the ELMo called `name` in the archive from its published files.
fn embedder(
    path: &Path,
    tensors: &mut Tensors<'_>,
    name: &str,
    files: Option<&ElmoFiles>,
) -> Result<Embedder, ImportError> {
    let Some(files) = files else {
        let problem = format!(
            "model.text_field_embedder contains ELMo, as {name:?}: also give the options and \
             weights of that ELMo"
        );
        return Err(ImportError::Options { path: path.join("config.json"), problem });
    };
    let prefix = format!("text_field_embedder.token_embedder_{name}._elmo");
    let embedder = Embedder::load(files.clone())?;
    let mix = tensors.mix(&format!("{prefix}.scalar_mix_0"), embedder.elmo().layers())?;
    let language_model = format!("{prefix}._elmo_lstm.");
    same_elmo(tensors, &language_model, &files.weights)?;
    tensors.pass_over(&language_model);
    embedder.with_mix(mix)
}

/// Archives contain a copy of their ELMo; comparing one matrix shows whether it is the same.
fn same_elmo(tensors: &Tensors<'_>, prefix: &str, weights: &Path) -> Result<(), ImportError> {
    let name = format!("{prefix}_token_embedder._projection.weight");
    let ours = tensors.get(&name)?; // (P, F)
    let [p, f] = ours.shape[..] else {
        let problem = format!("{name:?} has shape {:?}, which is not a matrix", ours.shape);
        return Err(ImportError::Options { path: weights.to_owned(), problem });
    };
    let theirs = Hdf5::open(weights)?.dataset_of("CNN_proj/W_proj", &[f, p])?; // (F, P)
    let same = |i: usize| (ours.values[i] - theirs[i % f * p + i / f]).abs() <= 1e-6;
    match (0..p * f).all(same) {
        true => Ok(()),
        false => {
            let problem = format!("the weights differ from {name:?} in the archive");
            Err(ImportError::Options { path: weights.to_owned(), problem })
        }
    }
}
