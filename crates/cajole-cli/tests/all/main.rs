//! The commands, as users run them.

mod checkers;
mod closed;
mod commands;
mod compare;
mod evalb;
#[path = "../failure/mod.rs"]
mod failure;
mod folders;
mod ids;
mod import;
mod infer;
#[path = "../knife/mod.rs"]
mod knife;
mod limits;
mod lint;
mod made;
mod options;
mod outputs;
mod own_task;
mod pairs;
mod parse;
mod scarce;
mod security;
mod srl;
mod srl_eval;
mod version;
