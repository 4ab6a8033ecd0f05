//! Limits of this process: memory and file descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

use super::config::Config;
use crate::limits::{self, ClientMemory};
use crate::platform;

/// Descriptors besides those of connections and of the hub's requests: data files, stores, runtimes.
const OTHER_DESCRIPTORS: u64 = 256;

/// Bytes of search index that each byte of text may take; the most detailed index takes 3.5 to 4.5.
const INDEX_PER_TEXT: u64 = 5;

/// Smallest limit of the index, 128 MiB: short texts need more index for each byte.
const INDEX_BYTES_MIN: u64 = 128 << 20;

/// Address space below which a start warns, 512 MiB: the sample needs about 150 MiB, with two threads and a hub.
const ADDRESS_SPACE_MIN: u64 = 512 << 20;

/// Returns the soft limit on open files of this process.
pub(super) fn descriptors_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the process's soft limit on open files as far as `connections` and `requests` of the hub need it. Warns if the
/// system does not allow that.
///
/// Login shells and many containers set it to 1,024; a process may raise it up to the hard limit. Only the program
/// calls this: the limit belongs to the process, so a library must not change it.
pub fn allow_connections(connections: u32, requests: usize) {
    let requests = u64::try_from(requests).unwrap_or(u64::MAX);
    let needed = (u64::from(connections) + OTHER_DESCRIPTORS).saturating_add(requests);
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else {
        // There is no limit.
        return;
    };
    if current >= needed {
        return;
    }
    let wanted = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    let granted = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => current,
    };
    if granted < needed {
        warn!(
            granted,
            needed,
            "the limit on open files (ulimit -n) is below --max-connections: connections beyond it have to wait"
        );
    }
}

/// Warns of a low limit on the address space. If the system refuses memory or a thread because of it, the allocator ends the
/// process without naming the limit.
pub fn warn_of_memory_limit() {
    if let Some(limit) = getrlimit(Resource::As).current
        && limit < ADDRESS_SPACE_MIN
    {
        let limit_mib = limit >> 20;
        warn!(
            limit_mib,
            "the limit on address space (ulimit -v, prlimit --as) is below 512 MiB: if memory or a thread is refused, \
             the process ends"
        );
    }
}

/// Returns the end of an error message, after a semicolon: the limits that can be the reason why the system has refused a
/// thread. Empty if none is set.
pub(super) fn thread_limits() -> String {
    let mut limits = Vec::new();
    if let Some(bytes) = getrlimit(Resource::As).current {
        limits.push(format!("address space {} MiB (ulimit -v)", bytes >> 20));
    }
    if let Some(count) = getrlimit(Resource::Nproc).current {
        limits.push(format!("{count} threads of this user (ulimit -u)"));
    }
    if limits.is_empty() {
        return String::new();
    }
    format!("; limits of this process: {}", limits.join(", "))
}

/// Returns the default memory limit in bytes of the search index for `text_bytes` of review text: five bytes for each byte of
/// text, but at most a quarter of the memory of this machine or container, because a reload holds two indexes. At least
/// 128 MiB in any case.
#[must_use]
pub fn search_memory(text_bytes: u64) -> u64 {
    index_bytes(text_bytes, memory_bytes())
}

/// Returns the limit of [`search_memory`] for a process that may use `memory_bytes`; `None` if that is not known.
fn index_bytes(text_bytes: u64, memory_bytes: Option<u64>) -> u64 {
    let wanted = text_bytes.saturating_mul(INDEX_PER_TEXT);
    let quarter = memory_bytes.map_or(u64::MAX, |bytes| bytes / 4);
    wanted.min(quarter).max(INDEX_BYTES_MIN)
}

/// Returns the default budget of bytes in flight: an eighth of the memory that this process may use, and at least the
/// default budget of a client, 8 MiB.
#[must_use]
pub fn in_flight_memory() -> u64 {
    (usable_memory() / limits::PROCESS_PART).max(limits::CLIENT_BYTES)
}

/// Returns the default limit of connections: as many as fit in a quarter of the memory that this process may use, from 64
/// to 10,000.
#[must_use]
pub fn default_connections(has_tls: bool) -> u32 {
    limits::connections_within(usable_memory(), connection_bytes(has_tls))
}

fn connection_bytes(has_tls: bool) -> u64 {
    if has_tls {
        limits::TLS_CONNECTION_BYTES
    } else {
        limits::CONNECTION_BYTES
    }
}

/// Logs how much the clients together may hold, as a warning if less than a quarter of the memory is left for the data.
pub(super) fn log_client_memory(config: &Config, in_flight_bytes: u64) {
    let connections = config.limits.connections;
    let clients = ClientMemory {
        in_flight_bytes,
        connections,
        connection_bytes: connection_bytes(config.tls.is_some()),
        threads: config.threads.get() as u64,
    };
    let bytes_max = clients.bytes_max();
    let memory = usable_memory();
    let in_flight_mib = in_flight_bytes >> 20;
    let clients_mib = bytes_max >> 20;
    let memory_mib = memory >> 20;
    if bytes_max <= memory / 4 * 3 {
        info!(
            connections,
            in_flight_mib, clients_mib, memory_mib, "limits of memory"
        );
    } else {
        warn!(
            connections,
            in_flight_mib,
            clients_mib,
            memory_mib,
            "limits of memory: clients together may hold more than three quarters of it, and the rest may be too little \
             for the data; lower --max-connections or --in-flight-memory"
        );
    }
}

/// Returns the memory in bytes that this process may use, or 1 GiB if the system does not tell.
fn usable_memory() -> u64 {
    memory_bytes().unwrap_or(1 << 30)
}

/// Returns the memory in bytes that this process may use: the least of that of the machine, that of its container, and the
/// limits of the process (`ulimit -v`, `ulimit -d`). `None` if none of these is known.
fn memory_bytes() -> Option<u64> {
    let own = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current);
    own.into_iter().flatten().chain(platform::memory()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_memory_of_the_index_has_a_lower_and_an_upper_bound() {
        for (texts, machine, expected) in [
            (25 * MIB, Some(64 * 1024 * MIB), 128 * MIB),
            (26 * MIB, Some(64 * 1024 * MIB), 130 * MIB),
            (395 * MIB, Some(7_900 * MIB), 1_975 * MIB),
            (395 * MIB, Some(7_896 * MIB), 1_974 * MIB),
            (395 * MIB, Some(100 * MIB), 128 * MIB),
            (395 * MIB, None, 1_975 * MIB),
            (u64::MAX, Some(1_024 * MIB), 256 * MIB),
        ] {
            assert_eq!(index_bytes(texts, machine), expected, "{texts} {machine:?}");
        }
    }
}
