//! Networks of tokens: a transformer equals PyTorch's, trains, resumes, and odd sizes are refused.

use std::fs;
use std::path::Path;

use crate::huggingface::{assert_close, assert_gradient, gradient, made_by, movings, stepped};
use crate::networks::{parser, sequence_transformer, tokens};
use cajole_core::decoders::Greedy;
use cajole_core::model::{Candidate, Symbol};
use cajole_core::{Force, Model, Pass, StepRule, Stepper, Workspace};
use cajole_nn::checkpoint::{self, load_training, save_training};
use cajole_nn::models::{Architecture, SequenceConfig, SequenceNetwork, Token};
use cajole_nn::{Decay, Example, TrainConfig, TrainState, Trainable, Trained, Trainer};
use serde::Deserialize;
use serde_json::{Value, json};

/// What PyTorch's network reads, and says of what it writes.
#[derive(Deserialize)]
struct Case {
    words: Vec<Symbol>,
    vectors: Vec<Symbol>,
    output: Vec<Symbol>,
    /// Of what follows every prefix.
    log_probs: Vec<f32>,
}

fn loaded(folder: &Path, file: &str) -> (SequenceNetwork, Vec<f32>) {
    let config = fs::read(folder.join("network.json")).unwrap();
    let net = SequenceNetwork::new(serde_json::from_slice(&config).unwrap());
    let weights = checkpoint::load(&folder.join(file), net.layout()).unwrap();
    (net, weights)
}

#[test]
fn a_transformer_agrees_with_pytorch() {
    let Some(folder) = made_by("sequence_transformer.py") else { return };
    let (net, weights) = loaded(folder.path(), "model.safetensors");
    let model = Trained::new(net, weights);
    let cases = fs::read(folder.path().join("cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_slice(&cases).unwrap();
    let mut workspace = Workspace::new(&model);
    for (i, Case { words, vectors, output, log_probs }) in cases.iter().enumerate() {
        let both = words.iter().zip(vectors);
        let x: Vec<Token> = both.map(|(&word, &vector)| Token { word, vector }).collect();
        workspace.decode(&model, &Greedy, x.as_slice()).unwrap();
        let scratch = workspace.session(&model).scratch;
        let pass = Pass { place: Some(0), ..Pass::base(x.as_slice()) };
        let mut forced = Candidate::default();
        let mut set = [Force { pass, output, forced: &mut forced, passes: 0 }];
        model.force(scratch, &mut set).unwrap();
        if i == 0 {
            let (_, want) = loaded(folder.path(), "gradient.safetensors");
            for moving in movings(&model) {
                let got = gradient(&model, &mut workspace, &moving, &forced.marks);
                assert_gradient("transformer", model.net.layout(), &moving, &got, &want);
            }
        }
        assert_close("transformer", &stepped(&model, &mut workspace, &x, output), log_probs);
    }
}

/// Outputs that read the input backwards.
fn data() -> Vec<(Vec<Token>, Vec<Symbol>)> {
    let inputs = (0..60).map(|i| tokens(1 + i % 6, i as u64));
    inputs.map(|x| (x.clone(), x.iter().rev().map(|token| token.word).collect())).collect()
}

fn examples(data: &[(Vec<Token>, Vec<Symbol>)]) -> Vec<Example<'_, [Token]>> {
    data.iter().map(|(x, y)| Example { input: x.as_slice(), output: y }).collect()
}

fn training(epochs: usize) -> TrainConfig {
    TrainConfig::new(epochs, 5e-3).with(|config| {
        config.batch_size = 20;
        config.shard_size = 5;
        config.decay = Decay::WarmUp { share: 0.1 };
        config.freeze = vec!["vectors".to_owned()];
        config.weight_decay = 0.01;
    })
}

/// What smoothing by `share` lowers, per symbol, summed up from log-probabilities.
fn smoothed_loss(model: &Trained<SequenceNetwork>, share: f64) -> f64 {
    let (mut workspace, mut loss, mut n) = (Workspace::new(model), 0.0, 0);
    for (x, y) in &data() {
        let said = stepped(model, &mut workspace, x, y);
        let rows = said.chunks_exact(model.n_symbols());
        for (row, symbol) in rows.zip(y.iter().copied().chain([model.end()])) {
            let mean = row.iter().map(|&p| f64::from(p)).sum::<f64>() / row.len() as f64;
            loss -= (1.0 - share) * f64::from(row[symbol as usize]) + share * mean;
            n += 1;
        }
    }
    loss / f64::from(n)
}

#[test]
fn smoothed_targets_have_the_gradient_of_their_loss() {
    let (net, data) = (sequence_transformer(12), data());
    let initial = net.layout().initial(3);
    for share in [0.0, 0.3] {
        let config = training(1).with(|config| {
            config.batch_size = data.len();
            config.rule = StepRule::Sgd;
            config.step_size = 1.0;
            config.decay = Decay::Constant;
            config.clip = f32::INFINITY;
            config.freeze.clear();
            config.label_smoothing = share;
        });
        let mut trainer = Trainer::new(&net, config, examples(&data), 3);
        trainer.epoch();
        let stepped = trainer.into_state().weights;
        let gradient: Vec<f32> = initial.iter().zip(stepped.iter()).map(|(a, b)| a - b).collect();
        let square: f64 = gradient.iter().map(|g| f64::from(g * g)).sum();
        let along = |share: f64| {
            let at = |h: f32| {
                let weights = initial.iter().zip(&gradient).map(|(w, g)| w + h * g);
                smoothed_loss(&Trained::new(net.clone(), weights.collect::<Vec<_>>()), share)
            };
            (at(1e-2) - at(-1e-2)) / 2e-2
        };
        let off = |share: f64| (along(share) / square - 1.0).abs();
        assert!(off(f64::from(share)) < 1e-2, "{share}: {}", off(f64::from(share)));
        assert!(5e-2 < off(0.9), "another loss has another gradient: {}", off(0.9));
    }
}

/// With dropout.
fn dropping() -> SequenceNetwork {
    let SequenceNetwork::Transformer(net) = sequence_transformer(16) else { unreachable!() };
    let mut config = net.config;
    (config.encoder.dropout, config.decoder.dropout) = (0.1, 0.1);
    SequenceNetwork::new(SequenceConfig::Transformer(Box::new(config)))
}

#[test]
fn a_transformer_learns_to_read_backwards() {
    let (net, data) = (sequence_transformer(24), data());
    let mut trainer = Trainer::new(&net, training(120), examples(&data), 1);
    (0..120).for_each(|_| _ = trainer.epoch());
    let weights = trainer.into_state().weights;
    let model = Trained::new(net, weights);
    let xs: Vec<&[Token]> = data.iter().map(|(x, _)| x.as_slice()).collect();
    let found = model.decode_all(&Greedy, &xs);
    let right = found.iter().zip(&data).filter(|(found, (_, y))| found.output == *y).count();
    assert!(55 <= right, "{right} of {}", data.len());
}

#[test]
fn a_resumed_run_ends_where_an_uninterrupted_one_does() {
    let (net, data, folder) = (dropping(), data(), tempfile::tempdir().unwrap());
    let file = folder.path().join("training.safetensors");
    let ended = |mut trainer: Trainer<'_, SequenceNetwork>| -> TrainState {
        while !trainer.is_done() {
            trainer.epoch();
            trainer.judge(1.0);
        }
        trainer.into_state()
    };
    let whole = ended(Trainer::new(&net, training(4), examples(&data), 5));
    // Killed in the middle of the second epoch.
    let mut first = Trainer::new(&net, training(4), examples(&data), 5);
    first.epoch();
    first.judge(1.0);
    let killed = first.epoch_with(|state| {
        save_training(&file, net.layout(), state).unwrap();
        if state.progress.batch < 2 { Ok(()) } else { Err("killed") }
    });
    assert_eq!(killed, Err("killed"));
    let state = load_training(&file, net.layout()).unwrap();
    assert_eq!((state.progress.epoch, state.progress.batch), (1, 2));
    let resumed = ended(Trainer::resume(&net, training(4), examples(&data), 5, state));
    assert_eq!(resumed, whole);
    let initial = net.layout().initial(5);
    let vectors = net.vectors().unwrap();
    assert_eq!(vectors.of(&whole.weights), vectors.of(&initial), "word vectors are fixed");
}

#[test]
fn architectures_are_read_as_they_are_written() {
    let lstm = SequenceConfig::Lstm(parser(Architecture::Gnmt, Some(0), 5).config);
    let SequenceNetwork::Transformer(net) = sequence_transformer(6) else { unreachable!() };
    for config in [lstm, SequenceConfig::Transformer(Box::new(net.config))] {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<SequenceConfig>(&text).unwrap(), config);
    }
}

#[test]
fn odd_architectures_are_refused() {
    let SequenceNetwork::Transformer(net) = sequence_transformer(6) else { unreachable!() };
    let whole = serde_json::to_value(&net.config).unwrap();
    let error = |pointer: &str, value: Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        serde_json::from_value::<SequenceConfig>(changed).unwrap_err().to_string()
    };
    for (pointer, value, expected) in [
        ("/end", json!(2), "the end is symbol 2, and should be 4"),
        ("/start", json!(9), "symbol 9 of 5 begins or ends"),
        ("/decoder/width", json!(7), "the encoder's width is 6, the decoder's 7"),
        ("/encoder/heads", json!(1 << 24), "16777216 heads of size 3"),
        ("/reads/positions/sinusoidal/rows", json!(1 << 24), "16777216 positions of width 6"),
        ("/reads/symbols", json!(1_000_000_000), "1000000000 is more than 16777216"),
        ("/vectors/rows", json!(0), "this must be at least 1"),
        ("/cap-factor", json!(1_000_000_000), "1000000000 is more than 16777216"),
        ("/encoder/dropout", json!(1.0), "1 is not at least 0 and less than 1"),
        ("/encoder/layers", json!(0), "0 layers; there must be 1 to 1000"),
        ("/encoder/norm", json!("batch"), "unknown variant `batch`"),
        ("/decoder", json!({}), "missing field `layers`"),
    ] {
        let error = error(pointer, value);
        assert!(error.contains(expected), "{pointer}: {error}");
    }
}
