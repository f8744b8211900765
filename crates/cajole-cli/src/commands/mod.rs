//! The commands. Each is a file with its flags, its help and its `run`; here they are registered.

mod compare;
mod eval;
mod evalb;
mod explain;
mod generate;
mod import;
mod infer;
mod lint;
mod parse;
mod reproduce;
mod serve;
mod srl_eval;
mod tag;
mod train;

use clap::{Parser, Subcommand};

use crate::Session;
use crate::flags;

/// Make a trained network's output obey hard constraints, without retraining.
///
/// cajole decodes with the network's own decoder and measures how far the output violates the
/// constraints. If it does, cajole nudges a private copy of the weights so that this output becomes
/// less probable, decodes again, and repeats until the constraints hold.
///
/// Start with `cajole reproduce transduction`, then `cajole explain` to watch single inputs.
/// `cajole --version --verbose` lists what this build has, and the licences of what is in it.
#[derive(Parser, Debug)]
#[command(name = "cajole", version, max_term_width = 100)]
pub(crate) struct Args {
    #[arg(
        long,
        global = true,
        value_name = "N",
        help = flags::help_of("threads"),
        value_parser = flags::parser_of("threads")
    )]
    pub(crate) threads: Option<usize>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Reproduce(reproduce::Reproduce),
    Train(train::Train),
    Eval(eval::Eval),
    Explain(explain::Explain),
    Parse(parse::Parse),
    Tag(tag::Tag),
    Infer(Box<infer::Infer>),
    Compare(compare::Compare),
    Lint(lint::Lint),
    Serve(serve::Serve),
    Evalb(evalb::Evalb),
    SrlEval(srl_eval::SrlEval),
    Import(import::Import),
    Generate(generate::Generate),
}

impl Command {
    pub(crate) fn run(&self, session: &Session) -> anyhow::Result<()> {
        match self {
            Command::Reproduce(what) => reproduce::run(what, session),
            Command::Train(what) => train::run(what, session),
            Command::Eval(what) => eval::run(what, session),
            Command::Explain(what) => explain::run(what, session),
            Command::Parse(what) => parse::run(what, session),
            Command::Tag(what) => tag::run(what, session),
            Command::Infer(what) => infer::run(what, session),
            Command::Compare(what) => compare::run(what, session),
            Command::Lint(what) => lint::run(what, session),
            Command::Serve(what) => serve::run(what, session),
            Command::Evalb(what) => evalb::run(what, session),
            Command::SrlEval(what) => srl_eval::run(what, session),
            Command::Import(what) => import::run(what, session),
            Command::Generate(what) => generate::run(what, session),
        }
    }
}
