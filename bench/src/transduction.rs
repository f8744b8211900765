//! The paper's transducer: 32 hidden units, greedy decoding, SGD on all weights.
//!
//! It is trained for a few epochs only. That is enough for outputs of the right kind and length,
//! and leaves plenty that violate the count constraint; the time of an iteration depends on nothing
//! else.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cajole_core::constraints::Count;
use cajole_core::decoders::Greedy;
use cajole_core::{Candidate, Config, Constraint, Gbi, Job, Outcome, StepRule, Symbol, Workspace};
use cajole_nn::checkpoint::{self, MODEL_FILE, Precision};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use cajole_nn::{AutoRegressive, Example, TrainConfig, Trained, Trainer};
use cajole_tasks::transduction::{A, END, N_SYMBOLS, Splits, transduce};
use rayon::ThreadPoolBuilder;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::iteration::{Iteration, Worker};
use crate::{ms, peak, per_item};

/// Violating inputs that every program runs.
const CASES: usize = 64;
/// Of these, how many come with a gradient to check.
const GRADIENTS: usize = 8;
/// `η` and `M` of the repairs. On this network most end long before `M`, after six steps on average.
/// With larger steps, long repairs become so sensitive to rounding that even PyTorch's two variants
/// part ways, and comparing outputs would say nothing.
const STEP_SIZE: f32 = 1e-4;
const MAX_STEPS: usize = 30;

/// The file with the cases and what cajole makes of them.
const CASES_FILE: &str = "cases.json";

const SEED: u64 = 1;
const EPOCHS: usize = 40;

type Net = Trained<Transducer>;

/// Makes the network and writes what a rival needs into `dir`.
pub(crate) fn prepare(dir: &Path) -> Result<Value> {
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let path = dir.join(MODEL_FILE);
    let net = network();
    // A checkpoint that does not fit any more is no reason to stop: it is only a cache.
    let weights = match checkpoint::load(&path, net.layout()) {
        Ok(weights) => weights,
        Err(_) => train(&net),
    };
    checkpoint::save(&path, net.layout(), &weights, Precision::F32)?;
    let model = Trained::new(net, weights);
    let constraint = count();
    let cases = cases(&model, &constraint)?;

    let mut worker = Worker::new(iteration(&model, &constraint));
    let repairs = repair_all(&model, &constraint, &cases)?;
    let mut exported = Vec::new();
    for (i, (x, repair)) in cases.iter().zip(&repairs).enumerate() {
        worker.restore();
        worker.decode(&[x]);
        let g = worker.differentiate(&[x]);
        if i < GRADIENTS {
            let path = dir.join(format!("gradient-{i}.safetensors"));
            let layout = model.net.layout();
            let gradient = worker.moves[0].nudge.gradient(layout);
            checkpoint::save(&path, layout, &gradient, Precision::F32)?;
        }
        let decoded = worker.found[0].best().context("greedy decoding finds one output")?;
        exported.push(json!({
            "input": x,
            "output": decoded.output,
            "log_prob": decoded.log_prob,
            "g": g,
            "repair": { "steps": repair.steps, "output": repair.output, "g": repair.g_after },
        }));
    }
    let TransducerConfig { hidden, embedding, cap_factor, .. } = model.net.config;
    let report = json!({
        "hidden": hidden,
        "embedding": embedding,
        "cap_factor": cap_factor,
        "end": END,
        "step_size": STEP_SIZE,
        "max_steps": MAX_STEPS,
        "gradients": GRADIENTS,
        "cases": exported,
    });
    let path = dir.join(CASES_FILE);
    fs::write(&path, serde_json::to_vec(&report)?)
        .with_context(|| format!("writing {}", path.display()))?;
    let steps: usize = repairs.iter().map(|repair| repair.steps).sum();
    Ok(json!({
        "weights": model.weights().len(),
        "cases": cases.len(),
        "satisfied": repairs.iter().filter(|repair| repair.is_satisfied()).count(),
        "mean_steps": steps as f64 / cases.len() as f64,
    }))
}

/// One round: an iteration, a repair, repairs on one and two threads, and the machine itself.
pub(crate) fn time(dir: &Path) -> Result<Value> {
    let net = network();
    let weights = checkpoint::load(&dir.join(MODEL_FILE), net.layout())?;
    let model = Trained::new(net, weights);
    let constraint = count();
    let cases = read_cases(dir)?;
    let peak = peak::gflops();

    let mut worker = Worker::new(iteration(&model, &constraint));
    let mut flops = 0;
    let iteration = per_item(Duration::from_millis(300), || {
        let mut took = Duration::ZERO;
        flops = 0;
        for x in &cases {
            worker.restore();
            let start = Instant::now();
            worker.iterate(&[x]);
            took += start.elapsed();
            flops += flops_of(&model, x, worker.found[0].best().map_or(0, |y| y.marks.len()));
        }
        (cases.len(), took)
    });
    let flops = flops as f64 / cases.len() as f64;
    let gflops = flops / iteration.as_secs_f64() / 1e9;

    let gbi = gbi(&model)?;
    let jobs = jobs(&cases, &constraint);
    let mut workspace = Workspace::new(&model);
    let repair = per_item(Duration::from_millis(200), || {
        let start = Instant::now();
        gbi.run_set(&jobs, &mut workspace, |_, _| {});
        (jobs.len(), start.elapsed())
    });

    // Enough inputs that threads seldom wait for the last one.
    let many = jobs.repeat(8);
    let mut per_second = Vec::new();
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let each = per_item(Duration::from_millis(200), || {
            let start = Instant::now();
            let outcomes = pool.install(|| gbi.run_all(&many, |_, _| {}));
            (outcomes.len(), start.elapsed())
        });
        per_second.push(1.0 / each.as_secs_f64());
    }
    Ok(json!({
        "iteration_ms": ms(iteration),
        "repair_ms": ms(repair),
        "repairs_per_second": { "1": per_second[0], "2": per_second[1] },
        "scaling": per_second[1] / per_second[0],
        "flops": flops,
        "gflops": gflops,
        "peak_gflops": peak,
        "share_of_peak": gflops / peak,
    }))
}

fn network() -> Transducer {
    Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: N_SYMBOLS,
        embedding: 32,
        hidden: 32,
        start_state: StartState::Encoder,
        dropout: 0.0,
        cap_factor: 3,
    })
}

fn train(net: &Transducer) -> Vec<f32> {
    let train = Splits::new(0).train;
    let golds: Vec<_> = train.iter().map(|x| transduce(x)).collect();
    let pairs = train.iter().zip(&golds);
    let examples = pairs.map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();
    let config = TrainConfig::new(EPOCHS, 5e-3);
    let mut trainer = Trainer::new(net, config, examples, SEED);
    while !trainer.is_done() {
        trainer.epoch();
    }
    trainer.state().weights.to_vec()
}

/// Test inputs whose output violates the constraint, spread evenly over all such.
fn cases(model: &Net, constraint: &Count) -> Result<Vec<Vec<Symbol>>> {
    let test = Splits::new(0).test;
    let refs: Vec<&[Symbol]> = test.iter().map(Vec::as_slice).collect();
    let decoded = model.decode_all(&Greedy, &refs);
    let violates = |(x, y): &(Vec<Symbol>, Candidate)| {
        !y.capped && !constraint.check(x, &y.output).is_satisfied()
    };
    let mut failures: Vec<_> =
        test.into_iter().zip(decoded).filter(violates).map(|(x, _)| x).collect();
    let n = failures.len();
    ensure!(CASES <= n, "only {n} outputs violate the constraint, not {CASES}");
    for i in 0..CASES {
        failures.swap(i, i * n / CASES);
    }
    failures.truncate(CASES);
    Ok(failures)
}

/// The inputs that `prepare` left.
fn read_cases(dir: &Path) -> Result<Vec<Vec<Symbol>>> {
    #[derive(Deserialize)]
    struct Exported {
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        input: Vec<Symbol>,
    }
    let path = dir.join(CASES_FILE);
    let bytes = fs::read(&path)
        .with_context(|| format!("reading {}: prepare comes before time", path.display()))?;
    let Exported { cases } = serde_json::from_slice(&bytes)?;
    Ok(cases.into_iter().map(|case| case.input).collect())
}

fn iteration<'a>(model: &'a Net, constraint: &'a Count) -> Iteration<'a, Net> {
    Iteration {
        model,
        decoder: &Greedy,
        constraint,
        rule: StepRule::Sgd,
        step_size: STEP_SIZE,
        moves: &[],
        in_step: 1,
    }
}

fn gbi(model: &Net) -> Result<Gbi<'_, Net>> {
    let mut config = Config::paper();
    config.schedule.step_size = STEP_SIZE;
    config.schedule.max_steps = MAX_STEPS;
    Ok(Gbi::with(model, config)?)
}

fn jobs<'a>(cases: &'a [Vec<Symbol>], constraint: &'a Count) -> Vec<Job<'a, [Symbol]>> {
    cases.iter().map(|x| Job::new(x.as_slice(), constraint)).collect()
}

fn repair_all(model: &Net, constraint: &Count, cases: &[Vec<Symbol>]) -> Result<Vec<Outcome>> {
    Ok(gbi(model)?.run_all(&jobs(cases, constraint), |_, _| {}))
}

/// Floating-point operations that one iteration cannot do without, for an input `x` and an output
/// of `positions` symbols, its end included.
///
/// Two per weight and row of every product, forward; as many again for the gradient of the weights
/// and of what they were multiplied with; two per weight for the step. Squashing functions come on
/// top and are not counted.
fn flops_of(model: &Net, x: &[Symbol], positions: usize) -> usize {
    let TransducerConfig { input_symbols, output_symbols, embedding, hidden, .. } =
        model.net.config;
    let tables = (input_symbols + output_symbols) * embedding * 4 * hidden;
    // The encoder's steps, the encoder's state as the decoder sees it, the decoder's steps.
    let recurrent = (x.len() + 1 + positions) * hidden * 4 * hidden;
    let output = positions * hidden * output_symbols;
    3 * 2 * (tables + recurrent + output) + 2 * model.weights().len()
}

/// The paper's constraint: `(3 x_a − y_a)² / (m + n)`.
fn count() -> Count {
    Count { source: A, target: A, ratio: 3, n_symbols: END as usize }
}
