//! What only the system can do, where it is not Unix: a program is ended alone, and a thread stays
//! at its pipe for as long as anybody holds the other end.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command};

/// Whether threads at pipes end as soon as they are told to.
pub(super) const THREADS_END: bool = false;

/// Would tell all threads at pipes to end.
pub(super) struct Stop;

/// What threads at pipes would hear that from.
pub(super) struct Stopped;

/// What can be read from.
pub(super) trait Source: Read {}

impl<S: Read> Source for S {}

/// A way to tell threads at pipes to end.
pub(super) fn stop() -> io::Result<(Stopped, Stop)> {
    Ok((Stopped, Stop))
}

/// Reads what there is; nothing at the end.
pub(super) fn read(source: &mut impl Source, buffer: &mut [u8], _: &Stopped) -> io::Result<usize> {
    source.read(buffer)
}

/// Writes all of it.
pub(super) fn write_all(stdin: &mut ChildStdin, bytes: &[u8], _: &Stopped) -> io::Result<()> {
    stdin.write_all(bytes)
}

/// There are no process groups here.
pub(super) fn lead_group(_: &mut Command) {}

/// There are no process groups here.
pub(super) fn kill_group(_: &Child) {}

/// Whether the child has ended.
pub(super) fn has_exited(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(Some(_)))
}
