//! The files of a run: what it reads, and what it writes without destroying anything.
//!
//! Reading, within [limits]:
//!
//! - [`text_of`] and [`Lines`]: a file as text, gzipped or not, as a whole or line by line.
//! - [`LineSplitter`]: lines of anything else, which is read or arrives in pieces.
//! - [`RegularFile`]: a file as bytes.
//! - [`Place`], [`Located`]: where something is in a text, for messages.
//! - [`Reads`]: what a run reads, by device and inode.
//!
//! Writing:
//!
//! - [`Output`]: a file that records are appended to, with a note that says which run it belongs to.
//! - [`Folder`]: a folder that one run at a time writes to, file by file.
//! - [`Once`]: a file that is written once, and appears when it is complete.
//!
//! Three rules hold for everything that is written:
//!
//! 1. What the run reads is never written to, whatever flags say. Two names of one file are the same
//!    file, and so are a name and a redirected standard stream.
//! 2. What is there is replaced only if the user said so (`--overwrite`), or if its content shows that
//!    this run wrote it.
//! 3. Everything that can fail is tried before anything is emptied.

mod error;
mod fingerprint;
mod folder;
mod identity;
pub mod limits;
mod lines;
mod note;
mod once;
mod output;
mod place;
mod reads;
mod regular;
mod text;
mod whole;

pub use error::{FileError, IoError};
pub use fingerprint::{fingerprint, fingerprint_of};
pub use folder::Folder;
pub use identity::{is_standard_stream, stdin_is_written};
pub use lines::{LineKind, LineLimits, LineSplitter};
pub use note::note_of;
pub use once::{Once, claim};
pub use output::{Existing, Output};
pub use place::{Located, Place, column, excerpt, shortened, without_place};
pub use reads::{Reads, open, stdin};
pub use regular::{RegularFile, read_regular};
pub use text::{Lines, TextError, text_of};
pub use whole::replace_whole;
