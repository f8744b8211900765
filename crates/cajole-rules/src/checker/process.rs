//! A running program, and the threads that serve its pipes.
//!
//! Programs hang, crash, write without end and never read. None of that may block the caller: three
//! threads do everything that can block, and the caller waits for a message with a timeout.
//! Dropping a process kills the program and everything it started, and ends its threads.

use std::io::{self, ErrorKind};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::config::CheckerConfig;
use super::os::{self, Source, Stop, Stopped};
use super::tail::Tail;
use super::trouble::Cause;

/// The running programs. They lead process groups of their own, which no signal from a terminal
/// reaches.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Kills all checkers of this process and whatever they started, for a process that is about to end
/// without dropping its checkers.
pub fn kill_checkers() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter().for_each(|&id| os::kill_group(id));
}

/// How long to wait for a dying program's exit status and last output.
const GRACE: Duration = Duration::from_millis(200);

/// What happens to a program's standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdout {
    /// It is parsed for replies.
    Replies,
    /// Its tail is kept for messages, together with standard error.
    Tail,
}

/// The time and output limits of a program.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) timeout: Duration,
    pub(super) bytes: usize,
}

impl Limits {
    /// Those of a checker with these settings.
    pub(super) fn of(config: &CheckerConfig) -> Self {
        Limits { timeout: config.timeout(), bytes: config.max_reply_bytes }
    }
}

/// A running program. The order of the fields is the drop order: first what threads wait for, then
/// the threads.
pub(super) struct Process {
    child: Child,
    /// The exit status, once the child has been waited for.
    ended: Option<ExitStatus>,
    was_asked: bool,
    /// Output that has not been read yet.
    unread: Vec<u8>,
    /// Bytes of the lines that were read since the last request.
    n_read: usize,
    tail: Arc<Tail>,
    limits: Limits,
    requests: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    _stop: Stop,
    threads: Threads,
}

/// A message from a pipe thread.
enum Event {
    Output(Vec<u8>),
    OutputClosed,
    /// More was written besides replies than allowed, at some point.
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
        // A small buffer, so that a program that writes without end blocks.
        let (event_sender, events) = mpsc::sync_channel(4);
        let (requests, request_receiver) = mpsc::channel();
        let mut process = Process {
            child: command.spawn()?,
            ended: None,
            was_asked: false,
            unread: Vec::new(),
            n_read: 0,
            tail: Arc::new(Tail::new(n_quoted, limits.bytes)),
            limits,
            requests: Some(requests),
            events,
            _stop: stop,
            threads: Threads(Vec::new()),
        };
        let running = RUNNING.lock();
        running.unwrap_or_else(PoisonError::into_inner).push(process.child.id());
        process.attend(stdout, &event_sender, request_receiver, Arc::new(stopped))?;
        Ok(process)
    }

    /// Starts a thread for each pipe.
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

    /// Writes a request line. Returns what the program wrote since the last reply, without being
    /// asked; what a new program writes at start-up belongs to its first request.
    pub(super) fn send(&mut self, request: Vec<u8>) -> Result<Vec<u8>, Cause> {
        self.n_read = 0;
        let mut unasked = Vec::new();
        if std::mem::replace(&mut self.was_asked, true) {
            self.tail.clear();
            self.take_in()?;
            unasked.clone_from(&self.unread);
        }
        self.write(request);
        Ok(unasked)
    }

    /// The next line that it writes, without its end.
    pub(super) fn line(&mut self, until: Instant) -> Result<Vec<u8>, Cause> {
        loop {
            let end = self.unread.iter().position(|&byte| byte == b'\n');
            if self.limits.bytes < self.n_read + end.unwrap_or(self.unread.len()) {
                return Err(self.flood());
            }
            if let Some(end) = end {
                let line = self.unread.drain(..=end).take(end).collect();
                self.n_read += end;
                return Ok(line);
            }
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Output(bytes)) => self.unread.extend(bytes),
                Ok(Event::Flooded) if self.tail.is_flooded() => return Err(self.flood()),
                Ok(Event::Flooded) => {}
                Ok(Event::OutputClosed) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.gone());
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.late()),
            }
        }
    }

    /// Output after the line that was read last, as far as it has arrived.
    pub(super) fn unread(&self) -> &[u8] {
        &self.unread
    }

    /// Why the program ended by itself without being asked anything, if it does so within a time.
    pub(super) fn end_within(&mut self, most: Duration) -> Option<Cause> {
        let deadline = Instant::now() + most;
        while !os::has_exited(&mut self.child) {
            if deadline <= Instant::now() {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Some(self.exited())
    }

    /// Sends the program its whole input and waits for it to exit.
    pub(super) fn run(&mut self, input: Vec<u8>) -> Result<ExitStatus, Cause> {
        let deadline = Instant::now() + self.limits.timeout;
        self.write(input);
        self.requests = None;
        let mut pause = Duration::from_micros(200);
        while !os::has_exited(&mut self.child) {
            if deadline <= Instant::now() {
                return Err(self.late());
            }
            // The only event here is a flood; the sender may be gone.
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

    /// Kills the program and returns the last lines that it wrote besides replies.
    pub(super) fn last_words(&mut self) -> String {
        self.end();
        self.tail.wait(GRACE);
        self.tail.text()
    }

    /// Reads what has arrived; an error if the program is gone.
    fn take_in(&mut self) -> Result<(), Cause> {
        loop {
            match self.events.try_recv() {
                Ok(Event::Output(bytes)) => self.unread.extend(bytes),
                Ok(Event::OutputClosed) | Err(TryRecvError::Disconnected) => {
                    return Err(self.gone());
                }
                Ok(Event::Flooded) if self.tail.is_flooded() => return Err(self.flood()),
                Ok(Event::Flooded) => {}
                Err(TryRecvError::Empty) => return Ok(()),
            }
            // A program that writes without end must not keep this loop going.
            if self.limits.bytes < self.unread.len() {
                return Err(self.flood());
            }
        }
    }

    fn write(&self, bytes: Vec<u8>) {
        if let Some(requests) = &self.requests {
            // A program may close its standard input and still reply; if it does not, it times out.
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

    /// Kills the program and everything it started, unless that has been done.
    fn end(&mut self) {
        if self.ended.is_none() {
            let id = self.child.id();
            RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|&other| other != id);
            os::kill_group(id);
            // If it cannot be killed (it may have changed its user), it is not waited for either.
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

/// Writes requests as they arrive, and closes the pipe after the last.
fn write_requests(mut stdin: ChildStdin, requests: &Receiver<Vec<u8>>, stopped: &Stopped) {
    for request in requests {
        if os::write_all(&mut stdin, &request, stopped).is_err() {
            return;
        }
    }
}

/// Forwards a program's replies.
fn listen(pipe: impl Source, events: &SyncSender<Event>, stopped: &Stopped) {
    read_to_end(pipe, stopped, |bytes| events.send(Event::Output(bytes.to_vec())).is_ok());
    let _ = events.send(Event::OutputClosed);
}

/// Keeps the tail of a program's other output.
fn quote(pipe: impl Source, tail: &Tail, events: &SyncSender<Event>, stopped: &Stopped) {
    read_to_end(pipe, stopped, |bytes| {
        if tail.push(bytes) {
            // If the channel is full, the caller is about to check anyway.
            let _ = events.try_send(Event::Flooded);
        }
        true
    });
    tail.close();
}

/// Passes on what is read until `pass` returns false.
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
