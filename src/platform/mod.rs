//! What only Linux tells or does: the memory and processor time of this process, limits of control groups, a coarse clock,
//! some options of sockets.
//!
//! `linux` implements these functions, and `other` what other Unix systems get instead: the comment of each function says
//! what it does "elsewhere". With the feature `portable`, Linux uses `other` too, for tests. No real system other than
//! Linux was tried.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(any(test, not(target_os = "linux"), feature = "portable"))]
mod other;

use std::io;
use std::time::Duration;

use socket2::SockRef;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
use linux as system;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
use other as system;

/// What this process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Memory in bytes; elsewhere 0.
    pub resident_bytes: u64,
    /// Processor time in nanoseconds; elsewhere 0.
    pub cpu_ns: u64,
    /// Threads; elsewhere 0.
    pub threads: u64,
    /// Open file descriptors.
    pub descriptors: u64,
}

/// Returns what this process uses.
#[must_use]
pub fn usage() -> Usage {
    system::usage()
}

/// Returns the memory that this process may use, in bytes: that of the machine, or a lower limit of the process's control
/// groups. Elsewhere `None`.
#[must_use]
pub fn memory() -> Option<u64> {
    system::memory()
}

/// Returns the whole seconds since 1970-01-01T00:00:00Z as of the kernel's last tick: at most 10 ms late, at a quarter of
/// the cost of the usual clock. Elsewhere `None`.
#[must_use]
pub fn coarse_unix_s() -> Option<i64> {
    system::coarse_unix_s()
}

/// Leaves the memory of this process out of huge pages. Elsewhere it does nothing.
pub fn disable_huge_pages() {
    system::disable_huge_pages();
}

/// Limits the unsent bytes that the kernel buffers for a socket. Elsewhere it does nothing, and the kernel buffers as much
/// as for any socket.
///
/// # Errors
/// The system refuses the option.
pub fn limit_unsent_bytes(socket: SockRef<'_>, bytes: u32) -> io::Result<()> {
    system::limit_unsent_bytes(&socket, bytes)
}

/// Limits how long the kernel sends to a peer that acknowledges nothing. Elsewhere it does nothing, and the kernel tries
/// for minutes.
///
/// # Errors
/// The system refuses the option.
pub fn limit_unacknowledged_time(socket: SockRef<'_>, time: Duration) -> io::Result<()> {
    system::limit_unacknowledged_time(&socket, time)
}
