//! An encoder that gives every word of the input a tag: BERT, RoBERTa, DistilBERT and their kin.
//!
//! The encoder reads pieces of words. The first piece of a word carries its tag, so outputs have one
//! tag per word.

use std::borrow::Borrow;
use std::marker::PhantomData;

use cajole_core::model::Symbol;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::embedding::{Embedding, EmbeddingConfig};
use super::in_a_row;
use super::stack::{Stack, StackConfig};
use crate::layers::multi_head::Span;
use crate::layout::{Init, Layout, Param};
use crate::settings::size;
use crate::tagging::Tagger;
use crate::tape::{Graph, Var};

/// The size of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EncoderTaggerConfig {
    /// What is read.
    pub embedding: EmbeddingConfig,
    /// The layers.
    pub stack: StackConfig,
    /// `V`.
    #[serde(deserialize_with = "size")]
    pub tags: usize,
}

/// A sentence in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// The pieces, with whatever marks the beginning and the end.
    pub pieces: Vec<Symbol>,
    /// The first piece of each word.
    pub firsts: Vec<u32>,
    /// A piece that differs from all others by its type, such as the predicate that roles are for.
    pub marked: Option<u32>,
}

/// The network, for inputs that contain [`Pieces`].
#[derive(Clone, Debug)]
pub struct EncoderTagger<X = Pieces> {
    /// Its size.
    pub config: EncoderTaggerConfig,
    layout: Layout,
    embedding: Embedding,
    encoder: Stack,
    output: (Param, Param), // (D, V), (V)
    inputs: PhantomData<fn(&X)>,
}

/// Why an input does not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PiecesError {
    /// A symbol the network has no row for.
    #[error("piece {at} is {piece}, and the network reads pieces below {n}")]
    Unknown {
        /// The position of the piece.
        at: usize,
        /// The piece.
        piece: Symbol,
        /// How many pieces there are.
        n: usize,
    },
    /// More pieces than there are positions.
    #[error("{n} pieces, and the network reads at most {most}: shorten the input")]
    TooLong {
        /// The number of pieces.
        n: usize,
        /// The number of positions.
        most: usize,
    },
    /// A word whose first piece does not exist.
    #[error("word {word} begins at piece {first}, and there are {n} pieces")]
    NoPiece {
        /// The position of the word.
        word: usize,
        /// Its first piece.
        first: u32,
        /// The number of pieces.
        n: usize,
    },
    /// A piece is marked, and the network has but one type of pieces.
    #[error("piece {at} is marked, but the network has {types} types of pieces; a mark takes 2")]
    NoMark {
        /// The position of the piece.
        at: u32,
        /// How many types there are.
        types: usize,
    },
}

impl EmbeddingConfig {
    /// Checks that these pieces can be read.
    ///
    /// # Errors
    /// If there are too many, or one is unknown.
    pub fn check(
        &self,
        mut pieces: impl ExactSizeIterator<Item = Symbol>,
    ) -> Result<(), PiecesError> {
        let n = pieces.len();
        if let Some(most) = self.positions.most().filter(|&most| most < n) {
            return Err(PiecesError::TooLong { n, most });
        }
        let unknown =
            pieces.by_ref().enumerate().find(|(_, piece)| self.symbols <= *piece as usize);
        match unknown {
            Some((at, piece)) => Err(PiecesError::Unknown { at, piece, n: self.symbols }),
            None => Ok(()),
        }
    }
}

impl<X: Borrow<Pieces>> EncoderTagger<X> {
    /// A network of this size.
    pub fn new(config: EncoderTaggerConfig) -> Self {
        let l = &mut Layout::default();
        let embedding = Embedding::new(l, "embedding", config.embedding, &config.stack, None);
        let encoder = Stack::new(l, "encoder", &config.stack, &config.embedding, false);
        let width = config.stack.width;
        let output = (
            l.matrix("output.w", width, config.tags, Init::Glorot { blocks: 1 }),
            l.bias("output.b", config.tags, Init::Zero),
        );
        let layout = std::mem::take(l);
        EncoderTagger { config, layout, embedding, encoder, output, inputs: PhantomData }
    }

    /// Checks that the network can read an input. Passes over an input that it cannot read panic.
    ///
    /// # Errors
    /// If it is too long, or a piece or the first piece of a word does not exist.
    pub fn check(&self, x: &Pieces) -> Result<(), PiecesError> {
        self.config.embedding.check(x.pieces.iter().copied())?;
        let (n, types) = (x.pieces.len(), self.config.embedding.types);
        if let Some(at) = x.marked.filter(|_| types < 2) {
            return Err(PiecesError::NoMark { at, types });
        }
        match x.firsts.iter().position(|&first| n <= first as usize) {
            Some(word) => Err(PiecesError::NoPiece { word, first: x.firsts[word], n }),
            None => Ok(()),
        }
    }
}

impl<X: Borrow<Pieces> + Sync> Tagger for EncoderTagger<X> {
    type Input = X;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_tags(&self) -> usize {
        self.config.tags
    }

    fn len(&self, x: &X) -> usize {
        x.borrow().firsts.len()
    }

    fn log_probs(&self, g: &mut Graph<'_>, all: &[&X]) -> Var {
        let xs = || all.iter().map(|x| -> &Pieces { (*x).borrow() });
        let (batch, words) = (xs().len(), xs().map(|x| x.firsts.len()).max().unwrap_or(0));
        let n = xs().map(|x| x.pieces.len()).sum(); // R
        g.list(xs().zip(0..).flat_map(|(x, b)| x.pieces.iter().map(move |_| b)));
        let rows = xs().flat_map(|x| x.pieces.iter().zip(0..).map(|(&piece, t)| (piece, t)));
        let types =
            xs().flat_map(|x| (0..x.pieces.len() as u32).map(|t| u32::from(Some(t) == x.marked)));
        let x = self.embedding.read_typed(g, rows, types, None, n); // (R, D)
        let places = || in_a_row(xs().map(|x| x.pieces.len()));
        let spans = g.spans(places().map(|own| Span { queries: own.clone(), keys: own }));
        let starts: SmallVec<[usize; 20]> = places().map(|own| own.start).collect();
        let mut look = self.encoder.whole(g, spans, None, None);
        let x = self.encoder.run(g, x, &mut look); // (R, D)
        g.cycle(batch);
        let firsts = g.gather(x, words * batch, |_, row| {
            let (t, b) = (row / batch, row % batch);
            (starts[b] + all[b].borrow().firsts.get(t).map_or(0, |&first| first as usize)) as u32
        }); // (T·B, D)
        let firsts = g.dropout(firsts, self.config.stack.dropout);
        let scores = g.affine(&[(firsts, self.output.0)], Some(self.output.1)); // (T·B, V)
        g.log_softmax(scores)
    }
}
