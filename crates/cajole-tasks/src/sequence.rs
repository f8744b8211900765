//! Networks that read a sequence and write another, as the parsing and pairs tasks train them.
//!
//! Transformers are pre-norm encoder-decoders with sinusoidal positions and an end symbol after
//! every input.

use cajole_nn::TrainConfig;
use cajole_nn::layers::activation::Nonlinearity;
use cajole_nn::layers::norm::NormKind;
use cajole_nn::layers::positions::Waves;
use cajole_nn::models::transformer::{
    EmbeddingConfig, EncoderDecoderConfig, Positions, StackConfig, VectorsConfig,
};
use cajole_nn::models::{Seq2SeqConfig, SequenceConfig};
use cajole_nn::settings::size;
use serde::{Deserialize, Serialize};

/// What the transformers of an experiment have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransformerSettings {
    /// Attention heads, which divide the units of a layer among them.
    #[serde(deserialize_with = "size")]
    pub heads: usize,
    /// Units of the feed-forward networks.
    #[serde(deserialize_with = "size")]
    pub inner: usize,
    /// The training settings, instead of those of LSTMs.
    pub training: TrainConfig,
}

/// The size of a transformer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Layers of the encoder, and of the decoder.
    pub(crate) layers: usize,
    /// Units of a layer.
    pub(crate) hidden: usize,
    /// Attention heads.
    pub(crate) heads: usize,
    /// Units of the feed-forward networks.
    pub(crate) inner: usize,
    /// Dropout rate.
    pub(crate) dropout: f32,
}

/// What it reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbols {
    /// Symbols of the input vocabulary.
    pub(crate) words: usize,
    /// Fixed word vectors; 0 for none.
    pub(crate) vectors: usize,
    /// Their size.
    pub(crate) vector_size: usize,
    /// Output symbols, including the end symbol, which is the last.
    pub(crate) output: usize,
    /// The maximum number of output symbols per token, plus 20.
    pub(crate) cap_factor: usize,
}

/// Heads that do not divide the units of a layer.
#[derive(Debug, thiserror::Error)]
#[error("{heads} heads do not divide {hidden} hidden units: choose a divisor")]
pub struct UnevenHeads {
    heads: usize,
    hidden: usize,
}

/// The number of distinct positions; later ones are read as the last.
const POSITIONS: usize = 2048;

/// Output symbols that are allowed beyond those that the input's length allows.
const CAP: usize = 20;

impl Shape {
    /// A network of this size.
    ///
    /// # Errors
    /// If its heads are not all of the same size.
    pub(crate) fn network(&self, of: Symbols) -> Result<EncoderDecoderConfig, UnevenHeads> {
        let &Shape { layers, hidden, heads, inner, dropout } = self;
        if heads == 0 || !hidden.is_multiple_of(heads) {
            return Err(UnevenHeads { heads, hidden });
        }
        let head_size = hidden / heads;
        let embedding = |symbols| EmbeddingConfig {
            symbols,
            positions: Positions::Sinusoidal { rows: POSITIONS, waves: Waves::InTurn },
            types: 0,
            has_norm: false,
            scale: (hidden as f32).sqrt(),
        };
        let stack = StackConfig {
            layers,
            width: hidden,
            heads,
            head_size,
            scale: 1.0 / (head_size as f32).sqrt(),
            inner,
            activation: Nonlinearity::Relu,
            is_gated: false,
            norm: NormKind::Layer,
            epsilon: 1e-5,
            is_norm_first: true,
            has_last_norm: true,
            has_biases: true,
            dropout,
        };
        let end = of.output as u32 - 1;
        Ok(EncoderDecoderConfig {
            reads: embedding(of.words + 1),
            encoder: stack.clone(),
            writes: embedding(of.output),
            decoder: stack,
            shares_symbols: false,
            ties_output: false,
            has_output_bias: true,
            output_scale: 1.0,
            start: end,
            end,
            cap: CAP,
            cap_factor: of.cap_factor,
            reads_end: true,
            vectors: (0 < of.vectors)
                .then_some(VectorsConfig { rows: of.vectors, size: of.vector_size }),
        })
    }
}

/// The size of a network that reads these `entries`, for its model card.
pub(crate) fn describe(network: &SequenceConfig, entries: &str) -> String {
    let words = network.words();
    let vectors = network.vectors();
    let vectors =
        vectors.map_or_else(String::new, |(n, size)| format!(", and {n} fixed vectors of {size}"));
    match network {
        SequenceConfig::Lstm(network) => {
            let Seq2SeqConfig { layers, hidden, dropout, embedding, .. } = network;
            let architecture = serde_json::to_value(network.architecture).unwrap_or_default();
            format!(
                "{}, {layers} layers of {hidden} units, additive attention, dropout {dropout}; \
                 {words} {entries} with embeddings of {embedding}{vectors}",
                architecture.as_str().unwrap_or_default(),
            )
        }
        SequenceConfig::Transformer(network) => {
            let EncoderDecoderConfig { encoder, decoder, .. } = &**network;
            let StackConfig { layers, width, heads, inner, dropout, .. } = encoder;
            format!(
                "transformer, {layers} encoder and {} decoder layers of {width} units, {heads} \
                 heads, feed-forward networks of {inner} units, dropout {dropout}; {words} \
                 {entries}{vectors}",
                decoder.layers,
            )
        }
    }
}
