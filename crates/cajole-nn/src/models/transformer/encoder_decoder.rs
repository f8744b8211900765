//! An encoder-decoder: reads a sequence, writes another. BART, Marian, T5 and `nn.Transformer`.
//!
//! Decoding goes step by step over cached keys and values (`decoding.rs`). What is differentiated is
//! recorded afterwards, all positions of an output at once.

use cajole_core::model::Symbol;
use serde::{Deserialize, Serialize};

use super::embedding::{Embedding, EmbeddingConfig, Positions};
use super::generation::Generation;
use super::stack::{Stack, StackConfig};
use super::tagger::PiecesError;
use super::{counted, in_a_row};
use crate::layers::multi_head::Span;
use crate::layers::positions::MOST_WAVES;
use crate::layout::{Init, Layout, Param};
use crate::models::Token;
use crate::settings::{MOST_SIZE, optional_size, size};
use crate::tape::{Graph, Var};

/// The size of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EncoderDecoderConfig {
    /// What is read.
    pub reads: EmbeddingConfig,
    /// The encoder's layers.
    pub encoder: StackConfig,
    /// What is written: `V` symbols.
    pub writes: EmbeddingConfig,
    /// The decoder's layers.
    pub decoder: StackConfig,
    /// Whether what is read and what is written share one table of symbols.
    pub shares_symbols: bool,
    /// Whether symbols are scored with the table that they are read with when written.
    pub ties_output: bool,
    /// Whether scores have a bias.
    pub has_output_bias: bool,
    /// The factor of what symbols are scored with.
    pub output_scale: f32,
    /// The symbol that the decoder reads first.
    pub start: Symbol,
    /// The symbol that ends an output.
    pub end: Symbol,
    /// Length limit of outputs, including the end symbol.
    #[serde(deserialize_with = "size")]
    pub cap: usize,
    /// What that limit grows by with each token of the input.
    #[serde(default, deserialize_with = "optional_size", skip_serializing_if = "is_zero")]
    pub cap_factor: usize,
    /// Whether the encoder reads an end after the input: the last of the symbols that are read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_end: bool,
    /// Fixed word vectors that are read beside the symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorsConfig>,
}

/// A table of fixed word vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VectorsConfig {
    /// How many there are.
    #[serde(deserialize_with = "size")]
    pub rows: usize,
    /// `P`.
    #[serde(deserialize_with = "size")]
    pub size: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl EncoderDecoderConfig {
    /// What is wrong with these sizes, if they come from a file.
    ///
    /// # Errors
    /// If they contradict each other, or ask for too much.
    pub fn check(&self) -> Result<(), String> {
        let EncoderDecoderConfig { reads, encoder, writes, decoder, start, end, .. } = self;
        for (stack, part) in [(encoder, reads), (decoder, writes)] {
            let (heads, size) = (stack.heads, stack.head_size);
            if size == 0 || MOST_SIZE < heads.saturating_mul(size) {
                return Err(format!("{heads} heads of size {size}"));
            }
            let rows = part.positions.most().unwrap_or(0);
            if MOST_WAVES < rows.saturating_mul(stack.width) {
                let width = stack.width;
                return Err(format!(
                    "{rows} positions of width {width}; at most {MOST_WAVES} values"
                ));
            }
            if let Positions::Relative { buckets, furthest } = part.positions
                && (buckets < 4 || furthest <= buckets / 2 || 1 << 16 < furthest)
            {
                return Err(format!("{buckets} buckets of distances up to {furthest}"));
            }
        }
        let width = (encoder.width, decoder.width);
        if width.0 != width.1 {
            return Err(format!("the encoder's width is {}, the decoder's {}", width.0, width.1));
        }
        if self.shares_symbols && reads.symbols != writes.symbols {
            let (reads, writes) = (reads.symbols, writes.symbols);
            return Err(format!(
                "{reads} symbols are read and {writes} written, and they are shared"
            ));
        }
        let beyond = [*start, *end].into_iter().find(|&symbol| writes.symbols <= symbol as usize);
        match beyond {
            Some(symbol) => Err(format!("symbol {symbol} of {} begins or ends", writes.symbols)),
            None => Ok(()),
        }
    }
}

/// The network.
#[derive(Clone, Debug)]
pub struct EncoderDecoder {
    /// Its size.
    pub config: EncoderDecoderConfig,
    /// What decoding is told beside the weights; nothing in a new network.
    pub generation: Generation,
    pub(super) layout: Layout,
    reads: Embedding,
    vectors: Option<Vectors>,
    encoder: Stack,
    pub(super) writes: Embedding,
    pub(super) decoder: Stack,
    output: (Param, Option<Param>), // (V, D), (V)
}

/// Fixed vectors, and how they are read.
#[derive(Clone, Copy, Debug)]
struct Vectors {
    table: Param, // (rows, P)
    w: Param,     // (P, D)
}

impl Vectors {
    fn new(l: &mut Layout, config: VectorsConfig, width: usize) -> Self {
        let VectorsConfig { rows, size } = config;
        let table = l.matrix("vectors.table", rows, size, Init::Zero);
        Vectors { table, w: l.matrix("reads.vectors.w", size, width, Init::Glorot { blocks: 1 }) }
    }
}

/// What the decoder sees of `B` inputs.
#[derive(Default)]
pub(super) struct Memory {
    /// Keys and values of each layer, `(S, 2I)`.
    pub(super) layers: Vec<Var>,
    /// The rows of each input.
    pub(super) places: Vec<std::ops::Range<usize>>,
}

impl EncoderDecoder {
    /// A network of this size.
    pub fn new(config: EncoderDecoderConfig) -> Self {
        let l = &mut Layout::default();
        let reads = Embedding::new(l, "reads", config.reads, &config.encoder, None);
        let vectors = config.vectors.map(|vectors| Vectors::new(l, vectors, config.encoder.width));
        let encoder = Stack::new(l, "encoder", &config.encoder, &config.reads, false);
        let shared = config.shares_symbols.then_some(reads.symbols);
        let writes = Embedding::new(l, "writes", config.writes, &config.decoder, shared);
        let decoder = Stack::new(l, "decoder", &config.decoder, &config.writes, true);
        let (symbols, width) = (config.writes.symbols, config.decoder.width);
        let table = match config.ties_output {
            true => writes.symbols,
            false => l.matrix("output.symbols", symbols, width, Init::Glorot { blocks: 1 }),
        };
        let bias = config.has_output_bias.then(|| l.bias("output.b", symbols, Init::Zero));
        let layout = std::mem::take(l);
        let (generation, output) = (Generation::default(), (table, bias));
        EncoderDecoder {
            config,
            generation,
            layout,
            reads,
            vectors,
            encoder,
            writes,
            decoder,
            output,
        }
    }

    /// The table of fixed word vectors, which training does not change: `(n, P)`.
    pub fn vectors(&self) -> Option<Param> {
        self.vectors.map(|vectors| vectors.table)
    }

    /// Checks that the network can read an input. Passes over an input that it cannot read panic.
    ///
    /// # Errors
    /// If it is too long, or a symbol is unknown.
    pub fn check(&self, x: &[Token]) -> Result<(), PiecesError> {
        self.config.reads.check(x.iter().map(|token| token.word))
    }

    /// Encodes `B` inputs.
    pub(super) fn encode<'x>(
        &self,
        g: &mut Graph<'_>,
        xs: impl Iterator<Item = &'x [Token]> + Clone,
        memory: &mut Memory,
    ) {
        let end = Token { word: self.config.reads.symbols as Symbol - 1, vector: 0 };
        let end = self.config.reads_end.then_some(end);
        let tokens = |x: &'x [Token]| x.iter().copied().chain(end);
        memory.places.clear();
        let lengths = xs.clone().map(|x| x.len() + usize::from(end.is_some()));
        memory.places.extend(in_a_row(lengths));
        let n = memory.places.last().map_or(0, |last| last.end); // S
        g.list(xs.clone().zip(0..).flat_map(|(x, b)| tokens(x).map(move |_| b)));
        let vectors = self.vectors.map(|Vectors { table, w }| {
            let rows = xs.clone().flat_map(tokens).map(|token| token.vector);
            let rows = g.embed(table, counted(rows, n)); // (S, P)
            g.affine(&[(rows, w)], None)
        });
        let rows = xs.flat_map(|x| tokens(x).map(|token| token.word).zip(0..));
        let x = self.reads.read(g, rows, vectors, n); // (S, D)
        let places = memory.places.iter().cloned();
        let spans = g.spans(places.map(|own| Span { queries: own.clone(), keys: own }));
        let mut look = self.encoder.whole(g, spans, None, None);
        let x = self.encoder.run(g, x, &mut look); // (S, D)
        memory.layers.clear();
        let cross = self.decoder.layers.iter().filter_map(|layer| layer.input.as_ref());
        memory.layers.extend(cross.map(|cross| cross.kv.apply(g, x)));
    }

    /// Log-probabilities `(R, V)` of what follows every prefix of these outputs, each with the index
    /// of its input: the empty prefix first, one output after another. Lists queries, keys and values
    /// of each layer, if asked to.
    pub(super) fn force<'y>(
        &self,
        g: &mut Graph<'_>,
        memory: &Memory,
        outputs: impl Iterator<Item = (usize, &'y [Symbol])> + Clone,
        list: Option<&mut Vec<Var>>,
    ) -> Var {
        let places = || in_a_row(outputs.clone().map(|(_, y)| y.len() + 1));
        let n = places().last().map_or(0, |last| last.end); // R
        let owners = outputs.clone().flat_map(|(b, y)| (0..=y.len()).map(move |_| b as u32));
        g.list(owners);
        let start = [self.config.start];
        let rows = outputs.clone().flat_map(|(_, y)| start.iter().chain(y).copied().zip(0..));
        let x = self.writes.read(g, rows, None, n); // (R, D)
        let own = g.spans(places().map(|own| Span { queries: own.clone(), keys: own }));
        let seen = places().zip(outputs.clone());
        let seen = seen.map(|(queries, (b, _))| Span { queries, keys: memory.places[b].clone() });
        let seen = g.spans(seen);
        let mut look = self.decoder.whole(g, own, Some((seen, &memory.layers)), list);
        let x = self.decoder.run(g, x, &mut look); // (R, D)
        self.log_probs(g, x)
    }

    /// `(R, V)` from what comes out of the decoder, `(R, D)`.
    pub(super) fn log_probs(&self, g: &mut Graph<'_>, x: Var) -> Var {
        let scores = self.scores(g, x);
        g.log_softmax(scores)
    }

    /// The same before it is normalised.
    pub(super) fn scores(&self, g: &mut Graph<'_>, x: Var) -> Var {
        let x = g.scale(x, self.config.output_scale);
        g.scores(x, self.output.0, self.output.1) // (R, V)
    }
}
