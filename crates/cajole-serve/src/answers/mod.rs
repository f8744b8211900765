//! What the service answers, path by path.

pub(crate) mod ask;
pub(crate) mod catalog;
pub(crate) mod compare;
pub(crate) mod events;
pub(crate) mod lint;
pub(crate) mod page;
pub(crate) mod stream;

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};

use crate::app::App;
use crate::problem::Problem;

/// What all requests share.
pub(crate) type Shared = axum::extract::State<Arc<App>>;

/// A response, or why there is none.
pub(crate) type Answer = Result<Response<Body>, Problem>;

/// A body of some type.
pub(crate) fn typed(media_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
