//! Networks stored in half precision: read so, they give the bits they would give in single.

use cajole_core::{Candidate, Decoder, Found, Gradient, Model};
use cajole_nn::decoders::{Greedy, Tagged, Viterbi};
use cajole_nn::layout::Layout;
use cajole_nn::models::{
    Architecture, CellKind, Features, LstmTagger, Reading, Seq2Seq, Seq2SeqConfig, TaggerConfig,
    Token,
};
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Network, Tagger, Tagging, Trained};
use half::f16;

/// Layers large enough to be read in half precision.
const HIDDEN: usize = 96;

fn tagger() -> LstmTagger<Features> {
    LstmTagger::new(TaggerConfig {
        words: 50,
        embedding: 20,
        vectors: 0,
        vector_size: 0,
        dense: 0,
        lemmas: 0,
        lemma_embedding: 0,
        indicator: 4,
        tags: 5,
        cell: CellKind::Highway,
        reading: Reading::Alternating,
        layers: 2,
        hidden: HIDDEN,
        input_dropout: 0.0,
        recurrent_dropout: 0.0,
        dropout: 0.0,
    })
}

fn parser() -> Seq2Seq {
    Seq2Seq::new(Seq2SeqConfig {
        architecture: Architecture::Gnmt,
        words: 50,
        embedding: 20,
        vectors: 0,
        vector_size: 0,
        output_symbols: 7,
        output_embedding: 8,
        layers: 2,
        hidden: HIDDEN,
        attention: 16,
        dropout: 0.0,
        embedding_dropout: 0.0,
        reversed_input: false,
        pointer: None,
        cap_factor: 2,
    })
}

fn tokens(n: usize, seed: u64) -> Vec<Token> {
    let random = &mut Random::new(seed);
    (0..n).map(|_| Token { word: random.below(50) as u32, vector: 0 }).collect()
}

/// Fresh weights, rounded to half precision.
fn rounded(layout: &Layout) -> Vec<f32> {
    let mut w = layout.initial(3);
    w.iter_mut().for_each(|v| *v = f16::from_f32(2.0 * *v).to_f32());
    w
}

/// The best output for `x` under `w`, and the gradient of its log-probability.
fn pass<N: Network>(
    model: &Trained<N>,
    decoder: &dyn Decoder<Trained<N>>,
    w: &[f32],
    x: &N::Input,
    scratch: &mut N::Scratch,
) -> (Candidate, Vec<f32>) {
    let (mut found, mut grad) = (Found::default(), Gradient::new(w.len()));
    decoder.decode(model, w, x, scratch, &mut found);
    let best = found.best().unwrap().clone();
    let blame: Vec<_> = best.marks.iter().map(|&mark| (mark, 1.0)).collect();
    model.gradient(w, &blame, scratch, &mut grad);
    let mut all = vec![0.0; w.len()];
    for range in grad.touched() {
        all[range.clone()].copy_from_slice(grad.values(range));
    }
    (best, all)
}

/// Under `W`, a scratch that may read it in half precision gives the bits of one that may not; under
/// weights that were moved it gives nearly the same, and after that those of `W` again.
fn check<N: Network>(net: N, decoder: &dyn Decoder<Trained<N>>, x: &N::Input) {
    let weights = rounded(net.layout());
    let model = Trained { net, weights: weights.into() };
    let (mut half, mut single) = (model.scratch(), N::Scratch::default());
    let before = pass(&model, decoder, &model.weights, x, &mut half);
    assert_eq!(before, pass(&model, decoder, &model.weights, x, &mut single));

    let random = &mut Random::new(9);
    let moved: Vec<f32> = model.weights.iter().map(|w| w + random.uniform(-1e-4, 1e-4)).collect();
    let (got, want) = (
        pass(&model, decoder, &moved, x, &mut half),
        pass(&model, decoder, &moved, x, &mut single),
    );
    assert_eq!(got.0.output, want.0.output);
    let off = (got.0.log_prob - want.0.log_prob).abs();
    assert!(off < 1e-2, "log p {} is not {}", got.0.log_prob, want.0.log_prob);
    assert_eq!(off == 0.0, !cajole_nn::kernels::pays(), "half precision is used where it pays");
    let norm = |v: &mut dyn Iterator<Item = f32>| v.map(|v| v * v).sum::<f32>().sqrt();
    let difference = norm(&mut got.1.iter().zip(&want.1).map(|(a, b)| a - b));
    assert!(difference < 1e-2 * norm(&mut want.1.iter().copied()), "gradient off by {difference}");

    assert_eq!(pass(&model, decoder, &model.weights, x, &mut half), before);
}

#[test]
fn a_tagger_stored_in_half_precision_gives_the_same_bits() {
    let tags = cajole_core::constraints::TagSet::new(["O", "B-A", "I-A", "B-V", "I-V"]).unwrap();
    let viterbi: Tagged<'_, Viterbi> = Tagged::viterbi(&tags);
    let x = Features { tokens: tokens(12, 1), predicate: 3, ..Features::default() };
    assert_eq!(tagger().len(&x), 12);
    check(Tagging(tagger()), &viterbi, &x);
}

#[test]
fn a_parser_stored_in_half_precision_gives_the_same_bits() {
    let x = tokens(9, 2);
    assert!(20 < parser().cap(&x));
    check(parser(), &Greedy, &x);
}

#[test]
fn inputs_of_a_batch_that_has_shrunk_to_one_get_the_bits_of_a_batch() {
    let net = parser();
    let weights = rounded(Network::layout(&net));
    let model = Trained { net, weights: weights.into() };
    let xs: Vec<_> = [3, 17, 5, 8, 11].iter().map(|&n| tokens(n, n as u64)).collect();
    let refs: Vec<&[Token]> = xs.iter().map(Vec::as_slice).collect();
    let (mut scratch, mut many, mut one) = (model.scratch(), Found::default(), Found::default());
    Greedy.decode_many(&model, &model.weights, &refs, &mut scratch, &mut many);
    for (x, together) in refs.iter().zip(many.candidates()) {
        Greedy.decode(&model, &model.weights, x, &mut scratch, &mut one);
        let alone = one.best().unwrap();
        assert_eq!(together.output, alone.output);
        assert_eq!(together.log_prob, alone.log_prob);
    }
}
