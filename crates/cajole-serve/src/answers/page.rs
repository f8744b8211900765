//! The page, which is part of the program.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderValue, Response};

use super::typed;

/// Only what the server itself sends; no frames around it, and no forms that post elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// `GET /`.
pub(crate) async fn index() -> Response<Body> {
    asset("text/html; charset=utf-8", include_bytes!("../../page/dist/index.html"))
}

/// `GET /app.js`.
pub(crate) async fn script() -> Response<Body> {
    asset("text/javascript; charset=utf-8", include_bytes!("../../page/dist/app.js"))
}

/// `GET /app.css`.
pub(crate) async fn style() -> Response<Body> {
    asset("text/css; charset=utf-8", include_bytes!("../../page/dist/app.css"))
}

/// `GET /icon.svg`.
pub(crate) async fn icon() -> Response<Body> {
    asset("image/svg+xml", include_bytes!("../../page/dist/icon.svg"))
}

fn asset(media_type: &'static str, bytes: &'static [u8]) -> Response<Body> {
    let mut response = typed(media_type, bytes);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
