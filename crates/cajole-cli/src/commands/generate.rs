//! `cajole generate`: data to try things out with.

use std::io::{BufWriter, Write, stdout};

use cajole_nn::settings::MOST_SIZE;
use cajole_tasks::pairs::generated::{Operands, Split, generate};
use serde_json::json;

use crate::Session;
use crate::range::within;

/// Write data to try things out with, as JSON Lines
#[derive(clap::Args, Debug)]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) what: Kind,
}

#[derive(clap::Subcommand, Debug)]
pub(crate) enum Kind {
    /// Arithmetic expressions, and where their brackets go: pairs for `cajole train pairs`
    ///
    ///     {"id":"train-1-0","input":"a + b * c - d","output":"( ( a + ( b * c ) ) - d )"}
    ///
    /// No split shares an expression with another. A network that was trained on short ones can be
    /// tried on longer ones, where it errs now and then:
    ///
    ///     cajole generate expressions --operands 2..=8 > train.jsonl
    ///     cajole generate expressions --operands 2..=8 --split dev --n 500 > dev.jsonl
    ///     cajole generate expressions --operands 9..=12 --split test --n 500 > test.jsonl
    ///     cajole train pairs --train train.jsonl --dev dev.jsonl --out runs/expressions
    #[command(verbatim_doc_comment)]
    Expressions(Expressions),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Expressions {
    /// How many pairs
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = within(0, MOST_SIZE))]
    pub(crate) n: usize,

    /// How many operands expressions have: a number, or a range of them
    #[arg(long, value_name = "RANGE", default_value = "2..=8")]
    pub(crate) operands: Operands,

    /// Which of the expressions
    #[arg(long, value_enum, default_value_t = PairsSplit::Train)]
    pub(crate) split: PairsSplit,

    /// The seed they are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairsSplit {
    /// Eight of ten
    Train,
    /// One of ten
    Dev,
    /// One of ten
    Test,
}

pub(crate) fn run(what: &Generate, _: &Session) -> anyhow::Result<()> {
    match &what.what {
        Kind::Expressions(what) => expressions(what),
    }
}

fn expressions(what: &Expressions) -> anyhow::Result<()> {
    let Expressions { n, operands, split, seed } = what;
    let (split, name) = match split {
        PairsSplit::Train => (Split::Train, "train"),
        PairsSplit::Dev => (Split::Dev, "dev"),
        PairsSplit::Test => (Split::Test, "test"),
    };
    let mut out = BufWriter::new(stdout().lock());
    for (i, pair) in generate(split, *n, operands, *seed).enumerate() {
        let (id, input) = (format!("{name}-{seed}-{i}"), pair.input.join(" "));
        let line = json!({"id": id, "input": input, "output": pair.output.join(" ")});
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}
