//! `options.json`: the sizes of a published ELMo.

use std::path::Path;

use serde::Deserialize;

use crate::import::{ImportError, damaged};

/// What `options.json` says of the network; its settings for training are passed over.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Options {
    pub(super) lstm: LstmOptions,
    pub(super) char_cnn: CharCnnOptions,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct LstmOptions {
    /// Size of a cell's memory.
    pub(super) dim: usize,
    /// Size of what a cell puts out, and of its input.
    pub(super) projection_dim: usize,
    pub(super) n_layers: usize,
    /// Bound on the memory; none or zero for no bound.
    #[serde(default)]
    pub(super) cell_clip: Option<f32>,
    /// Bound on the output; none or zero for no bound.
    #[serde(default)]
    pub(super) proj_clip: Option<f32>,
    /// Whether a layer's input is added to its output, from the second layer on.
    #[serde(default)]
    pub(super) use_skip_connections: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CharCnnOptions {
    pub(super) embedding: EmbeddingOptions,
    /// Width and number of the filters of each convolution.
    pub(super) filters: Vec<(usize, usize)>,
    pub(super) n_highway: usize,
    pub(super) n_characters: usize,
    pub(super) max_characters_per_token: usize,
    pub(super) activation: Activation,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct EmbeddingOptions {
    pub(super) dim: usize,
}

/// What is applied to the maximum of a filter over a word.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Activation {
    Relu,
    Tanh,
}

/// No size of a sane network exceeds this, and products of a few of them do not overflow.
const MAX_SIZE: usize = 1 << 20;

impl Options {
    pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Options, ImportError> {
        let options: Options = serde_json::from_slice(bytes).map_err(|e| damaged(path, e))?;
        let wrong = |problem| Err(ImportError::Options { path: path.to_owned(), problem });
        let Options { lstm, char_cnn } = &options;
        for (name, size) in [
            ("lstm.dim", lstm.dim),
            ("lstm.projection_dim", lstm.projection_dim),
            ("lstm.n_layers", lstm.n_layers),
            ("char_cnn.embedding.dim", char_cnn.embedding.dim),
            ("number of char_cnn.filters", char_cnn.filters.len()),
        ] {
            if !(1..=MAX_SIZE).contains(&size) {
                return wrong(format!("{name} is {size}"));
            }
        }
        // 256 bytes, the ends of words and sentences, and padding; the larger number counts the
        // zero that stands for no character at all.
        if !(261..=262).contains(&char_cnn.n_characters) {
            let n = char_cnn.n_characters;
            return wrong(format!("char_cnn.n_characters is {n}, not 261 or 262"));
        }
        let max = char_cnn.max_characters_per_token;
        if !(3..=MAX_SIZE).contains(&max) {
            return wrong(format!("char_cnn.max_characters_per_token is {max}"));
        }
        for &(width, n) in &char_cnn.filters {
            if !(1..=max).contains(&width) || !(1..=MAX_SIZE).contains(&n) {
                return wrong(format!("char_cnn.filters has [{width}, {n}]"));
            }
        }
        for clip in [lstm.cell_clip, lstm.proj_clip].into_iter().flatten() {
            if clip.is_nan() || clip < 0.0 {
                return wrong(format!("lstm has a clip of {clip}"));
            }
        }
        Ok(options)
    }

    /// Filters of all widths together: the size of a word before projection.
    pub(super) fn filters(&self) -> usize {
        self.char_cnn.filters.iter().map(|(_, n)| n).sum()
    }
}
