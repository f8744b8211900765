//! Who may call the server: hosts, origins, tokens, and how much at once.
//!
//! A page of another site must not reach a server on this machine. It could use a name that it
//! points here (DNS rebinding), so the `Host` must be one of ours. It could call from its own
//! origin, so the `Origin`, if there is one, must be ours, too.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName};
use constant_time_eq::constant_time_eq;

use crate::options::Options;
use crate::problem::Problem;

/// A secret that clients must know.
#[derive(Clone)]
pub struct Token(Arc<[u8]>);

/// Why a text cannot be a token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is easily guessed.
    #[error("the token has {bytes} bytes; expected at least {LEAST_TOKEN_BYTES}")]
    TooShort {
        /// The number of its bytes.
        bytes: usize,
    },
    /// It cannot be sent in a header.
    #[error("the token has a character that is not printable ASCII, or a space")]
    Unprintable,
}

/// The fewest bytes of a token.
const LEAST_TOKEN_BYTES: usize = 16;

impl Token {
    /// The token in a file: the whole text without surrounding white space.
    ///
    /// # Errors
    /// If it is too short or cannot be sent.
    pub fn new(text: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unprintable);
        }
        match text.len() {
            bytes @ ..LEAST_TOKEN_BYTES => Err(TokenError::TooShort { bytes }),
            _ => Ok(Token(text.as_bytes().into())),
        }
    }

    /// Whether a header has it, in constant time.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(AUTHORIZATION).map_or(&[][..], |value| value.as_bytes());
        let (scheme, token) = value.split_at_checked(7).unwrap_or_default();
        let is_equal = constant_time_eq(token.trim_ascii(), &self.0);
        scheme.eq_ignore_ascii_case(b"bearer ") && is_equal
    }
}

/// Secrets are not printed.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers {
    pub(crate) client: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// The checks of every request.
#[derive(Debug)]
pub(crate) struct Guard {
    token: Option<Token>,
    hosts: Vec<String>,
    cors: Vec<String>,
    most: usize,
    /// Requests in progress, by address.
    clients: Mutex<HashMap<IpAddr, usize>>,
}

impl Guard {
    pub(crate) fn new(options: &Options) -> Guard {
        Guard {
            token: options.token.clone(),
            hosts: options.hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            cors: options.cors.iter().map(|origin| origin.to_ascii_lowercase()).collect(),
            most: options.max_requests_per_client,
            clients: Mutex::default(),
        }
    }

    /// An error unless the request is meant for this server.
    pub(crate) fn check_host(&self, headers: &HeaderMap, peers: Peers) -> Result<(), Problem> {
        let host = text(headers, &HOST);
        let authority = (headers.get_all(HOST).iter().count() == 1).then_some(host);
        let authority = authority.and_then(|host| host.parse::<Authority>().ok());
        let is_ours = authority.is_some_and(|authority| self.is_ours(&authority, peers));
        if is_ours { Ok(()) } else { Err(Problem::foreign("Host", host)) }
    }

    /// The port is ignored, because tunnels have other ports.
    fn is_ours(&self, authority: &Authority, peers: Peers) -> bool {
        if authority.as_str().contains('@') {
            return false;
        }
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let local = peers.local.ip().to_canonical();
        match bare.parse::<IpAddr>() {
            Ok(address) => address.to_canonical() == local || self.hosts.contains(&host),
            Err(_) => self.hosts.contains(&host) || host == "localhost" && local.is_loopback(),
        }
    }

    /// The origin to allow, for a page of another origin that may call the server; an error if it
    /// may not.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<Option<String>, Problem> {
        if !headers.contains_key(ORIGIN) {
            return Ok(None);
        }
        let origin = text(headers, &ORIGIN);
        let is_only = headers.get_all(ORIGIN).iter().count() == 1;
        let host = text(headers, &HOST);
        let own = ["http://", "https://"].map(|scheme| format!("{scheme}{host}"));
        if is_only && own.iter().any(|own| own.eq_ignore_ascii_case(origin)) {
            return Ok(None);
        }
        match is_only && self.cors.contains(&origin.to_ascii_lowercase()) {
            true => Ok(Some(origin.to_owned())),
            false => Err(Problem::foreign("Origin", origin)),
        }
    }

    /// An error unless the request has the token, if there is one.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        match &self.token {
            Some(token) if !token.is_in(headers) => Err(Problem::unauthorized()),
            _ => Ok(()),
        }
    }

    /// Counts a request of a client; an error if it has too many.
    pub(crate) fn enter(&self, client: IpAddr) -> Result<(), Problem> {
        let mut clients = self.clients();
        let n = clients.entry(client).or_default();
        if self.most <= *n {
            return Err(Problem::too_many(self.most));
        }
        *n += 1;
        Ok(())
    }

    /// Stops counting it.
    pub(crate) fn leave(&self, client: IpAddr) {
        let mut clients = self.clients();
        if let Some(n) = clients.get_mut(&client) {
            *n -= 1;
            if *n == 0 {
                clients.remove(&client);
            }
        }
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A header as text; empty if it is missing or not text.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn guard(hosts: &[&str], cors: &[&str]) -> Guard {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut options = Options::new("127.0.0.1:0".parse().unwrap());
        (options.hosts, options.cors) = (owned(hosts), owned(cors));
        options.token = Some(Token::new("0123456789abcdef\n").unwrap());
        options.max_requests_per_client = 2;
        Guard::new(&options)
    }

    fn peers(local: &str) -> Peers {
        Peers { client: "10.0.0.9:4000".parse().unwrap(), local: local.parse().unwrap() }
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let pair = |(name, value): &(HeaderName, &str)| {
            (name.clone(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_names_of_the_server_are_hosts() {
        let guard = guard(&["cajole.example"], &[]);
        let is_ours = |host: &str, local: &str| {
            guard.check_host(&headers(&[(HOST, host)]), peers(local)).is_ok()
        };
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:9", "cajole.example:443"] {
            assert!(is_ours(host, "127.0.0.1:8080"), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "a@localhost", "[::1]"]
        {
            assert!(!is_ours(host, "127.0.0.1:8080"), "{host}");
        }
        assert!(is_ours("[::1]:8080", "[::1]:8080"));
        assert!(is_ours("10.0.0.1", "10.0.0.1:80") && is_ours("10.0.0.1", "[::ffff:10.0.0.1]:80"));
        assert!(!is_ours("localhost", "10.0.0.1:80"));
        let two = headers(&[(HOST, "localhost")]);
        let mut both = two.clone();
        both.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(guard.check_host(&both, peers("127.0.0.1:1")).is_err());
        assert!(guard.check_host(&HeaderMap::new(), peers("127.0.0.1:1")).is_err());
    }

    #[test]
    fn pages_of_other_origins_need_leave() {
        let guard = guard(&[], &["https://app.example"]);
        let check = |origin: &str| {
            guard.check_origin(&headers(&[(HOST, "localhost:8080"), (ORIGIN, origin)]))
        };
        assert_eq!(check("http://localhost:8080"), Ok(None));
        assert_eq!(check("https://app.example"), Ok(Some("https://app.example".to_owned())));
        for origin in
            ["null", "", "http://localhost:9", "http://evil.example", "https://app.example.evil"]
        {
            assert!(check(origin).is_err(), "{origin}");
        }
        assert_eq!(guard.check_origin(&headers(&[(HOST, "localhost")])), Ok(None));
    }

    #[test]
    fn only_the_whole_token_opens() {
        let guard = guard(&[], &[]);
        let is_open = |value: &str| guard.check_token(&headers(&[(AUTHORIZATION, value)])).is_ok();
        assert!(is_open("Bearer 0123456789abcdef") && is_open("bearer 0123456789abcdef"));
        for value in ["", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Basic 0123456789abcdef"] {
            assert!(!is_open(value), "{value:?}");
        }
        assert!(!is_open("Bearer 0123456789abcdef0") && !is_open("0123456789abcdef"));
        assert!(guard.check_token(&HeaderMap::new()).is_err());
        assert_eq!(Token::new("short").unwrap_err(), TokenError::TooShort { bytes: 5 });
        assert_eq!(Token::new("0123456789abc def").unwrap_err(), TokenError::Unprintable);
        assert_eq!(format!("{guard:?}").matches("0123").count(), 0);
    }

    #[test]
    fn a_client_has_so_many_requests_at_once() {
        let guard = guard(&[], &[]);
        let (one, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        assert!(guard.enter(one).is_ok() && guard.enter(one).is_ok());
        assert!(guard.enter(one).is_err());
        assert!(guard.enter(other).is_ok());
        guard.leave(one);
        assert!(guard.enter(one).is_ok());
        [one, one, other].iter().for_each(|client| guard.leave(*client));
        assert!(guard.clients().is_empty());
    }
}
