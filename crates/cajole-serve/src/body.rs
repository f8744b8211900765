//! Bodies, read within limits of size and time, and what clients say about types.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::limits::{BODY_TIME, MOST_BODY_BYTES, MOST_BYTES_OF_BODIES};
use crate::problem::Problem;

/// JSON.
pub(crate) const JSON: &str = "application/json";
/// One line of JSON after another.
pub(crate) const LINES: &str = "application/x-ndjson";
/// Server-sent events.
pub(crate) const EVENTS: &str = "text/event-stream";

/// A body of JSON, as bytes.
pub(crate) async fn json(app: &App, request: Request<Body>) -> Result<Vec<u8>, Problem> {
    check_encoding(request.headers())?;
    if media_type(request.headers()) != JSON {
        let detail = format!("expected a body of the type {JSON}");
        return Err(Problem::media_type("Content-Type", detail));
    }
    whole(app, request).await
}

async fn whole(app: &App, request: Request<Body>) -> Result<Vec<u8>, Problem> {
    let too_large =
        || Problem::too_large(format!("the body has more than {MOST_BODY_BYTES} bytes"));
    let length = header(request.headers(), &CONTENT_LENGTH).parse::<usize>().unwrap_or(0);
    if MOST_BODY_BYTES < length {
        return Err(too_large());
    }
    let until = Instant::now() + BODY_TIME;
    let mut held = Held { all: &app.body_bytes, bytes: 0 };
    let (mut body, mut bytes) = (request.into_body(), Vec::with_capacity(length.min(1 << 16)));
    loop {
        let late =
            |_| Problem::timeout(format!("the body took more than {} s", BODY_TIME.as_secs()));
        let frame = match timeout_at(until, body.frame()).await.map_err(late)? {
            None => return Ok(bytes),
            Some(frame) => frame.map_err(|_| Problem::malformed("the body ends in the middle"))?,
        };
        let Ok(data) = frame.into_data() else { continue };
        if MOST_BODY_BYTES < bytes.len() + data.len() {
            return Err(too_large());
        }
        held.hold(data.len())?;
        bytes.extend_from_slice(&data);
    }
}

/// Bytes of a body, counted while it is read.
struct Held<'a> {
    all: &'a AtomicUsize,
    bytes: usize,
}

impl Held<'_> {
    fn hold(&mut self, bytes: usize) -> Result<(), Problem> {
        let all = self.all.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes += bytes;
        match all {
            ..=MOST_BYTES_OF_BODIES => Ok(()),
            _ => Err(Problem::unavailable("too many large requests are being read")),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// An error if the body is compressed, since its size would not bound what it expands to.
pub(crate) fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    match header(headers, &CONTENT_ENCODING) {
        "" | "identity" => Ok(()),
        other => {
            let detail = format!("the body is encoded as {other:?}; send it as it is");
            Err(Problem::media_type("Content-Encoding", detail))
        }
    }
}

/// The type of the body, without parameters, in lower case.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = header(headers, &CONTENT_TYPE);
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the client names this type among those it accepts.
pub(crate) fn names(headers: &HeaderMap, media_type: &str) -> bool {
    ranges(headers).any(|range| range == media_type)
}

/// An error unless the client accepts one of these types.
pub(crate) fn check_accepts(headers: &HeaderMap, offered: &[&str]) -> Result<(), Problem> {
    let fits = |range: &str, offered: &str| {
        let group = offered.split('/').next().unwrap_or_default();
        range == "*/*" || range == offered || range.strip_suffix("/*") == Some(group)
    };
    let is_any = !headers.contains_key(ACCEPT) || header(headers, &ACCEPT).is_empty();
    match is_any || ranges(headers).any(|range| offered.iter().any(|one| fits(&range, one))) {
        true => Ok(()),
        false => Err(Problem::not_acceptable(&offered.join(" or "))),
    }
}

/// The types that a client accepts, without those that it excludes.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|range| {
        let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
        let range = parts.next()?;
        let is_excluded = |part: String| {
            let quality = part.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok());
            quality == Some(0.0)
        };
        (!parts.any(is_excluded)).then_some(range)
    })
}

fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn clients_say_what_they_accept() {
        let accepts = |value: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(value))]);
            (check_accepts(&headers, &[JSON, EVENTS]).is_ok(), names(&headers, EVENTS))
        };
        assert_eq!(accepts("application/json"), (true, false));
        assert_eq!(accepts("text/event-stream, application/json;q=0.5"), (true, true));
        assert_eq!(accepts("text/html, */*;q=0.1"), (true, false));
        assert_eq!(accepts("application/*"), (true, false));
        assert_eq!(accepts("image/png"), (false, false));
        assert_eq!(accepts("text/event-stream;q=0"), (false, false));
        assert_eq!(accepts(""), (true, false));
        assert!(check_accepts(&HeaderMap::new(), &[JSON]).is_ok());
    }
}
