//! What only the system can do, on Unix: end a program with all that it started, and let go of a
//! pipe that somebody else holds open.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Whether threads at pipes end as soon as they are told to.
pub(super) const THREADS_END: bool = true;

/// Dropping it tells all threads at pipes to end.
pub(super) type Stop = PipeWriter;

/// What threads at pipes hear that from.
pub(super) type Stopped = PipeReader;

/// What can be read from without being stuck at it.
pub(super) trait Source: Read + AsFd {}

impl<S: Read + AsFd> Source for S {}

/// A way to tell threads at pipes to end.
pub(super) fn stop() -> io::Result<(Stopped, Stop)> {
    io::pipe()
}

/// Reads what there is; nothing at the end, or when told to stop.
pub(super) fn read(
    source: &mut impl Source,
    buffer: &mut [u8],
    stopped: &Stopped,
) -> io::Result<usize> {
    if is_stopped_before(source.as_fd(), PollFlags::IN, stopped)? {
        return Ok(0);
    }
    source.read(buffer)
}

/// Writes all of it, unless told to stop.
pub(super) fn write_all(
    stdin: &mut ChildStdin,
    mut bytes: &[u8],
    stopped: &Stopped,
) -> io::Result<()> {
    // A write to a pipe with too little room would wait for more.
    rustix::io::ioctl_fionbio(stdin.as_fd(), true)?;
    while !bytes.is_empty() {
        if is_stopped_before(stdin.as_fd(), PollFlags::OUT, stopped)? {
            return Ok(());
        }
        match stdin.write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Has the program lead a process group of its own.
pub(super) fn lead_group(command: &mut Command) {
    command.process_group(0);
}

/// Kills what is left of the child's group. Only before the child is waited for: its number may
/// belong to somebody else afterwards.
pub(super) fn kill_group(child: &Child) {
    if let Some(pid) = pid(child) {
        // All of them may be gone already, which is as good.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Whether the child has ended; it is not waited for.
pub(super) fn has_exited(child: &mut Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    pid(child).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Waits until the pipe is ready, and says whether the word to stop came first.
fn is_stopped_before(
    pipe: BorrowedFd<'_>,
    ready: PollFlags,
    stopped: &Stopped,
) -> io::Result<bool> {
    let mut both =
        [PollFd::new(&pipe, ready), PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN)];
    loop {
        match poll(&mut both, None) {
            Ok(_) => return Ok(!both[1].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
