//! SIGINT and SIGTERM: finishes what is being written, and tells the user how to resume.
//!
//! A command that writes an output registers its [`Cancel`] flag: work ends between two steps, and
//! complete records stay. All others end at once; what they keep is renamed into place when it is
//! complete.
#![cfg_attr(
    not(unix),
    allow(dead_code, unused_imports, reason = "there are no signals to wait for")
)]

use std::io::{Write, stderr, stdout};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use cajole_core::Cancel;
use cajole_rules::kill_checkers;
#[cfg(unix)]
use signal_hook::consts::{SIGINT, SIGTERM};
#[cfg(unix)]
use signal_hook::iterator::Signals;

/// How long a cancelled command may take to reach its next step. After that it ends as if it were
/// killed, which loses only the record being written.
const GRACE: Duration = Duration::from_secs(5);

/// What to do when a signal arrives.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    plan: Arc<Mutex<Plan>>,
    signal: Arc<AtomicI32>,
}

#[derive(Default)]
struct Plan {
    /// Tells the command to end.
    call: Option<Arc<dyn Fn() + Send + Sync>>,
    /// How long it may take.
    grace: Duration,
    /// How to resume.
    advice: String,
}

impl Interrupt {
    /// Elsewhere, Ctrl-C ends the process as if it were killed: what is complete stays, and the next
    /// run resumes.
    #[cfg(not(unix))]
    pub(crate) fn watch() -> std::io::Result<Interrupt> {
        Ok(Interrupt::default())
    }

    /// Waits for signals from now on.
    #[cfg(unix)]
    pub(crate) fn watch() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let own = interrupt.clone();
        let (tell, hear) = mpsc::channel();
        // The thread comes first: without it, nobody would react to signals that are caught.
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let signals = Signals::new([SIGINT, SIGTERM]);
            let (mut signals, error) = match signals {
                Ok(signals) => (Some(signals), None),
                Err(error) => (None, Some(error)),
            };
            let _ = tell.send(error);
            for signal in signals.iter_mut().flat_map(Signals::forever) {
                own.come(signal);
            }
        })?;
        match hear.recv() {
            Ok(Some(error)) => Err(error),
            _ => Ok(interrupt),
        }
    }

    /// Sets the advice on how to resume what is about to begin.
    pub(crate) fn advise(&self, advice: &str) {
        self.plan().advice = advice.to_owned();
    }

    /// Sets this flag when a signal arrives, instead of ending at once.
    pub(crate) fn cancels(&self, cancel: &Cancel) {
        let cancel = cancel.clone();
        self.calls(move || cancel.set(), GRACE);
    }

    /// Calls this when a signal arrives, instead of ending at once; ends after `grace`.
    pub(crate) fn calls(&self, call: impl Fn() + Send + Sync + 'static, grace: Duration) {
        let mut plan = self.plan();
        plan.call = Some(Arc::new(call));
        plan.grace = grace;
    }

    /// Even if a signal arrived, the command has done everything it should.
    pub(crate) fn done(&self) {
        self.signal.store(0, Ordering::Relaxed);
    }

    /// The exit code, if a signal has ended the command: 128 and its number, as in shells.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::Relaxed);
        (signal != 0).then(|| u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }

    /// Says that the command was interrupted, and how to resume.
    pub(crate) fn tell(&self) {
        let advice = self.plan().advice.clone();
        let _ = writeln!(stderr().lock(), "interrupted{advice}");
    }

    fn come(&self, signal: i32) {
        let is_second = self.signal.swap(signal, Ordering::Relaxed) != 0;
        let (call, grace) = {
            let plan = self.plan();
            (plan.call.clone(), plan.grace)
        };
        match call {
            Some(call) if !is_second => {
                call();
                let own = self.clone();
                // Without a thread that waits, only a second signal ends it early.
                let _ = thread::Builder::new().spawn(move || {
                    thread::sleep(grace);
                    own.end();
                });
            }
            _ => self.end(),
        }
    }

    /// Ends the process, not in the middle of a line.
    fn end(&self) {
        let _whole = stdout().lock();
        self.tell();
        kill_checkers();
        std::process::exit(i32::from(self.exit_code().unwrap_or(1)));
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
