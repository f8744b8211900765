//! Where treebanks are, for tests that want whole ones: in the folder that `CAJOLE_DATA` names, or
//! in `shared/data` beside the workspace.

// Libraries do not print, but a test has to say that it was skipped.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

/// A file or folder among the corpora, or nothing, with a word about it.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folders = std::env::var_os("CAJOLE_DATA").map(PathBuf::from).into_iter().chain([beside]);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: no {name} in the folder CAJOLE_DATA names");
    }
    found
}
