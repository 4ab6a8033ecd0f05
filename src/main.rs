//! The `reviewd` program: arguments in, exit status out.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Gives freed memory back to the system: with glibc's allocator a server grew by a third at each reload.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // With transparent huge pages, the many small buffers of a fan-out hold several times the memory that they use. The
    // feature `no_thp` of mimalloc 0.1.52 leaves this to the system's setting. If the kernel refuses, the program only
    // needs more memory.
    #[cfg(target_os = "linux")]
    let _refused = nix::sys::prctl::set_thp_disable(true);
    reviewd::cli::run()
}
