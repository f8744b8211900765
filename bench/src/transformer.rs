//! Two transformers from Hugging Face folders: an encoder of six layers of 384 that tags, and an
//! encoder-decoder of three and three layers of 256 that reads 25 symbols and writes 80.
//!
//! Only gains and biases move. `bench/transformer.py` makes the folders, with random weights: times
//! depend on lengths alone. The writer's outputs never end before the limit.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use cajole_core::constraints::TagSet;
use cajole_core::decoders::Greedy;
use cajole_core::decoders::tags::{Tagged, Viterbi};
use cajole_core::{Decoder, Model, Moving, StepRule, Symbol};
use cajole_nn::import::huggingface::Folder;
use cajole_nn::models::Token;
use cajole_nn::models::transformer::{
    EncoderDecoder, EncoderDecoderConfig, EncoderTagger, EncoderTaggerConfig, Pieces, StackConfig,
};
use cajole_nn::{Network, Nudge, Tagging, Trained};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::iteration::{Iteration, Worker};
use crate::{ms, peak};

/// How far a step goes. Its time does not depend on it.
const STEP_SIZE: f32 = 1e-2;
const RULE: StepRule = StepRule::UnitNorm { growth: 1.0, cap: 1.0 };
const VECTORS: &[&str] = &[Moving::VECTORS];
/// Inputs in step.
const TOGETHER: usize = 32;
/// How long each measurement takes.
const BUDGET: Duration = Duration::from_millis(700);

/// What the script leaves beside the folders.
#[derive(Deserialize)]
struct Cases {
    tagger: Vec<Vec<Symbol>>,
    writer: Vec<Vec<Symbol>>,
    /// Symbols that the writer writes.
    cap: usize,
}

/// The networks and their inputs.
struct Networks {
    tagger: Trained<Tagging<EncoderTagger>>,
    sentences: Vec<Pieces>,
    writer: Trained<EncoderDecoder>,
    sources: Vec<Vec<Token>>,
}

impl Networks {
    fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("cases.json");
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let cases: Cases = serde_json::from_slice(&bytes)?;
        let tagger = Folder::open(&dir.join("tagger"))?.tagger()?;
        let net = Tagging { net: tagger.net, tags: TagSet::new(tagger.labels)? };
        let (mut writer, weights) = Folder::open(&dir.join("writer"))?.encoder_decoder()?;
        writer.config.cap = cases.cap;
        let firsts = |n: usize| (0..n as u32).collect();
        let tokens = |x: Vec<Symbol>| x.into_iter().map(Token::from).collect();
        let pieces = |x: Vec<Symbol>| Pieces { firsts: firsts(x.len()), pieces: x, marked: None };
        Ok(Networks {
            tagger: Trained::new(net, tagger.weights),
            sentences: cases.tagger.into_iter().map(pieces).collect(),
            writer: Trained::new(writer, weights),
            sources: cases.writer.into_iter().map(tokens).collect(),
        })
    }

    fn viterbi(&self) -> Tagged<'_, Viterbi> {
        Tagged::viterbi(&self.tagger.net.tags)
    }
}

/// Everything violates, all positions alike.
fn everything<X: ?Sized>(_: &X, _: &[Symbol]) -> f32 {
    1.0
}

fn iteration<'a, M: Model>(
    model: &'a M,
    decoder: &'a dyn Decoder<M>,
    in_step: usize,
) -> Iteration<'a, M>
where
    M::Input: 'a,
{
    let constraint: &'a dyn cajole_core::Constraint<M::Input> = &everything::<M::Input>;
    Iteration {
        model,
        decoder,
        constraint,
        rule: RULE,
        step_size: STEP_SIZE,
        moves: VECTORS,
        in_step,
    }
}

/// Outputs before and after a step, for the script to compare.
pub(crate) fn prepare(dir: &Path) -> Result<Value> {
    let nets = Networks::open(dir)?;
    let viterbi = nets.viterbi();
    let tagged = outputs(&nets.tagger, &viterbi, nets.sentences.iter());
    let written = outputs(&nets.writer, &Greedy, nets.sources.iter().map(Vec::as_slice));
    Ok(json!({ "step_size": STEP_SIZE, "tagger": tagged, "writer": written }))
}

fn outputs<'x, N: Network>(
    model: &Trained<N>,
    decoder: &dyn Decoder<Trained<N>>,
    xs: impl Iterator<Item = &'x N::Input>,
) -> Vec<Value>
where
    N::Input: 'x,
    Trained<N>: Model<Input = N::Input, Nudge = Nudge>,
{
    let mut worker = Worker::new(iteration(model, decoder, 1));
    let each = xs.take(8).map(|x| {
        worker.decode(&[x]);
        worker.differentiate(&[x]);
        let found = worker.found[0].best().cloned().unwrap_or_default();
        json!({
            "output": found.output,
            "log_prob": found.log_prob,
            "norm": worker.moves[0].norm,
            "after": worker.after_a_step(x),
        })
    });
    each.collect()
}

/// One round: an iteration of each, alone and in step.
pub(crate) fn time(dir: &Path) -> Result<Value> {
    let nets = Networks::open(dir)?;
    let (viterbi, peak) = (nets.viterbi(), peak::gflops());
    let (n_read, n_source) = (nets.sentences[0].pieces.len(), nets.sources[0].len());
    let tagger = of(&nets.tagger, &viterbi, &nets.sentences);
    let writer = of(&nets.writer, &Greedy, &nets.sources);
    let flops = [
        tagger_flops(&nets.tagger.net.net.config, n_read),
        writer_flops(&nets.writer.net.config, n_source),
    ];
    let share = |flops: f64, alone: &Value| flops / (1e6 * alone.as_f64().unwrap_or(0.0)) / peak;
    Ok(json!({
        "peak_gflops": peak,
        "tagger_share_of_peak": share(flops[0], &tagger["alone_ms"]),
        "writer_share_of_peak": share(flops[1], &writer["alone_ms"]),
        "tagger_in_step_share_of_peak": share(flops[0], &tagger["in_step_ms"]),
        "writer_in_step_share_of_peak": share(flops[1], &writer["in_step_ms"]),
        "tagger": tagger,
        "writer": writer,
    }))
}

fn of<M: Model, X: std::borrow::Borrow<M::Input>>(
    model: &M,
    decoder: &dyn Decoder<M>,
    xs: &[X],
) -> Value {
    let alone = Worker::new(iteration(model, decoder, 1)).times(&xs[..8], BUDGET);
    let in_step = Worker::new(iteration(model, decoder, TOGETHER)).times(xs, BUDGET);
    json!({
        "alone_ms": ms(alone.iteration),
        "parts_ms": alone.parts_ms(),
        "in_step_ms": ms(in_step.iteration),
        "in_step_parts_ms": in_step.parts_ms(),
    })
}

/// Multiply-adds of one row through a layer, attention to itself not counted.
fn per_row(stack: &StackConfig, is_decoder: bool) -> usize {
    let inner = stack.heads * stack.head_size;
    let attention = 4 * stack.width * inner + if is_decoder { 2 * stack.width * inner } else { 0 };
    attention + 2 * stack.width * stack.inner
}

/// Operations of an iteration: once forward and once back, two for each multiply-add.
fn tagger_flops(config: &EncoderTaggerConfig, n: usize) -> f64 {
    let stack = &config.stack;
    let attention = 2 * n * n * stack.width;
    (4 * stack.layers * (n * per_row(stack, false) + attention)) as f64
}

/// The same for a writer, which decodes, and is then forced over its output and back.
fn writer_flops(config: &EncoderDecoderConfig, n: usize) -> f64 {
    let (encoder, decoder) = (&config.encoder, &config.decoder);
    let attention = 2 * n * n * encoder.width;
    let memory = n * decoder.layers * 2 * encoder.width * decoder.width;
    let read = encoder.layers * (n * per_row(encoder, false) + attention) + memory;
    let attention = decoder.layers * (config.cap * config.cap + 2 * config.cap * n) * decoder.width;
    let scores = config.cap * decoder.width * config.writes.symbols;
    let written = decoder.layers * config.cap * per_row(decoder, true) + attention + scores;
    (4 * read + 6 * written) as f64
}
