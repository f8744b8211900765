//! What the operator of a service may set.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cajole_infer::limits::MAX_TOKENS;

use crate::guard::Token;
use crate::limits::{MAX_DEADLINE_MS, MAX_REQUESTS_PER_CLIENT};

/// The settings of a service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Built-in networks or checkpoint folders; if empty, all built-in networks.
    pub models: Vec<String>,
    /// A folder of constraint files that requests may name.
    pub rules: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The secret that clients must know.
    pub token: Option<Token>,
    /// Whether to listen beyond this machine without a token.
    pub no_auth: bool,
    /// Names of the server besides its addresses, as clients call it.
    pub hosts: Vec<String>,
    /// Origins of pages that may call the server.
    pub cors: Vec<String>,
    /// Threads for small requests, and as many for large ones.
    pub threads: usize,
    /// The most inputs that are answered together; 1 turns that off.
    pub together: Option<usize>,
    /// The most tokens of an input.
    pub max_tokens: usize,
    /// The most time for one input.
    pub max_deadline: Duration,
    /// The most concurrent requests of one address.
    pub max_requests_per_client: usize,
    /// Whether logs contain the inputs of requests.
    pub logs_inputs: bool,
}

impl Options {
    /// All built-in networks, for this machine only.
    pub fn new(listen: SocketAddr) -> Self {
        Options {
            models: Vec::new(),
            rules: None,
            listen,
            token: None,
            no_auth: false,
            hosts: Vec::new(),
            cors: Vec::new(),
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            together: None,
            max_tokens: MAX_TOKENS,
            max_deadline: Duration::from_millis(MAX_DEADLINE_MS),
            max_requests_per_client: MAX_REQUESTS_PER_CLIENT,
            logs_inputs: false,
        }
    }
}
