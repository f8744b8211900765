//! The native half of the Python package `cajole`: `cajole._native`.
//!
//! - `model`: a network, whose `infer` and `compare` go through
//!   [`Task`](cajole_infer::task::Task), as the command line does.
//! - `results`: records, in order, while worker threads answer later lines.
//! - `rules`: constraint files and Python functions as [`Rules`](cajole_rules::Rules).
//! - `torch`: networks in PyTorch.
//! - `scores`: `lint`, `evalb` and `srl_eval`.
//!
//! The interpreter is never held while a network works. `docs/python.md` is the guide.

mod answer;
mod callable;
mod error;
mod files;
mod inputs;
mod interrupt;
mod model;
mod options;
mod report;
mod results;
mod rules;
mod scores;
mod torch;
mod value;

use pyo3::prelude::*;

/// As in the command. Worker threads allocate results and the interpreter's thread frees them.
/// glibc is slow at that: a million lines take a fifth more time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::answer::{Answer, Answered as Result, Trace, Tree};
    #[pymodule_export]
    use crate::error::{CajoleError, InputError, LoadError, RuleError, SettingsError};
    #[pymodule_export]
    use crate::files::WholeFile;
    #[pymodule_export]
    use crate::model::{Network, open};
    #[pymodule_export]
    use crate::report::Report;
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::rules::Rules;
    #[pymodule_export]
    use crate::scores::{Scores, evalb, lint, srl_eval};
    #[pymodule_export]
    use crate::torch::{torch_labels, torch_settings, torch_stepper, torch_tagger, torch_writer};
}
