//! Lines in, records out, while lines are still being sent.
//!
//! The lines of a stream that are in flight are limited: a client that sends faster than the server
//! answers, or does not take its records, waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use cajole_files::{LineKind, LineLimits, LineSplitter};
use cajole_infer::engine::Engine;
use cajole_infer::limits::MAX_LINE_BYTES;
use cajole_infer::source::BadLine;
use http_body_util::BodyExt;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;

use super::{events, typed};
use crate::app::{App, Entered, Extras, record, until};
use crate::body::{LINES, check_accepts, check_encoding};
use crate::limits::{BYTES_OF_STREAM, IDLE_TIME, LINES_OF_STREAM};
use crate::problem::Problem;
use crate::queue::{Item, Lane};
use crate::request::{Input, StreamQuery, line_of, of_query};
use crate::ticket::{Done, Entry, Event, Pending, Terms, Waits};
use crate::with_options::With;

/// The most pieces of the response in flight to the client.
const AHEAD: usize = 1024;

/// Time until a stream checks again whether the queue has room.
const PAUSE: Duration = Duration::from_millis(20);

/// `POST /v1/infer` with a body of lines.
pub(crate) async fn lines(
    app: Arc<App>,
    request: Request<Body>,
) -> Result<Response<Body>, Problem> {
    check_accepts(request.headers(), &[LINES])?;
    check_encoding(request.headers())?;
    let query: With<StreamQuery> = of_query(request.uri().query().unwrap_or_default())?;
    let (run, (model, rules)) = (query.run, query.own.into_parts());
    let prepared = app.prepare(model, rules).await?;
    let engine = run.engine.clone().unwrap_or(Engine::usual());
    let terms = app.terms(&prepared, &run, &engine, Extras::default());
    let (to, receiver) = channel(AHEAD);
    let stream = Stream {
        app,
        terms,
        deadline_ms: run.deadline_ms,
        pending: Pending::new(Waits { watches: false, times: run.times.unwrap_or(true) }),
        splitter: splitter(),
        held: VecDeque::new(),
        expected: VecDeque::new(),
        early: BTreeMap::new(),
        bytes: 0,
        to,
    };
    let entered = Entered::of(&request);
    tokio::spawn(async move {
        stream.run(request.into_body()).await;
        drop(entered);
    });
    Ok(typed(LINES, events::body(ReceiverStream::new(receiver))))
}

/// A stream of lines that is being answered.
struct Stream {
    app: Arc<App>,
    terms: Arc<Terms>,
    deadline_ms: Option<usize>,
    pending: Pending,
    splitter: LineSplitter,
    /// Lines that the queue has no room for yet.
    held: VecDeque<Entry>,
    /// The lines in flight, in order, with their bytes.
    expected: VecDeque<(u64, usize)>,
    /// Records whose turn has not come.
    early: BTreeMap<u64, Done>,
    /// Bytes of the lines in flight.
    bytes: usize,
    to: Sender<Bytes>,
}

/// What a stream handles next.
enum Next {
    Piece(Option<Result<Bytes, Problem>>),
    Event(Option<Event>),
    Retry,
    Gone,
}

impl Stream {
    /// Ends when the client is gone, and with it the work on the stream.
    async fn run(mut self, mut body: Body) {
        let mut is_open = true;
        while is_open || !self.expected.is_empty() {
            let has_room = self.expected.len() < LINES_OF_STREAM && self.bytes < BYTES_OF_STREAM;
            let next = tokio::select! {
                () = self.to.closed() => Next::Gone,
                () = tokio::time::sleep(PAUSE), if !self.held.is_empty() => Next::Retry,
                event = self.pending.event(), if !self.expected.is_empty() => Next::Event(event),
                piece = piece(&mut body), if is_open && has_room && self.held.is_empty() => {
                    Next::Piece(piece)
                }
            };
            let ended = match next {
                Next::Gone => return,
                Next::Retry => {
                    self.submit();
                    Ok(())
                }
                Next::Piece(Some(Ok(piece))) => {
                    self.take_lines(&piece);
                    Ok(())
                }
                Next::Piece(Some(Err(problem))) => Err(problem),
                Next::Piece(None) => {
                    is_open = false;
                    self.take_last_line();
                    Ok(())
                }
                Next::Event(Some(Event::Done(done))) => self.put(done).await,
                Next::Event(Some(Event::Step(_))) => Ok(()),
                Next::Event(None) => Err(Problem::internal("the work on the stream was lost")),
            };
            if let Err(problem) = ended {
                let last = format!("{{\"problem\":{}}}\n", problem.to_json());
                let _ = self.to.send(last.into()).await;
                return;
            }
        }
    }

    /// Queues the lines that end in a piece.
    fn take_lines(&mut self, mut piece: &[u8]) {
        while let Some(kind) = self.splitter.take(&mut piece) {
            self.hold(kind);
        }
        self.submit();
    }

    /// Queues the last line, which needs no line end.
    fn take_last_line(&mut self) {
        if let Some(kind) = self.splitter.finish() {
            self.hold(kind);
        }
        self.submit();
    }

    /// Keeps a line for the queue, unless it is blank.
    fn hold(&mut self, kind: LineKind) {
        let Some(input) = input(&self.splitter, kind) else { return };
        let entry = self.pending.entry(&self.terms, input, until(self.deadline_ms));
        self.expected.push_back((entry.number(), entry.bytes()));
        self.bytes += entry.bytes();
        self.held.push_back(entry);
    }

    fn submit(&mut self) {
        let held = std::mem::take(&mut self.held);
        if let Err(held) = self.app.queue.put(Lane::Large, held) {
            self.held = held;
        }
    }

    /// Sends all records whose turn it is.
    async fn put(&mut self, done: Done) -> Result<(), Problem> {
        self.early.insert(done.line, done);
        let mut text = String::new();
        while let Some((line, bytes)) = self.expected.front().copied()
            && let Some(done) = self.early.remove(&line)
        {
            self.expected.pop_front();
            self.bytes -= bytes;
            text.push_str(record(&done)?);
            text.push('\n');
        }
        if !text.is_empty() {
            // The next turn of the loop notices a client that is gone.
            let _ = self.to.send(text.into()).await;
        }
        Ok(())
    }
}

/// The next piece of a body; `None` at its end.
async fn piece(body: &mut Body) -> Option<Result<Bytes, Problem>> {
    loop {
        let frame = match tokio::time::timeout(IDLE_TIME, body.frame()).await {
            Ok(frame) => frame?,
            Err(_) => {
                let seconds = IDLE_TIME.as_secs();
                return Some(Err(Problem::timeout(format!("nothing was sent for {seconds} s"))));
            }
        };
        match frame {
            Ok(frame) => match frame.into_data() {
                Ok(data) => return Some(Ok(data)),
                Err(_) => continue, // trailers
            },
            Err(_) => return Some(Err(Problem::malformed("the body ends in the middle"))),
        }
    }
}

/// A splitter for the lines of a stream. They have room for the end `\r\n`, however long they take to
/// end: what is skipped of a line takes no memory.
fn splitter() -> LineSplitter {
    LineSplitter::new(LineLimits { most: MAX_LINE_BYTES + 1, skipped: u64::MAX })
}

/// The input on a line that has ended; `None` if it is blank.
fn input(splitter: &LineSplitter, kind: LineKind) -> Option<Input> {
    let number = splitter.number();
    if kind != LineKind::Whole {
        return Some(Err((number, BadLine::TooLong { most: MAX_LINE_BYTES }.into())));
    }
    match std::str::from_utf8(splitter.bytes()) {
        Ok(line) => {
            let line = line.strip_suffix('\n').unwrap_or(line);
            line_of(number, line.trim_end_matches('\r').to_owned())
        }
        Err(_) => Some(Err((number, BadLine::NotText.into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<String> {
        let mut splitter = splitter();
        let mut inputs = Vec::new();
        for mut piece in pieces.iter().copied() {
            while let Some(kind) = splitter.take(&mut piece) {
                inputs.extend(input(&splitter, kind));
            }
        }
        if let Some(kind) = splitter.finish() {
            inputs.extend(input(&splitter, kind));
        }
        let shown = inputs.into_iter().map(|input| match input {
            Ok(line) => format!("{}:{}", line.number, line.text),
            Err((number, error)) => format!("{number}!{error}"),
        });
        shown.collect()
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        assert_eq!(split(&[b"a\nb\r\n", b"", b"c", b"d\n\n  \ne"]), ["1:a", "2:b", "3:cd", "6:e"]);
        assert_eq!(split(&[b"\n\n"]), Vec::<String>::new());
        assert_eq!(split(&[b"a\n"]), ["1:a"]);
        assert_eq!(split(&[b"\xff\na"]), ["1!the line is not UTF-8", "2:a"]);
    }

    #[test]
    fn long_lines_are_let_go() {
        let long = vec![b'x'; MAX_LINE_BYTES];
        let lines = split(&[b"a\n", &long, &long, b"x\nb\n", &long, b"xx"]);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[1].starts_with("2!the line is longer than"));
        assert_eq!((lines[0].as_str(), lines[2].as_str()), ("1:a", "3:b"));
        assert!(lines[3].starts_with("4!the line is longer than"));
    }
}
