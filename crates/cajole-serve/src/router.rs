//! Paths, and what every request goes through before and after.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CONNECTION, HeaderName, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{get, post};

use crate::answers::{ask, catalog, compare, lint, page};
use crate::app::{App, Entered};
use crate::guard::Peers;
use crate::problem::Problem;

/// All paths; the first part needs no token.
const PATHS: [&str; 14] = [
    "/",
    "/app.js",
    "/app.css",
    "/icon.svg",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/v1/models",
    "/v1/rules",
    "/v1/infer",
    "/v1/explain",
    "/v1/compare",
    "/v1/lint",
];

/// How many of them need no token.
const OPEN: usize = 7;

/// The service.
pub(crate) fn router(app: Arc<App>) -> axum::Router {
    axum::Router::new()
        .route("/", get(page::index))
        .route("/app.js", get(page::script))
        .route("/app.css", get(page::style))
        .route("/icon.svg", get(page::icon))
        .route("/openapi.json", get(catalog::openapi))
        .route("/healthz", get(catalog::healthz))
        .route("/readyz", get(catalog::readyz))
        .route("/metrics", get(catalog::metrics))
        .route("/v1/models", get(catalog::models))
        .route("/v1/rules", get(catalog::rules))
        .route("/v1/infer", post(ask::infer))
        .route("/v1/explain", post(ask::explain))
        .route("/v1/compare", post(compare::compare))
        .route("/v1/lint", post(lint::lint))
        .fallback(async || Problem::not_found("there is no such path; see /openapi.json"))
        .layer(from_fn_with_state(app.clone(), watch))
        .with_state(app)
}

/// Counts and logs a request, and adds what every response has.
async fn watch(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response<Body> {
    let started = Instant::now();
    let method = request.method().clone();
    let path = PATHS.into_iter().find(|path| *path == request.uri().path()).unwrap_or("other");
    let client = request.extensions().get::<Peers>().map(|peers| peers.client.ip());
    let mut response = match admitted(&app, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = if path.starts_with("/v1/") && !is_read(path) { "POST" } else { "GET,HEAD" };
        let kept = response.headers_mut().remove(ALLOW);
        response = Problem::method(allowed).into_response();
        response.headers_mut().extend(kept.map(|kept| (Some(ALLOW), kept)));
    }
    harden(&mut response);
    if app.is_draining() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let (took, status) = (started.elapsed(), response.status().as_u16());
    app.metrics.request(path, status, took);
    let milliseconds = took.as_secs_f64() * 1e3;
    if tracing::enabled!(tracing::Level::INFO) {
        let client = client.map(|client| client.to_string()).unwrap_or_default();
        tracing::info!(%method, path, status, milliseconds, client, "request");
    }
    response
}

/// Whether a path of the API takes GET.
fn is_read(path: &str) -> bool {
    matches!(path, "/v1/models" | "/v1/rules")
}

/// Checks a request, and passes it on to its path.
async fn admitted(
    app: &Arc<App>,
    mut request: Request<Body>,
    next: Next,
) -> Result<Response<Body>, Problem> {
    let no_peers = || Problem::internal("a request without a connection");
    let peers = request.extensions().get::<Peers>().copied().ok_or_else(no_peers)?;
    app.guard.check_host(request.headers(), peers)?;
    let origin = app.guard.check_origin(request.headers())?;
    if origin.is_some() && request.method() == Method::OPTIONS {
        return Ok(with_origin(preflight(), origin));
    }
    let is_open = PATHS[..OPEN].contains(&request.uri().path());
    if is_open {
        return Ok(with_origin(next.run(request).await, origin));
    }
    app.guard.check_token(request.headers())?;
    let entered = Arc::new(Entered::new(app, peers.client.ip())?);
    // A response in pieces keeps it until the last piece.
    request.extensions_mut().insert(entered.clone());
    let response = next.run(request).await;
    drop(entered);
    Ok(with_origin(response, origin))
}

/// What a page of another origin may send.
fn preflight() -> Response<Body> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    let names = HeaderValue::from_static("authorization, content-type");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn with_origin(mut response: Response<Body>, origin: Option<String>) -> Response<Body> {
    if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(&origin).ok()) {
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Adds the security headers to a response.
fn harden(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}
