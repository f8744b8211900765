//! Training an encoder that marks a piece: its gradient, paces of parameters, and runs that are killed
//! within an epoch.

use crate::networks::{TAGS, encoder_tagger, pieces, wild};
use cajole_core::StepRule;
use cajole_core::model::Symbol;
use cajole_nn::checkpoint::{load_training, save_training};
use cajole_nn::layers::norm::NormKind;
use cajole_nn::models::transformer::{EncoderTagger, EncoderTaggerConfig, Pieces, StackConfig};
use cajole_nn::tape::{Graph, Tape};
use cajole_nn::{
    Decay, Example, Gradient, Rate, Tagging, TrainConfig, TrainState, Trainable, Trainer,
};

/// Sentences with a marked word each, and the tags of their words.
fn data(n: usize) -> Vec<(Pieces, Vec<Symbol>)> {
    let one = |i: usize| {
        let words = 2 + i % 5;
        let mut x = pieces(words, i as u64);
        x.marked = Some(x.firsts[i % words]);
        let tag = |t: usize| (x.pieces[x.firsts[t] as usize] as usize + t + i % words) % TAGS.len();
        let y = (0..words).map(|t| tag(t) as Symbol).collect();
        (x, y)
    };
    (0..n).map(one).collect()
}

fn examples(data: &[(Pieces, Vec<Symbol>)]) -> Vec<Example<'_, Pieces>> {
    data.iter().map(|(input, output)| Example { input, output }).collect()
}

fn training() -> TrainConfig {
    TrainConfig::new(3, 5e-3).with(|config| {
        config.batch_size = 8;
        config.shard_size = 3;
        config.decay = Decay::WarmUp { share: 0.25 };
        config.clip = f32::INFINITY;
        config.weight_decay = 0.01;
        config.rates = vec![
            Rate { of: "output".to_owned(), factor: 2.0 },
            Rate { of: "encoder.0".to_owned(), factor: 0.5 },
        ];
    })
}

/// With dropout, as in training.
fn dropping() -> Tagging<EncoderTagger> {
    let Tagging { net, tags } = encoder_tagger(NormKind::Layer, 12);
    let stack = StackConfig { dropout: 0.1, ..net.config.stack.clone() };
    Tagging { net: EncoderTagger::new(EncoderTaggerConfig { stack, ..net.config }), tags }
}

#[test]
fn gradients_of_the_loss_match_finite_differences() {
    const EPSILON: f32 = 3e-3;
    let model = wild(encoder_tagger(NormKind::Layer, 12), 5);
    let data = data(6);
    let (net, w) = (&model.net, model.weights().to_vec());
    let teach = |w: &[f32], tape: &mut Tape, blame: &mut Vec<_>| {
        tape.clear();
        blame.clear();
        net.teach(&mut Graph::new(w, tape), &examples(&data), 1.0, blame)
    };
    let (mut tape, mut blame) = (Tape::default(), Vec::new());
    let mut grad = Gradient::new(w.len());
    teach(&w, &mut tape, &mut blame);
    tape.backward(&w, net.layout(), &blame, &mut grad);
    let mut dense = vec![0.0; w.len()];
    grad.touched().iter().for_each(|r| dense[r.clone()].copy_from_slice(grad.values(r)));
    let mut seen = Vec::new();
    for entry in net.layout().entries() {
        let range = entry.param.range();
        for i in range.clone().step_by(range.len().div_ceil(9)) {
            let mut at = |w_i: f32| {
                let mut moved = w.clone();
                moved[i] = w_i;
                teach(&moved, &mut tape, &mut blame)
            };
            let (up, down) = (w[i] + EPSILON, w[i] - EPSILON);
            let slope = (at(up) - at(down)) / f64::from(up - down);
            let got = f64::from(dense[i]);
            let most = 2e-2 + 2e-2 * slope.abs();
            assert!((got - slope).abs() < most, "{} {i}: {got} is not {slope}", entry.name);
            if 5e-2 < slope.abs() && !seen.contains(&entry.name) {
                seen.push(entry.name.clone());
            }
        }
    }
    assert!(seen.iter().any(|name| name == "embedding.types"), "{seen:?}");
    assert!(10 < seen.len(), "{seen:?}");
}

#[test]
fn a_mark_matters() {
    let model = wild(encoder_tagger(NormKind::Layer, 12), 5);
    let loss = |marked: Option<u32>| {
        let (x, y) = data(4).remove(3);
        let x = Pieces { marked, ..x };
        let (mut tape, mut blame) = (Tape::default(), Vec::new());
        let example = [Example { input: &x, output: &y }];
        model.net.teach(&mut Graph::new(model.weights(), &mut tape), &example, 1.0, &mut blame)
    };
    assert_ne!(loss(None), loss(Some(1)));
    assert_ne!(loss(Some(1)), loss(Some(2)));
}

/// The weights after one step with plain SGD.
fn after_a_step(change: impl FnOnce(&mut TrainConfig)) -> Vec<f32> {
    let net = encoder_tagger(NormKind::Layer, 12);
    let data = data(8);
    let plain = training().with(|config| {
        (config.epochs, config.step_size) = (1, 0.5);
        config.rule = StepRule::Sgd;
        config.decay = Decay::Constant;
        config.weight_decay = 0.0;
        config.rates.clear();
    });
    let config = plain.with(change);
    let mut trainer = Trainer::new(&net, config, examples(&data), 3);
    trainer.epoch();
    trainer.state().weights.to_vec()
}

#[test]
fn parameters_step_at_their_own_pace() {
    let net = encoder_tagger(NormKind::Layer, 12);
    let initial = net.layout().initial(3);
    let plain = after_a_step(|_| {});
    let paced = after_a_step(|config| {
        config.rates = vec![Rate { of: "encoder.0".to_owned(), factor: 0.25 }];
    });
    let decayed = after_a_step(|config| config.weight_decay = 0.1);
    let mut moved = 0;
    for entry in net.layout().entries() {
        let factor = if entry.name.starts_with("encoder.0.") { 0.25 } else { 1.0 };
        let decay = if entry.is_bias { 0.0 } else { 0.5 * 0.1 };
        let (start, cols) = (entry.param.range().start, entry.param.cols as usize);
        for i in entry.param.range() {
            let row = i - (i - start) % cols;
            let is_read = plain[row..row + cols] != initial[row..row + cols];
            let (from, step) = (initial[i], plain[i] - initial[i]);
            assert!((paced[i] - (from + factor * step)).abs() < 1e-5, "{} {i}", entry.name);
            // Rows of tables that no piece asks for are left alone.
            let expected = if is_read { plain[i] - decay * from } else { from };
            assert!((decayed[i] - expected).abs() < 1e-5, "{} {i}", entry.name);
            moved += usize::from(1e-4 < step.abs());
        }
    }
    assert!(100 < moved, "{moved}");
}

#[test]
fn a_run_that_was_killed_within_an_epoch_ends_where_an_uninterrupted_one_does() {
    let (net, data) = (dropping(), data(60));
    let file = std::env::temp_dir().join(format!("cajole-fine-tuning-{}", std::process::id()));
    let finish = |mut trainer: Trainer<'_, _>| {
        let mut losses = Vec::new();
        while !trainer.is_done() {
            losses.push(trainer.epoch());
            trainer.judge(1.0);
        }
        (losses, trainer.into_state())
    };
    let (losses, whole) = finish(Trainer::new(&net, training(), examples(&data), 5));
    assert!(losses[2] < losses[0], "{losses:?}");
    let mut first = Trainer::new(&net, training(), examples(&data), 5);
    first.epoch();
    first.judge(1.0);
    let killed = first.epoch_with(|state: &TrainState| match state.progress.batch {
        3 => Err(()),
        _ => Ok(()),
    });
    assert_eq!(killed, Err(()));
    save_training(&file, net.layout(), first.state()).unwrap();
    let state = load_training(&file, net.layout()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!((state.progress.epoch, state.progress.batch), (1, 3));
    let (rest, resumed) = finish(Trainer::resume(&net, training(), examples(&data), 5, state));
    assert_eq!(resumed, whole);
    assert_eq!(rest, losses[1..], "losses of whole epochs");
}
