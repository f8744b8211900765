//! `cajole`, with the tasks and networks that come with it.

use std::process::ExitCode;

use cajole_infer::Registry;

/// Returns memory to the system. glibc keeps blocks of a recording's size once it has seen a few,
/// so a server grew with every kind of request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cajole_cli::main_with(Registry::standard())
}
