//! `cajole serve`: an HTTP service, and a page where you can watch a network change its mind.
//!
//! ```text
//! connection ─► guard ─► body ─► request ─► queue ─lots→ threads ─records→ response, stream, events
//!               who may   limits  checked    fair         cajole-infer
//! ```
//!
//! - [`Server`]: listens, answers, and shuts down in order.
//! - [`Options`]: what its operator may set.
//! - [`OPENAPI`]: the description of the API.
//! - [`limits`]: how much one client, one request or the whole service may demand.
//!
//! The event loop only moves bytes. Inputs wait in a queue for threads that answer those of the same
//! model and terms together, whoever sent them.

mod answers;
mod app;
mod body;
mod compute;
pub mod examples;
mod guard;
pub mod limits;
mod metrics;
mod models;
mod options;
mod problem;
mod queue;
mod request;
mod router;
mod rulebook;
mod server;
mod socket;
mod ticket;
mod with_options;

pub use guard::{Token, TokenError};
pub use models::ModelsError;
pub use options::Options;
pub use request::check_body;
pub use rulebook::RulebookError;
pub use server::{Remote, ServeError, Server};

/// The description of the API, as OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../openapi.json");
