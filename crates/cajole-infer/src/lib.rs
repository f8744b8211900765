//! Any checkpoint, any rule, any number of lines.
//!
//! ```text
//! Source ─lines→ Task::cases ─→ first pass, batched ─→ Rules hold? ─→ Sink, in order
//!                                                         └ no: Engine ┘
//! ```
//!
//! - [`Registry`]: opens a checkpoint of any task as a [`Runnable`].
//! - [`Answering::answer`](answer::Answering::answer): lines to records; everything else calls it.
//! - [`Runnable::infer`]: streams of lines, on all cores, in bounded memory.
//! - [`Runnable::compare`]: all engines on the same lines.
//! - [`Lint`](lint::Lint): what rules say about outputs that are known to be right.
//! - [`Task`](task::Task): what to implement for a network of your own.

pub mod answer;
mod attempt;
mod changes;
pub mod compare;
pub mod engine;
pub mod fields;
pub mod infer;
mod journal;
pub mod limits;
pub mod line;
pub mod lint;
mod lots;
mod ordered;
mod progress;
mod record;
mod registry;
mod repair;
mod requirement;
pub mod runnable;
mod settings;
pub mod sink;
pub mod source;
mod study;
pub mod task;
mod tasks;
mod time;
mod traced;
pub mod waiter;
pub mod worker;

/// Settings of Hugging Face folders, for networks that are computed elsewhere.
pub use cajole_nn::import::huggingface::{FolderSettings, Writing};
/// The settings of decoding in them.
pub use cajole_nn::models::transformer::{Generation, Pieces, Standing};
pub use cajole_tasks::words::Tokens;
pub use changes::Changes;
pub use registry::{OpenError, Opened, Registry};
pub use runnable::{Ask, Runnable};
pub use settings::Settings;
pub use tasks::{
    Labels, Pairs, Parsing, Roles, Transduction, Writer, labelled_words, search_as, sequences,
    tags, texts,
};
pub use traced::Traced;
pub use waiter::Waiter;
