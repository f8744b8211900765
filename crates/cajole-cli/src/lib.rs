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
mod commands;
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

use anyhow::Context;
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
    if version::is_asked_for(std::env::args_os().skip(1)) {
        return match version::print(std::env::args_os().any(|arg| arg == "--json")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
            Err(error) => {
                screen::complain(&error);
                ExitCode::FAILURE
            }
        };
    }
    let args = Args::parse();
    let interrupt = Interrupt::watch().unwrap_or_default();
    let session = Session { registry: Arc::new(registry), json: args.json, interrupt };
    let ended = run(&args, &session);
    if let Some(code) = session.interrupt.exit_code() {
        session.interrupt.tell();
        return ExitCode::from(code);
    }
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
    if let Some(threads) = args.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .with_context(|| format!("cannot start {threads} threads"))?;
    }
    args.command.run(session)
}

/// Whether the reader of our output has gone away, which is its right.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
