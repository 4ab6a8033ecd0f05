//! The `reviewd` program: arguments in, exit status out.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Gives freed memory back to the system: with glibc's allocator a server grew by a third at each reload.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    reviewd::cli::run()
}
