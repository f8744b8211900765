//! The terminal: progress bars, colours where they are wanted, tables that fit.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use cajole_infer::infer::InferError;
use cajole_tasks::Watch;
use indicatif::{ProgressBar, ProgressStyle};

/// Whether standard output is a terminal that shows colours.
pub(crate) fn has_colour() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// How many columns tables may have.
pub(crate) fn width() -> usize {
    100
}

/// Prints to standard output; an error if nobody reads it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    writeln!(stdout().lock(), "{}", text.trim_end_matches('\n'))?;
    Ok(())
}

/// The same, for callbacks that take records.
pub(crate) fn write(text: &str) -> Result<(), InferError> {
    let written = writeln!(stdout().lock(), "{}", text.trim_end_matches('\n'));
    written.map_err(InferError::Sink)
}

/// Reports a line that is skipped.
pub(crate) fn complain_of(error: &InferError) {
    let _ = writeln!(stderr().lock(), "passed over: {error}");
}

/// Warns of a probable mistake.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(stderr().lock(), "warning: {text}");
}

/// Reports an error with all its causes.
pub(crate) fn complain(error: &anyhow::Error) {
    let (start, end) = match stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => ("\x1b[1;31m", "\x1b[0m"),
        false => ("", ""),
    };
    // Nothing can be done if even this cannot be written.
    let _ = writeln!(stderr().lock(), "{start}error{end}: {}", with_causes(error));
}

/// The message with its causes, except those that an earlier message already quotes.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text += ": ";
            text += &cause;
        }
    }
    text
}

/// Follows work on standard error: bars on a terminal, lines elsewhere.
pub(crate) struct Screen {
    bar: Mutex<Option<ProgressBar>>,
}

impl Screen {
    /// Nothing is shown yet.
    pub(crate) fn new() -> Self {
        Screen { bar: Mutex::new(None) }
    }

    fn with_bar(&self, f: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.bar.lock()
            && let Some(bar) = bar.as_ref()
        {
            f(bar);
        }
    }
}

/// Draws a bar anew from time to time until it is finished, so that the time left counts down. A
/// bar's own ticking would panic where no thread can be started.
fn tick(bar: &ProgressBar) {
    if bar.is_hidden() {
        return;
    }
    let weak = bar.downgrade();
    let draw = move || {
        while let Some(bar) = weak.upgrade().filter(|bar| !bar.is_finished()) {
            bar.tick();
            drop(bar);
            thread::sleep(Duration::from_millis(200));
        }
    };
    // Without it, the bar moves when something is done.
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(draw);
}

impl Watch for Screen {
    fn say(&self, line: &str) {
        let mut said = false;
        self.with_bar(|bar| {
            // Elsewhere than on a terminal a bar is hidden, and so is what it prints.
            said = !bar.is_hidden();
            bar.println(line);
        });
        if !said {
            let _ = writeln!(stderr().lock(), "{line}");
        }
    }

    fn begin(&self, what: &str, length: u64) {
        let style = ProgressStyle::with_template(
            "    {prefix} {bar:30.cyan/dim} {pos}/{len} {eta:>4} left  {msg}",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(length).with_style(style).with_prefix(what.to_owned());
        tick(&bar);
        if let Ok(mut place) = self.bar.lock() {
            *place = Some(bar);
        }
    }

    fn advance(&self, done: u64, note: &str) {
        self.with_bar(|bar| {
            bar.set_position(bar.position().max(done));
            if !note.is_empty() {
                bar.set_message(note.to_owned());
            }
        });
    }

    fn end(&self) {
        if let Ok(mut place) = self.bar.lock()
            && let Some(bar) = place.take()
        {
            bar.finish_and_clear();
        }
    }
}
