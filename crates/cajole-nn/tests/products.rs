//! Gradients that are left as products move the weights as those that are multiplied out do.

use cajole_core::constraints::TagSet;
use cajole_core::corpus::decode_all;
use cajole_core::{
    Config, Decoder, Found, Gbi, Gradient, Model, Momenta, Outcome, Purpose, Schedule, StepRule,
    Symbol, Workspace,
};
use cajole_nn::decoders::Tagged;
use cajole_nn::models::{CellKind, Features, LstmTagger, Reading, TaggerConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::{Tagger, Tagging, Trained};

const TAGS: [&str; 5] = ["O", "B-A", "I-A", "B-V", "I-V"];

type Net = Trained<Tagging<LstmTagger<Features>>>;

/// Layers large enough that a short input leaves their gradients as products.
fn model() -> Net {
    let net = Tagging(LstmTagger::new(TaggerConfig {
        words: 50,
        embedding: 40,
        vectors: 0,
        vector_size: 0,
        dense: 0,
        lemmas: 0,
        lemma_embedding: 0,
        indicator: 4,
        tags: TAGS.len(),
        cell: CellKind::Highway,
        reading: Reading::Alternating,
        layers: 2,
        hidden: 170,
        input_dropout: 0.0,
        recurrent_dropout: 0.0,
        dropout: 0.0,
    }));
    let weights = net.0.layout().initial(5).iter().map(|w| 2.0 * w).collect::<Vec<_>>();
    Trained { net, weights: weights.into() }
}

fn input(n: usize, seed: u64) -> Features {
    let random = &mut Random::new(seed);
    let tokens = (0..n).map(|_| Token { word: random.below(50) as u32, vector: 0 }).collect();
    Features { tokens, predicate: random.below(n), ..Features::default() }
}

/// The gradient of the best tags' log-probability, with matrices left as products or not.
fn gradient(model: &Net, tags: &TagSet, x: &Features, purpose: Purpose) -> Gradient {
    let (mut scratch, mut found) = (model.scratch(), Found::default());
    Tagged::viterbi(tags).decode(model, &model.weights, x, &mut scratch, &mut found);
    let blame: Vec<_> = found.best().unwrap().marks.iter().map(|&mark| (mark, 1.0)).collect();
    let mut grad = Gradient::new(model.weights.len());
    grad.freeze(model.groups().into_iter().filter(|g| g.name == "layer1").map(|g| g.range));
    grad.serve(purpose);
    model.gradient(&model.weights, &blame, &mut scratch, &mut grad);
    grad
}

#[test]
fn products_say_what_the_matrix_says() {
    let (model, tags) = (model(), TagSet::new(TAGS).unwrap());
    for n in [1, 2, 7, 20] {
        let x = input(n, n as u64);
        let whole = gradient(&model, &tags, &x, Purpose::Any);
        assert!(whole.products().is_empty());
        for purpose in [Purpose::Subtract, Purpose::SubtractByNorm] {
            let kept = gradient(&model, &tags, &x, purpose);
            // Before the first word the state is zero: a single word says nothing of `w_h`, and what
            // else there is in this network is small.
            let is_small = n == 1 && purpose == Purpose::SubtractByNorm;
            assert_eq!(kept.products().is_empty(), is_small);
            let mut places: Vec<_> = kept.ranges().cloned().collect();
            places.sort_by_key(|range| range.start);
            assert_eq!(places, whole.touched());

            let (got, want) = (kept.norm(), whole.norm());
            assert!((got - want).abs() < 1e-4 * want, "norm {got}, multiplied out {want}");
            let (mut moved, mut expected) = (model.weights.clone(), model.weights.clone());
            for (grad, w) in [(&kept, &mut moved), (&whole, &mut expected)] {
                StepRule::Sgd.step(0, 0.1, w, grad, 1.0, &mut Momenta::default());
            }
            for (i, (a, b)) in moved.iter().zip(expected.iter()).enumerate() {
                assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "weight {i}: {a}, not {b}");
            }
        }
    }
}

#[test]
fn repairs_leave_no_trace() {
    let (model, tags) = (model(), TagSet::new(TAGS).unwrap());
    let decoder = Tagged::viterbi(&tags);
    let xs: Vec<_> = (0..12).map(|i| input(3 + i as usize, i)).collect();
    let first: Vec<Symbol> = decode_all(&model, &decoder, &xs.iter().collect::<Vec<_>>())
        .iter()
        .map(|y| y.output[0])
        .collect();
    // Anything but what the network gives at the first position; lengths tell inputs apart.
    let constraint = |x: &Features, y: &[Symbol]| f32::from(y[0] == first[x.tokens.len() - 3]);
    let rule = StepRule::UnitNorm { growth: 1.2, cap: 0.3 };
    let plain = Schedule { rule, step_size: 0.01, max_steps: 40 };
    let adam = Schedule { rule: StepRule::ADAM, step_size: 1e-3, max_steps: 40 };
    let sgd = Schedule { rule: StepRule::Sgd, step_size: 0.02, max_steps: 40 };
    for schedule in [plain, adam, sgd] {
        let config = Config { schedule, ..Config::paper() };
        let gbi = Gbi {
            model: &model,
            decoder: &decoder,
            constraint: &constraint,
            sources: Vec::new(),
            config: config.clone(),
        };
        let what = |o: Outcome| (o.output, o.steps, o.g_before, o.g_after);
        let mut shared = Workspace::new(&model, &config).unwrap();
        let together: Vec<_> = xs.iter().map(|x| what(gbi.run(x, &mut shared))).collect();
        assert!(together.iter().any(|(_, steps, ..)| 1 < *steps), "something has to be repaired");
        for (x, together) in xs.iter().zip(&together) {
            let mut own = Workspace::new(&model, &config).unwrap();
            assert_eq!(what(gbi.run(x, &mut own)), *together);
        }
    }
}
