//! The deep tagger of He et al. 2017: layers of LSTMs that read in alternating directions.
//!
//! Every position of a sentence is given a tag, for one predicate of that sentence. A layer is an
//! LSTM with highway connections; odd layers read from the end. What goes in at each position is,
//! side by side: an embedding of the word, a vector of the word from elsewhere, a vector that comes
//! with the input (ELMo), an embedding of the predicate's lemma, and an embedding that says whether this position
//! is the predicate. Each is optional but the last.
//!
//! Alphabet: `D` size of all inputs together, `H` hidden units, `V` tags, `T` positions, `B` inputs;
//! time-major, row `t · B + b`. Gates are in the order `i, f, g, o, t` and the linear input `k`.

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

/// The size of a network. Inputs of size zero are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaggerConfig {
    /// Words of the network's own vocabulary.
    #[serde(deserialize_with = "optional_size")]
    pub words: usize,
    /// Size of their embeddings.
    #[serde(deserialize_with = "optional_size")]
    pub embedding: usize,
    /// Rows of word vectors from elsewhere.
    #[serde(deserialize_with = "optional_size")]
    pub vectors: usize,
    /// Size of those.
    #[serde(deserialize_with = "optional_size")]
    pub vector_size: usize,
    /// Size of the vectors that come with each position of an input.
    #[serde(deserialize_with = "optional_size")]
    pub dense: usize,
    /// Lemmas of predicates.
    #[serde(deserialize_with = "optional_size")]
    pub lemmas: usize,
    /// Size of their embeddings.
    #[serde(deserialize_with = "optional_size")]
    pub lemma_embedding: usize,
    /// Size of the embedding that tells the predicate from all else.
    #[serde(deserialize_with = "size")]
    pub indicator: usize,
    /// `V`.
    #[serde(deserialize_with = "size")]
    pub tags: usize,
    /// What a layer is made of.
    pub cell: CellKind,
    /// Which way layers read.
    pub reading: Reading,
    /// How many there are.
    #[serde(deserialize_with = "depth")]
    pub layers: usize,
    /// `H`.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// Share of the inputs' units silenced in training.
    pub input_dropout: f32,
    /// Share of a layer's units that are silent, for a whole sequence, to its next position.
    pub recurrent_dropout: f32,
    /// Share of the units silenced between layers.
    pub dropout: f32,
}

/// Which way layers read.
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
    /// The words.
    pub tokens: Vec<Token>,
    /// Vectors from elsewhere, `(T, dense)`; empty if the network reads none. Predicates of one
    /// sentence share them.
    pub dense: Arc<[f32]>,
    /// Which position is the predicate; none, if not within the sentence.
    pub predicate: usize,
    /// Its lemma.
    pub lemma: Symbol,
}

/// The network, for inputs that have [`Features`] among whatever else they carry.
#[derive(Clone, Debug)]
pub struct LstmTagger<X = Features> {
    /// Its size.
    pub config: TaggerConfig,
    layout: Layout,
    embedding: Option<Param>, // (words, embedding)
    vectors: Option<Param>,   // (vectors, vector_size)
    lemmas: Option<Param>,    // (lemmas, lemma_embedding)
    indicator: Param,         // (2, indicator): elsewhere, at the predicate
    layers: Vec<Cell>,
    output: (Param, Param), // (H, V), (V)
    inputs: PhantomData<fn(&X)>,
}

/// The weights of a layer, of 4 gates or, with a highway connection, 5 and the linear input.
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
                b: l.vector(&name("b"), n_x * h, Init::LstmBias { blocks: n_x }),
            }
        });
        let layers = cells.collect();
        let output = (
            l.matrix("output.w", h, config.tags, Init::Glorot { blocks: 1 }),
            l.vector("output.b", config.tags, Init::Zero),
        );
        let layout = std::mem::take(l);
        let inputs = PhantomData;
        LstmTagger { config, layout, embedding, vectors, lemmas, indicator, layers, output, inputs }
    }

    /// The table of word vectors from elsewhere, `(vectors, vector_size)`.
    pub fn vectors(&self) -> Option<Param> {
        self.vectors
    }

    /// What goes in at every position, `(T·B, D)`.
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
