//! How many files the process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Descriptors besides those of connections and of the hub's exchanges: data files, stores, runtimes.
const OTHERS: u64 = 256;

/// Raises the process's own limit on open files as far as `connections` and the hub's `exchanges`
/// need, and warns where it may not.
///
/// Login shells and many containers allow 1,024 of them, of which the process may make more by itself up to the hard
/// limit. Only the program does this: the limit belongs to the process, and not to a library in it.
pub fn allow_connections(connections: u32, exchanges: usize) {
    let exchanges = u64::try_from(exchanges).unwrap_or(u64::MAX);
    let needed = (u64::from(connections) + OTHERS).saturating_add(exchanges);
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let Some(current) = limit.current.filter(|current| *current < needed) else {
        return;
    };
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
