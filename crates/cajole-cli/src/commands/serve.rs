//! `cajole serve`: the HTTP service and its page.

use std::io::{IsTerminal, stderr};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use cajole_infer::limits::{MAX_TOKENS, MOST_DEADLINE_MS, MOST_TOKENS};
use cajole_serve::limits::{
    DRAIN_TIME, LINES_TOGETHER, MAX_DEADLINE_MS, MAX_REQUESTS_PER_CLIENT, MOST_CONNECTIONS,
};
use cajole_serve::{Options, Remote, Server, Token};
use clap::value_parser;
use serde_json::json;

use crate::range::within;
use crate::{Session, screen};

/// The most bytes of a file with a token.
const MOST_TOKEN_BYTES: u64 = 4096;

/// Serve networks over HTTP, with a page to try rules on
///
///     cajole serve
///     cajole serve --model parser --model runs/expressions --rules rules
///     curl http://127.0.0.1:8080/v1/infer -H 'Content-Type: application/json' \
///         -d '{"model": "transducer", "input": "azbzazazazazazazazazbz"}'
///
/// Open the address in a browser for the page. /openapi.json describes the API.
///
/// By default only this machine can reach the server. SIGTERM ends it once the requests in progress
/// are answered; SIGHUP reads the folder of rules again. Logs go to standard error, one JSON object
/// per line.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// A built-in network, or a checkpoint folder, named by the last part of its path; may be
    /// repeated [default: all built-in networks]
    #[arg(long = "model", value_name = "NAME|FOLDER")]
    models: Vec<String>,

    /// A folder of constraint files that requests may name
    ///
    /// These are trusted: they may name grammars and start checkers. Rules in requests may not.
    #[arg(long, value_name = "FOLDER")]
    rules: Option<PathBuf>,

    /// The address and port to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// A file with the token that clients must send, as `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Let anyone who can reach the server call it, without a token
    #[arg(long, conflicts_with = "token_file")]
    no_auth: bool,

    /// A name of this server, as clients behind a proxy call it; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// An origin whose pages may call the server, such as https://app.example; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    cors: Vec<String>,

    /// The most inputs that are answered together; 1 answers each alone
    #[arg(long, value_name = "N", default_value_t = LINES_TOGETHER, value_parser = within(1, LINES_TOGETHER))]
    together: usize,

    /// The most tokens of an input; a longer one is refused
    #[arg(long, value_name = "N", default_value_t = MAX_TOKENS, value_parser = within(1, MOST_TOKENS))]
    max_tokens: usize,

    /// Give up on an input after this long and keep the best output so far, in milliseconds
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_DEADLINE_MS,
        value_parser = value_parser!(u64).range(1..=MOST_DEADLINE_MS)
    )]
    deadline_ms: u64,

    /// The most concurrent requests of one address
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_REQUESTS_PER_CLIENT,
        value_parser = within(1, MOST_CONNECTIONS)
    )]
    max_requests_per_client: usize,

    /// Log the inputs of requests, too
    #[arg(long)]
    log_inputs: bool,

    /// Log nothing
    #[arg(long, conflicts_with = "log_inputs")]
    no_log: bool,
}

pub(crate) fn run(what: &Serve, session: &Session) -> anyhow::Result<()> {
    if !what.no_log {
        log();
    }
    let options = what.options()?;
    let server = Server::bind(session.registry.clone(), &options)?;
    let address = server.address().context("the system does not say where the server listens")?;
    obey_signals(session, server.remote())?;
    match session.json {
        true => screen::print(&json!({"listening": format!("http://{address}/")}).to_string())?,
        false => screen::print(&format!("listening at http://{address}/"))?,
    }
    let is_drained = server.run()?;
    if !is_drained {
        bail!("some requests were not answered within {} s", DRAIN_TIME.as_secs());
    }
    session.interrupt.done();
    Ok(())
}

impl Serve {
    fn options(&self) -> anyhow::Result<Options> {
        let mut options = Options::new(self.listen);
        options.models.clone_from(&self.models);
        options.rules.clone_from(&self.rules);
        options.token = self.token()?;
        options.no_auth = self.no_auth;
        options.hosts.clone_from(&self.hosts);
        options.cors.clone_from(&self.cors);
        options.threads = rayon::current_num_threads();
        options.together = Some(self.together);
        options.max_tokens = self.max_tokens;
        options.max_deadline = Duration::from_millis(self.deadline_ms);
        options.max_requests_per_client = self.max_requests_per_client;
        options.logs_inputs = self.log_inputs;
        Ok(options)
    }

    fn token(&self) -> anyhow::Result<Option<Token>> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = cajole_files::text_of(path, MOST_TOKEN_BYTES)?;
        let token = Token::new(&text).with_context(|| format!("in {}", path.display()))?;
        Ok(Some(token))
    }
}

/// Logs to standard error: as text on a terminal, else as JSON. What cannot be written is lost, and
/// the server keeps running.
fn log() {
    let log = tracing_subscriber::fmt().with_writer(stderr).log_internal_errors(false);
    let log = log.with_target(false);
    match stderr().is_terminal() {
        true => log.compact().init(),
        false => log.json().flatten_event(true).init(),
    }
}

/// SIGINT and SIGTERM end the server, SIGHUP reloads rules.
fn obey_signals(session: &Session, remote: Remote) -> anyhow::Result<()> {
    let stopping = remote.clone();
    session.interrupt.calls(move || stopping.stop(), DRAIN_TIME + Duration::from_secs(5));
    #[cfg(unix)]
    {
        let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGHUP])
            .context("cannot wait for SIGHUP")?;
        std::thread::Builder::new().name("reloads".to_owned()).spawn(move || {
            for _ in signals.forever() {
                // Errors are logged.
                let _ = remote.reload();
            }
        })?;
    }
    Ok(())
}
