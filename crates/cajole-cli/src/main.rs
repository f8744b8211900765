//! The command line of cajole: one file per command, no numerics.

mod args;
mod compare;
mod eval;
mod evalb;
mod explain;
mod generate;
mod import;
mod infer;
mod lines;
mod lint;
mod model;
mod parse;
mod reproduce;
mod ruled;
mod screen;
mod settings;
mod srl_eval;
mod tag;
mod train;

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            screen::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(threads) = args.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build_global()
            .with_context(|| format!("cannot start {threads} threads"))?;
    }
    match &args.command {
        Command::Reproduce(what) => reproduce::run(what, args),
        Command::Train(what) => train::run(what, args),
        Command::Eval(what) => eval::run(what, args),
        Command::Explain(what) => explain::run(what, args),
        Command::Parse(what) => parse::run(what, args),
        Command::Tag(what) => tag::run(what, args),
        Command::Infer(what) => infer::run(what, args),
        Command::Compare(what) => compare::run(what, args),
        Command::Lint(what) => lint::run(what, args),
        Command::Evalb(what) => evalb::run(what, args),
        Command::SrlEval(what) => srl_eval::run(what, args),
        Command::Import(what) => import::run(what, args),
        Command::Generate(what) => generate::run(what),
    }
}

/// Whether the reader of our output has gone away, which is its right.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
