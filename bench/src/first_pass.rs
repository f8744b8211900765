//! First outputs of many inputs under the same weights: in batches, and one by one, on one thread.
//!
//! This is how far batching gets where all share `W`. Inputs have the lengths of sentences, and
//! outputs end at different lengths, so batches shrink as they do on real data.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cajole_core::decoders::{Beam, Greedy};
use cajole_core::{Decoder, Found, Pass, Workspace};
use cajole_nn::Trained;
use cajole_nn::models::Token;
use cajole_nn::random::Random;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Value, json};

use crate::iteration::rounded;
use crate::net1::{Net1, sentence_length};
use crate::{ms, per_item};

/// Enough that inputs of one batch are of like length.
const SENTENCES: usize = 1024;

/// The width of the parser's beam, as users get it.
const WIDTH: usize = 5;

type Net = Trained<Net1>;

/// Checks that both ways find the same outputs.
pub(crate) fn prepare() -> Result<Value> {
    let (model, sentences) = setting();
    let refs: Vec<&[Token]> = sentences.iter().map(Vec::as_slice).collect();
    let batched = model.decode_all(&Greedy, &refs);
    let mut workspace = Workspace::new(&model);
    for (i, x) in refs.iter().enumerate() {
        let found = workspace.decode(&model, &Greedy, x)?;
        let alone = found.best().map(|y| &y.output);
        ensure!(
            alone == Some(&batched[i].output),
            "sentence {i} is decoded differently in a batch"
        );
    }
    let total = |lengths: &mut dyn Iterator<Item = usize>| lengths.sum::<usize>();
    let n = sentences.len() as f64;
    Ok(json!({
        "sentences": sentences.len(),
        "mean_tokens": total(&mut refs.iter().map(|x| x.len())) as f64 / n,
        "mean_symbols": total(&mut batched.iter().map(|y| y.output.len())) as f64 / n,
    }))
}

/// One round: time per sentence, either way; of the same network in half precision; and of its beam.
pub(crate) fn time() -> Result<Value> {
    let (model, sentences) = setting();
    let refs: Vec<&[Token]> = sentences.iter().map(Vec::as_slice).collect();
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    let [alone, batched] = times(&model, &Greedy, &refs, &pool);
    let rounded = rounded(model.weights().to_vec());
    let rounded = Trained::new(model.net, rounded);
    let [half_alone, half_batched] = times(&rounded, &Greedy, &refs, &pool);
    let few = &refs[..SENTENCES / WIDTH];
    let [beam_alone, beam_batched] = times(&rounded, &Beam::of(WIDTH), few, &pool);
    Ok(json!({
        "alone_ms": ms(alone),
        "batched_ms": ms(batched),
        "half_alone_ms": ms(half_alone),
        "half_batched_ms": ms(half_batched),
        "beam_alone_ms": ms(beam_alone),
        "beam_batched_ms": ms(beam_batched),
    }))
}

/// Per sentence: one by one, and in batches.
fn times(
    model: &Net,
    decoder: &dyn Decoder<Net>,
    refs: &[&[Token]],
    pool: &ThreadPool,
) -> [Duration; 2] {
    let (mut workspace, mut found) = (Workspace::new(model), [Found::default()]);
    let alone = per_item(Duration::from_millis(500), || {
        let start = Instant::now();
        for &x in refs {
            let mut session = workspace.session(model);
            decoder.skim(&mut session, &[Pass::base(x)], &mut found).expect("the CPU decodes");
        }
        (refs.len(), start.elapsed())
    });
    let batched = per_item(Duration::from_millis(500), || {
        let start = Instant::now();
        let decoded = pool.install(|| model.decode_all(decoder, refs));
        (decoded.len(), start.elapsed())
    });
    [alone, batched]
}

/// The network, and sentences whose outputs have 2.6 to 4.6 symbols per token.
fn setting() -> (Net, Vec<Vec<Token>>) {
    // The first word decides where an output ends, for want of a trained network that would.
    let net = Net1::new(0.0, |x| x.len() * (26 + x[0].word as usize % 21) / 10);
    let weights = net.babbling_weights();
    let random = &mut Random::new(2);
    let sentences = (0..SENTENCES).map(|_| {
        let n = sentence_length(random);
        net.input(random, n)
    });
    let sentences = sentences.collect();
    (Trained::new(net, weights), sentences)
}
