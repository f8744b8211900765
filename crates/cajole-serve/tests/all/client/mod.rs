//! A server of this process, and a client that may misbehave: it sends bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cajole_infer::Registry;
use cajole_serve::{Options, Remote, Server};
use serde_json::Value;

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) remote: Remote,
    thread: Option<JoinHandle<bool>>,
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// The folder of rules that comes with cajole.
pub(crate) fn rules() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../rules")
}

/// Starts a server with the usual settings after `change`.
pub(crate) fn start(change: impl FnOnce(&mut Options)) -> Running {
    let mut options = Options::new("127.0.0.1:0".parse().unwrap());
    options.rules = rules().is_dir().then(rules);
    change(&mut options);
    let server = Server::bind(Arc::new(Registry::standard()), &options).unwrap();
    let (address, remote) = (server.address().unwrap(), server.remote());
    let thread = std::thread::spawn(move || server.run().unwrap());
    Running { address, remote, thread: Some(thread) }
}

impl Running {
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the server closes the connection.
    pub(crate) fn send(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        // A server that has seen enough may close the connection before everything is sent.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }

    /// A request with these headers, each with its line end.
    pub(crate) fn request(&self, line: &str, headers: &str, body: &[u8]) -> Response {
        self.send(&written(line, &format!("Host: {}\r\n{headers}", self.address), body))
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.request(&format!("GET {path}"), "", b"")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        let json = "Content-Type: application/json\r\n";
        self.request(&format!("POST {path}"), json, body.as_bytes())
    }

    pub(crate) fn lines(&self, query: &str, lines: &str) -> Response {
        let headers = "Content-Type: application/x-ndjson\r\n";
        self.request(&format!("POST /v1/infer{query}"), headers, lines.as_bytes())
    }

    /// Ends it; returns whether all requests were answered.
    pub(crate) fn stop(mut self) -> bool {
        self.remote.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.remote.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The bytes of a request that is the last on its connection.
pub(crate) fn written(line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Reads a response to the end of its connection.
pub(crate) fn read(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that is reset at the end may have had an answer before.
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    Response { status, head, body: if chunked { unchunked(&body) } else { body } }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let chunk = &body[end + 2..];
        whole.extend_from_slice(&chunk[..size.min(chunk.len())]);
        body = chunk.get(size + 2..).unwrap_or_default();
    }
    whole
}

impl Response {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.head, self.text()))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Checks that it is a problem with this status, about this field.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, field: Option<&str>) -> Value {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["field"].as_str(), field, "{problem}");
        problem
    }
}
