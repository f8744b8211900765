//! `cajole`, with the tasks and networks that come with it.

use std::process::ExitCode;

use cajole_infer::Registry;

fn main() -> ExitCode {
    cajole_cli::main_with(Registry::standard())
}
