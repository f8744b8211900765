//! Tries the program of a checker before any work, so that a missing script is one error at once and
//! not one for each output.

use std::env;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::config::{CheckerConfig, Mode};
use super::process::{Limits, Process, Stdout};
use super::trouble::{Cause, Trouble};

/// How long a program has to show that it ends by itself. A good one waits for its first request,
/// so every run with a checker waits as long as this, once.
const TRIAL: Duration = Duration::from_millis(100);

/// Programs that have been tried by this process. A caller that compiles the same rules for every
/// few lines, as Python does, does not wait again.
static TRIED: Mutex<Vec<CheckerConfig>> = Mutex::new(Vec::new());

/// Starts the program of a checker and kills it again. It is asked nothing: a made-up output might
/// have effects. A program that is started for each output is only looked for.
///
/// # Errors
/// If it cannot be started, or ends at once.
pub(crate) fn try_program(config: &CheckerConfig) -> Result<(), Trouble> {
    let trouble = |cause, last_words| {
        Err(Trouble { program: config.program().to_owned(), cause, last_words })
    };
    if TRIED.lock().unwrap_or_else(PoisonError::into_inner).contains(config) {
        return Ok(());
    }
    if config.mode == Mode::ExitCode {
        return match is_missing(config.program()) {
            true => trouble(
                Cause::Start { error: "there is no such program".to_owned() },
                String::new(),
            ),
            false => Ok(()),
        };
    }
    let mut process = match Process::start(config.to_command(), Stdout::Replies, Limits::of(config))
    {
        Ok(process) => process,
        Err(cause) => return trouble(cause, String::new()),
    };
    if let Some(cause) = process.end_within(TRIAL) {
        return trouble(cause, process.last_words());
    }
    TRIED.lock().unwrap_or_else(PoisonError::into_inner).push(config.clone());
    Ok(())
}

/// Whether there is no program of this name, or at this path. Elsewhere than on Unix, names have
/// endings that the system adds, and only starting the program tells.
fn is_missing(program: &str) -> bool {
    if !cfg!(unix) {
        return false;
    }
    if program.contains('/') {
        return !Path::new(program).is_file();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    !env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
