//! Problem documents of RFC 9457: a kind, a sentence, and a place.

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use cajole_files::Place;
use serde::Serialize;

/// A problem document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem(Box<Document>);

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Document {
    /// A name for the kind of problem.
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    #[serde(serialize_with = "number")]
    status: StatusCode,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Place>,
    #[serde(skip)]
    header: Option<(HeaderName, HeaderValue)>,
}

fn number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

impl Problem {
    fn new(status: StatusCode, kind: &str, title: &'static str, detail: impl Into<String>) -> Self {
        Problem(Box::new(Document {
            kind: format!("urn:cajole:{kind}"),
            title,
            status,
            detail: detail.into(),
            field: None,
            position: None,
            header: None,
        }))
    }

    /// The body is malformed.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "malformed", "The request is malformed", detail)
    }

    /// No token, or a wrong one.
    pub(crate) fn unauthorized() -> Self {
        let detail = "send the server's token as \"Authorization: Bearer TOKEN\"";
        let problem = Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "The token is missing or wrong",
            detail,
        );
        problem.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// A host or origin that is not ours.
    pub(crate) fn foreign(header: &str, value: &str) -> Self {
        let detail = match header {
            "Host" => format!("the server is not called {value:?}; --host NAME allows a name"),
            _ => {
                format!("pages from {value:?} may not call this server; --cors ORIGIN allows them")
            }
        };
        Problem::new(StatusCode::FORBIDDEN, "foreign", "The host or origin is foreign", detail)
            .of(header)
    }

    /// There is no such path, model or file.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
    }

    /// The path does not take this method.
    pub(crate) fn method(allowed: &'static str) -> Self {
        let detail = format!("this path takes {allowed}");
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "The path has other methods", detail)
            .with(ALLOW, HeaderValue::from_static(allowed))
    }

    /// The client accepts none of the offered types.
    pub(crate) fn not_acceptable(offered: &str) -> Self {
        let detail = format!("this path answers with {offered}");
        Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "not-acceptable",
            "No accepted type is offered",
            detail,
        )
        .of("Accept")
    }

    /// The client is too slow.
    pub(crate) fn timeout(detail: impl Into<String>) -> Self {
        Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            "The request did not arrive in time",
            detail,
        )
    }

    /// The request exceeds a limit.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The request is too large", detail)
    }

    /// A type or encoding that is not understood.
    pub(crate) fn media_type(header: &str, detail: impl Into<String>) -> Self {
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media-type",
            "The type of the body is not supported",
            detail,
        )
        .of(header)
    }

    /// The request is well-formed, but cannot be answered.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unprocessable",
            "The rules or settings cannot be used",
            detail,
        )
    }

    /// One client has too much in progress.
    pub(crate) fn too_many(most: usize) -> Self {
        let detail = format!("this address has {most} requests in progress, the most allowed");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many requests at once", detail)
            .later()
    }

    /// The server has no room right now.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The server cannot take the request now",
            detail,
        )
        .later()
    }

    /// The results of a request were lost: a bug of ours.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The server failed", detail)
    }

    fn later(self) -> Self {
        self.with(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Names the part of the request that it is about: a JSON pointer, a header or a parameter.
    #[must_use]
    pub(crate) fn of(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// Adds the place in that part.
    #[must_use]
    pub(crate) fn at(mut self, place: Place) -> Self {
        let Place { line, column } = place;
        self.0.position = Some(Place { line: line.max(1), column: column.max(1) });
        self
    }

    /// As a JSON object.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.extend(self.0.header.map(|(name, value)| (Some(name), value)));
        response
    }
}
