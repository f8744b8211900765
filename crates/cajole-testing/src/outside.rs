//! Files that are not part of the repository: corpora, in the folder that `CAJOLE_DATA` names or in
//! `shared/data` beside the workspace, and other projects' files in `fixtures` beside that folder.

use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder, by its path from the data folder. If there is none, the test should be
/// skipped; if `CAJOLE_NO_SKIP` is set, it fails.
pub fn find(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folders = std::env::var_os("CAJOLE_DATA").map(PathBuf::from).into_iter().chain([beside]);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.exists());
    if found.is_none() {
        skip(&format!("no {name} from the folder that CAJOLE_DATA names"));
    }
    found
}

/// Says that a test is skipped, and why; fails if no test may be skipped.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CAJOLE_NO_SKIP").is_none(), "not to be skipped: {why}");
    note_skipped(why);
}

/// Says that a test is skipped, and why. `eprintln!` would not be seen, since the test passes.
pub fn note_skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
