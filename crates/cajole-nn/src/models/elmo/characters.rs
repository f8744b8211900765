//! Words as bytes, and the convolutions over them.
//!
//! `M` characters at most, `C` numbers per character, filters of `w` characters. A word is written
//! as its UTF-8 bytes between a beginning and an end, and filled up to `M`; then each filter looks
//! at every `w` neighbours and keeps the largest answer.

use super::options::{Activation, CharCnnOptions};
use crate::import::ImportError;
use crate::import::hdf5::Hdf5;
use crate::kernels::{add_product, tanh};

/// The word that AllenNLP takes for the beginning of a sentence.
pub(super) const SENTENCE_START: &str = "<S>";
/// The word that AllenNLP takes for the end of a sentence.
pub(super) const SENTENCE_END: &str = "</S>";

/// Bytes are numbered from 1 on, since 0 is no character at all; after them come these.
const START_OF_SENTENCE: u16 = 257;
const END_OF_SENTENCE: u16 = 258;
const START_OF_WORD: u16 = 259;
const END_OF_WORD: u16 = 260;
const PADDING: u16 = 261;
/// How many characters have an embedding.
const CHARACTERS: usize = 261;

/// A word as AllenNLP numbers its characters: bytes from 1 on, 259 and 260 around them, filled up
/// with 261 to `max` of them. Bytes that do not fit are cut off.
///
/// `<S>` and `</S>` are the ends of a sentence, which have a character of their own.
pub fn character_ids(word: &str, max: usize) -> Vec<u16> {
    let mut ids = framed(word, max);
    ids.resize(max, PADDING);
    ids
}

/// A word without what fills it up.
fn framed(word: &str, max: usize) -> Vec<u16> {
    let bytes: Vec<u16> = match word {
        SENTENCE_START => vec![START_OF_SENTENCE],
        SENTENCE_END => vec![END_OF_SENTENCE],
        word => word.bytes().take(max.saturating_sub(2)).map(|b| u16::from(b) + 1).collect(),
    };
    [START_OF_WORD].into_iter().chain(bytes).chain([END_OF_WORD]).collect()
}

/// From a word to the answers of all filters.
pub(super) struct CharCnn {
    /// `(261, C)`; the row of a character is its number less one.
    embedding: Vec<f32>,
    convolutions: Vec<Convolution>,
    activation: Activation,
    dim: usize,
    max: usize,
}

struct Convolution {
    width: usize,
    /// `(w · C, N)`.
    weights: Vec<f32>,
    /// `(N)`.
    bias: Vec<f32>,
}

impl CharCnn {
    pub(super) fn load(options: &CharCnnOptions, file: &Hdf5) -> Result<CharCnn, ImportError> {
        let dim = options.embedding.dim;
        let embedding = file.dataset_of("char_embed", &[CHARACTERS, dim])?;
        let convolutions = options.filters.iter().enumerate().map(|(i, &(width, n))| {
            let weights = file.dataset_of(&format!("CNN/W_cnn_{i}"), &[1, width, dim, n])?;
            let bias = file.dataset_of(&format!("CNN/b_cnn_{i}"), &[n])?;
            Ok(Convolution { width, weights, bias })
        });
        Ok(CharCnn {
            embedding,
            convolutions: convolutions.collect::<Result<_, ImportError>>()?,
            activation: options.activation,
            dim,
            max: options.max_characters_per_token,
        })
    }

    /// Puts the answers of all filters to `word` at the end of `out`.
    pub(super) fn extend(&self, word: &str, out: &mut Vec<f32>) {
        let start = out.len();
        let ids = character_ids(word, self.max);
        let rows = ids.iter().map(|&id| usize::from(id) - 1);
        let dim = self.dim;
        let x: Vec<f32> = // (M, C)
            rows.flat_map(|row| &self.embedding[row * dim..(row + 1) * dim]).copied().collect();
        // Windows that begin after the word see nothing but padding, all of them the same.
        let distinct = framed(word, self.max).len() + 1;
        for convolution in &self.convolutions {
            let windows = distinct.min(self.max + 1 - convolution.width);
            convolution.extend(&x, windows, dim, out);
        }
        match self.activation {
            Activation::Relu => out[start..].iter_mut().for_each(|v| *v = v.max(0.0)),
            Activation::Tanh => tanh(&mut out[start..]),
        }
    }
}

impl Convolution {
    /// The largest answer of each filter over the first `windows` places of `x (M, C)`.
    fn extend(&self, x: &[f32], windows: usize, dim: usize, out: &mut Vec<f32>) {
        let (k, n) = (self.width * dim, self.bias.len());
        let seen: Vec<f32> = // (windows, w · C)
            (0..windows).flat_map(|at| &x[at * dim..at * dim + k]).copied().collect();
        let mut answers = self.bias.repeat(windows); // (windows, N)
        add_product(&mut answers, &seen, &self.weights, k, n);
        let (first, rest) = answers.split_at(n);
        let start = out.len();
        out.extend(first);
        for row in rest.chunks_exact(n) {
            out[start..].iter_mut().zip(row).for_each(|(best, &v)| *best = best.max(v));
        }
    }
}
