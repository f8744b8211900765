//! A request in progress: the client that waits for it, and the state of its inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use cajole_infer::figures::Measured;
use cajole_infer::record::Record;
use cajole_infer::{Settings, Waiter};
use cajole_rules::Rules;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::limits::MOST_EVENTS;
use crate::models::Network;
use crate::queue::Item;
use crate::request::Input;

/// What inputs must share to be answered together.
pub(crate) struct Terms {
    /// The network.
    pub(crate) network: Network,
    /// What outputs must satisfy, unless their input says otherwise.
    pub(crate) rules: Option<Arc<Rules>>,
    /// How inputs are answered.
    pub(crate) settings: Settings,
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        let same_rules = match (&self.rules, &other.rules) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        std::ptr::addr_eq(self.network, other.network)
            && same_rules
            && self.settings == other.settings
    }
}

/// What a client is told.
#[derive(Debug)]
pub(crate) enum Event {
    /// A step of an input, as JSON.
    Step(String),
    /// An input is done.
    Done(Done),
}

/// An input that is done.
#[derive(Debug)]
pub(crate) struct Done {
    /// The number of its line.
    pub(crate) line: u64,
    /// Its record, as JSON; `None` if it was lost.
    pub(crate) record: Option<String>,
    /// The figures of each answer.
    pub(crate) figures: Vec<Measured>,
}

/// A request, as threads know it.
#[derive(Debug)]
pub(crate) struct Ticket {
    number: u64,
    has_left: AtomicBool,
    watches: bool,
    times: bool,
    events: UnboundedSender<Event>,
    /// The number of events that the client has not taken.
    n_waiting: AtomicUsize,
}

/// A request, as its client knows it. Dropping it means that the client has left.
#[derive(Debug)]
pub(crate) struct Pending {
    ticket: Arc<Ticket>,
    events: UnboundedReceiver<Event>,
}

/// How a client waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// Whether it wants steps.
    pub(crate) watches: bool,
    /// Whether its records have times.
    pub(crate) times: bool,
}

impl Pending {
    /// For a client that waits in this way.
    pub(crate) fn new(waits: Waits) -> Pending {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (sender, events) = unbounded_channel();
        let ticket = Ticket {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            has_left: AtomicBool::new(false),
            watches: waits.watches,
            times: waits.times,
            events: sender,
            n_waiting: AtomicUsize::new(0),
        };
        Pending { ticket: Arc::new(ticket), events }
    }

    /// An input of the request, as the queue has it.
    pub(crate) fn entry(&self, terms: &Arc<Terms>, input: Input, until: Option<Instant>) -> Entry {
        let (number, bytes) = match &input {
            Ok(line) => (line.number, line.text.len()),
            Err((number, _)) => (*number, 0),
        };
        let waiter = Arc::new(Waiting { line: number, until, ticket: self.ticket.clone() });
        let input = input.map(|line| line.with_waiter(waiter));
        Entry { terms: terms.clone(), ticket: self.ticket.clone(), input, number, bytes }
    }

    /// The next event; `None` if the client was too slow.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        if self.ticket.has_left.load(Ordering::Relaxed) {
            return None;
        }
        let event = self.events.recv().await;
        self.ticket.n_waiting.fetch_sub(1, Ordering::Relaxed);
        event
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.ticket.has_left.store(true, Ordering::Relaxed);
    }
}

impl Ticket {
    fn send(&self, event: Event) {
        let n = self.n_waiting.fetch_add(1, Ordering::Relaxed);
        // The inputs bound the records; only the client's pace bounds the steps.
        if MOST_EVENTS < n && matches!(event, Event::Step(_)) {
            self.has_left.store(true, Ordering::Relaxed);
        }
        // A client that has left does not miss it.
        let _ = self.events.send(event);
    }
}

/// An input that waits or is being answered.
pub(crate) struct Entry {
    terms: Arc<Terms>,
    ticket: Arc<Ticket>,
    input: Input,
    number: u64,
    bytes: usize,
}

impl Item for Entry {
    type Terms = Terms;

    fn terms(&self) -> &Arc<Terms> {
        &self.terms
    }

    fn request(&self) -> u64 {
        self.ticket.number
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_wanted(&self) -> bool {
        !self.ticket.has_left.load(Ordering::Relaxed)
    }
}

/// Where the record of an input goes.
pub(crate) struct Receipt {
    ticket: Arc<Ticket>,
    line: u64,
}

impl Entry {
    /// The number of its line.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The input, and where its record goes.
    pub(crate) fn split(self) -> (Input, Receipt) {
        (self.input, Receipt { ticket: self.ticket, line: self.number })
    }
}

impl Receipt {
    /// A record, ready for the client.
    pub(crate) fn done(&self, record: &Record) -> Done {
        let answers = record.answers.as_deref().unwrap_or_default();
        let figures = answers.iter().map(|a| Measured::from(&a.answer)).collect();
        Done { line: self.line, record: Some(record.to_line(self.ticket.times)), figures }
    }

    /// Says that there is no record.
    pub(crate) fn lost(&self) -> Done {
        Done { line: self.line, record: None, figures: Vec::new() }
    }

    /// Sends it to the client.
    pub(crate) fn send(self, done: Done) {
        self.ticket.send(Event::Done(done));
    }
}

/// The client that waits for one input.
#[derive(Debug)]
struct Waiting {
    line: u64,
    until: Option<Instant>,
    ticket: Arc<Ticket>,
}

impl Waiter for Waiting {
    fn until(&self) -> Option<Instant> {
        self.until
    }

    fn has_left(&self) -> bool {
        self.ticket.has_left.load(Ordering::Relaxed)
    }

    fn watches(&self) -> bool {
        self.ticket.watches
    }

    fn step(&self, answer: usize, mut step: Map<String, Value>) {
        if !self.ticket.times {
            step.shift_remove("milliseconds");
        }
        let event = json!({"line": self.line, "answer": answer, "step": step});
        self.ticket.send(Event::Step(event.to_string()));
    }
}
