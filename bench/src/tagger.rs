//! The paper's role labeler: eight highway layers of 300 units, 25 tokens, Viterbi decoding, a step
//! of set length on all weights.
//!
//! Its weights are random, since the time of a pass depends on lengths alone. They are louder than
//! fresh ones, which would give all positions the same tag, but for `O`, which is the most probable:
//! so outputs have some spans, and some of these are no nodes of the tree.

use std::borrow::Borrow;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cajole_core::constraints::{Bracketed, Brackets, RoleSet, SpansInTree, TagSet};
use cajole_core::decoders::tags::{Tagged, Viterbi};
use cajole_core::{StepRule, Symbol};
use cajole_nn::checkpoint::{self, MODEL_FILE, Precision};
use cajole_nn::models::{CellKind, Features, LstmTagger, Reading, TaggerConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::{Tagger, Tagging, Trained};
use half::f16;
use serde_json::{Value, json};

use crate::iteration::{Iteration, Worker, rounded};
use crate::{bandwidth, ms, peak};

/// `T`, the tokens of every input.
const TOKENS: usize = 25;
/// Roles; each has a tag that begins it and one that goes on.
const ROLES: usize = 57;
/// Inputs that every program runs.
const CASES: usize = 8;
/// Of these, how many come with a gradient to check.
const GRADIENTS: usize = 3;
/// How far a step goes. Its time does not depend on it.
const STEP_SIZE: f32 = 1e-3;
const RULE: StepRule = StepRule::UnitNorm { growth: 1.0, cap: 1.0 };

const SEED: u64 = 1;
/// Too large for any cache.
const MEMORY: usize = 256 << 20;

type Net = Trained<Tagging<LstmTagger<Case>>>;

/// A sentence with a tree over it.
pub(crate) struct Case {
    features: Features,
    brackets: Brackets,
}

impl Borrow<Features> for Case {
    fn borrow(&self) -> &Features {
        &self.features
    }
}

impl Bracketed for Case {
    fn brackets(&self) -> Option<&Brackets> {
        Some(&self.brackets)
    }
}

/// What decodes and what judges.
pub(crate) struct Parts<'a> {
    decoder: Tagged<'a, Viterbi>,
    constraint: SpansInTree,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(tags: &'a TagSet) -> Self {
        let constraint = SpansInTree { tags: tags.clone(), free: RoleSet::default() };
        Parts { decoder: Tagged::viterbi(tags), constraint }
    }

    pub(crate) fn of<'b>(
        &'b self,
        model: &'b Net,
        moves: &'b [&'b str],
        in_step: usize,
    ) -> Iteration<'b, Net> {
        let Parts { decoder, constraint } = self;
        let (rule, step_size) = (RULE, STEP_SIZE);
        Iteration { model, decoder, constraint, rule, step_size, moves, in_step }
    }
}

/// Makes the network and writes what a rival needs into `dir`.
pub(crate) fn prepare(dir: &Path) -> Result<Value> {
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let model = model()?;
    let layout = model.net.net.layout();
    checkpoint::save(&dir.join(MODEL_FILE), layout, model.weights(), Precision::F32)?;
    let parts = Parts::new(&model.net.tags);
    let mut worker = Worker::new(parts.of(&model, &[], 1));
    let mut exported = Vec::new();
    for (i, x) in cases(CASES).iter().enumerate() {
        worker.decode(&[x]);
        let g = worker.differentiate(&[x]);
        ensure!(0.0 < g, "the output for input {i} satisfies the constraint");
        if i < GRADIENTS {
            let path = dir.join(format!("gradient-{i}.safetensors"));
            let gradient = worker.moves[0].nudge.gradient(layout);
            checkpoint::save(&path, layout, &gradient, Precision::F32)?;
        }
        let decoded = worker.found[0].best().context("Viterbi finds one output")?;
        exported.push(json!({
            "words": x.features.tokens.iter().map(|token| token.word).collect::<Vec<_>>(),
            "predicate": x.features.predicate,
            "brackets": x.brackets.as_pairs(),
            "output": decoded.output,
            "log_prob": decoded.log_prob,
            "costs": worker.costs,
            "after": worker.after_a_step(x),
        }));
    }
    let report = json!({
        "layers": model.net.net.config.layers,
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
pub(crate) fn time(dir: &Path) -> Result<Value> {
    let net = Tagging { net: network(), tags: tags()? };
    let weights = checkpoint::load(&dir.join(MODEL_FILE), net.net.layout())?;
    let (model, cases) = (Trained::new(net, weights), cases(CASES));
    let peak = peak::gflops();
    let parts = Parts::new(&model.net.tags);
    let mut worker = Worker::new(parts.of(&model, &[], 1));
    let times = worker.times(&cases, Duration::from_millis(700));
    let config = &model.net.net.config;
    let Work { flops, bytes } = work(config, worker.moves[0].nudge.n_moved());
    let seconds = times.iteration.as_secs_f64();
    let gflops = flops as f64 / seconds / 1e9;
    Ok(json!({
        "iteration_ms": ms(times.iteration),
        "parts_ms": times.parts_ms(),
        "flops": flops,
        "gflops": gflops,
        "peak_gflops": peak,
        "share_of_peak": gflops / peak,
        "bytes": bytes,
        "gigabytes": bytes as f64 / seconds / 1e9,
        "cache_gigabytes": bandwidth::gigabytes(recurrent(config) * size_of::<f16>()),
        "memory_gigabytes": bandwidth::gigabytes(MEMORY),
    }))
}

/// The network with random weights.
pub(crate) fn model() -> Result<Net> {
    let net = network();
    let weights = loud_weights(&net);
    Ok(Trained::new(Tagging { net, tags: tags()? }, weights))
}

fn network() -> LstmTagger<Case> {
    LstmTagger::new(TaggerConfig {
        words: 10_000,
        embedding: 100,
        vectors: 0,
        vector_size: 0,
        dense: 0,
        lemmas: 0,
        lemma_embedding: 0,
        indicator: 100,
        tags: 1 + 2 * ROLES,
        cell: CellKind::Highway,
        reading: Reading::Alternating,
        layers: 8,
        hidden: 300,
        input_dropout: 0.0,
        recurrent_dropout: 0.0,
        dropout: 0.0,
    })
}

fn loud_weights(net: &LstmTagger<Case>) -> Vec<f32> {
    let mut weights = net.layout().initial(SEED);
    for entry in net.layout().entries() {
        let values = &mut weights[entry.param.range()];
        match entry.name.as_str() {
            "output.w" => values.iter_mut().for_each(|v| *v *= 2.0),
            "output.b" => values[0] = 6.0,
            name if name.ends_with(".w_x") => values.iter_mut().for_each(|v| *v *= 1.8),
            name if name.starts_with("input.") => values.iter_mut().for_each(|v| *v *= 10.0),
            _ => {}
        }
    }
    rounded(weights)
}

/// `O`, and `B-` and `I-` of every role in turn.
fn tags() -> Result<TagSet> {
    let spans = (0..ROLES).flat_map(|role| ["B", "I"].map(|tag| format!("{tag}-{role}")));
    Ok(TagSet::new(std::iter::once("O".to_owned()).chain(spans))?)
}

pub(crate) fn cases(n: usize) -> Vec<Case> {
    let random = &mut Random::new(SEED);
    let mut draw = || {
        let words = (0..TOKENS).map(|_| random.below(10_000) as Symbol);
        let tokens = words.map(|word| Token { word, vector: 0 }).collect();
        let predicate = random.below(TOKENS);
        let features = Features { tokens, predicate, ..Features::default() };
        let mut spans = Vec::new();
        split(random, 0, TOKENS, &mut spans);
        Case { features, brackets: spans.into_iter().collect() }
    };
    (0..n).map(|_| draw()).collect()
}

/// A random binary tree over `start..end`, without its leaves.
fn split(random: &mut Random, start: usize, end: usize, spans: &mut Vec<(usize, usize)>) {
    if end - start < 2 {
        return;
    }
    spans.push((start, end));
    let middle = start + 1 + random.below(end - start - 1);
    split(random, start, middle, spans);
    split(random, middle, end, spans);
}

/// What one iteration cannot do without.
struct Work {
    /// Floating-point operations. Two per weight and row of every product, forward; as many again
    /// for the step, which adds the products of a gradient to the weights, and for the gradient of
    /// what they were multiplied with. Squashing functions come on top and are not counted, nor is
    /// the norm.
    flops: usize,
    /// Bytes of weights that pass through the core, if it holds no matrix while it works on another
    /// step. Recurrent ones are rounded to half precision, and read so at every step in both
    /// directions; all others are read once in each. The step reads and writes all that move.
    bytes: usize,
}

/// `moved` weights being moved.
fn work(config: &TaggerConfig, moved: usize) -> Work {
    let &TaggerConfig { embedding, indicator, hidden: h, layers, tags, .. } = config;
    let inputs = (embedding + indicator + (layers - 1) * h) * 6 * h;
    let (recurrent, output) = (layers * recurrent(config), h * tags);
    // Before the first token the state is zero.
    let products = TOKENS * (inputs + output) + (TOKENS - 1) * recurrent;
    let single = 2 * (inputs + output) + recurrent + 2 * moved;
    let half = recurrent + 2 * (TOKENS - 1) * recurrent;
    Work { flops: 3 * 2 * products, bytes: 4 * single + 2 * half }
}

/// Weights of one layer that are read at every step.
fn recurrent(config: &TaggerConfig) -> usize {
    config.hidden * 5 * config.hidden
}
