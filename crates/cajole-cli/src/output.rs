//! Where records go: the flags of an output file, and what may happen to an existing file.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cajole_files::{Folder, Reads};
use cajole_infer::sink::{Existing, Opened, Sink};
use serde_json::Value;

use crate::source::{self, cannot_read, is_stdin};

#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Output {
    /// Where records go, as JSON Lines; gzipped if the name ends in .gz [default: standard output]
    ///
    /// Beside it, a note named FILE.run.json says what input, network, rules and settings the records
    /// are of, so that nobody resumes it with others.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Resume an output that a killed run left behind
    ///
    /// The input, the network, the rules with all files that they name, and the flags must be the
    /// same as before.
    #[arg(long, requires = "out")]
    resume: bool,

    /// Start over, even if the output exists; what the command reads is never replaced
    #[arg(long, requires = "out", conflicts_with = "resume")]
    overwrite: bool,
}

impl Output {
    /// The file to write to; `None` is standard output.
    pub(crate) fn file(&self) -> anyhow::Result<Option<&Path>> {
        let file = self.out.as_deref().filter(|out| *out != Path::new("-"));
        if file.is_none() && (self.resume || self.overwrite) {
            bail!("--out - is standard output, which can be neither resumed nor overwritten");
        }
        Ok(file)
    }

    /// Opens and locks the file; `note` says what the run is about, and everything that it reads has
    /// been opened.
    pub(crate) fn open(&self, path: &Path, input: &Path, note: &Value) -> anyhow::Result<Opened> {
        if self.resume && is_stdin(input) {
            bail!("what came from standard input cannot be read again: --resume needs a file");
        }
        if self.resume && !input.is_file() {
            bail!("{} is no file, and cannot be read again: --resume needs one", input.display());
        }
        let lines = match self.resume {
            true => Some(source::open(input)?.last_line().with_context(|| cannot_read(input))?),
            false => None,
        };
        let existing = match (self.resume, self.overwrite) {
            (true, _) => Existing::Resume,
            (false, true) => Existing::Replace,
            (false, false) => Existing::Keep,
        };
        Ok(Sink::open(path, existing, note, &Reads::so_far(), lines)?)
    }
}

/// A folder for what a command makes; what it has read so far is never replaced.
pub(crate) fn folder(path: &Path, overwrites: bool) -> anyhow::Result<Folder> {
    Ok(Folder::open(path, Reads::so_far(), overwrites)?)
}
