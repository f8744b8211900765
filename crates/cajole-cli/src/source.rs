//! Where lines come from, as the command line names it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cajole_files::{is_standard_stream, stdin_is_written};
use cajole_infer::line::{Line, LineError};
use cajole_infer::source::Source;
use cajole_tasks::Watch;

use crate::screen::{self, Screen};

/// A file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> anyhow::Result<Source> {
    let is_stdin = is_stdin(path);
    let written = if is_stdin { stdin_is_written() } else { is_standard_stream(path) };
    if let Some(stream) = written {
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        bail!(
            "{name} is the file that {stream} goes to: it would be read while it is written, without \
             end; send {stream} to another file"
        );
    }
    let source = if is_stdin { Source::stdin() } else { Source::open(path) };
    source.with_context(|| cannot_read(path))
}

/// Several files, or standard input if there are none.
pub(crate) fn files(files: &[PathBuf]) -> impl Iterator<Item = &Path> {
    let stdin = files.is_empty().then(|| Path::new("-"));
    stdin.into_iter().chain(files.iter().map(PathBuf::as_path))
}

/// The only file of a run whose records go to a file: records are identified by line alone.
pub(crate) fn only(files: &[PathBuf]) -> anyhow::Result<&Path> {
    match files {
        [] => Ok(Path::new("-")),
        [path] => Ok(path),
        _ => bail!("--out takes the records of one file, and {} are given", files.len()),
    }
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The message that a file cannot be read.
pub(crate) fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// All lines of a source, at most `most`, each of at most `max_tokens`; and how many are bad. Bad
/// lines are reported.
pub(crate) fn lines(
    mut source: Source,
    most: Option<usize>,
    max_tokens: usize,
    screen: &Screen,
) -> anyhow::Result<(Vec<Line>, usize)> {
    let name = source.name.clone();
    let (mut lines, mut bad, mut n) = (Vec::new(), 0, 0);
    while most.is_none_or(|most| n < most)
        && let Some((number, text)) =
            source.line().with_context(|| format!("cannot read {name}"))?
    {
        n += 1;
        match text.map_err(LineError::from).and_then(|text| line_of(number, text, max_tokens)) {
            Ok(line) => lines.extend(line),
            Err(error) => {
                bad += 1;
                screen.say(&format!("passed over: {name}:{number}: {error}"));
            }
        }
    }
    Ok((lines, bad))
}

/// A line of at most `max_tokens` tokens.
fn line_of(number: u64, text: String, max_tokens: usize) -> Result<Option<Line>, LineError> {
    let line = Line::parse(number, text)?.map(|line| line.with_max_tokens(max_tokens));
    line.iter().try_for_each(Line::check_fields)?;
    Ok(line)
}

/// Says that a deadline was hit.
pub(crate) fn warn_of_time(timed_out: u64) {
    if 0 < timed_out {
        let inputs = if timed_out == 1 { "input" } else { "inputs" };
        screen::warn(&format!(
            "{timed_out} {inputs} ran out of time: these outputs violate the rules, or are cut off"
        ));
    }
}

/// An error if there were inputs whose rules could not be measured, since they may violate them.
pub(crate) fn check_measured(unmeasured: u64) -> anyhow::Result<()> {
    match unmeasured {
        0 => Ok(()),
        n => bail!(
            "the rules of {n} inputs could not be measured; \"faults\" in their records says why"
        ),
    }
}

/// An error if there were bad lines, which have been reported.
pub(crate) fn check_bad(bad: u64, could_not: &str) -> anyhow::Result<()> {
    match bad {
        0 => Ok(()),
        1 => bail!("1 line could not be {could_not}; see above"),
        n => bail!("{n} lines could not be {could_not}; see above"),
    }
}
