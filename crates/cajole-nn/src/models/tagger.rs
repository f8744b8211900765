//! The deep tagger of He et al. 2017: stacked LSTMs that read in alternating directions.
//!
//! Tags every position of a sentence, for one predicate of that sentence. A layer is an LSTM with
//! highway connections; every second layer reads backwards. The input at each position concatenates
//! an embedding of the word, a pretrained vector of the word, a vector that comes with the input
//! (ELMo), an embedding of the predicate's lemma, and an indicator embedding that marks the
//! predicate. All but the last are optional.
//!
//! Alphabet: `D` size of the concatenated input, `H` hidden units, `V` tags, `T` positions, `B`
//! inputs; time-major, row `t · B + b`. Gates are in the order `i, f, g, o, t`, then the linear
//! input `k`.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::sync::Arc;

use cajole_core::model::Symbol;
use serde::{Deserialize, Serialize};

use super::Token;
use crate::autoregressive::Vars;
use crate::layers::lstm_layer::{CellKind, Direction};
use crate::layout::{Init, Layout, Param};
use crate::settings::{depth, optional_size, size};
use crate::tagging::Tagger;
use crate::tape::{Graph, Var};

/// The size of a network. Inputs of size zero are omitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaggerConfig {
    /// Size of the network's own vocabulary.
    #[serde(deserialize_with = "optional_size")]
    pub words: usize,
    /// Size of its embeddings.
    #[serde(deserialize_with = "optional_size")]
    pub embedding: usize,
    /// Number of pretrained word vectors.
    #[serde(deserialize_with = "optional_size")]
    pub vectors: usize,
    /// Size of a pretrained vector.
    #[serde(deserialize_with = "optional_size")]
    pub vector_size: usize,
    /// Size of the dense vectors that come with each position of an input.
    #[serde(deserialize_with = "optional_size")]
    pub dense: usize,
    /// Number of predicate lemmas.
    #[serde(deserialize_with = "optional_size")]
    pub lemmas: usize,
    /// Size of the lemma embeddings.
    #[serde(deserialize_with = "optional_size")]
    pub lemma_embedding: usize,
    /// Size of the embedding that marks the predicate.
    #[serde(deserialize_with = "size")]
    pub indicator: usize,
    /// `V`.
    #[serde(deserialize_with = "size")]
    pub tags: usize,
    /// The kind of cell.
    pub cell: CellKind,
    /// Reading direction of the layers.
    pub reading: Reading,
    /// Number of layers.
    #[serde(deserialize_with = "depth")]
    pub layers: usize,
    /// `H`.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// Dropout rate on the inputs.
    pub input_dropout: f32,
    /// Recurrent dropout rate, with one mask per sequence.
    pub recurrent_dropout: f32,
    /// Dropout rate between layers.
    pub dropout: f32,
}

/// Reading direction of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// All from the first position to the last.
    Forward,
    /// The first forward, the second backward, and so on.
    Alternating,
}

/// One predicate of one sentence, as the network sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// The words. Predicates of one sentence share them, and the vectors.
    pub tokens: Arc<[Token]>,
    /// Dense vectors, `(T, dense)`; empty if the network uses none.
    pub dense: Arc<[f32]>,
    /// The predicate's position; out of range if there is none.
    pub predicate: usize,
    /// Its lemma.
    pub lemma: Symbol,
}

/// The network, for inputs that contain [`Features`].
#[derive(Clone, Debug)]
pub struct LstmTagger<X = Features> {
    /// Its size.
    pub config: TaggerConfig,
    layout: Layout,
    embedding: Option<Param>, // (words, embedding)
    vectors: Option<Param>,   // (vectors, vector_size)
    lemmas: Option<Param>,    // (lemmas, lemma_embedding)
    indicator: Param,         // (2, indicator): other, predicate
    layers: Vec<Cell>,
    output: (Param, Param), // (H, V), (V)
    inputs: PhantomData<fn(&X)>,
}

/// The weights of a layer: 4 gates, or 5 and the linear input with a highway connection.
#[derive(Clone, Debug)]
struct Cell {
    w_x: Param, // (input, 6H) or (input, 4H)
    w_h: Param, // (H, 5H) or (H, 4H)
    b: Param,   // (6H) or (4H)
}

impl<X: Borrow<Features>> LstmTagger<X> {
    /// A network of this size.
    pub fn new(config: TaggerConfig) -> Self {
        let l = &mut Layout::default();
        let mut table = |name: &str, rows: usize, cols: usize, init: Init| {
            (0 < rows && 0 < cols).then(|| l.matrix(name, rows, cols, init))
        };
        let small = Init::Uniform(0.1);
        let vectors = table("input.vectors", config.vectors, config.vector_size, Init::Zero);
        let embedding = table("input.words", config.words, config.embedding, small);
        let lemmas = table("input.lemmas", config.lemmas, config.lemma_embedding, small);
        let indicator = l.matrix("input.indicator", 2, config.indicator, small);
        let tables = [embedding, vectors, lemmas, Some(indicator)].into_iter().flatten();
        let inputs = tables.map(|table| table.cols as usize).sum::<usize>() + config.dense;

        let (h, n_x, n_h) = (config.hidden, config.cell.inputs(), config.cell.gates());
        let cells = (0..config.layers).map(|i| {
            let input = if i == 0 { inputs } else { h };
            let name = |part: &str| format!("layer{i}.{part}");
            Cell {
                w_x: l.matrix(&name("w_x"), input, n_x * h, Init::Orthogonal { blocks: n_x }),
                w_h: l.matrix(&name("w_h"), h, n_h * h, Init::Orthogonal { blocks: n_h }),
                b: l.bias(&name("b"), n_x * h, Init::LstmBias { blocks: n_x }),
            }
        });
        let layers = cells.collect();
        let output = (
            l.matrix("output.w", h, config.tags, Init::Glorot { blocks: 1 }),
            l.bias("output.b", config.tags, Init::Zero),
        );
        let layout = std::mem::take(l);
        let inputs = PhantomData;
        LstmTagger { config, layout, embedding, vectors, lemmas, indicator, layers, output, inputs }
    }

    /// The table of pretrained word vectors, `(vectors, vector_size)`.
    pub fn vectors(&self) -> Option<Param> {
        self.vectors
    }

    /// The concatenated input at every position, `(T·B, D)`.
    fn inputs(&self, g: &mut Graph<'_>, xs: &[&X], steps: usize) -> Var {
        let features =
            |row: usize| -> (usize, &Features) { (row / xs.len(), xs[row % xs.len()].borrow()) };
        let rows = (0..steps * xs.len()).map(features);
        let token = |(t, x): (usize, &Features)| x.tokens.get(t).copied().unwrap_or_default();
        let mut parts = Vars::default();
        if let Some(table) = self.embedding {
            parts.push(g.embed(table, rows.clone().map(|row| token(row).word)));
        }
        if let Some(table) = self.vectors {
            parts.push(g.embed(table, rows.clone().map(|row| token(row).vector)));
        }
        if 0 < self.config.dense {
            let n = self.config.dense;
            let dense = g.zeros(steps * xs.len(), n);
            for (i, (t, x)) in rows.clone().enumerate() {
                let values = x.dense.chunks_exact(n).nth(t).unwrap_or_default();
                g.fill(dense.row(i), values.iter().copied());
            }
            parts.push(dense);
        }
        if let Some(table) = self.lemmas {
            parts.push(g.embed(table, rows.clone().map(|(_, x)| x.lemma)));
        }
        parts.push(g.embed(self.indicator, rows.map(|(t, x)| Symbol::from(t == x.predicate))));
        let all = g.concat(parts.iter());
        g.dropout(all, self.config.input_dropout)
    }
}

impl<X: Borrow<Features> + Sync> Tagger for LstmTagger<X> {
    type Input = X;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_tags(&self) -> usize {
        self.config.tags
    }

    fn len(&self, x: &X) -> usize {
        x.borrow().tokens.len()
    }

    fn log_probs(&self, g: &mut Graph<'_>, xs: &[&X]) -> Var {
        let steps = xs.iter().map(|x| self.len(x)).max().unwrap_or(0);
        let mut x = self.inputs(g, xs, steps); // (T·B, D)
        for (i, cell) in self.layers.iter().enumerate() {
            if g.is_late() {
                return g.zeros(steps * xs.len(), self.config.tags);
            }
            let lengths = xs.iter().map(|x| self.len(x));
            let direction = match (self.config.reading, i % 2) {
                (Reading::Alternating, 1) => Direction::Backward,
                _ => Direction::Forward,
            };
            let z = g.affine(&[(x, cell.w_x)], Some(cell.b)); // (T·B, 6H)
            let (kind, dropout) = (self.config.cell, self.config.recurrent_dropout);
            let layer = g.lstm_layer(kind, z, cell.w_h, lengths, direction, dropout);
            x = g.dropout(layer.h, self.config.dropout); // (T·B, H)
        }
        let scores = g.affine(&[(x, self.output.0)], Some(self.output.1)); // (T·B, V)
        g.log_softmax(scores)
    }
}
