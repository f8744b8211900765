//! What a nudge says of its gradient is what a step along it moves.

use cajole_core::decoders::Greedy;
use cajole_core::{Decoder, Found, Model, Move, Moving, Pass, Schedule, StepRule, Workspace};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use cajole_nn::{AutoRegressive, Gradient, Trained};

const STEP_SIZE: f32 = 0.1;

fn model() -> Trained<Transducer> {
    let net = Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: 5,
        embedding: 16,
        hidden: 48,
        start_state: StartState::Encoder,
        dropout: 0.0,
        cap_factor: 3,
    });
    let weights = net.layout().initial(1);
    Trained::new(net, weights)
}

#[test]
fn a_step_moves_the_weights_along_the_gradient() {
    let model = model();
    let (layout, w) = (model.net.layout(), model.weights());
    for moves in [vec![], vec!["@vectors"], vec!["decoder", "output.b"]] {
        let moves: Vec<String> = moves.into_iter().map(String::from).collect();
        let moving = Moving::choose(&model.parameters(), &moves).unwrap();
        for rule in [StepRule::Sgd, StepRule::UnitNorm { growth: 1.0, cap: 1.0 }] {
            let mut workspace = Workspace::new(&model);
            let found = workspace.decode(&model, &Greedy, &[0, 1, 2, 1]).unwrap();
            let blame = found.best().unwrap().marks.iter().map(|&mark| (mark, 1.0)).collect();
            let schedule = Schedule { rule, step_size: STEP_SIZE, max_steps: 1 };
            let nudge = model.nudge(&moving).unwrap();
            let (place, t, pull, norm, distance, is_over) = (0, 0, 0.0, 0.0, 0.0, false);
            let mut own =
                [Move { nudge, place, t, schedule, pull, blame, norm, distance, is_over }];
            model.gradient(workspace.session(&model).scratch, &mut own).unwrap();
            model.take_step(&mut own).unwrap();
            let [own] = own;
            let (gradient, nudged) = (own.nudge.gradient(layout), model.nudged(&own.nudge));
            for (i, ((w, g), nudged)) in w.iter().zip(&gradient).zip(&nudged).enumerate() {
                let want = w - STEP_SIZE * g / own.norm;
                assert!((nudged - want).abs() < 1e-5, "{moves:?} {rule:?} {i}: {nudged}, {want}");
            }
            let moved = gradient.iter().filter(|g| **g != 0.0).count();
            assert!(0 < moved && moved <= own.nudge.n_moved(), "{moves:?} {rule:?}");
            assert!(own.nudge.n_moved() <= moving.n_weights());
        }
    }
}

/// Matrices that stay as they are have transposed copies for the backward pass; those that move have
/// changed since, so a copy of them would be wrong.
#[test]
fn frozen_matrices_and_moved_ones_have_the_gradient_of_the_nudged_network() {
    let model = model();
    let layout = model.net.layout();
    for moves in [vec!["encoder"], vec!["decoder", "output.b"], vec!["encoder", "output.w"]] {
        let patterns: Vec<String> = moves.iter().map(|p| (*p).to_owned()).collect();
        let moving = Moving::choose(&model.parameters(), &patterns).unwrap();
        let schedule = Schedule { rule: StepRule::Sgd, step_size: STEP_SIZE, max_steps: 2 };
        let nudge = model.nudge(&moving).unwrap();
        let (place, pull, norm, distance, is_over) = (0, 0.0, 0.0, 0.0, false);
        let (t, blame) = (0, Vec::new());
        let mut own = [Move { nudge, place, t, schedule, pull, blame, norm, distance, is_over }];
        let mut workspace = Workspace::new(&model);
        let mut plain = Gradient::new(layout.len());
        for step in 0..2 {
            let mut found = [Found::default()];
            let set = [Pass { nudge: Some(&own[0].nudge), ..Pass::base(&[0u32, 1, 2, 1, 0][..]) }];
            Greedy.decode(&mut workspace.session(&model), &set, &mut found).unwrap();
            let marks = &found[0].best().unwrap().marks;
            own[0].blame = marks.iter().map(|&mark| (mark, 1.0)).collect();
            let w = model.nudged(&own[0].nudge);
            let session = workspace.session(&model);
            model.gradient(session.scratch, &mut own).unwrap();
            let kept = own[0].nudge.gradient(layout);
            let tape = model.tape(session.scratch, 0).unwrap();
            tape.backward(&w, layout, &own[0].blame, &mut plain);
            for entry in
                layout.entries().iter().filter(|e| moves.iter().any(|m| e.name.starts_with(m)))
            {
                let range = entry.param.range();
                let same = kept[range.clone()] == *plain.values(&range);
                assert!(same, "{} in step {step}, moving {moves:?}", entry.name);
            }
            model.take_step(&mut own).unwrap();
            own[0].t += 1;
        }
    }
}
