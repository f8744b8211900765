//! Process control on Unix: kill a program together with everything it started, and stop waiting on
//! a pipe that another process holds open.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Whether threads blocked on pipes end as soon as they are told to.
pub(super) const THREADS_END: bool = true;

/// Dropping it tells all threads blocked on pipes to end.
pub(super) type Stop = PipeWriter;

/// Where those threads hear it.
pub(super) type Stopped = PipeReader;

/// A pipe that can be read without getting stuck.
pub(super) trait Source: Read + AsFd {}

impl<S: Read + AsFd> Source for S {}

/// A channel that tells threads blocked on pipes to end.
pub(super) fn stop() -> io::Result<(Stopped, Stop)> {
    io::pipe()
}

/// Reads what is available; 0 at the end, or when told to stop.
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
    // A blocking write would wait until the pipe has room.
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

/// Makes the program lead its own process group.
pub(super) fn lead_group(command: &mut Command) {
    command.process_group(0);
}

/// Kills what is left of the child's process group. Call it only before waiting for the child:
/// afterwards its pid may be reused.
pub(super) fn kill_group(id: u32) {
    if let Some(pid) = pid(id) {
        // All of them may already be gone, which is fine.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Whether the child has exited; does not reap it.
pub(super) fn has_exited(child: &mut Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    pid(child.id()).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// Waits until the pipe is ready; returns whether the signal to stop came first.
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
