//! Networks of every kind, small and with wild weights, for tests that hold for all of them.

// Every test file uses some of this.
#![allow(dead_code)]

use cajole_core::constraints::{Dfa, Regular, TagSet};
use cajole_core::{Mark, Model, Move, Moving, Schedule, StepRule, Symbol};
use cajole_nn::layers::activation::Nonlinearity;
use cajole_nn::layers::norm::NormKind;
use cajole_nn::layers::positions::Waves;
use cajole_nn::layout::Layout;
use cajole_nn::models::transformer::{
    EmbeddingConfig, EncoderDecoder, EncoderDecoderConfig, EncoderTagger, EncoderTaggerConfig,
    Pieces, Positions, StackConfig, VectorsConfig,
};
use cajole_nn::models::{
    Architecture, CellKind, Features, LstmTagger, Reading, Seq2Seq, Seq2SeqConfig, SequenceConfig,
    SequenceNetwork, StartState, TaggerConfig, Token, Transducer, TransducerConfig,
};
use cajole_nn::random::Random;
use cajole_nn::{Network, Nudge, Tagging, Trained};
use half::f16;

pub(crate) const TAGS: [&str; 5] = ["O", "B-A", "I-A", "B-V", "I-V"];

/// Words, word vectors and input symbols that inputs are drawn from.
const SYMBOLS: usize = 4;

/// Something that holds for every network.
pub(crate) trait Property {
    /// Checks it for one network and inputs of different lengths.
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]);
}

/// Checks a property of every kind of network, with inputs of these lengths.
pub(crate) fn check_all(property: &impl Property, hidden: usize, lengths: &[usize]) {
    for start in [StartState::Encoder, StartState::Zero] {
        let xs: Vec<_> = lengths.iter().zip(1..).map(|(&n, seed)| symbols(n, seed)).collect();
        let xs: Vec<&[Symbol]> = xs.iter().map(Vec::as_slice).collect();
        let name = format!("transducer, starting from {}", start.describe());
        property.check(&name, &wild(transducer(start, hidden), 1), &xs);
    }
    for architecture in [Architecture::Simple, Architecture::Gnmt] {
        for pointer in [None, Some(0)] {
            let xs: Vec<_> = lengths.iter().zip(1..).map(|(&n, seed)| tokens(n, seed)).collect();
            let xs: Vec<&[Token]> = xs.iter().map(Vec::as_slice).collect();
            let name = format!("{architecture:?} with pointer {pointer:?}");
            property.check(&name, &wild(parser(architecture, pointer, hidden), 2), &xs);
        }
    }
    for cell in [CellKind::Lstm, CellKind::Highway] {
        let xs: Vec<_> = lengths.iter().zip(1..).map(|(&n, seed)| features(n, seed)).collect();
        let name = format!("tagger of {cell:?} cells");
        property.check(&name, &wild(tagger(cell, hidden), 3), &xs.iter().collect::<Vec<_>>());
    }
    for norm in [NormKind::Layer, NormKind::Rms] {
        let xs: Vec<_> = lengths.iter().zip(1..).map(|(&n, seed)| pieces(n, seed)).collect();
        let name = format!("encoder with {norm:?} norms");
        let model = wild(encoder_tagger(norm, hidden), 4);
        property.check(&name, &model, &xs.iter().collect::<Vec<_>>());
        let xs: Vec<_> = lengths.iter().zip(1..).map(|(&n, seed)| tokens(n, seed)).collect();
        let xs: Vec<&[Token]> = xs.iter().map(Vec::as_slice).collect();
        let name = format!("encoder-decoder with {norm:?} norms");
        property.check(&name, &wild(encoder_decoder(norm, hidden), 7), &xs);
    }
    let xs: Vec<_> = lengths.iter().zip(1..).map(|(&n, seed)| tokens(n, seed)).collect();
    let xs: Vec<&[Token]> = xs.iter().map(Vec::as_slice).collect();
    property.check("transformer for sequences", &wild(sequence_transformer(hidden), 7), &xs);
    let lstm = SequenceNetwork::new(SequenceConfig::Lstm(
        parser(Architecture::Gnmt, Some(0), hidden).config,
    ));
    property.check("LSTMs for sequences", &wild(lstm, 2), &xs);
}

pub(crate) fn transducer(start_state: StartState, hidden: usize) -> Transducer {
    Transducer::new(TransducerConfig {
        input_symbols: SYMBOLS,
        output_symbols: 4,
        embedding: 3,
        hidden,
        start_state,
        dropout: 0.0,
        cap_factor: 1,
    })
}

/// Of three layers if it is gnmt, so that one of them is residual; reads backwards if it is not.
pub(crate) fn parser(
    architecture: Architecture,
    pointer: Option<Symbol>,
    hidden: usize,
) -> Seq2Seq {
    let is_gnmt = architecture == Architecture::Gnmt;
    Seq2Seq::new(Seq2SeqConfig {
        architecture,
        words: SYMBOLS,
        embedding: 3,
        vectors: if is_gnmt { SYMBOLS } else { 0 },
        vector_size: 2,
        output_symbols: 5,
        output_embedding: 3,
        layers: if is_gnmt { 3 } else { 2 },
        hidden,
        attention: 4,
        dropout: 0.0,
        embedding_dropout: 0.0,
        reversed_input: !is_gnmt,
        pointer,
        cap_factor: 0,
    })
}

pub(crate) fn tagger(cell: CellKind, hidden: usize) -> Tagging<LstmTagger<Features>> {
    let net = LstmTagger::new(TaggerConfig {
        words: SYMBOLS,
        embedding: 3,
        vectors: 0,
        vector_size: 0,
        dense: 0,
        lemmas: 0,
        lemma_embedding: 0,
        indicator: 2,
        tags: TAGS.len(),
        cell,
        reading: Reading::Alternating,
        layers: 3,
        hidden,
        input_dropout: 0.0,
        recurrent_dropout: 0.0,
        dropout: 0.0,
    });
    Tagging { net, tags: TagSet::new(TAGS).unwrap() }
}

/// Norms after sums, as BERT has them, or before what they feed, as T5 does.
pub(crate) fn encoder_tagger(norm: NormKind, hidden: usize) -> Tagging<EncoderTagger> {
    let (embedding, stack) = (embedding(norm), stack(norm, hidden));
    let net = EncoderTagger::new(EncoderTaggerConfig { embedding, stack, tags: TAGS.len() });
    Tagging { net, tags: TagSet::new(TAGS).unwrap() }
}

pub(crate) fn encoder_decoder(norm: NormKind, hidden: usize) -> EncoderDecoder {
    let is_t5 = norm == NormKind::Rms;
    EncoderDecoder::new(EncoderDecoderConfig {
        reads: embedding(norm),
        encoder: stack(norm, hidden),
        writes: EmbeddingConfig { types: 0, ..embedding(norm) },
        decoder: StackConfig { heads: 1, ..stack(norm, hidden) },
        shares_symbols: true,
        ties_output: is_t5,
        has_output_bias: true,
        output_scale: if is_t5 { 0.7 } else { 1.0 },
        start: 2,
        end: 3,
        cap: 12,
        cap_factor: 0,
        reads_end: false,
        vectors: None,
    })
}

/// As tasks train them: norms first, sinusoids, fixed word vectors, and an end after the input.
pub(crate) fn sequence_transformer(hidden: usize) -> SequenceNetwork {
    let reads = EmbeddingConfig {
        symbols: SYMBOLS + 1,
        positions: Positions::Sinusoidal { rows: 30, waves: Waves::InTurn },
        types: 0,
        has_norm: false,
        scale: 1.5,
    };
    let stack = StackConfig {
        epsilon: 1e-5,
        is_norm_first: true,
        has_last_norm: true,
        ..stack(NormKind::Layer, hidden)
    };
    SequenceNetwork::new(SequenceConfig::Transformer(Box::new(EncoderDecoderConfig {
        reads,
        encoder: stack.clone(),
        writes: EmbeddingConfig { symbols: 5, ..reads },
        decoder: stack,
        shares_symbols: false,
        ties_output: false,
        has_output_bias: true,
        output_scale: 1.0,
        start: 4,
        end: 4,
        cap: 6,
        cap_factor: 1,
        reads_end: true,
        vectors: Some(VectorsConfig { rows: SYMBOLS, size: 3 }),
    })))
}

fn embedding(norm: NormKind) -> EmbeddingConfig {
    let is_t5 = norm == NormKind::Rms;
    EmbeddingConfig {
        symbols: SYMBOLS,
        positions: match is_t5 {
            true => Positions::Relative { buckets: 8, furthest: 6 },
            false => Positions::Learned { rows: 40, offset: 2, padding: None },
        },
        types: if is_t5 { 0 } else { 2 },
        has_norm: !is_t5,
        scale: 1.0,
    }
}

/// Two layers of two heads.
pub(crate) fn stack(norm: NormKind, hidden: usize) -> StackConfig {
    let is_t5 = norm == NormKind::Rms;
    StackConfig {
        layers: 2,
        width: hidden,
        heads: 2,
        head_size: 3,
        scale: 0.6,
        inner: hidden + 2,
        activation: if is_t5 { Nonlinearity::GeluTanh } else { Nonlinearity::Gelu },
        is_gated: is_t5,
        norm,
        epsilon: 1e-3,
        is_norm_first: is_t5,
        has_last_norm: is_t5,
        has_biases: true,
        dropout: 0.0,
    }
}

/// A network with wild weights, so that it is far from uniform.
pub(crate) fn wild<N: Network>(net: N, seed: u64) -> Trained<N> {
    let random = &mut Random::new(seed);
    let weights: Vec<f32> = (0..net.layout().len()).map(|_| random.uniform(-1.0, 1.0)).collect();
    Trained::new(net, weights)
}

/// Fresh weights, twice as large, rounded to half precision.
pub(crate) fn rounded<N: Network>(net: N) -> Trained<N> {
    let mut w = net.layout().initial(3);
    w.iter_mut().for_each(|v| *v = f16::from_f32(2.0 * *v).to_f32());
    Trained::new(net, w)
}

/// `n` symbols that differ from seed to seed.
pub(crate) fn symbols(n: usize, seed: u64) -> Vec<Symbol> {
    let random = &mut Random::new(seed);
    (0..n).map(|_| random.below(SYMBOLS) as Symbol).collect()
}

pub(crate) fn tokens(n: usize, seed: u64) -> Vec<Token> {
    let both = symbols(n, seed).into_iter().zip(symbols(n, seed + 1000));
    both.map(|(word, vector)| Token { word, vector }).collect()
}

/// `n` words of one or two pieces, between two that belong to none.
pub(crate) fn pieces(n: usize, seed: u64) -> Pieces {
    let random = &mut Random::new(seed);
    let mut x = Pieces { pieces: vec![0], ..Pieces::default() };
    for _ in 0..n {
        x.firsts.push(x.pieces.len() as u32);
        x.pieces.extend(symbols(1 + random.below(2), random.below(1000) as u64));
    }
    x.pieces.push(1);
    x
}

pub(crate) fn features(n: usize, seed: u64) -> Features {
    let predicate = n / 2;
    Features { tokens: tokens(n, seed).into(), predicate, ..Features::default() }
}

/// Outputs in which symbol 1 comes up once, four times, seven times, and so on.
pub(crate) fn one_modulo_three(n_symbols: usize) -> Regular {
    let next = |&n: &u32, symbol| Some(if symbol == 1 { (n + 1) % 3 } else { n });
    Regular::new(&Dfa::explore(n_symbols, 0, next, |&n| n == 1))
}

/// The biases alone.
pub(crate) fn vectors<M: Model>(model: &M) -> Moving {
    Moving::choose(&model.parameters(), &[Moving::VECTORS.to_owned()]).unwrap()
}

/// What an input needs for a step of this size along the gradient of `blame`.
pub(crate) fn moved_by<N: Network>(
    model: &Trained<N>,
    moving: &Moving,
    place: usize,
    step_size: f32,
    blame: Vec<(Mark, f32)>,
) -> Move<Nudge> {
    Move {
        nudge: model.nudge(moving).unwrap(),
        place,
        t: 0,
        schedule: Schedule { rule: StepRule::Sgd, step_size, max_steps: 1 },
        pull: 0.0,
        blame,
        norm: 0.0,
        distance: 0.0,
        is_over: false,
    }
}

/// The biases of a network: their names, and where they lie.
pub(crate) fn biases(layout: &Layout) -> Vec<(&str, std::ops::Range<usize>)> {
    let biases = layout.entries().iter().filter(|entry| entry.is_bias);
    biases.map(|entry| (entry.name.as_str(), entry.param.range())).collect()
}
