//! The crate as a whole.

mod checker;
mod over_text;
mod rule_errors;
mod rules;
mod tokenizers;
