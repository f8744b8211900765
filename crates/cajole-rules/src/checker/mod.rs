//! Any program can judge outputs: a compiler, a query parser, a script.
//!
//! A persistent checker reads one line of JSON per output and replies with one:
//!
//! ```text
//! {"id": 7, "input": <as in the file>, "output": "<text>", "symbols": ["…", …]}
//! {"loss": 1.5, "parts": [{"start": 2, "end": 3, "cost": 1.0, "message": "…"}], "message": "…"}
//! ```
//!
//! Only `loss` is required. Positions are symbol indices; the one after the last is the end symbol.
//! If the network writes text, `symbols` are its characters, and positions count these. A checker
//! that echoes the `id` is protected against stray lines being taken for replies. A checker that is
//! started for each output just exits, with 0 if the output is valid.
//!
//! Verdicts must depend on the request alone, not on earlier requests: they are cached, and each
//! thread asks a process of its own. Failures are cached as well, as [`Trouble`] with one output,
//! and that output counts as unmeasured.

mod cache;
mod config;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "elsewhere.rs")]
mod os;
mod process;
mod reply;
mod tail;
mod trouble;

use std::borrow::Cow;
use std::fmt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cajole_core::{Constraint, Fault, Symbol, Violation};
use serde::Serialize;
use serde_json::Value;

pub use config::{CheckerConfig, CheckerError, Mode, Pass};
pub use process::kill_checkers;
pub use reply::{Reply, ReplyError, Verdict, parse_reply};
pub use trouble::{Cause, Trouble};

use crate::{Subject, Vocabulary};
use cache::Cache;
use process::{Limits, Process, Stdout};
use trouble::excerpt;

/// The result of asking a checker about an output.
pub type Judgement = Result<Verdict, Trouble>;

/// A program as a constraint.
pub struct Checker<'v> {
    config: CheckerConfig,
    vocabulary: &'v Vocabulary,
    /// Processes that have replied and wait for the next request.
    idle: Mutex<Vec<Process>>,
    judgements: Mutex<Cache>,
    n_requests: AtomicU64,
}

impl<'v> Checker<'v> {
    /// A checker of outputs over this vocabulary. No process is started before the first output.
    ///
    /// # Errors
    /// If the settings are not valid.
    pub fn new(config: CheckerConfig, vocabulary: &'v Vocabulary) -> Result<Self, CheckerError> {
        config.validate()?;
        Ok(Checker {
            judgements: Mutex::new(Cache::new(config.cache)),
            config,
            vocabulary,
            idle: Mutex::default(),
            n_requests: AtomicU64::new(0),
        })
    }

    /// The program's judgement of `y`, possibly cached.
    pub fn judge(&self, x: &Subject, y: &[Symbol]) -> Arc<Judgement> {
        let request = self.request(x, y);
        if let Some(judgement) = lock(&self.judgements).get(&request) {
            return judgement;
        }
        let judgement = match self.config.mode {
            Mode::Lines => self.ask(&request, self.n_positions(y)),
            Mode::ExitCode => self.run(&request, x, y),
        };
        lock(&self.judgements).keep(&request, judgement)
    }

    /// Everything a judgement may depend on, as a line without the request id.
    fn request(&self, x: &Subject, y: &[Symbol]) -> String {
        let output = self.vocabulary.text(y);
        let symbols = match self.vocabulary.is_text() {
            true => output.char_indices().map(|(at, c)| &output[at..at + c.len_utf8()]).collect(),
            false => y.iter().map(|&symbol| self.vocabulary.name(symbol)).collect(),
        };
        let request = Request { input: &x.value(), output: &output, symbols };
        // Strings and values read from JSON can always be serialized as JSON.
        serde_json::to_string(&request).unwrap_or_default()
    }

    /// How many positions a reply may name, without the end.
    fn n_positions(&self, y: &[Symbol]) -> usize {
        match self.vocabulary.is_text() {
            true => self.vocabulary.text(y).chars().count(),
            false => y.len(),
        }
    }

    /// A verdict with positions of `y`: replies about a text count its characters.
    fn located<'j>(&self, verdict: &'j Verdict, y: &[Symbol]) -> Cow<'j, Verdict> {
        if !self.vocabulary.is_text() || verdict.parts.is_empty() {
            return Cow::Borrowed(verdict);
        }
        let text = self.vocabulary.written(y);
        let len = text.as_str().len();
        let starts: Vec<usize> = text.as_str().char_indices().map(|(at, _)| at).collect();
        let byte = |character: usize| starts.get(character).copied().unwrap_or(len);
        let part = |fault: &Fault| {
            let end = byte(fault.at.end) + usize::from(starts.len() < fault.at.end);
            Fault { at: text.symbols(&(byte(fault.at.start)..end)), ..fault.clone() }
        };
        Cow::Owned(Verdict { parts: verdict.parts.iter().map(part).collect(), ..verdict.clone() })
    }

    /// Asks an idle process, or else a new one.
    ///
    /// An idle process that is gone says nothing about this request: it may reply only a limited
    /// number of times. So a new process is asked before trouble is reported, and the result does
    /// not depend on earlier requests.
    fn ask(&self, request: &str, n_symbols: usize) -> Judgement {
        let waiting = lock(&self.idle).pop();
        if let Some(process) = waiting {
            let judgement = self.ask_process(process, request, n_symbols);
            let is_gone =
                |trouble: &Trouble| matches!(trouble.cause, Cause::Exited { .. } | Cause::Closed);
            if !judgement.as_ref().is_err_and(is_gone) {
                return judgement;
            }
        }
        let process = self.start(self.command(), Stdout::Replies)?;
        self.ask_process(process, request, n_symbols)
    }

    /// Asks one process, and keeps it if its reply is valid.
    fn ask_process(&self, mut process: Process, request: &str, n_symbols: usize) -> Judgement {
        let id = self.n_requests.fetch_add(1, Ordering::Relaxed);
        let line = format!("{{\"id\":{id},{}\n", request.trim_start_matches('{'));
        let reply = process.exchange(line.into_bytes()).and_then(|line| {
            let text = || excerpt(&line);
            match parse_reply(&line, n_symbols) {
                Ok(reply) if reply.id.as_ref().is_none_or(|of| *of == id) => Ok(reply.verdict),
                Ok(_) => Err(Cause::Unasked { line: text() }),
                Err(error) => Err(Cause::Reply { line: text(), error }),
            }
        });
        match reply {
            Ok(verdict) => {
                lock(&self.idle).push(process);
                Ok(verdict)
            }
            Err(cause) => Err(self.trouble(cause, process.last_words())),
        }
    }

    /// Starts a process for one output and interprets its exit status.
    fn run(&self, request: &str, x: &Subject, y: &[Symbol]) -> Judgement {
        let mut command = self.command();
        let input = match self.config.pass {
            Pass::Text => {
                let value = x.value();
                let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                command.env("CAJOLE_INPUT", written);
                self.vocabulary.text(y)
            }
            Pass::Json => format!("{request}\n"),
        };
        let mut process = self.start(command, Stdout::Tail)?;
        let status = process.run(input.into_bytes());
        let last_words = process.last_words();
        match status.map(|status| (status.code(), status)) {
            Ok((Some(0), _)) => Ok(Verdict::default()),
            Ok((Some(code), _)) if last_words.is_empty() => {
                Ok(Verdict::rejection(format!("exit code {code}")))
            }
            Ok((Some(_), _)) => Ok(Verdict::rejection(last_words)),
            Ok((None, status)) => {
                Err(self.trouble(Cause::Killed { status: status.to_string() }, last_words))
            }
            Err(cause) => Err(self.trouble(cause, last_words)),
        }
    }

    fn command(&self) -> Command {
        let (program, arguments) = self.config.command.split_first().unzip();
        let mut command = Command::new(program.map_or("", String::as_str));
        command.args(arguments.unwrap_or_default());
        command
    }

    fn start(&self, command: Command, stdout: Stdout) -> Result<Process, Trouble> {
        let limits = Limits { timeout: self.config.timeout(), bytes: self.config.max_reply_bytes };
        Process::start(command, stdout, limits).map_err(|cause| self.trouble(cause, String::new()))
    }

    fn trouble(&self, cause: Cause, last_words: String) -> Trouble {
        Trouble { program: self.program().to_owned(), cause, last_words }
    }

    fn program(&self) -> &str {
        self.config.command.first().map_or("", String::as_str)
    }
}

impl Constraint<Subject> for Checker<'_> {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        match self.judge(x, y).as_ref() {
            Ok(verdict) => self.located(verdict, y).violation(),
            Err(_) => Violation::Whole(f32::NAN),
        }
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        match self.judge(x, y).as_ref() {
            Ok(verdict) => {
                let unsaid = format!("the checker {:?} objects", self.program());
                self.located(verdict, y).faults(self.vocabulary, y, &unsaid)
            }
            Err(trouble) => {
                let at = 0..y.len() + 1;
                vec![Fault { at, cost: f32::NAN, message: trouble.to_string() }]
            }
        }
    }
}

impl fmt::Debug for Checker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("config", &self.config).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Request<'a> {
    input: &'a Value,
    output: &'a str,
    symbols: Vec<&'a str>,
}

/// The data is consistent between any two statements, so a poisoned lock is safe to use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
