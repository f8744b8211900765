//! Contextual word vectors, for taggers that read ELMo.
//!
//! ELMo is not trained with the tagger and does not move in gradient-based inference. So its
//! vectors are computed once per sentence, before the tagger runs, and shared by all predicates of
//! the sentence.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cajole_files::Folder;
use cajole_nn::import::ImportError;
use cajole_nn::models::elmo::{Cache, Elmo, Mix};

use crate::checkpoint::LoadError;

const OPTIONS: &str = "options.json";
const WEIGHTS: &str = "weights.hdf5";

/// The files of a published ELMo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElmoFiles {
    /// `options.json`: its sizes.
    pub options: PathBuf,
    /// `weights.hdf5`: its weights.
    pub weights: PathBuf,
}

impl ElmoFiles {
    /// The ELMo files of a checkpoint in `folder`.
    pub(crate) fn within(folder: &Path) -> Self {
        ElmoFiles { options: folder.join(OPTIONS), weights: folder.join(WEIGHTS) }
    }

    /// Copies them into `folder`, unless they are already there.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(crate) fn copy_to(&self, folder: &Folder) -> Result<(), LoadError> {
        folder.copy(OPTIONS, &self.options)?;
        Ok(folder.copy(WEIGHTS, &self.weights)?)
    }
}

/// An ELMo, and how a tagger mixes its layers.
pub struct Embedder {
    files: ElmoFiles,
    source: Source,
    mix: Mix,
    /// The last sentence: its other predicates usually come next.
    last: Mutex<Option<Embedded>>,
}

/// A sentence and its vectors.
type Embedded = (Vec<String>, Arc<[f32]>);

enum Source {
    Network(Elmo),
    Kept(Cache),
}

impl Embedder {
    /// Loads an ELMo whose layers are averaged.
    ///
    /// # Errors
    /// If a file is missing or damaged, or the two do not match.
    pub fn load(files: ElmoFiles) -> Result<Self, ImportError> {
        let elmo = Elmo::load(&files.options, &files.weights)?;
        let mix = Mix::mean(elmo.layers());
        Ok(Embedder { files, source: Source::Network(elmo), mix, last: Mutex::default() })
    }

    /// Caches the outputs of ELMo in `folder`, all layers for every word.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub(crate) fn kept_in(self, folder: &Path) -> Result<Self, ImportError> {
        let source = match self.source {
            Source::Network(elmo) => Source::Kept(Cache::open(folder, elmo)?),
            kept => kept,
        };
        Ok(Embedder { source, ..self })
    }

    /// Sets a learnt layer mix.
    ///
    /// # Errors
    /// If the mix is for another number of layers.
    pub fn with_mix(self, mix: Mix) -> Result<Self, ImportError> {
        let (found, layers) = (mix.weights.len(), self.elmo().layers());
        match found == layers {
            true => Ok(Embedder { mix, last: Mutex::default(), ..self }),
            false => Err(self.misfit(format!("it has {layers} layers, not {found}"))),
        }
    }

    /// Checks the size of the vectors.
    ///
    /// # Errors
    /// If it differs from `dense`.
    pub(crate) fn of_size(self, dense: usize) -> Result<Self, ImportError> {
        let dim = self.elmo().dim();
        match dim == dense {
            true => Ok(self),
            false => Err(self.misfit(format!("its vectors have size {dim}, not {dense}"))),
        }
    }

    /// The files it was loaded from.
    pub(crate) fn files(&self) -> &ElmoFiles {
        &self.files
    }

    /// The network.
    pub fn elmo(&self) -> &Elmo {
        match &self.source {
            Source::Network(elmo) => elmo,
            Source::Kept(cache) => cache.elmo(),
        }
    }

    /// The layer mix.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// The vectors of a sentence's words, `(T, D)`; independent of earlier sentences.
    pub fn embed(&self, words: &[String]) -> Arc<[f32]> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, vectors)) = &*last()
            && same == words
        {
            return vectors.clone();
        }
        let kept = match &self.source {
            // If the cache cannot be written, compute without it.
            Source::Kept(cache) => cache.embed(&[words]).ok(),
            Source::Network(_) => None,
        };
        let layers = kept.unwrap_or_else(|| self.elmo().embed(&[words], None));
        let mixed = layers.first().map(|layers| self.mix.apply(layers));
        let vectors: Arc<[f32]> = mixed.unwrap_or_default().into();
        *last() = Some((words.to_vec(), vectors.clone()));
        vectors
    }

    fn misfit(&self, problem: String) -> ImportError {
        ImportError::Options { path: self.files.options.clone(), problem }
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Embedder { files, mix, .. } = self;
        f.debug_struct("Embedder").field("files", files).field("mix", mix).finish_non_exhaustive()
    }
}
