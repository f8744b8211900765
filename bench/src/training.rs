//! Training of the paper's parsing network: symbols per second on two threads.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use cajole_core::Symbol;
use cajole_nn::checkpoint::{self, MODEL_FILE, Precision};
use cajole_nn::models::Token;
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Decay, Example, TrainConfig, TrainState, Trainer};
use rayon::ThreadPoolBuilder;
use serde_json::{Value, json};

use crate::net1::{Net1, sentence_length};

const THREADS: usize = 2;
const BATCH: usize = 64;
const BATCHES: usize = 4;
const DROPOUT: f32 = 0.2;
const STEP_SIZE: f32 = 1e-3;
const CLIP: f32 = 1.0;
/// Steps on one batch, without dropout, whose losses a rival has to reproduce.
const CHECKED: usize = 3;

/// A sentence and the symbols of its tree.
type Pair = (Vec<Token>, Vec<Symbol>);

/// Writes what a rival needs into `dir`: weights, batches, and the losses of a few steps.
pub(crate) fn prepare(dir: &Path) -> Result<Value> {
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let net = network(0.0);
    checkpoint::save(&dir.join(MODEL_FILE), net.layout(), &net.fresh_weights(), Precision::F32)?;
    let pairs = pairs(&net);
    let mut trainer = trainer(&net, &pairs[..BATCH]);
    let losses: Vec<f64> = (0..CHECKED).map(|_| trainer.epoch()).collect();
    let exported = pairs.iter().map(|(x, y)| {
        let (words, vectors) = net.columns(x);
        json!({ "words": words, "vectors": vectors, "output": y })
    });
    let report = json!({
        "threads": THREADS,
        "batch_size": BATCH,
        "dropout": DROPOUT,
        "step_size": STEP_SIZE,
        "clip": CLIP,
        "end": net.end(),
        "symbols": n_symbols(&pairs),
        "losses": losses,
        "pairs": exported.collect::<Vec<_>>(),
    });
    let path = dir.join("pairs.json");
    fs::write(&path, serde_json::to_vec(&report)?)
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(json!({ "pairs": pairs.len(), "symbols": n_symbols(&pairs), "losses": losses }))
}

/// One round: an epoch over all batches, after one that is not counted.
pub(crate) fn time() -> Result<Value> {
    let net = network(DROPOUT);
    let pairs = pairs(&net);
    let mut trainer = trainer(&net, &pairs);
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    let seconds = pool.install(|| {
        trainer.epoch(); // caches and buffers fill
        let start = Instant::now();
        trainer.epoch();
        start.elapsed().as_secs_f64()
    });
    Ok(json!({ "symbols_per_second": n_symbols(&pairs) as f64 / seconds }))
}

/// Outputs are given, not decoded: the cap is of no account.
fn network(dropout: f32) -> Net1 {
    Net1::new(dropout, <[Token]>::len)
}

fn trainer<'a>(net: &'a Net1, pairs: &'a [Pair]) -> Trainer<'a, Net1> {
    let config = TrainConfig::new(CHECKED, STEP_SIZE).with(|config| {
        config.batch_size = BATCH;
        config.shard_size = BATCH / THREADS;
        config.decay = Decay::Constant;
        config.clip = CLIP;
        config.freeze = vec!["vectors".to_owned()];
    });
    let examples = pairs.iter().map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();
    Trainer::resume(net, config, examples, 1, TrainState::new(net.fresh_weights()))
}

/// Random sentences, and outputs with 3 to 4.2 symbols per token.
fn pairs(net: &Net1) -> Vec<Pair> {
    let random = &mut Random::new(3);
    let pair = |_| {
        let n = sentence_length(random);
        let x = net.input(random, n);
        let symbols = n * (30 + random.below(13)) / 10;
        let symbol = |_| random.below(net.end() as usize) as Symbol;
        let y = (0..symbols).map(symbol).collect();
        (x, y)
    };
    (0..BATCH * BATCHES).map(pair).collect()
}

/// Symbols that are predicted, ends included.
fn n_symbols(pairs: &[Pair]) -> usize {
    pairs.iter().map(|(_, y)| y.len() + 1).sum()
}
