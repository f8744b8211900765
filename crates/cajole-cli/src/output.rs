//! Where records go: the flags of an output file, and what may happen to an existing file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cajole_infer::sink::{Existing, Opened, Sink};
use serde_json::Value;

use crate::source::{self, cannot_read, is_stdin};

#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Output {
    /// Where records go, as JSON Lines; gzipped if the name ends in .gz [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Resume an output that a killed run left behind
    ///
    /// The input, the network, the rules with all files that they name, and the flags must be the
    /// same as before.
    #[arg(long, requires = "out")]
    resume: bool,

    /// Start over, even if the output exists
    #[arg(long, requires = "out", conflicts_with = "resume")]
    overwrite: bool,
}

/// What a run reads, by file.
pub(crate) struct Reads<'a> {
    /// The lines.
    pub(crate) input: &'a Path,
    /// Everything else.
    pub(crate) others: Vec<PathBuf>,
}

impl Output {
    /// The file, locked; `note` says what the run is about.
    pub(crate) fn open(
        &self,
        path: &Path,
        reads: &Reads<'_>,
        note: &Value,
    ) -> anyhow::Result<Opened> {
        let input = reads.input;
        if self.resume && is_stdin(input) {
            bail!("what came from standard input cannot be read again: --resume needs a file");
        }
        if self.resume && !input.is_file() {
            bail!("{} is no file, and cannot be read again: --resume needs one", input.display());
        }
        let all = reads.others.iter().map(PathBuf::as_path).chain([input]);
        for read in all.filter(|read| !is_stdin(read)) {
            if is_same_file(read, path) {
                let (read, path) = (read.display(), path.display());
                bail!("{path} is the same file as {read}, which is read: name another output");
            }
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
        Ok(Sink::open(path, existing, note, lines)?)
    }
}

/// Whether two names are of one file: the same path, a link, or a hard link.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let (Ok(a_meta), Ok(b_meta)) = (fs::metadata(a), fs::metadata(b)) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is_device = |meta: &fs::Metadata| !meta.is_file();
        !is_device(&a_meta) && (a_meta.dev(), a_meta.ino()) == (b_meta.dev(), b_meta.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (a_meta, b_meta);
        a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
    }
}

/// A folder that this process alone writes to, for as long as the value lives.
pub(crate) struct Locked {
    _folder: Option<fs::File>,
}

/// Creates a folder if necessary, and locks it.
pub(crate) fn lock_folder(folder: &Path) -> anyhow::Result<Locked> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    // If folders cannot be opened or locked, other runs cannot be detected.
    let Ok(file) = fs::File::open(folder) else { return Ok(Locked { _folder: None }) };
    if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
        bail!(
            "{} is being written by another run: wait for its end, or name another folder",
            folder.display()
        );
    }
    Ok(Locked { _folder: Some(file) })
}
