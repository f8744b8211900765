//! Training a transducer, with everything a run needs to be watched, stopped and resumed.

use std::fs;
use std::path::Path;

use cajole::Symbol;
use cajole::corpus::decode_all;
use cajole_nn::checkpoint::{TRAINING_FILE, load_training, save_training, write_atomically};
use cajole_nn::decoders::Greedy;
use cajole_nn::models::{Transducer, TransducerConfig};
use cajole_nn::{AutoRegressive, Example, TrainConfig, Trained, Trainer};

use serde::Serialize;

use super::checkpoint::{Card, LoadError};
use super::language::{Splits, transduce};
use crate::experiment::Watch;

/// Says which run the state beside it belongs to.
const RUN_FILE: &str = "training.json";

/// Trains a transducer from `seed`. With a `folder`, the run's state is kept there after every
/// tenth epoch, and a run found there is gone on with.
///
/// # Errors
/// If the state in the folder cannot be read or written.
pub fn train(
    network: &TransducerConfig,
    config: &TrainConfig,
    splits: &Splits,
    seed: u64,
    folder: Option<&Path>,
    watch: &dyn Watch,
) -> Result<(Trained<Transducer>, Card), LoadError> {
    let net = Transducer::new(network.clone());
    let golds: Vec<_> = splits.train.iter().map(|x| transduce(x)).collect();
    let examples =
        splits.train.iter().zip(&golds).map(|(x, y)| Example { input: x.as_slice(), output: y });
    let file = folder.map(|folder| folder.join(TRAINING_FILE));
    if let Some(folder) = folder {
        claim(folder, &Run { network, training: config, seed })?;
    }
    let mut trainer = match &file {
        Some(file) if file.exists() => {
            let state = load_training(file, net.layout())?;
            watch.say(&format!("going on from epoch {}", state.progress.epoch));
            Trainer::resume(&net, config.clone(), examples.collect(), seed, state)
        }
        _ => Trainer::new(&net, config.clone(), examples.collect(), seed),
    };
    let model = |weights: &[f32]| Trained { net: net.clone(), weights: weights.to_vec() };
    let mut dev = 0.0;
    watch.begin("training", config.epochs as u64);
    while !trainer.is_done() {
        let loss = trainer.epoch();
        let epoch = trainer.state().progress.epoch;
        let is_last = epoch == config.epochs;
        if epoch % 10 == 0 || is_last {
            dev = exact_match(&model(&trainer.state().weights), &splits.dev);
            trainer.judge(dev);
            if let Some(file) = &file {
                save_training(file, net.layout(), trainer.state())?;
            }
        }
        watch.advance(epoch as u64, &format!("loss {loss:.5}, held-out exact {dev:.1} %"));
    }
    watch.end();
    let model = model(&trainer.state().weights);
    let card = Card {
        task: "transduction".to_owned(),
        network: network.clone(),
        seed,
        epochs: trainer.state().progress.epoch,
        train_exact: exact_match(&model, &splits.train),
        dev_exact: exact_match(&model, &splits.dev),
    };
    Ok((model, card))
}

/// What makes a run the run it is: with any other settings its state must not be gone on with.
#[derive(Serialize)]
struct Run<'a> {
    network: &'a TransducerConfig,
    training: &'a TrainConfig,
    seed: u64,
}

/// Notes in `folder` which run it belongs to; an error if it belongs to another that is unfinished.
fn claim(folder: &Path, run: &Run<'_>) -> Result<(), LoadError> {
    let path = folder.join(RUN_FILE);
    let io = |source| LoadError::Io { path: path.clone(), source };
    let text = serde_json::to_string_pretty(run).expect("settings always serialise") + "\n";
    if folder.join(TRAINING_FILE).exists() {
        let other = fs::read_to_string(&path).map_err(io)?;
        if other != text {
            return Err(LoadError::OtherRun { path });
        }
    }
    write_atomically(&path, text.as_bytes()).map_err(io)
}

/// Removes what only an unfinished run needs.
///
/// # Errors
/// If the file system says so.
pub fn finish(folder: &Path) -> Result<(), LoadError> {
    for name in [TRAINING_FILE, RUN_FILE] {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(|source| LoadError::Io { path, source })?;
        }
    }
    Ok(())
}

/// The share of inputs whose greedy output is right, in per cent.
fn exact_match(model: &Trained<Transducer>, xs: &[Vec<Symbol>]) -> f64 {
    let inputs: Vec<&[Symbol]> = xs.iter().map(Vec::as_slice).collect();
    let decoded = decode_all(model, &Greedy, &inputs);
    let right = decoded.iter().zip(xs).filter(|(y, x)| y.output == transduce(x)).count();
    100.0 * right as f64 / xs.len().max(1) as f64
}
