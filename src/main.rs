//! The `reviewd` program: arguments in, exit status out.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Gives freed memory back to the system: with glibc's allocator a server grew by a third at each reload.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // In huge pages, the many small buffers of a fan-out occupy several times the memory that they use. mimalloc's own
    // feature for this (0.1.52, `no_thp`) leaves them to the system's setting. If the kernel refuses, the only cost is
    // memory.
    #[cfg(target_os = "linux")]
    let _refused = nix::sys::prctl::set_thp_disable(true);
    reviewd::cli::run()
}
