//! cajole's half of the side-by-side timings; `bench/run` is the other half and calls this one.
//!
//! Each workload has two verbs. `prepare` leaves in a folder all that a rival needs to do the same
//! work and to show that it did: weights, inputs, outputs, gradients, repairs. `time` measures one
//! short round and prints it as JSON, so that a driver can interleave rounds of several programs
//! and take medians: on a machine that others use as well, only that can be compared.

mod bandwidth;
mod first_pass;
mod in_step;
mod iteration;
mod net1;
mod parsing;
mod peak;
mod tagger;
mod training;
mod transduction;
mod transformer;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Parser, ValueEnum};

/// Times gradient-based inference; see bench/README.md.
#[derive(Parser)]
struct Args {
    workload: Workload,
    verb: Verb,
    /// Where checkpoint and cases lie, for workloads that leave any.
    #[arg(long)]
    dir: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Workload {
    /// The paper's sequence transducer, greedy decoding, the count constraint.
    Transduction,
    /// The paper's parsing network, one iteration.
    Parsing,
    /// The paper's role labeler, one iteration.
    Tagger,
    /// The parsing network's first outputs for many inputs, batched and one by one.
    FirstPass,
    /// One iteration of the parsing network and of the role labeler: one input whose weights all
    /// move, and twenty in step that move only biases.
    InStep,
    /// Epochs of training the parsing network.
    Training,
    /// An encoder that tags and an encoder-decoder, one iteration of gains and biases.
    Transformer,
}

#[derive(Clone, Copy, ValueEnum)]
enum Verb {
    /// Make or train the network and export what a rival is checked with.
    Prepare,
    /// Measure one round.
    Time,
}

fn main() -> Result<()> {
    let Args { workload, verb, dir } = Args::parse();
    let report = match (workload, verb) {
        (Workload::Transduction, Verb::Prepare) => transduction::prepare(&dir)?,
        (Workload::Transduction, Verb::Time) => transduction::time(&dir)?,
        (Workload::Parsing, Verb::Prepare) => parsing::prepare(&dir)?,
        (Workload::Parsing, Verb::Time) => parsing::time()?,
        (Workload::Tagger, Verb::Prepare) => tagger::prepare(&dir)?,
        (Workload::Tagger, Verb::Time) => tagger::time(&dir)?,
        (Workload::FirstPass, Verb::Prepare) => first_pass::prepare()?,
        (Workload::FirstPass, Verb::Time) => first_pass::time()?,
        (Workload::InStep, Verb::Prepare) => in_step::prepare()?,
        (Workload::InStep, Verb::Time) => in_step::time()?,
        (Workload::Training, Verb::Prepare) => training::prepare(&dir)?,
        (Workload::Training, Verb::Time) => training::time()?,
        (Workload::Transformer, Verb::Prepare) => transformer::prepare(&dir)?,
        (Workload::Transformer, Verb::Time) => transformer::time(&dir)?,
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &report)?;
    writeln!(out)?;
    Ok(())
}

/// Calls `work` until `at_least` has passed; returns the time that it says it took per item.
///
/// `work` returns the items it did and the time to count, which leaves out what it had to do to
/// get ready. Rivals time the same way: all work over all time, so that an interruption weighs on
/// both alike, and the median over rounds takes it out.
fn per_item(at_least: Duration, mut work: impl FnMut() -> (usize, Duration)) -> Duration {
    work(); // caches and buffers fill
    let (mut items, mut total) = (0, Duration::ZERO);
    let start = Instant::now();
    while start.elapsed() < at_least {
        let (n, took) = work();
        items += n;
        total += took;
    }
    total / items as u32
}

/// A duration in milliseconds.
fn ms(duration: Duration) -> f64 {
    1e3 * duration.as_secs_f64()
}
