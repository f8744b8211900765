//! What the server has: models, rules, the description of the API, figures, and its health.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use cajole_rules::{Cache, RuleText};
use serde_json::json;

use super::{Answer, Shared, typed};
use crate::OPENAPI;
use crate::body::JSON;
use crate::models::Network;
use crate::problem::Problem;

/// `GET /v1/models`.
pub(crate) async fn models(State(app): Shared) -> Answer {
    let models = app.away(|app| {
        let models: Vec<_> = app.models.iter().map(|model| app.models.describe(model)).collect();
        json!({"models": models}).to_string()
    });
    Ok(typed(JSON, models.await?))
}

/// `GET /v1/rules`.
pub(crate) async fn rules(State(app): Shared) -> Answer {
    let rules = app.away(|app| {
        let files = app.rulebook.files();
        let file = |(name, file): (&String, &RuleText)| {
            // This starts no programs.
            let judges =
                |network: Network| Cache::shared().compile(file, network.vocabulary()).is_ok();
            let fits = app.models.iter().filter(|model| app.models.load(model).is_ok_and(judges));
            let models: Vec<&str> = fits.map(|model| model.name.as_str()).collect();
            json!({"name": name, "toml": file.text, "models": models})
        };
        json!({"rules": files.iter().map(file).collect::<Vec<_>>()}).to_string()
    });
    Ok(typed(JSON, rules.await?))
}

/// `GET /openapi.json`.
pub(crate) async fn openapi() -> Response<Body> {
    typed(JSON, OPENAPI)
}

/// `GET /healthz`.
pub(crate) async fn healthz() -> Response<Body> {
    typed(JSON, r#"{"status":"ok"}"#)
}

/// `GET /readyz`.
pub(crate) async fn readyz(State(app): Shared) -> Answer {
    match app.is_draining() {
        true => Err(Problem::unavailable("the server is shutting down")),
        false => Ok(typed(JSON, r#"{"status":"ready"}"#)),
    }
}

/// `GET /metrics`.
pub(crate) async fn metrics(State(app): Shared) -> Response<Body> {
    typed("text/plain; version=0.0.4; charset=utf-8", app.metrics.text(app.queue.len()))
}
