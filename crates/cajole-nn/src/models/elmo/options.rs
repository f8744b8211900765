//! `options.json`: the sizes of a published ELMo.

use std::path::Path;

use serde::Deserialize;

use crate::import::{ImportError, damaged};

/// The network's sizes from `options.json`; training settings are ignored.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Options {
    pub(super) lstm: LstmOptions,
    pub(super) char_cnn: CharCnnOptions,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct LstmOptions {
    /// Cell size.
    pub(super) dim: usize,
    /// Output and input size of a cell.
    pub(super) projection_dim: usize,
    pub(super) n_layers: usize,
    /// Clip of the cell; absent or zero for none.
    #[serde(default)]
    pub(super) cell_clip: Option<f32>,
    /// Clip of the output; absent or zero for none.
    #[serde(default)]
    pub(super) proj_clip: Option<f32>,
    /// Whether layers from the second on are residual.
    #[serde(default)]
    pub(super) use_skip_connections: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CharCnnOptions {
    pub(super) embedding: EmbeddingOptions,
    /// Width and number of filters of each convolution.
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

/// Applied to the max-pooled output of a filter.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Activation {
    Relu,
    Tanh,
}

/// No sane network has a larger dimension, and products of a few of them do not overflow.
const MAX_SIZE: usize = 1 << 20;

impl Options {
    pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Options, ImportError> {
        let options: Options = serde_json::from_slice(bytes).map_err(|e| damaged(path, e))?;
        match options.problem() {
            Some(problem) => Err(ImportError::Options { path: path.to_owned(), problem }),
            None => Ok(options),
        }
    }

    /// The first invalid setting.
    fn problem(&self) -> Option<String> {
        let Options { lstm, char_cnn } = self;
        let max = char_cnn.max_characters_per_token;
        let sizes = [
            ("lstm.dim", lstm.dim, 1..=MAX_SIZE),
            ("lstm.projection_dim", lstm.projection_dim, 1..=MAX_SIZE),
            ("lstm.n_layers", lstm.n_layers, 1..=MAX_SIZE),
            ("char_cnn.embedding.dim", char_cnn.embedding.dim, 1..=MAX_SIZE),
            ("the number of char_cnn.filters", char_cnn.filters.len(), 1..=MAX_SIZE),
            ("char_cnn.max_characters_per_token", max, 3..=MAX_SIZE),
            // 256 bytes, word and sentence boundaries, and padding; 262 also counts the mask.
            ("char_cnn.n_characters", char_cnn.n_characters, 261..=262),
        ];
        let size = sizes.into_iter().find(|(_, size, range)| !range.contains(size));
        let fits = |&(width, n): &(usize, usize)| {
            (1..=max).contains(&width) && (1..=MAX_SIZE).contains(&n)
        };
        let filter = char_cnn.filters.iter().find(|filter| !fits(filter));
        let mut clips = [lstm.cell_clip, lstm.proj_clip].into_iter().flatten();
        size.map(|(name, size, _)| format!("{name} is {size}"))
            .or_else(|| filter.map(|(w, n)| format!("char_cnn.filters has [{w}, {n}]")))
            .or_else(|| clips.find(|c| *c < 0.0).map(|c| format!("lstm has a clip of {c}")))
    }

    /// Total number of filters: the size of a word before the projection.
    pub(super) fn filters(&self) -> usize {
        self.char_cnn.filters.iter().map(|(_, n)| n).sum()
    }
}
