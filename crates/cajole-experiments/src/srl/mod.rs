//! Semantic role labeling: repairs arguments that are not constituents of the parse tree.

mod block;
mod case_study;
mod choice;
mod config;
mod experiment;
mod methods;
mod paper;
mod plots;
mod run_time;
mod search;
mod seeds;
mod tables;

pub use config::{Rivals, SrlConfig, Tuning};
pub use experiment::reproduce;
pub use methods::{AllNudged, Failures};
pub use search::{Collapse, NamedSearch, Searching};
