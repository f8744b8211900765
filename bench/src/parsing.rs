//! The paper's parsing network: 25 tokens to 80 symbols, greedy decoding, SGD on all weights.
//!
//! There is no constraint to evaluate: its cost is that of a scan over 80 symbols, and `g = 1` lets
//! every program differentiate `log p(y)` itself.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use cajole_core::decoders::Greedy;
use cajole_core::{StepRule, Symbol};
use cajole_nn::checkpoint::{self, MODEL_FILE, Precision};
use cajole_nn::models::{Seq2SeqConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Trained};
use serde_json::{Value, json};

use crate::iteration::{Iteration, Worker, rounded};
use crate::net1::Net1;
use crate::{ms, peak};

/// `T`, the tokens of every input, and the symbols of every output.
const TOKENS: usize = 25;
const SYMBOLS: usize = 80;
/// Inputs that every program runs.
const CASES: usize = 8;
/// Of these, how many come with a gradient to check.
const GRADIENTS: usize = 3;
/// `η`. The time of a step does not depend on it.
const STEP_SIZE: f32 = 1e-4;

type Net = Trained<Net1>;

/// Makes the network and writes what a rival needs into `dir`.
pub(crate) fn prepare(dir: &Path) -> Result<Value> {
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let model = model();
    let layout = model.net.layout();
    checkpoint::save(&dir.join(MODEL_FILE), layout, model.weights(), Precision::F32)?;
    let mut worker = Worker::new(iteration(&model, &[], 1));
    let mut exported = Vec::new();
    for (i, x) in cases(&model, CASES).iter().enumerate() {
        worker.decode(&[x]);
        worker.differentiate(&[x]);
        if i < GRADIENTS {
            let path = dir.join(format!("gradient-{i}.safetensors"));
            let gradient = worker.moves[0].nudge.gradient(layout);
            checkpoint::save(&path, layout, &gradient, Precision::F32)?;
        }
        let decoded = worker.found[0].best().context("greedy decoding finds one output")?;
        let (words, vectors) = model.net.columns(x);
        exported.push(json!({
            "words": words,
            "vectors": vectors,
            "output": decoded.output,
            "log_prob": decoded.log_prob,
            "after": worker.after_a_step(x),
        }));
    }
    let report = json!({
        "end": model.net.end(),
        "cap": SYMBOLS,
        "step_size": STEP_SIZE,
        "gradients": GRADIENTS,
        "cases": exported,
    });
    let path = dir.join("cases.json");
    fs::write(&path, serde_json::to_vec(&report)?)
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(json!({ "weights": model.weights().len(), "cases": CASES }))
}

/// One round: an iteration, what its parts take, and the machine itself.
pub(crate) fn time() -> Result<Value> {
    let model = model();
    let cases = cases(&model, CASES);
    let peak = peak::gflops();
    let mut worker = Worker::new(iteration(&model, &[], 1));
    let times = worker.times(&cases, Duration::from_millis(500));
    let flops = flops(&model, worker.moves[0].nudge.n_moved());
    let gflops = flops as f64 / times.iteration.as_secs_f64() / 1e9;
    Ok(json!({
        "iteration_ms": ms(times.iteration),
        "parts_ms": times.parts_ms(),
        "flops": flops,
        "gflops": gflops,
        "peak_gflops": peak,
        "share_of_peak": gflops / peak,
    }))
}

pub(crate) fn iteration<'a>(
    model: &'a Net,
    moves: &'a [&'a str],
    in_step: usize,
) -> Iteration<'a, Net> {
    Iteration {
        model,
        decoder: &Greedy,
        constraint: &violation,
        rule: StepRule::Sgd,
        step_size: STEP_SIZE,
        moves,
        in_step,
    }
}

fn violation(_: &[Token], _: &[Symbol]) -> f32 {
    1.0
}

pub(crate) fn model() -> Net {
    let net = Net1::new(0.0, |_| SYMBOLS);
    let weights = rounded(net.babbling_weights());
    Trained::new(net, weights)
}

pub(crate) fn cases(model: &Net, n: usize) -> Vec<Vec<Token>> {
    let random = &mut Random::new(1);
    (0..n).map(|_| model.net.input(random, TOKENS)).collect()
}

/// Floating-point operations that one iteration cannot do without, `moved` weights being moved.
///
/// Two per weight and row of every product, forward; as many again for the gradient of the weights
/// and of what they were multiplied with; two per weight for the step. Squashing functions come on
/// top and are not counted.
fn flops(model: &Net, moved: usize) -> usize {
    let Seq2SeqConfig { hidden: h, attention: a, layers, .. } = model.net.net.config;
    let Seq2SeqConfig { embedding: e, vector_size: p, output_embedding, output_symbols: v, .. } =
        model.net.net.config;
    let tokens = TOKENS + 1; // the end is read too
    // Of an LSTM: rows of the matrices that make its gates, inputs and state.
    let lstm = |inputs: usize| (inputs + h) * 4 * h;
    let encoder = 2 * lstm(e + p) + lstm(2 * h) + (layers - 2) * lstm(h);
    let keys = h * a;
    let table = v * output_embedding * 4 * h;
    let decoder = lstm(h) + (layers - 1) * lstm(2 * h);
    let attention = h * a + tokens * (a + h);
    let output = 2 * h * v;
    let products = tokens * (encoder + keys) + table + SYMBOLS * (decoder + attention + output);
    3 * 2 * products + 2 * moved
}
