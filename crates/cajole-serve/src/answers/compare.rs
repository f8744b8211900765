//! `compare`: all engines on the same inputs, with what each costs.

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use cajole_infer::engine::Engine;
use cajole_infer::line::LineError;
use serde_json::value::RawValue;

use super::ask::check_query;
use super::{Answer, Shared, typed};
use crate::app::{Extras, all_done, record, until};
use crate::body::{JSON, check_accepts, json};
use crate::problem::Problem;
use crate::request::{CompareBody, Input, of_json};
use crate::ticket::{Done, Figures, Waits};
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
        let figures: Vec<Figures> = done.iter().flat_map(|done| done.figures.clone()).collect();
        if engine == Engine::network() {
            is_failure = figures.iter().map(|figures| figures.is_failure).collect();
        }
        tried.push(summed(&engine, &done, &figures, &is_failure)?);
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
    figures: &[Figures],
    is_failure: &[bool],
) -> Result<Tried, Problem> {
    let failures =
        figures.iter().zip(is_failure).filter(|(_, is)| **is).map(|(figures, _)| figures);
    let failures: Vec<&Figures> = failures.collect();
    let mean = |of: &dyn Fn(&Figures) -> f64| match failures.len() {
        0 => 0.0,
        n => failures.iter().map(|figures| of(figures)).sum::<f64>() / n as f64,
    };
    let log_probs: Vec<f64> =
        failures.iter().filter_map(|figures| figures.log_prob).map(f64::from).collect();
    let mean_log_prob = log_probs.iter().sum::<f64>() / log_probs.len() as f64;
    let raw = |done: &Done| {
        let record = record(done)?.to_owned();
        RawValue::from_string(record).map_err(|error| Problem::internal(error.to_string()))
    };
    Ok(Tried {
        engine: engine.to_string(),
        satisfied: failures.iter().filter(|figures| figures.is_satisfied).count(),
        passes: mean(&|figures| figures.passes as f64),
        milliseconds: mean(&|figures| figures.milliseconds),
        log_prob: Some(mean_log_prob).filter(|mean| mean.is_finite()),
        records: done.iter().map(raw).collect::<Result<_, _>>()?,
    })
}
