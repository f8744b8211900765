//! A program that runs, and the threads at its pipes.
//!
//! Programs hang, crash, write without end and never read. None of that may hold up whoever asks:
//! three threads do what can block, and the one that asks waits for a message until its time is up.
//! When a process is dropped, the program, all that it started, and its threads are gone.

use std::io::{self, ErrorKind};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::os::{self, Source, Stop, Stopped};
use super::tail::Tail;
use super::trouble::{Cause, excerpt};

/// How long a program that is ending is waited for, to hear of its status and its last words.
const GRACE: Duration = Duration::from_millis(200);

/// What becomes of a program's standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdout {
    /// It is read for replies.
    Replies,
    /// It is kept for quotation, together with standard error.
    Tail,
}

/// How long to wait for a program, and how much it may write.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) timeout: Duration,
    pub(super) bytes: usize,
}

/// A running program. Its fields are dropped in this order: first what threads wait for, then the
/// threads.
pub(super) struct Process {
    child: Child,
    /// How the child ended, once it has been waited for.
    ended: Option<ExitStatus>,
    was_asked: bool,
    tail: Arc<Tail>,
    limits: Limits,
    requests: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    _stop: Stop,
    threads: Threads,
}

/// What threads at pipes have to say.
enum Event {
    Output(Vec<u8>),
    OutputClosed,
    /// More was written besides replies than may be, at some time.
    Flooded,
}

impl Process {
    /// Starts a program.
    pub(super) fn start(
        mut command: Command,
        stdout: Stdout,
        limits: Limits,
    ) -> Result<Self, Cause> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        os::lead_group(&mut command);
        Self::start_piped(command, stdout, limits)
            .map_err(|error| Cause::Start { error: error.to_string() })
    }

    fn start_piped(mut command: Command, stdout: Stdout, limits: Limits) -> io::Result<Self> {
        let (stopped, stop) = os::stop()?;
        let n_quoted = if stdout == Stdout::Tail { 2 } else { 1 };
        // Few, so that a program that writes without end has to wait.
        let (event_sender, events) = mpsc::sync_channel(4);
        let (requests, request_receiver) = mpsc::channel();
        let mut process = Process {
            child: command.spawn()?,
            ended: None,
            was_asked: false,
            tail: Arc::new(Tail::new(n_quoted, limits.bytes)),
            limits,
            requests: Some(requests),
            events,
            _stop: stop,
            threads: Threads(Vec::new()),
        };
        process.attend(stdout, &event_sender, request_receiver, Arc::new(stopped))?;
        Ok(process)
    }

    /// Puts a thread at each pipe.
    fn attend(
        &mut self,
        stdout: Stdout,
        events: &SyncSender<Event>,
        requests: Receiver<Vec<u8>>,
        stopped: Arc<Stopped>,
    ) -> io::Result<()> {
        if let Some(stdin) = self.child.stdin.take() {
            let stopped = stopped.clone();
            self.threads.spawn(move || write_requests(stdin, &requests, &stopped))?;
        }
        if let Some(pipe) = self.child.stderr.take() {
            let (tail, events, stopped) = (self.tail.clone(), events.clone(), stopped.clone());
            self.threads.spawn(move || quote(pipe, &tail, &events, &stopped))?;
        }
        if let Some(pipe) = self.child.stdout.take() {
            let (tail, events) = (self.tail.clone(), events.clone());
            self.threads.spawn(move || match stdout {
                Stdout::Replies => listen(pipe, &events, &stopped),
                Stdout::Tail => quote(pipe, &tail, &events, &stopped),
            })?;
        }
        Ok(())
    }

    /// Writes a line and waits for the line in reply.
    pub(super) fn exchange(&mut self, request: Vec<u8>) -> Result<Vec<u8>, Cause> {
        let deadline = Instant::now() + self.limits.timeout;
        // What a new program writes as it starts belongs to its first request.
        if std::mem::replace(&mut self.was_asked, true) {
            self.tail.clear();
        }
        self.expect_silence()?;
        self.write(request);
        let mut reply = Vec::new();
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Output(bytes)) => {
                    if let Some(reply) = self.complete(&mut reply, &bytes)? {
                        return Ok(reply);
                    }
                }
                Ok(Event::Flooded) if self.tail.is_flooded() => return Err(self.flood()),
                Ok(Event::Flooded) => {}
                Ok(Event::OutputClosed) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.gone());
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.late()),
            }
        }
    }

    /// Gives the program its whole input and waits for it to end.
    pub(super) fn run(&mut self, input: Vec<u8>) -> Result<ExitStatus, Cause> {
        let deadline = Instant::now() + self.limits.timeout;
        self.write(input);
        self.requests = None;
        let mut pause = Duration::from_micros(200);
        while !os::has_exited(&mut self.child) {
            if deadline <= Instant::now() {
                return Err(self.late());
            }
            // A flood is the only event here, and there may be nobody left to tell of one.
            if let Err(RecvTimeoutError::Disconnected) = self.events.recv_timeout(pause) {
                thread::sleep(pause);
            }
            if self.tail.is_flooded() {
                return Err(self.flood());
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        self.end();
        self.tail.wait(GRACE);
        match self.ended {
            Some(_) if self.tail.is_flooded() => Err(self.flood()),
            Some(status) => Ok(status),
            None => Err(self.late()),
        }
    }

    /// Ends the program; the last lines that it wrote besides replies.
    pub(super) fn last_words(&mut self) -> String {
        self.end();
        self.tail.wait(GRACE);
        self.tail.text()
    }

    /// Adds `bytes` to the reply; the reply, if they complete it.
    fn complete(&self, reply: &mut Vec<u8>, bytes: &[u8]) -> Result<Option<Vec<u8>>, Cause> {
        let line = bytes.iter().position(|&byte| byte == b'\n');
        reply.extend_from_slice(&bytes[..line.unwrap_or(bytes.len())]);
        if self.limits.bytes < reply.len() {
            return Err(self.flood());
        }
        let Some(end) = line else { return Ok(None) };
        match &bytes[end + 1..] {
            [] => Ok(Some(std::mem::take(reply))),
            rest => Err(Cause::Unasked { line: excerpt(rest) }),
        }
    }

    /// Nothing can have been written since the last reply, and the program has to be there.
    fn expect_silence(&mut self) -> Result<(), Cause> {
        loop {
            match self.events.try_recv() {
                Ok(Event::Output(bytes)) => {
                    return Err(Cause::Unasked { line: excerpt(&bytes) });
                }
                Ok(Event::OutputClosed) | Err(TryRecvError::Disconnected) => {
                    return Err(self.gone());
                }
                Ok(Event::Flooded) if self.tail.is_flooded() => return Err(self.flood()),
                Ok(Event::Flooded) => {}
                Err(TryRecvError::Empty) => return Ok(()),
            }
        }
    }

    fn write(&self, bytes: Vec<u8>) {
        if let Some(requests) = &self.requests {
            // Who closes their standard input may still reply; if they do not, time will tell.
            let _ = requests.send(bytes);
        }
    }

    fn flood(&self) -> Cause {
        Cause::Flood { limit: self.limits.bytes }
    }

    /// Why there are no more replies.
    fn gone(&mut self) -> Cause {
        let deadline = Instant::now() + GRACE;
        while !os::has_exited(&mut self.child) {
            if deadline <= Instant::now() {
                return Cause::Closed;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.exited()
    }

    /// Why there was no reply in time.
    fn late(&mut self) -> Cause {
        if os::has_exited(&mut self.child) {
            return self.exited();
        }
        Cause::Timeout { ms: self.limits.timeout.as_millis() as u64 }
    }

    fn exited(&mut self) -> Cause {
        self.end();
        let status = self.ended.map_or("unknown status".to_owned(), |status| status.to_string());
        Cause::Exited { status }
    }

    /// Kills the program and all that it started, if it has not been done.
    fn end(&mut self) {
        if self.ended.is_none() {
            os::kill_group(&self.child);
            // Who may not be killed, since they became somebody else, is not waited for either.
            if self.child.kill().is_ok() || os::has_exited(&mut self.child) {
                self.ended = self.child.wait().ok();
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Threads that have been, or are about to be, told to end.
struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.0.push(thread::Builder::new().name("checker".to_owned()).spawn(work)?);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if os::THREADS_END {
            for thread in self.0.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

/// Writes requests as they come; closes the pipe after the last.
fn write_requests(mut stdin: ChildStdin, requests: &Receiver<Vec<u8>>, stopped: &Stopped) {
    for request in requests {
        if os::write_all(&mut stdin, &request, stopped).is_err() {
            return;
        }
    }
}

/// Hands on what a program replies.
fn listen(pipe: impl Source, events: &SyncSender<Event>, stopped: &Stopped) {
    read_to_end(pipe, stopped, |bytes| events.send(Event::Output(bytes.to_vec())).is_ok());
    let _ = events.send(Event::OutputClosed);
}

/// Keeps the tail of what a program writes besides.
fn quote(pipe: impl Source, tail: &Tail, events: &SyncSender<Event>, stopped: &Stopped) {
    read_to_end(pipe, stopped, |bytes| {
        if tail.push(bytes) {
            // If there is no room, whoever asks is about to look.
            let _ = events.try_send(Event::Flooded);
        }
        true
    });
    tail.close();
}

/// Passes on what is read for as long as it is wanted.
fn read_to_end(mut pipe: impl Source, stopped: &Stopped, mut pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 8192];
    loop {
        match os::read(&mut pipe, &mut buffer, stopped) {
            Ok(0) => return,
            Ok(n) if pass(&buffer[..n]) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}
