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
//! If the network writes text, `symbols` are its characters, and positions count these. If a
//! checker sends the `id` back, all lines that do not answer the request are skipped; if it does
//! not, every line it writes counts as a reply. A checker that is started for each output just
//! exits, with 0 if the output is valid.
//!
//! Verdicts must depend on the request alone, not on earlier requests: they are cached, and each
//! thread asks a process of its own. Failures are cached as well, as [`Trouble`] with one output,
//! and that output counts as unmeasured. A program that ends before it is asked anything is not
//! started again for every output: its first failure stands for all.

mod cache;
mod config;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "elsewhere.rs")]
mod os;
mod process;
mod reply;
mod tail;
mod trial;
mod trouble;

use std::borrow::Cow;
use std::fmt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cajole_core::{Constraint, Fault, Symbol, Violation};
use serde::Serialize;
use serde_json::Value;

pub use config::{CheckerConfig, CheckerError, Mode, Pass};
pub use process::kill_checkers;
pub use reply::{Reply, ReplyError, Verdict, parse_reply};
pub(crate) use trial::try_program;
pub use trouble::{Cause, Trouble};

use crate::{Subject, Vocabulary};
use cache::Cache;
use process::{Limits, Process, Stdout};
use reply::id_of;
use trouble::excerpt;

/// How long to wait at least for a program to end that is asked nothing.
const UNASKED: Duration = Duration::from_secs(1);

/// The result of asking a checker about an output.
pub type Judgement = Result<Verdict, Trouble>;

/// A program as a constraint.
pub struct Checker {
    config: CheckerConfig,
    vocabulary: Arc<Vocabulary>,
    /// Processes that have replied and wait for the next request.
    idle: Mutex<Vec<Process>>,
    judgements: Mutex<Cache>,
    n_requests: AtomicU64,
    /// Whether its replies have ids, as the first of them says.
    has_ids: OnceLock<bool>,
    /// Why it never gives a verdict, if it ends before it is asked; known once it has ended.
    dead: OnceLock<Option<Trouble>>,
}

impl Checker {
    /// A checker of outputs over this vocabulary. No process is started before the first output.
    ///
    /// # Errors
    /// If the settings are not valid.
    pub fn new(config: CheckerConfig, vocabulary: &Arc<Vocabulary>) -> Result<Self, CheckerError> {
        config.validate()?;
        Ok(Checker {
            judgements: Mutex::new(Cache::new(config.cache)),
            config,
            vocabulary: Arc::clone(vocabulary),
            idle: Mutex::default(),
            n_requests: AtomicU64::new(0),
            has_ids: OnceLock::new(),
            dead: OnceLock::new(),
        })
    }

    /// The program's judgement of `y`, possibly cached.
    pub fn judge(&self, x: &Subject, y: &[Symbol]) -> Arc<Judgement> {
        if let Some(Some(trouble)) = self.dead.get() {
            return Arc::new(Err(trouble.clone()));
        }
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
        let started = Instant::now();
        let process = self.start(self.command(), Stdout::Replies)?;
        let judgement = self.ask_process(process, request, n_symbols);
        if let Err(Trouble { cause: Cause::Exited { .. }, .. }) = &judgement
            && self.has_ids.get().is_none()
        {
            // Is it this request, or would it have ended anyway?
            let most = (2 * started.elapsed()).max(UNASKED);
            if let Some(trouble) = self.dead.get_or_init(|| self.ends_unasked(most)) {
                return Err(trouble.clone());
            }
        }
        judgement
    }

    /// Why the program ends within this time although it is asked nothing, if it does.
    fn ends_unasked(&self, most: Duration) -> Option<Trouble> {
        let mut process = self.start(self.command(), Stdout::Replies).ok()?;
        let cause = process.end_within(most)?;
        Some(self.trouble(cause, process.last_words()))
    }

    /// Asks one process, and keeps it if its reply is valid.
    fn ask_process(&self, mut process: Process, request: &str, n_symbols: usize) -> Judgement {
        let id = self.n_requests.fetch_add(1, Ordering::Relaxed);
        let line = format!("{{\"id\":{id},{}\n", request.trim_start_matches('{'));
        match self.reply(&mut process, id, line, n_symbols) {
            Ok(verdict) => {
                lock(&self.idle).push(process);
                Ok(verdict)
            }
            Err(cause) => Err(self.trouble(cause, process.last_words())),
        }
    }

    /// Writes a request and waits for the line that answers it.
    ///
    /// A program that sends ids back may write other lines at any time, and they are skipped.
    /// Without ids only the order says which line answers which request, so every line must be a
    /// reply.
    fn reply(
        &self,
        process: &mut Process,
        id: u64,
        request: String,
        n_symbols: usize,
    ) -> Result<Verdict, Cause> {
        let until = Instant::now() + self.config.timeout();
        let unasked = process.send(request.into_bytes())?;
        let has_ids = self.has_ids.get().copied();
        if has_ids == Some(false) && !unasked.is_empty() {
            return Err(Cause::Unasked { line: excerpt(&unasked) });
        }
        let mut stray = None;
        loop {
            let line = process.line(until).map_err(|cause| match (&cause, has_ids) {
                // A line of a program without ids can be nothing but its reply.
                (Cause::Timeout { .. }, None) => stray.take().unwrap_or(cause),
                _ => cause,
            })?;
            let text = || excerpt(&line);
            let (cause, may_be_stray) = match parse_reply(&line, n_symbols) {
                Ok(reply) if reply.id.as_ref().is_some_and(|of| *of == id) => {
                    self.has_ids.get_or_init(|| true);
                    return Ok(reply.verdict);
                }
                Ok(reply) if reply.id.is_none() && has_ids != Some(true) => {
                    let more = Some(process.unread()).filter(|more| !more.is_empty());
                    let more = more.map(|more| Cause::Unasked { line: excerpt(more) });
                    if let Some(cause) = stray.or(more) {
                        return Err(cause);
                    }
                    self.has_ids.get_or_init(|| false);
                    return Ok(reply.verdict);
                }
                Ok(_) => (Cause::Unasked { line: text() }, true),
                Err(error) => {
                    let may_be_stray = match id_of(&line) {
                        None => true,
                        Some(None) => has_ids == Some(true),
                        Some(Some(of)) => of != id,
                    };
                    (Cause::Reply { line: text(), error }, may_be_stray)
                }
            };
            if !may_be_stray || has_ids == Some(false) {
                return Err(cause);
            }
            stray.get_or_insert(cause);
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
        self.config.to_command()
    }

    fn start(&self, command: Command, stdout: Stdout) -> Result<Process, Trouble> {
        let started = Process::start(command, stdout, Limits::of(&self.config));
        started.map_err(|cause| self.trouble(cause, String::new()))
    }

    fn trouble(&self, cause: Cause, last_words: String) -> Trouble {
        Trouble { program: self.program().to_owned(), cause, last_words }
    }

    fn program(&self) -> &str {
        self.config.program()
    }
}

impl Constraint<Subject> for Checker {
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
                self.located(verdict, y).faults(&self.vocabulary, y, &unsaid)
            }
            Err(trouble) => {
                let at = 0..y.len() + 1;
                vec![Fault { at, cost: f32::NAN, message: trouble.to_string() }]
            }
        }
    }
}

impl fmt::Debug for Checker {
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
