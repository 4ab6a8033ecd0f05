//! Resolves names to addresses that the guard permits.
//!
//! The system's resolver cannot be interrupted, and a lookup may take half a minute. So each lookup runs on a thread of
//! its own, from a pool, which is abandoned at its time limit. Abandoned lookups count: there are never more lookups than
//! attempts.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::Callback;
use super::guard::{Guard, GuardError, bare};
use super::pool::ThreadPool;
use super::subscription::AttemptFailure;

/// How many addresses of a name are tried.
const ADDRESSES_MAX: usize = 4;

/// Returns the addresses of a name; blocking.
pub(super) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Looks up `host` with the system's resolver.
pub(super) fn look_up(host: &str) -> io::Result<Vec<IpAddr>> {
    let addresses = (host, 0).to_socket_addrs()?;
    Ok(addresses.map(|address| address.ip()).collect())
}

/// Why no connection was established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoConnection {
    #[error(transparent)]
    Failed(#[from] AttemptFailure),
    /// The host is up and refused the connection.
    #[error("connection refused")]
    Refused,
    /// Nothing was sent, for a reason on our side.
    #[error("too many lookups or sockets")]
    Deferred,
}

impl From<NoConnection> for ureq::Error {
    fn from(why: NoConnection) -> ureq::Error {
        ureq::Error::Other(Box::new(why))
    }
}

/// Looks up names, and checks every address before a connection is made.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    lookup: Lookup,
    guard: Guard,
    /// A thread for each lookup in progress, including abandoned ones.
    pool: ThreadPool,
}

impl GuardedResolver {
    /// Creates a resolver with at most `lookups_max` lookups in progress.
    pub(super) fn new(lookup: Lookup, guard: Guard, lookups_max: usize) -> GuardedResolver {
        GuardedResolver {
            lookup,
            guard,
            pool: ThreadPool::new("hub-lookup", lookups_max),
        }
    }

    /// Returns the addresses of `host`, at most four, all of them permitted: one refused address refuses the name.
    ///
    /// # Errors
    /// See [`NoConnection`]; returns at most `time_max` after the call.
    pub(super) fn addresses(
        &self,
        host: &str,
        time_max: Duration,
    ) -> Result<Vec<IpAddr>, NoConnection> {
        let mut addresses = match bare(host).parse() {
            Ok(address) => vec![address],
            Err(_) => self.look_up(host, time_max)?,
        };
        if addresses.is_empty() {
            return Err(AttemptFailure::Resolve.into());
        }
        if !addresses.iter().all(|address| self.guard.permits(*address)) {
            return Err(AttemptFailure::Blocked.into());
        }
        addresses.truncate(ADDRESSES_MAX);
        Ok(addresses)
    }

    /// Checks port and host of a callback by the guard, without a lookup.
    ///
    /// # Errors
    /// The guard does not permit them.
    pub(super) fn check_callback(&self, callback: &Callback) -> Result<(), GuardError> {
        self.guard.check_callback(callback)
    }

    fn look_up(&self, host: &str, time_max: Duration) -> Result<Vec<IpAddr>, NoConnection> {
        let lookup = Arc::clone(&self.lookup);
        let host = host.to_owned();
        let (answer, answered) = sync_channel(1);
        let started = self.pool.run(move || {
            // Fails if the attempt no longer waits.
            let _given_up = answer.try_send(lookup(&host));
        });
        started.map_err(|_| NoConnection::Deferred)?;
        match answered.recv_timeout(time_max) {
            Ok(Ok(addresses)) => Ok(addresses),
            _ => Err(AttemptFailure::Resolve.into()),
        }
    }
}

/// ureq connects to the addresses that were checked, without another lookup in between.
impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?;
        let port = uri.port_u16().unwrap_or(443);
        let addresses = self.addresses(host, *timeout.after);
        let mut resolved = self.empty();
        for address in addresses? {
            resolved.push(SocketAddr::new(address, port));
        }
        Ok(resolved)
    }
}

impl fmt::Debug for GuardedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedResolver")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Ports;
    use std::sync::{Mutex, PoisonError};
    use std::thread;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(10);

    fn guard() -> Guard {
        Guard {
            allow_private: false,
            ports: Ports::parse("443").expect("ports"),
        }
    }

    fn table(host: &str) -> io::Result<Vec<IpAddr>> {
        let address = |last| IpAddr::from([9, 9, 9, last]);
        match host {
            "mixed.example" => Ok(vec![address(1), IpAddr::from([10, 0, 0, 1])]),
            "many.example" => Ok((1..=9).map(address).collect()),
            "none.example" => Ok(vec![]),
            _ => Err(io::Error::other("no such name")),
        }
    }

    #[test]
    fn every_address_is_checked_and_four_are_tried_at_most() {
        let resolver = GuardedResolver::new(Arc::new(table), guard(), 8);
        for (host, count) in [
            ("mixed.example", Err(AttemptFailure::Blocked)),
            ("[::1]", Err(AttemptFailure::Blocked)),
            ("1.1.1.1", Ok(1)),
            ("many.example", Ok(4)),
            ("none.example", Err(AttemptFailure::Resolve)),
            ("other.example", Err(AttemptFailure::Resolve)),
        ] {
            let found = resolver.addresses(host, LONG).map(|found| found.len());
            assert_eq!(found, count.map_err(NoConnection::Failed), "{host}");
        }
    }

    #[test]
    fn a_lookup_that_hangs_ends_in_time_and_holds_its_thread() {
        let (end, ends) = sync_channel::<()>(0);
        let ends = Mutex::new(ends);
        let lookup = move |host: &str| {
            if host == "hangs.example" {
                let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
                let _ended = ends.recv_timeout(LONG);
            }
            table("many.example")
        };
        let resolver = GuardedResolver::new(Arc::new(lookup), guard(), 1);
        let began = Instant::now();
        let late = resolver.addresses("hangs.example", Duration::from_millis(1));
        assert_eq!(late, Err(AttemptFailure::Resolve.into()));
        assert!(began.elapsed() < LONG, "it was not waited for");
        let next = || resolver.addresses("many.example", LONG);
        assert_eq!(next(), Err(NoConnection::Deferred));
        drop(end);
        while next().is_err() {
            assert!(began.elapsed() < LONG, "the thread comes back");
            thread::yield_now();
        }
    }
}
