//! Networks stored in half precision: read so, they give the bits they would give in single.

use cajole_core::constraints::TagSet;
use cajole_core::decoders::Greedy;
use cajole_core::{
    Candidate, Decoder, Found, Mark, Model, Move, Moving, Pass, Schedule, StepRule, Symbol,
    Workspace,
};
use cajole_nn::models::{
    Architecture, CellKind, Features, LstmTagger, Reading, Seq2Seq, Seq2SeqConfig, TaggerConfig,
    Token,
};
use cajole_nn::random::Random;
use cajole_nn::tape::{Graph, Tape};
use cajole_nn::{AutoRegressive, Gradient, Network, Nudge, Tagger, Tagging, Trained};
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
fn rounded<N: Network>(net: N) -> Trained<N> {
    let mut w = net.layout().initial(3);
    w.iter_mut().for_each(|v| *v = f16::from_f32(2.0 * *v).to_f32());
    Trained::new(net, w)
}

/// The best output for `x` under `W` or a `W_λ`, and the gradient of its log-probability.
fn pass<N: Network>(
    model: &Trained<N>,
    x: &N::Input,
    nudge: Option<&Nudge>,
    workspace: &mut Workspace<Trained<N>>,
) -> (Candidate, Vec<f32>) {
    let mut found = [Found::default()];
    let set = [Pass { nudge, ..Pass::base(x) }];
    model.decoder(1.into()).decode(&mut workspace.session(model), &set, &mut found).unwrap();
    let best = found[0].best().unwrap().clone();
    let w = nudge.map_or(model.weights().to_vec(), |nudge| model.nudged(nudge));
    let tape = model.tape(workspace.session(model).scratch, 0).unwrap();
    (best.clone(), gradient(&model.net, tape, &w, &best.marks))
}

/// Of the sum of what is marked.
fn gradient<N: Network>(net: &N, tape: &mut Tape, w: &[f32], marks: &[Mark]) -> Vec<f32> {
    let blame: Vec<_> = marks.iter().map(|&mark| (mark, 1.0)).collect();
    let mut grad = Gradient::new(w.len());
    tape.backward(w, net.layout(), &blame, &mut grad);
    let mut all = vec![0.0; w.len()];
    for range in grad.touched() {
        all[range.clone()].copy_from_slice(grad.values(range));
    }
    all
}

/// The log-probability of an output and its gradient, by a tape that knows of no halves.
type Plain<'a> = &'a dyn Fn(&[f32], &[Symbol]) -> (f32, Vec<f32>);

/// Under `W`, what is read in half precision gives the bits of single precision; under weights that
/// were moved it gives nearly the same, and after that those of `W` again.
fn check<N: Network>(model: &Trained<N>, x: &N::Input, plain: Plain<'_>) {
    let mut workspace = Workspace::new(model);
    let before = pass(model, x, None, &mut workspace);
    let (log_prob, gradient) = plain(model.weights(), &before.0.output);
    assert_eq!((before.0.log_prob.to_bits(), &before.1), (log_prob.to_bits(), &gradient));

    let blame = before.0.marks.iter().map(|&mark| (mark, 1.0)).collect();
    let mut own = Move {
        nudge: model.nudge(&Moving::all(&model.parameters())).unwrap(),
        place: 0,
        t: 0,
        schedule: Schedule { rule: StepRule::Sgd, step_size: 1e-3, max_steps: 1 },
        pull: 0.0,
        blame,
        norm: 0.0,
        distance: 0.0,
        is_over: false,
    };
    model.gradient(workspace.session(model).scratch, std::slice::from_mut(&mut own)).unwrap();
    model.take_step(std::slice::from_mut(&mut own)).unwrap();
    let got = pass(model, x, Some(&own.nudge), &mut workspace);
    let want = plain(&model.nudged(&own.nudge), &got.0.output);
    assert_ne!(want.0, log_prob, "the weights have moved");
    let off = (got.0.log_prob - want.0).abs();
    assert!(off < 1e-2, "log p {} is not {}", got.0.log_prob, want.0);
    assert_eq!(off == 0.0, !cajole_nn::kernels::pays(), "half precision is used where it pays");
    let norm = |v: &mut dyn Iterator<Item = f32>| v.map(|v| v * v).sum::<f32>().sqrt();
    let difference = norm(&mut got.1.iter().zip(&want.1).map(|(a, b)| a - b));
    assert!(difference < 1e-2 * norm(&mut want.1.iter().copied()), "gradient off by {difference}");

    model.restore(&mut own.nudge);
    assert_eq!(pass(model, x, Some(&own.nudge), &mut workspace), before);
    assert_eq!(pass(model, x, None, &mut workspace), before);
}

#[test]
fn a_tagger_stored_in_half_precision_gives_the_same_bits() {
    let tags = TagSet::new(["O", "B-A", "I-A", "B-V", "I-V"]).unwrap();
    let x = Features { tokens: tokens(12, 1).into(), predicate: 3, ..Features::default() };
    assert_eq!(tagger().len(&x), 12);
    let model = rounded(Tagging { net: tagger(), tags });
    check(&model, &x, &|w, y| {
        let (net, mut tape) = (&model.net.net, Tape::default());
        let log_probs = net.log_probs(&mut Graph::new(w, &mut tape), &[&x]); // (T, V)
        let at = |(t, &tag): (usize, &Symbol)| tape.value(log_probs.row(t))[tag as usize];
        let sum = y.iter().enumerate().map(at).sum();
        let mark = |(t, &tag): (usize, &Symbol)| tape.mark(log_probs, t, tag as usize);
        let marks: Vec<_> = y.iter().enumerate().map(mark).collect();
        (sum, gradient(&model.net, &mut tape, w, &marks))
    });
}

#[test]
fn a_parser_stored_in_half_precision_gives_the_same_bits() {
    let x = tokens(9, 2);
    assert!(20 < parser().cap(&x));
    let model = rounded(parser());
    check(&model, &x, &|w, y| {
        let (net, mut tape, mut marks, mut sum) = (&model.net, Tape::default(), vec![], 0.0);
        let mut g = Graph::new(w, &mut tape);
        let encoded = net.encode(&mut g, &[&x]);
        let (mut state, mut previous) = (encoded.state, net.end());
        // What was cut off has no end.
        let end = (y.len() < net.cap(&x)).then_some(net.end());
        for symbol in y.iter().copied().chain(end) {
            let log_probs = net.step(&mut g, &encoded, &mut state, &[0], &[previous]);
            sum += g.tape.value(log_probs)[symbol as usize];
            marks.push(g.tape.mark(log_probs, 0, symbol as usize));
            previous = symbol;
        }
        (sum, gradient(net, &mut tape, w, &marks))
    });
}

#[test]
fn inputs_of_a_batch_that_has_shrunk_to_one_get_the_bits_of_a_batch() {
    let model = rounded(parser());
    let xs: Vec<_> = [3, 17, 5, 8, 11].iter().map(|&n| tokens(n, n as u64)).collect();
    let set: Vec<Pass<'_, _>> = xs.iter().map(|x| Pass::base(x.as_slice())).collect();
    let mut workspace = Workspace::new(&model);
    let mut many = vec![Found::default(); xs.len()];
    Greedy.decode(&mut workspace.session(&model), &set, &mut many).unwrap();
    for (x, together) in xs.iter().zip(&many) {
        let alone = workspace.decode(&model, &Greedy, x).unwrap();
        let (together, alone) = (together.best().unwrap(), alone.best().unwrap());
        assert_eq!(together.output, alone.output);
        assert_eq!(together.log_prob.to_bits(), alone.log_prob.to_bits());
    }
}
