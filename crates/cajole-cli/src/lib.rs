//! The command line of cajole: one file per command, no numerics.
//!
//! To use all commands with tasks of your own, write a binary that calls [`main_with`] with a
//! [`Registry`] of these tasks. See `examples/own_task.rs`.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use cajole_infer::Registry;
//!
//! fn main() -> ExitCode {
//!     cajole_cli::main_with(Registry::standard())
//! }
//! ```

mod asking;
mod closed;
mod commands;
mod flags;
mod interrupt;
mod note;
mod output;
mod range;
mod screen;
mod settings;
mod source;
mod version;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use cajole_core::corpus::{be_the_pool, start_threads, usual_threads};
use cajole_files::Reads;
use cajole_infer::Registry;
use clap::Parser;

use commands::Args;
use interrupt::Interrupt;

/// What every command gets.
pub(crate) struct Session {
    /// The networks that can be opened.
    pub(crate) registry: Arc<Registry>,
    /// Whether to print JSON instead of text.
    pub(crate) json: bool,
    /// What to do when a signal arrives.
    pub(crate) interrupt: Interrupt,
}

/// Runs the command line, with the networks of this registry.
pub fn main_with(registry: Registry) -> ExitCode {
    if closed::was_closed() {
        let advice = "to print nothing, redirect it to /dev/null";
        screen::complain(&anyhow::anyhow!("standard output is closed; {advice}"));
        return ExitCode::FAILURE;
    }
    if version::is_asked_for(std::env::args_os().skip(1)) {
        return exit_code(version::print(std::env::args_os().any(|arg| arg == "--json")));
    }
    let args = Args::parse();
    let interrupt = Interrupt::watch().unwrap_or_default();
    let session = Session { registry: Arc::new(registry), json: args.json, interrupt };
    let ended = run(&args, &session);
    if let Some(code) = session.interrupt.exit_code() {
        session.interrupt.tell();
        return ExitCode::from(code);
    }
    exit_code(ended)
}

/// How the process ends: an error is reported.
fn exit_code(ended: anyhow::Result<()>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            screen::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args, session: &Session) -> anyhow::Result<()> {
    let started = start_threads(args.threads.unwrap_or_else(usual_threads));
    match args.threads {
        Some(threads) if started < threads => bail!(
            "cannot start {threads} threads, the system grants {started}: give a smaller number, or \
             none to use what there is"
        ),
        _ if started == 0 => be_the_pool(),
        _ => {}
    }
    // What the command reads is noted, so that it never writes there.
    Reads::during(|| args.command.run(session)).0
}

/// Whether the reader of our output has gone away, which is its right.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
