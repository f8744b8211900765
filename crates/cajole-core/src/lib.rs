//! Gradient-based inference: make a trained network's output obey hard constraints.
//!
//! A network's decoder gives the output it scores highest, and knows nothing of rules that the
//! output has to obey. This crate implements Algorithm 1 of Lee et al., "Gradient-based Inference
//! for Networks with Output Constraints" (AAAI 2019), for any network: decode, measure the
//! violation with a black-box function, lower the score of what was decoded by a gradient step on a
//! private copy of the weights, decode again, until the constraint holds.
//!
//! # Key types
//! - [`Model`]: `Ψ(x, y, W)`, a network as a flat buffer of weights with gradients of
//!   log-probabilities.
//! - [`Decoder`]: `f(x; W)`, the network's own inference procedure.
//! - [`Constraint`]: `g(y, Lˣ)`, any closure, or one of those in [`constraints`].
//! - [`Gbi`]: the algorithm; [`Config`] holds its settings, [`Config::paper`] and
//!   [`Config::best`] are presets.
//! - [`Outcome`]: the output, why inference ended ([`Stop`]), and every decode ([`Trace`]).
//!
//! # How an input is worked on
//! 1. Decode under `W`. If the constraint holds, that is the result, and nothing was copied.
//! 2. Turn the violation into a cost for each position of the output.
//! 3. Step against the gradient of `Σ cost · log p(y_t)` on the private weights `W_λ`.
//! 4. Decode under `W_λ`, and go back to 2 until the constraint holds, or steps or time run out.
//!
//! This crate names no tensor type and does no I/O. The engine, networks and decoders are in
//! `cajole-nn`.

mod aligned;
mod config;
pub mod constraint;
pub mod constraints;
pub mod corpus;
pub mod decoder;
mod gbi;
pub mod gradient;
pub mod model;
mod objective;
pub mod report;
mod step_rule;
mod trace;
mod vector;
mod workspace;

pub use aligned::Aligned;
pub use config::{Config, Objective, Positions, Proposals, Schedule};
pub use constraint::{Constraint, Fault, Part, Violation};
pub use decoder::{Decoder, Found};
pub use gbi::Gbi;
pub use gradient::{Gradient, Purpose};
pub use model::{Candidate, Group, Mark, Model, Symbol};
pub use step_rule::{Momenta, StepRule};
pub use trace::{Outcome, Step, Stop, Trace};
pub use workspace::{UnknownGroup, Workspace};
