//! Process control on systems other than Unix: only the program itself is killed, and a thread
//! blocks on its pipe as long as anyone holds the other end.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command};

/// Whether threads blocked on pipes end as soon as they are told to.
pub(super) const THREADS_END: bool = false;

/// Would tell all threads blocked on pipes to end.
pub(super) struct Stop;

/// Where those threads would hear it.
pub(super) struct Stopped;

/// A pipe that can be read.
pub(super) trait Source: Read {}

impl<S: Read> Source for S {}

/// A channel that tells threads blocked on pipes to end.
pub(super) fn stop() -> io::Result<(Stopped, Stop)> {
    Ok((Stopped, Stop))
}

/// Reads what is available; 0 at the end.
pub(super) fn read(source: &mut impl Source, buffer: &mut [u8], _: &Stopped) -> io::Result<usize> {
    source.read(buffer)
}

/// Writes all of it.
pub(super) fn write_all(stdin: &mut ChildStdin, bytes: &[u8], _: &Stopped) -> io::Result<()> {
    stdin.write_all(bytes)
}

/// This system has no process groups.
pub(super) fn lead_group(_: &mut Command) {}

/// This system has no process groups.
pub(super) fn kill_group(_: u32) {}

/// Whether the child has ended.
pub(super) fn has_exited(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(Some(_)))
}
