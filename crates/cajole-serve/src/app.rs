//! What all requests share, and how their inputs get to the threads that answer them.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use cajole_core::Cancel;
use cajole_infer::Run;
use cajole_infer::engine::Engine;
use cajole_rules::Rules;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::guard::Guard;
use crate::limits::{
    LARGE_BODY_BYTES, LINES_TOGETHER, MOST_BYTES_WAITING, MOST_COMPILING, MOST_WAITING,
    SMALL_BYTES, SMALL_LINES,
};
use crate::metrics::Metrics;
use crate::models::{Models, Network};
use crate::options::Options;
use crate::problem::Problem;
use crate::queue::{Item, Lane, Queue, Room};
use crate::request::{Asked, Input, RulesAsked};
use crate::rulebook::Rulebook;
use crate::ticket::{Done, Entry, Event, Pending, Terms, Waits};

/// The state of the service.
pub(crate) struct App {
    pub(crate) models: Models,
    pub(crate) rulebook: Rulebook,
    pub(crate) queue: Arc<Queue<Entry>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) guard: Guard,
    /// Bytes of bodies that are being read.
    pub(crate) body_bytes: AtomicUsize,
    /// Whether the server refuses new requests because it is about to end.
    pub(crate) is_draining: AtomicBool,
    pub(crate) logs_inputs: bool,
    max_tokens: usize,
    max_deadline: Duration,
    /// Never set: the work on an input ends when its client leaves.
    cancel: Cancel,
    /// Permits to compile rules or parse large bodies.
    heavy: Semaphore,
}

/// A model with its rules, ready for inputs.
pub(crate) struct Prepared {
    /// The name of the model.
    pub(crate) model: String,
    pub(crate) network: Network,
    rules: Option<Arc<Rules>>,
}

/// What else records contain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) traces: bool,
    pub(crate) log_probs: bool,
}

impl App {
    pub(crate) fn new(models: Models, rulebook: Rulebook, guard: Guard, options: &Options) -> App {
        let room = Room { items: MOST_WAITING, bytes: MOST_BYTES_WAITING };
        let together = options.together.unwrap_or(LINES_TOGETHER);
        App {
            models,
            rulebook,
            queue: Arc::new(Queue::new(room, options.threads, together)),
            metrics: Arc::default(),
            guard,
            body_bytes: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            logs_inputs: options.logs_inputs,
            max_tokens: options.max_tokens,
            max_deadline: options.max_deadline,
            cancel: Cancel::default(),
            heavy: Semaphore::new(MOST_COMPILING),
        }
    }

    /// Runs something slow outside the event loop, a few at a time.
    pub(crate) async fn away<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&App) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let lost = |_| Problem::internal("the work on the request was lost");
        let _permit = self.heavy.acquire().await.map_err(|_| lost(()))?;
        let app = self.clone();
        spawn_blocking(move || work(&app)).await.map_err(|_| lost(()))
    }

    /// Parses a body, outside the event loop if it is large.
    pub(crate) async fn parsed<T: Send + 'static>(
        self: &Arc<Self>,
        body: Vec<u8>,
        parse: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        match body.len() {
            ..LARGE_BODY_BYTES => parse(&body),
            _ => self.away(move |_| parse(&body)).await?,
        }
    }

    /// Loads a model and compiles rules, unless they are cached.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        model: Option<String>,
        rules: RulesAsked,
    ) -> Result<Prepared, Problem> {
        let model = self.models.find(model.as_deref())?;
        let name = model.name.clone();
        if let Some(network) = model.loaded() {
            let wanted = self.rulebook.wanted(network, &rules)?;
            let known = wanted.as_ref().map(|wanted| wanted.known(network));
            if let None | Some(Some(_)) = known {
                return Ok(Prepared { model: name, network, rules: known.flatten().transpose()? });
            }
        }
        let prepared = self.away(move |app| {
            let model = app.models.find(Some(&name))?;
            let network = app.models.load(model)?;
            let wanted = app.rulebook.wanted(network, &rules)?;
            let rules = wanted.map(|wanted| wanted.compile(network)).transpose()?;
            Ok(Prepared { model: name, network, rules })
        });
        prepared.await?
    }

    /// The terms of inputs.
    pub(crate) fn terms(
        &self,
        prepared: &Prepared,
        run: &Run,
        engine: &Engine,
        extras: Extras,
    ) -> Arc<Terms> {
        let run = Run { engine: Some(engine.clone()), times: None, ..run.clone() };
        let settings = run.settings(prepared.network).expect("nothing is overridden");
        let mut settings = settings.threads(1);
        settings.max_tokens = self.max_tokens;
        settings.deadline = Some(self.max_deadline);
        settings.cancel = self.cancel.clone();
        settings.traces = extras.traces;
        settings.log_probs |= extras.log_probs;
        Arc::new(Terms { network: prepared.network, rules: prepared.rules.clone(), settings })
    }

    /// Queues all inputs of a request.
    pub(crate) fn submit(
        &self,
        inputs: Vec<Input>,
        terms: &Arc<Terms>,
        waits: Waits,
        until: Option<Instant>,
    ) -> Result<Pending, Problem> {
        let pending = Pending::new(waits);
        let entries = inputs.into_iter().map(|input| pending.entry(terms, input, until));
        let entries: VecDeque<Entry> = entries.collect();
        let bytes: usize = entries.iter().map(Item::bytes).sum();
        let is_small = bytes <= SMALL_BYTES && entries.len() <= SMALL_LINES;
        let lane = if is_small { Lane::Small } else { Lane::Large };
        let full = |_| Problem::unavailable("too many inputs wait already");
        self.queue.put(lane, entries).map_err(full)?;
        Ok(pending)
    }

    /// Prepares and submits a request to `infer` or `explain`; also returns the model's name.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        asked: Asked,
        extras: Extras,
        watches: bool,
    ) -> Result<(String, Pending), Problem> {
        let until = until(asked.run.deadline_ms);
        let prepared = self.prepare(asked.model, asked.rules).await?;
        // Only nudges have steps to explain.
        let engine = match asked.run.engine.clone().unwrap_or(Engine::usual()) {
            usual if usual.is_usual() && extras.traces => Engine::gbi(),
            engine => engine,
        };
        let terms = self.terms(&prepared, &asked.run, &engine, extras);
        let waits = Waits { watches, times: asked.run.times.unwrap_or(true) };
        Ok((prepared.model, self.submit(asked.inputs, &terms, waits, until)?))
    }

    /// Whether the server refuses new requests because it is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}

/// A request in progress, which is counted until its response is complete.
pub(crate) struct Entered {
    app: Arc<App>,
    client: IpAddr,
}

impl Entered {
    /// An error if the client has too many.
    pub(crate) fn new(app: &Arc<App>, client: IpAddr) -> Result<Entered, Problem> {
        app.guard.enter(client)?;
        app.metrics.in_progress.fetch_add(1, Ordering::Relaxed);
        Ok(Entered { app: app.clone(), client })
    }

    /// The entry of a request.
    pub(crate) fn of(request: &Request<Body>) -> Option<Arc<Entered>> {
        request.extensions().get().cloned()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.app.guard.leave(self.client);
        self.app.metrics.in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When a request that arrives now runs out of time.
pub(crate) fn until(deadline_ms: Option<usize>) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(deadline_ms? as u64))
}

/// All records of a request, in order.
pub(crate) async fn all_done(pending: &mut Pending, inputs: usize) -> Result<Vec<Done>, Problem> {
    let mut done = Vec::with_capacity(inputs);
    while done.len() < inputs {
        match pending.event().await {
            Some(Event::Done(one)) => done.push(one),
            Some(Event::Step(_)) => {}
            None => return Err(Problem::internal("the work on the request was lost")),
        }
    }
    done.sort_by_key(|done| done.line);
    Ok(done)
}

/// The record of an input.
pub(crate) fn record(done: &Done) -> Result<&str, Problem> {
    let lost = || Problem::internal(format!("the work on input {} was lost", done.line));
    done.record.as_deref().ok_or_else(lost)
}
