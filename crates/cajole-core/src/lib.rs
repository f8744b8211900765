//! Gradient-based inference: make a trained network's output obey hard constraints.
//!
//! A decoder returns the output the network scores highest, and knows nothing of rules that the
//! output must obey. This crate implements Algorithm 1 of Lee et al., "Gradient-based Inference for
//! Networks with Output Constraints" (AAAI 2019), for any network: decode, measure the violation
//! with a black-box function, lower the score of the decoded output by a gradient step on a private
//! copy of the weights, and decode again, until the constraint holds.
//!
//! # Key types
//! - [`Model`]: `Ψ(x, y, W)`, a network that can nudge a private copy of its weights.
//! - [`Decoder`]: `f(x; W)`, the network's own inference procedure. [`decoders`] has greedy and
//!   beam search, and searches that know the constraint, for any [`Stepper`] or [`TagScorer`].
//! - [`Constraint`]: `g(y, Lˣ)`, any closure, or one of those in [`constraints`].
//! - [`Gbi`]: the algorithm; [`Config`] holds its settings, [`Config::paper`], [`Config::best`] and
//!   [`Config::small`] are presets.
//! - [`Outcome`]: the output, why inference ended ([`Stop`]), and every decode ([`Trace`]).
//!
//! # How an input is processed
//! 1. Decode under `W`. If the constraint holds, that is the result, and nothing was copied.
//! 2. Turn the violation into a cost for each position of the output.
//! 3. Step against the gradient of `Σ cost · log p(y_t)` on the private weights `W_λ`.
//! 4. Decode under `W_λ`, and go back to 2 until the constraint holds, or steps or time run out.
//!
//! Many inputs are processed together, see [`Gbi::run_set`]; the results do not depend on it.
//!
//! This crate names no tensor type and does no I/O. `cajole-nn` is the CPU backend.

mod backend_error;
mod cancel;
mod clock;
mod config;
pub mod constraint;
pub mod constraints;
pub mod corpus;
pub mod decoder;
pub mod decoders;
mod descent;
mod gbi;
pub mod model;
mod moving;
mod objective;
pub mod random;
mod search;
mod set;
mod step_rule;
mod stepper;
mod tag_scorer;
mod trace;
mod wanted;
mod watcher;
mod workspace;

pub use backend_error::BackendError;
pub use cancel::Cancel;
pub use config::{Config, MOST_STEPS, MOST_WIDTH, Objective, Positions, Proposals, Schedule};
pub use constraint::{Constraint, Fault, Part, Violation};
pub use decoder::{ConstrainedDecoder, Decoder, Found, Session, Sought};
pub use gbi::Gbi;
pub use model::{Candidate, Force, Mark, Model, Move, Pass, Symbol};
pub use moving::{Moving, Parameter, UnknownParameter};
pub use search::{DoesNotFit, Search};
pub use set::Job;
pub use step_rule::StepRule;
pub use stepper::{Recording, Stepper};
pub use tag_scorer::TagScorer;
pub use trace::{Outcome, Step, Stop, Trace};
pub use wanted::Wanted;
pub use watcher::Watcher;
pub use workspace::Workspace;
