//! Transformers (Vaswani et al. 2017): encoders that tag, and encoder-decoders that write.
//!
//! One description of a stack of layers, [`StackConfig`], covers BERT, RoBERTa, DistilBERT, BART,
//! Marian, T5 and PyTorch's `nn.Transformer`: they differ in where norms stand, in activations, and
//! in how positions are told apart. [`import::huggingface`](crate::import::huggingface) reads their
//! published weights.
//!
//! Sequences of a batch lie one after another, without padding. Alphabet: `R` rows, the symbols of
//! all sequences; `D` width of a row; `I = H d` width of `H` heads of size `d`; `F` inner width of
//! the feed-forward layers; `V` symbols or tags; `B` inputs.

mod cache;
mod decoding;
mod draft;
mod embedding;
mod encoder_decoder;
mod generation;
mod layer;
mod stack;
mod tagger;

use std::ops::Range;

pub use decoding::Decoding;
pub use embedding::{EmbeddingConfig, Positions};
pub use encoder_decoder::{EncoderDecoder, EncoderDecoderConfig, VectorsConfig};
pub use generation::{Generation, Repetition, Standing};
pub use stack::StackConfig;
pub use tagger::{EncoderTagger, EncoderTaggerConfig, Pieces, PiecesError};

/// The rows of sequences of these lengths, one after another.
fn in_a_row(lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    lengths.scan(0, |end, length| {
        *end += length;
        Some(*end - length..*end)
    })
}

/// An iterator whose length is known to be `n`.
struct Counted<I> {
    rows: I,
    n: usize,
}

fn counted<I: Iterator>(rows: I, n: usize) -> Counted<I> {
    Counted { rows, n }
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.rows.next()?;
        self.n -= 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n, Some(self.n))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}
