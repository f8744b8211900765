//! Gradients that are left as products move the weights as those that are multiplied out do.

use cajole_core::constraints::TagSet;
use cajole_core::corpus::decode_all;
use cajole_core::{
    Config, Gbi, Job, Mark, Model, Move, Moving, Outcome, Schedule, StepRule, Symbol, Workspace,
};
use cajole_nn::gradient::Purpose;
use cajole_nn::models::{CellKind, Features, LstmTagger, Reading, TaggerConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::{Gradient, Tagger, Tagging, Trained};

const TAGS: [&str; 5] = ["O", "B-A", "I-A", "B-V", "I-V"];

type Net = Trained<Tagging<LstmTagger<Features>>>;

/// Layers large enough that a short input leaves their gradients as products.
fn model() -> Net {
    let net = LstmTagger::new(TaggerConfig {
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
    });
    let weights = net.layout().initial(5).iter().map(|w| 2.0 * w).collect::<Vec<_>>();
    Trained::new(Tagging { net, tags: TagSet::new(TAGS).unwrap() }, weights)
}

fn input(n: usize, seed: u64) -> Features {
    let random = &mut Random::new(seed);
    let tokens = (0..n).map(|_| Token { word: random.below(50) as u32, vector: 0 }).collect();
    Features { tokens, predicate: random.below(n), ..Features::default() }
}

/// Everything but the second layer.
const MOVES: [&str; 3] = ["input", "layer0", "output"];

fn moving(model: &Net) -> Moving {
    Moving::choose(&model.parameters(), &MOVES.map(str::to_owned)).unwrap()
}

/// What the best tags of `x` are blamed for, in a recording of their own.
fn blamed(model: &Net, workspace: &mut Workspace<Net>, x: &Features) -> Vec<(Mark, f32)> {
    let found = workspace.decode(model, &*model.decoder(1.into()), x).unwrap();
    found.best().unwrap().marks.iter().map(|&mark| (mark, 1.0)).collect()
}

/// The gradient of the best tags' log-probability, with matrices left as products or not.
fn gradient(model: &Net, x: &Features, purpose: Purpose) -> Gradient {
    let mut workspace = Workspace::new(model);
    let blame = blamed(model, &mut workspace, x);
    let (layout, moving) = (model.net.net.layout(), moving(model));
    let mut grad = Gradient::new(layout.len());
    let frozen = layout.entries().iter().enumerate().filter(|(i, _)| !moving.moves(*i));
    grad.freeze(frozen.map(|(_, entry)| entry.param.range()));
    grad.serve(purpose);
    let tape = model.tape(workspace.session(model).scratch, 0).unwrap();
    tape.backward(model.weights(), layout, &blame, &mut grad);
    grad
}

/// `W_λ` after one step against that gradient, and the norm it was divided by. A pull asks for every
/// value, though at `W` there is nothing to pull at.
fn moved(model: &Net, x: &Features, rule: StepRule, pull: f32) -> (Vec<f32>, f32) {
    let mut workspace = Workspace::new(model);
    let blame = blamed(model, &mut workspace, x);
    let mut own = Move {
        nudge: model.nudge(&moving(model)).unwrap(),
        place: 0,
        t: 0,
        schedule: Schedule { rule, step_size: 0.1, max_steps: 1 },
        pull,
        blame,
        norm: 0.0,
        distance: 0.0,
        is_over: false,
    };
    let set = std::slice::from_mut(&mut own);
    model.gradient(workspace.session(model).scratch, set).unwrap();
    model.take_step(set).unwrap();
    (model.nudged(&own.nudge), own.norm)
}

#[test]
fn products_say_what_the_matrix_says() {
    let model = model();
    for n in [1, 2, 7, 20] {
        let x = input(n, n as u64);
        let mut whole = gradient(&model, &x, Purpose::Any);
        assert_eq!(whole.ranges().count(), whole.touched().len());
        for (purpose, rule) in [
            (Purpose::Subtract, StepRule::Sgd),
            (Purpose::SubtractByNorm, StepRule::UnitNorm { growth: 1.0, cap: 1.0 }),
        ] {
            let mut kept = gradient(&model, &x, purpose);
            // Before the first word the state is zero: a single word says nothing of `w_h`, and what
            // else there is in this network is small.
            let is_small = n == 1 && purpose == Purpose::SubtractByNorm;
            assert_eq!(kept.ranges().count() == kept.touched().len(), is_small);
            let mut places: Vec<_> = kept.ranges().cloned().collect();
            places.sort_by_key(|range| range.start);
            assert_eq!(places, whole.touched());

            let (got, want) = (kept.norm(), whole.norm());
            assert!((got - want).abs() < 1e-4 * want, "norm {got}, multiplied out {want}");
            let (left, norm) = moved(&model, &x, rule, 0.0);
            let (expected, expected_norm) = moved(&model, &x, rule, 1.0);
            assert!((norm - expected_norm).abs() < 1e-4 * expected_norm);
            assert_ne!(left, model.weights());
            for (i, (a, b)) in left.iter().zip(expected.iter()).enumerate() {
                assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "weight {i}: {a}, not {b}");
            }
        }
    }
}

#[test]
fn repairs_leave_no_trace() {
    let model = model();
    let xs: Vec<_> = (0..12).map(|i| input(3 + i as usize, i)).collect();
    let first: Vec<Symbol> =
        decode_all(&model, &*model.decoder(1.into()), &xs.iter().collect::<Vec<_>>())
            .unwrap()
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
        let mut config = Config::paper();
        config.schedule = schedule;
        let gbi = Gbi::with(&model, config).unwrap();
        let what = |o: Outcome| (o.output, o.steps, o.g_before, o.g_after);
        let (mut shared, mut together) = (Workspace::new(&model), Vec::new());
        for x in &xs {
            let job = Job::new(x, &constraint);
            gbi.run_set(&[job], &mut shared, |_, outcome| together.push(what(outcome)));
        }
        assert!(together.iter().any(|(_, steps, ..)| 1 < *steps), "something has to be repaired");
        for (x, together) in xs.iter().zip(&together) {
            assert_eq!(what(gbi.run(x, &constraint)), *together);
        }
    }
}
