//! `compare`: all engines on the same inputs, with what each costs.

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use cajole_infer::engine::Engine;
use cajole_infer::figures::{Figures, Measured};
use cajole_infer::line::LineError;
use serde_json::value::RawValue;

use super::ask::check_query;
use super::{Answer, Shared, typed};
use crate::app::{Extras, all_done, record, until};
use crate::body::{JSON, check_accepts, json};
use crate::problem::Problem;
use crate::request::{CompareBody, Input, of_json};
use crate::ticket::{Done, Waits};
use crate::with_options::With;

/// The results of all engines.
#[derive(serde::Serialize)]
struct Comparison {
    model: String,
    inputs: usize,
    failures: usize,
    engines: Vec<Tried>,
}

/// The results of one engine on all inputs.
#[derive(serde::Serialize)]
struct Tried {
    engine: String,
    satisfied: usize,
    passes: f64,
    milliseconds: f64,
    log_prob: Option<f64>,
    /// The records, as text.
    records: Vec<Box<RawValue>>,
}

/// `POST /v1/compare`.
pub(crate) async fn compare(State(app): Shared, request: Request<Body>) -> Answer {
    check_accepts(request.headers(), &[JSON])?;
    check_query(&request)?;
    let body = json(&app, request).await?;
    let parse = |body: &[u8]| {
        let body: With<CompareBody> = of_json(body)?;
        body.own.checked(body.run)
    };
    let (asked, engines) = app.parsed(body, parse).await?;
    let until = until(asked.run.deadline_ms);
    let prepared = app.prepare(asked.model, asked.rules).await?;
    let engines = engines.unwrap_or_else(|| prepared.network.engines());
    let others = engines.into_iter().filter(|engine| *engine != Engine::network());
    let extras = Extras { log_probs: true, ..Extras::default() };
    let waits = Waits { watches: false, times: true };
    let mut pending = Vec::new();
    for engine in [Engine::network()].into_iter().chain(others) {
        let terms = app.terms(&prepared, &asked.run, &engine, extras);
        let inputs = asked.inputs.iter().map(copied).collect();
        pending.push((engine, app.submit(inputs, &terms, waits, until)?));
    }
    let mut tried: Vec<Tried> = Vec::new();
    let mut is_failure: Vec<bool> = Vec::new();
    for (engine, mut pending) in pending {
        let done = all_done(&mut pending, asked.inputs.len()).await?;
        let measured: Vec<Measured> = done.iter().flat_map(|done| done.figures.clone()).collect();
        if engine == Engine::network() {
            is_failure = measured.iter().map(|measured| measured.is_failure).collect();
        }
        tried.push(summed(&engine, &done, &measured, &is_failure)?);
    }
    let comparison = Comparison {
        model: prepared.model,
        inputs: is_failure.len(),
        failures: is_failure.iter().filter(|is| **is).count(),
        engines: tried,
    };
    let text = serde_json::to_string(&comparison);
    Ok(typed(JSON, text.map_err(|error| Problem::internal(error.to_string()))?))
}

/// An input for another engine.
fn copied(input: &Input) -> Input {
    match input {
        Ok(line) => Ok(line.clone()),
        Err((number, error)) => Err((*number, LineError::other(error.to_string()))),
    }
}

fn summed(
    engine: &Engine,
    done: &[Done],
    measured: &[Measured],
    is_failure: &[bool],
) -> Result<Tried, Problem> {
    let failures = measured.iter().zip(is_failure).filter(|(_, is)| **is);
    let figures = Figures::new(failures.map(|(measured, _)| *measured));
    let mut records = Vec::with_capacity(done.len());
    for done in done {
        let record = RawValue::from_string(record(done)?.to_owned());
        records.push(record.map_err(|error| Problem::internal(error.to_string()))?);
    }
    let or_zero = |mean: f64| if mean.is_finite() { mean } else { 0.0 };
    Ok(Tried {
        engine: engine.to_string(),
        satisfied: figures.satisfied,
        passes: or_zero(figures.passes),
        milliseconds: or_zero(figures.milliseconds),
        log_prob: Some(figures.log_prob).filter(|mean| mean.is_finite()),
        records,
    })
}
