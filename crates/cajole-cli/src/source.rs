//! Where lines come from, as the command line names it.

use std::path::Path;

use anyhow::Context;
use cajole_infer::line::{Line, LineError};
use cajole_infer::source::Source;
use cajole_tasks::Watch;

use crate::screen::Screen;

/// A file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> anyhow::Result<Source> {
    let source = if is_stdin(path) { Source::stdin() } else { Source::open(path) };
    source.with_context(|| cannot_read(path))
}

/// Several files, or standard input if there are none.
pub(crate) fn open_all<P: AsRef<Path>>(
    files: &[P],
) -> impl Iterator<Item = anyhow::Result<Source>> {
    let stdin = files.is_empty().then(|| open(Path::new("-")));
    stdin.into_iter().chain(files.iter().map(|path| open(path.as_ref())))
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// That a file cannot be read.
pub(crate) fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// All lines of a source, at most `most`, and how many of them are bad; these are reported.
pub(crate) fn lines(
    mut source: Source,
    most: Option<usize>,
    screen: &Screen,
) -> anyhow::Result<(Vec<Line>, usize)> {
    let name = source.name.clone();
    let (mut lines, mut bad, mut n) = (Vec::new(), 0, 0);
    while most.is_none_or(|most| n < most)
        && let Some((number, text)) =
            source.line().with_context(|| format!("cannot read {name}"))?
    {
        n += 1;
        match text.map_err(LineError::from).and_then(|text| Line::parse(number, text)) {
            Ok(line) => lines.extend(line),
            Err(error) => {
                bad += 1;
                screen.say(&format!("passed over: {name}:{number}: {error}"));
            }
        }
    }
    Ok((lines, bad))
}

/// An error if there were bad lines, which have been reported.
pub(crate) fn check_bad(bad: u64, could_not: &str) -> anyhow::Result<()> {
    match bad {
        0 => Ok(()),
        1 => anyhow::bail!("1 line could not be {could_not}; see above"),
        n => anyhow::bail!("{n} lines could not be {could_not}; see above"),
    }
}
