//! stub
mod config;
pub mod constraint;
pub mod constraints;
pub mod corpus;
pub mod decoder;
mod gbi;
pub mod model;
mod objective;
pub mod report;
mod step_rule;
mod trace;
mod vector;
mod workspace;

pub use config::{Config, Objective, Positions, Proposals, Schedule};
pub use constraint::{Constraint, Part, Violation};
pub use decoder::{Decoder, Found};
pub use gbi::Gbi;
pub use model::{Candidate, Gradient, Group, Mark, Model, Symbol};
pub use step_rule::{Momenta, StepRule};
pub use trace::{Outcome, Step, Stop, Trace};
pub use workspace::{UnknownGroup, Workspace};
