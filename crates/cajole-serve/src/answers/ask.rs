//! `infer` and `explain`: one input or many, as JSON, as events, or line by line.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;

use super::{Answer, Shared, events, stream, typed};
use crate::app::{Entered, Extras, all_done, record};
use crate::body::{EVENTS, JSON, LINES, check_accepts, json, media_type, names};
use crate::problem::Problem;
use crate::request::{AskBody, of_json};
use crate::with_options::With;

/// `POST /v1/infer`.
pub(crate) async fn infer(State(app): Shared, request: Request<Body>) -> Answer {
    match media_type(request.headers()) == LINES {
        true => stream::lines(app, request).await,
        false => ask(State(app), request, Extras::default()).await,
    }
}

/// `POST /v1/explain`.
pub(crate) async fn explain(State(app): Shared, request: Request<Body>) -> Answer {
    ask(State(app), request, Extras { traces: true, ..Extras::default() }).await
}

async fn ask(State(app): Shared, request: Request<Body>, extras: Extras) -> Answer {
    check_accepts(request.headers(), &[JSON, EVENTS])?;
    check_query(&request)?;
    let watches = names(request.headers(), EVENTS);
    let entered = Entered::of(&request);
    let body = json(&app, request).await?;
    if app.logs_inputs {
        tracing::info!(body = %String::from_utf8_lossy(&body), "asked");
    }
    let parse = |body: &[u8]| {
        let body: With<AskBody> = of_json(body)?;
        body.own.checked(body.run)
    };
    let asked = app.parsed(body, parse).await?;
    if extras.traces {
        asked.check_traces()?;
    }
    let inputs = asked.inputs.len();
    let (model, mut pending) = app.ask(asked, extras, watches).await?;
    if watches {
        return Ok(events::stream(model, pending, inputs, entered));
    }
    let done = all_done(&mut pending, inputs).await?;
    // Records are joined as text, so that they are what `infer` writes, byte for byte.
    let mut text = String::new();
    let name = serde_json::Value::String(model);
    let _ = write!(text, "{{\"model\":{name},\"records\":[");
    for (i, done) in done.iter().enumerate() {
        text.push_str(if i == 0 { "" } else { "," });
        text.push_str(record(done)?);
    }
    text.push_str("]}");
    Ok(typed(JSON, text))
}

/// An error if there are query parameters: with a JSON body, they belong in the body.
pub(super) fn check_query(request: &Request<Body>) -> Result<(), Problem> {
    match request.uri().query() {
        None | Some("") => Ok(()),
        Some(query) => {
            let name = query.split(['=', '&']).next().unwrap_or_default();
            let detail = "with a body of JSON, settings belong into it, not into the query";
            Err(Problem::malformed(detail).of(name))
        }
    }
}
