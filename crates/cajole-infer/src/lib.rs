//! Any checkpoint, any rule, any number of lines.
//!
//! ```text
//! Line ─→ Case ─→ Input ─→ Driver: own output, then the searches of a Plan ─→ Answer ─→ Record
//! ```
//!
//! - [`Registry`]: opens a checkpoint of any task as a [`Task`](task::Task).
//! - [`Driver`](driver::Driver): the only code that runs searches on outputs that violate.
//! - [`Answering::answer`](lines::Answering::answer): lines to records.
//! - [`infer`](run): streams of lines, on all cores, in bounded memory; `compare`: all engines on the
//!   same lines.
//! - [`options`]: what users may say about a run, in one table; [`Settings`]: what that means for a network.
//! - [`Lint`](lint::Lint): what rules say about outputs that are known to be right.
//! - [`Task`](task::Task): what to implement for a network of your own.

pub mod answer;
mod batches;
pub mod case;
pub mod compare;
pub mod decoded;
pub mod driver;
pub mod engine;
pub mod fields;
pub mod figures;
pub mod infer;
pub mod input;
mod journal;
pub mod limits;
pub mod line;
pub mod lines;
pub mod lint;
pub mod options;
mod ordered;
pub mod plan;
pub mod record;
mod registry;
pub mod run;
mod settings;
pub mod sink;
pub mod solver;
pub mod source;
mod study;
pub mod task;
mod tasks;
mod time;
mod traced;
pub mod waiter;

/// Settings of Hugging Face folders, for networks that are computed elsewhere.
pub use cajole_nn::import::huggingface::{FolderSettings, Writing};
/// The settings of decoding in them.
pub use cajole_nn::models::transformer::{Generation, Pieces, Standing};
pub use cajole_tasks::words::Tokens;
pub use options::Run;
pub use registry::{OpenError, Opened, Registry};
pub use settings::Settings;
pub use tasks::{
    Labels, Pairs, Parsing, Roles, Transduction, Writer, beam, labelled_words, rank_by, sequences,
    tags, texts,
};
pub use traced::Traced;
pub use waiter::Waiter;
