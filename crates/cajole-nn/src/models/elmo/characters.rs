//! Words as bytes, and the character CNN over them.
//!
//! `M` characters at most, `C` embedding size, filters of width `w`. A word is encoded as its UTF-8
//! bytes between start and end markers, padded to `M`. Each filter is applied to every window of
//! `w` characters and max-pooled.

use super::hdf5::Hdf5;
use super::options::{Activation, CharCnnOptions};
use crate::import::ImportError;
use crate::kernels::{add_product, tanh};

/// AllenNLP's start-of-sentence word.
pub(super) const SENTENCE_START: &str = "<S>";
/// AllenNLP's end-of-sentence word.
pub(super) const SENTENCE_END: &str = "</S>";

/// Bytes are numbered from 1, since 0 is a mask value; the special characters follow.
const START_OF_SENTENCE: u16 = 257;
const END_OF_SENTENCE: u16 = 258;
const START_OF_WORD: u16 = 259;
const END_OF_WORD: u16 = 260;
const PADDING: u16 = 261;
/// Number of character embeddings.
const CHARACTERS: usize = 261;

/// AllenNLP's character ids of a word: bytes from 1 on, between 259 and 260, padded with 261 to
/// `max`. Bytes that do not fit are truncated.
///
/// `<S>` and `</S>` mark sentence boundaries and have their own characters.
pub fn character_ids(word: &str, max: usize) -> Vec<u16> {
    let mut ids = framed(word, max);
    ids.resize(max, PADDING);
    ids
}

/// The character ids without padding.
fn framed(word: &str, max: usize) -> Vec<u16> {
    let bytes: Vec<u16> = match word {
        SENTENCE_START => vec![START_OF_SENTENCE],
        SENTENCE_END => vec![END_OF_SENTENCE],
        word => word.bytes().take(max.saturating_sub(2)).map(|b| u16::from(b) + 1).collect(),
    };
    [START_OF_WORD].into_iter().chain(bytes).chain([END_OF_WORD]).collect()
}

/// The character CNN: from a word to the activations of all filters.
pub(super) struct CharCnn {
    /// `(261, C)`; the row of a character is its id minus one.
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

    /// Appends the activations of all filters for `word` to `out`.
    pub(super) fn extend(&self, word: &str, out: &mut Vec<f32>) {
        let start = out.len();
        let ids = character_ids(word, self.max);
        let rows = ids.iter().map(|&id| usize::from(id) - 1);
        let dim = self.dim;
        let x: Vec<f32> = // (M, C)
            rows.flat_map(|row| &self.embedding[row * dim..(row + 1) * dim]).copied().collect();
        // Windows that begin past the word contain only padding, so one of them is enough.
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
    /// Max-pools each filter over the first `windows` positions of `x (M, C)`.
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
