//! Training, dev and test data: files named in the settings, or generated sentences.

mod files;
mod splits;

pub(crate) use files::Files;
pub use files::{Contents, CorpusError, Selection};
pub(crate) use splits::Kind;
pub use splits::{Source, Splits};
