//! ELMo: contextual word vectors from a bidirectional language model.
//!
//! A word is encoded from its characters (`characters.rs`), passed through highway layers and a
//! projection (`highway.rs`), and read by two LSTMs, one per direction (`bilm.rs`). All layers are
//! returned; a task mixes them (`mix.rs`). The network is frozen: nothing here has a gradient, and
//! embeddings can be cached on disk (`cache.rs`).
//!
//! Reference: Peters et al., *Deep contextualized word representations*, 2018. Weights are read as
//! published, from `options.json` and `weights.hdf5` (`hdf5.rs`, with the feature of that name).

mod bilm;
mod cache;
mod characters;
#[cfg_attr(not(feature = "hdf5"), path = "no_hdf5.rs")]
mod hdf5;
mod highway;
mod matrix;
mod mix;
mod options;

use std::collections::HashMap;
use std::path::Path;

use cajole_files::read_regular;
use rayon::prelude::*;

use crate::import::ImportError;
use bilm::{Direction, Lm, Memory, Spans};
use characters::{CharCnn, SENTENCE_END, SENTENCE_START};
use highway::Projection;
use options::Options;

pub use cache::Cache;
pub use characters::character_ids;
pub use hdf5::Hdf5;
pub use mix::Mix;

/// Sentences per batch when no state connects them.
const BATCH: usize = 16;

/// A trained bidirectional language model.
pub struct Elmo {
    characters: CharCnn,
    projection: Projection,
    lms: [Lm; 2],
    /// `P`: half the size of a word vector.
    width: usize,
    layers: usize,
    /// Hash that identifies these weights.
    fingerprint: u128,
}

impl Elmo {
    /// Reads a network as published.
    ///
    /// # Errors
    /// If a file is missing or damaged, or if the two do not match.
    pub fn load(options: &Path, weights: &Path) -> Result<Elmo, ImportError> {
        let (settings, numbers) = (read_regular(options)?, read_regular(weights)?);
        Elmo::from_bytes((options, &settings), (weights, numbers))
    }

    /// Reads a network from the bytes of its options and weights; the paths are used in error
    /// messages.
    ///
    /// # Errors
    /// If they are damaged or do not match.
    pub fn from_bytes(
        (options, settings): (&Path, &[u8]),
        (weights, numbers): (&Path, Vec<u8>),
    ) -> Result<Elmo, ImportError> {
        let fingerprint = cache::hash([settings, &numbers]);
        let options = Options::from_bytes(options, settings)?;
        let file = Hdf5::from_bytes(weights, numbers)?;
        let lm = |direction| Lm::load(&options.lstm, &file, direction);
        Ok(Elmo {
            characters: CharCnn::load(&options.char_cnn, &file)?,
            projection: Projection::load(&options, &file)?,
            lms: [lm(Direction::Forward)?, lm(Direction::Backward)?],
            width: options.lstm.projection_dim,
            layers: options.lstm.n_layers + 1,
            fingerprint,
        })
    }

    /// `D`: size of a word vector in each layer.
    pub fn dim(&self) -> usize {
        2 * self.width
    }

    /// `L`: number of layers, including the context-free word layer.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// Embeds each sentence, framed by `<S>` and `</S>`.
    ///
    /// Without a state, every sentence is embedded independently. With one, sentence `b` continues
    /// from sentence `b` of the previous call, as in AllenNLP, so the result depends on the order
    /// of calls.
    ///
    /// # Panics
    /// If the state belongs to an ELMo of a different size.
    pub fn embed<W: AsRef<str> + Sync>(
        &self,
        sentences: &[&[W]],
        state: Option<&mut State>,
    ) -> Vec<Layers> {
        match state {
            Some(state) => {
                state.grow(sentences.len(), &self.lms);
                self.batch(sentences, &mut state.memories)
            }
            None => {
                let batches = sentences.par_chunks(BATCH).map(|batch| {
                    let mut state = State::default();
                    state.grow(batch.len(), &self.lms);
                    self.batch(batch, &mut state.memories)
                });
                batches.flatten_iter().collect()
            }
        }
    }

    fn batch<W: AsRef<str>>(
        &self,
        sentences: &[&[W]],
        memories: &mut [Vec<Vec<Memory>>; 2],
    ) -> Vec<Layers> {
        let spans = Spans::new(sentences.iter().map(|words| words.len() + 2));
        let words = sentences.iter().flat_map(|words| {
            let words = words.iter().map(AsRef::as_ref);
            [SENTENCE_START].into_iter().chain(words).chain([SENTENCE_END])
        });
        let x = self.words(words); // (R, P)
        let [forward, backward] = memories;
        let (forward, backward) = rayon::join(
            || self.lms[0].forward(&x, &spans, forward),
            || self.lms[1].forward(&x, &spans, backward),
        );
        let pairs: Vec<[&[f32]; 2]> = [[&*x, &*x]]
            .into_iter()
            .chain(forward.iter().zip(&backward).map(|(f, b)| [&**f, &**b]))
            .collect();
        let mut start = 0;
        sentences
            .iter()
            .map(|words| {
                start += words.len() + 2;
                // Without the two sentence boundaries.
                Layers::gather(&pairs, start - words.len() - 1, words.len(), self.width)
            })
            .collect()
    }

    /// Context-free word vectors, `(R, P)`. Each distinct word is encoded once.
    fn words<'w>(&self, words: impl Iterator<Item = &'w str>) -> Vec<f32> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut filtered = Vec::new(); // (U, F)
        let rows: Vec<usize> = words
            .map(|word| {
                let next = places.len();
                *places.entry(word).or_insert_with(|| {
                    self.characters.extend(word, &mut filtered);
                    next
                })
            })
            .collect();
        let x = self.projection.forward(filtered); // (U, P)
        let p = self.width;
        rows.iter().flat_map(|row| &x[row * p..(row + 1) * p]).copied().collect()
    }
}

/// The language models' state, carried from one call of [`Elmo::embed`] to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// By direction, sentence and layer.
    memories: [Vec<Vec<Memory>>; 2],
}

impl State {
    /// Extends the state to `rows` sentences; existing ones are kept.
    fn grow(&mut self, rows: usize, lms: &[Lm; 2]) {
        for (memories, lm) in self.memories.iter_mut().zip(lms) {
            while memories.len() < rows {
                memories.push(lm.blank());
            }
        }
    }
}

/// The word vectors of a sentence in every layer: `(L, T, D)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// `T`.
    pub words: usize,
    /// `D`: the forward half, then the backward half.
    pub dim: usize,
    /// Row-major.
    pub values: Vec<f32>,
    count: usize,
}

impl Layers {
    /// `L`.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The vectors of one layer: `(T, D)`.
    ///
    /// # Panics
    /// If the layer is out of range.
    pub fn layer(&self, layer: usize) -> &[f32] {
        assert!(layer < self.count, "layer {layer} of {}", self.count);
        let size = self.words * self.dim;
        &self.values[layer * size..(layer + 1) * size]
    }

    /// Rows `start..start + words` of both directions, concatenated.
    fn gather(pairs: &[[&[f32]; 2]], start: usize, words: usize, width: usize) -> Layers {
        let mut values = Vec::with_capacity(pairs.len() * words * 2 * width);
        for pair in pairs {
            for row in start..start + words {
                pair.iter().for_each(|x| values.extend(&x[row * width..(row + 1) * width]));
            }
        }
        Layers { words, dim: 2 * width, values, count: pairs.len() }
    }
}
