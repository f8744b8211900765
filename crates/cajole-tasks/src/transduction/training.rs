//! Trains a transducer in a run that can be watched, stopped and resumed.

use cajole_core::Symbol;
use cajole_core::decoders::Greedy;
use cajole_files::Folder;
use cajole_nn::models::{Transducer, TransducerConfig};
use cajole_nn::{Example, TrainConfig, Trained};
use cajole_treebank::percent;
use serde::Serialize;

use super::checkpoint::Card;
use super::language::{Splits, transduce};
use crate::Watch;
use crate::checkpoint::{Checkpoint, LoadError};
use crate::training::{Training, initial};

/// Trains a transducer from `seed`. With a `folder`, checkpoints the run there after every tenth
/// epoch, and resumes a run found there.
///
/// # Errors
/// If the state in the folder cannot be read or written.
pub fn train(
    network: &TransducerConfig,
    config: &TrainConfig,
    splits: &Splits,
    seed: u64,
    folder: Option<&Folder>,
    watch: &dyn Watch,
) -> Result<(Trained<Transducer>, Card), LoadError> {
    let net = Transducer::new(network.clone());
    let golds: Vec<_> = splits.train.iter().map(|x| transduce(x)).collect();
    let examples =
        splits.train.iter().zip(&golds).map(|(x, y)| Example { input: x.as_slice(), output: y });
    let model = |weights: &[f32]| Trained::new(net.clone(), weights);
    let score = |weights: &[f32]| {
        let dev = exact_match(&model(weights), &splits.dev);
        (dev, format!("held-out exact {dev:.1} %"))
    };
    let (examples, initial) = (examples.collect(), initial(&net, seed)?);
    let claim = Trained::<Transducer>::claim;
    let training =
        Training { net: &net, config, examples, seed, initial, every: 10, folder, claim };
    let state = training.run(&Run { network, training: config, seed }, score, watch)?;
    let model = model(&state.weights);
    let card = Card {
        task: "transduction".to_owned(),
        network: network.clone(),
        seed,
        epochs: state.progress.epoch,
        train_exact: exact_match(&model, &splits.train),
        dev_exact: exact_match(&model, &splits.dev),
    };
    Ok((model, card))
}

/// Identifies a run; resuming with other settings is an error.
#[derive(Serialize)]
struct Run<'a> {
    network: &'a TransducerConfig,
    training: &'a TrainConfig,
    seed: u64,
}

/// Exact match of greedy decoding, in per cent.
fn exact_match(model: &Trained<Transducer>, xs: &[Vec<Symbol>]) -> f64 {
    let inputs: Vec<&[Symbol]> = xs.iter().map(Vec::as_slice).collect();
    let decoded = model.decode_all(&Greedy, &inputs);
    let right = decoded.iter().zip(xs).filter(|(y, x)| y.output == transduce(x)).count();
    percent(right, xs.len())
}
