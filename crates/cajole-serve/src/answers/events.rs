//! Server-sent events: steps as they happen, then records.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, Response};
use serde_json::json;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::typed;
use crate::app::{Entered, record};
use crate::body::EVENTS;
use crate::problem::Problem;
use crate::ticket::{Event, Pending};

/// The most events in flight to a client.
const AHEAD: usize = 64;

/// Time after which a silent stream sends a sign of life.
const QUIET: Duration = Duration::from_secs(15);

/// The steps and records of a request.
pub(crate) fn stream(
    model: String,
    pending: Pending,
    inputs: usize,
    entered: Option<Arc<Entered>>,
) -> Response<Body> {
    let (sender, receiver) = channel(AHEAD);
    tokio::spawn(async move {
        tell(model, pending, inputs, sender).await;
        drop(entered);
    });
    let mut response = typed(EVENTS, body(ReceiverStream::new(receiver)));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A body that streams what arrives.
pub(super) fn body(stream: ReceiverStream<Bytes>) -> Body {
    Body::from_stream(stream.map(Ok::<_, std::convert::Infallible>))
}

/// Ends when the client is gone, and with it the work on the request.
async fn tell(model: String, mut pending: Pending, inputs: usize, to: Sender<Bytes>) {
    let mut n = 0;
    while n < inputs {
        let event = tokio::select! {
            () = to.closed() => return,
            () = tokio::time::sleep(QUIET) => {
                let _ = to.send(Bytes::from_static(b": working\n\n")).await;
                continue;
            }
            event = pending.event() => event,
        };
        let text = match event {
            Some(Event::Step(step)) => written("step", &step),
            Some(Event::Done(done)) => {
                n += 1;
                match record(&done) {
                    Ok(record) => written("record", record),
                    Err(problem) => written("problem", &problem.to_json()),
                }
            }
            None => {
                let problem = Problem::timeout("the client takes events too slowly");
                let _ = to.send(written("problem", &problem.to_json())).await;
                return;
            }
        };
        if to.send(text).await.is_err() {
            return;
        }
    }
    let done = json!({"model": model, "records": inputs}).to_string();
    let _ = to.send(written("done", &done)).await;
}

fn written(event: &str, data: &str) -> Bytes {
    // JSON as it is written here has no line ends.
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}
