//! Names to addresses, on threads that can be waited for but not stopped.
//!
//! The system's resolver cannot be interrupted: a lookup may take half a minute although its attempt has long been
//! given up. ureq's own answer is one detached thread for each lookup, as many as a slow name server cares to hold.
//! Here a fixed number of threads looks names up; a lookup whose caller has given up is skipped, and when all
//! threads hang, an attempt is withheld instead of failed, since that is no fault of the subscriber.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::guard::{Blocked, Guard};
use super::pool::Pool;

/// Something that knows the addresses of names; blocking.
pub trait Lookup: Send + Sync + 'static {
    /// Returns the addresses of `host`.
    ///
    /// # Errors
    /// As the resolver has them.
    fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
#[derive(Clone, Copy, Debug)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0)
            .to_socket_addrs()?
            .map(|address| address.ip())
            .collect())
    }
}

/// Why a name has no address to connect to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The resolver said no.
    #[error("the name does not resolve")]
    Failed,
    /// The deadline passed.
    #[error("the name did not resolve in time")]
    Late,
    /// All threads are busy with names that do not come back.
    #[error("all lookups hang")]
    PoolExhausted,
    /// One of the addresses is refused.
    #[error(transparent)]
    Blocked(#[from] Blocked),
}

/// A bounded number of threads that look names up, and the guard that judges every answer.
#[derive(Clone)]
pub struct ResolverPool(Arc<Inner>);

struct Inner {
    pool: Pool,
    lookup: Arc<dyn Lookup>,
    guard: Guard,
    /// Cloned for each lookup that waits or is under way, whether or not it is still waited for.
    open: Arc<()>,
    open_max: usize,
}

impl ResolverPool {
    /// Makes a resolver that uses up to `threads` threads, none of them before it is needed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(lookup: Arc<dyn Lookup>, guard: Guard, threads: usize) -> io::Result<ResolverPool> {
        Ok(ResolverPool(Arc::new(Inner {
            pool: Pool::new("hub-lookup", threads, None)?,
            lookup,
            guard,
            open: Arc::new(()),
            // One in the queue for each thread: a later one would wait for more than one lookup.
            open_max: 2 * threads,
        })))
    }

    /// Returns the addresses of `host`, all of them permitted, at most four.
    ///
    /// # Errors
    /// See [`LookupError`]; never later than `timeout` after the call.
    pub fn resolve(&self, host: &str, timeout: Duration) -> Result<Vec<IpAddr>, LookupError> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let mut addresses = match bare.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.ask(host, timeout)?,
        };
        // Every answer is judged before the first is used: one refused address condemns the name.
        for address in &addresses {
            self.0.guard.check_address(*address)?;
        }
        addresses.truncate(ADDRESSES_MAX);
        match addresses.is_empty() {
            true => Err(LookupError::Failed),
            false => Ok(addresses),
        }
    }

    fn ask(&self, host: &str, timeout: Duration) -> Result<Vec<IpAddr>, LookupError> {
        let (open, lookup) = (Arc::clone(&self.0.open), Arc::clone(&self.0.lookup));
        if Arc::strong_count(&open) > self.0.open_max + 1 {
            return Err(LookupError::PoolExhausted);
        }
        let (answer, answered) = sync_channel(1);
        let (host, given_up_at) = (host.to_owned(), Instant::now() + timeout);
        let job = move || {
            let _open = open;
            if Instant::now() < given_up_at {
                // The caller may give up meanwhile.
                let _given_up = answer.try_send(lookup.lookup(&host));
            }
        };
        if !self.0.pool.submit(job) {
            return Err(LookupError::PoolExhausted);
        }
        match answered.recv_timeout(timeout) {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(LookupError::Failed),
            Err(RecvTimeoutError::Timeout) => Err(LookupError::Late),
        }
    }
}

/// Resolution for ureq: the addresses that were judged are the ones it connects to, without another lookup between.
#[derive(Debug)]
pub(super) struct GuardedResolver(pub(super) ResolverPool);

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?;
        let port = uri.port_u16().unwrap_or(443);
        let addresses = self
            .0
            .resolve(host, *timeout.after)
            .map_err(|error| ureq::Error::Other(Box::new(error)))?;
        let mut resolved = self.empty();
        for address in addresses {
            resolved.push(SocketAddr::new(address, port));
        }
        Ok(resolved)
    }
}

impl fmt::Debug for ResolverPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResolverPool")
    }
}

/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::super::guard::Ports;
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    /// What names stand for; a lookup of `hangs.example` says that it has begun, and ends when it is told to.
    #[derive(Default)]
    struct Table(Mutex<Option<(Sender<()>, Receiver<()>)>>);

    impl Lookup for Table {
        fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
            match host {
                "hangs.example" => {
                    let hanging = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                    let (begun, end) = hanging.as_ref().expect("the test has a table that hangs");
                    begun.send(()).expect("the test waits");
                    end.recv_timeout(LONG).expect("the test ends it");
                    Ok(vec![IpAddr::from([9, 9, 9, 9])])
                }
                "mixed.example" => Ok(vec![
                    IpAddr::from([9, 9, 9, 9]),
                    IpAddr::from([10, 0, 0, 1]),
                ]),
                "many.example" => Ok((1..=9).map(|last| IpAddr::from([9, 9, 9, last])).collect()),
                "none.example" => Ok(vec![]),
                _ => Err(io::Error::other("no such name")),
            }
        }
    }

    fn lookups(threads: usize) -> ResolverPool {
        lookups_in(Table::default(), threads)
    }

    fn lookups_in(table: Table, threads: usize) -> ResolverPool {
        let guard = Guard {
            allow_private: false,
            ports: Ports::parse("443").expect("ports"),
        };
        ResolverPool::new(Arc::new(table), guard, threads).expect("a pool")
    }

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn one_refused_address_condemns_the_name() {
        let blocked = LookupError::Blocked(Blocked::Address(IpAddr::from([10, 0, 0, 1])));
        assert_eq!(lookups(1).resolve("mixed.example", LONG), Err(blocked));
    }

    #[test]
    fn four_addresses_are_tried_at_most() {
        assert_eq!(
            lookups(1)
                .resolve("many.example", LONG)
                .map(|found| found.len()),
            Ok(4)
        );
    }

    #[test]
    fn names_without_addresses_fail() {
        for host in ["none.example", "other.example"] {
            assert_eq!(lookups(1).resolve(host, LONG), Err(LookupError::Failed));
        }
    }

    #[test]
    fn literals_are_judged_without_a_lookup() {
        assert!(matches!(
            lookups(1).resolve("[::1]", LONG),
            Err(LookupError::Blocked(_))
        ));
        assert_eq!(
            lookups(1).resolve("1.1.1.1", LONG),
            Ok(vec![IpAddr::from([1, 1, 1, 1])])
        );
    }

    #[test]
    fn a_hanging_lookup_is_late_and_when_all_hang_the_rest_is_withheld() {
        let ((begun, begins), (end, ends)) = (channel(), channel());
        let lookups = lookups_in(Table(Mutex::new(Some((begun, ends)))), 1);
        let short = Duration::from_millis(1);
        // One hangs on the thread, one waits in its queue; there is no place for a third.
        thread::scope(|scope| {
            let first = scope.spawn(|| lookups.resolve("hangs.example", LONG));
            begins.recv_timeout(LONG).expect("begun");
            let second = lookups.resolve("many.example", short);
            assert_eq!(second, Err(LookupError::Late));
            let third = lookups.resolve("many.example", LONG);
            assert_eq!(third, Err(LookupError::PoolExhausted));
            end.send(()).expect("it hangs");
            assert!(first.join().expect("no panic").is_ok());
        });
        // Lookups whose callers have given up are skipped, so the thread is soon free again.
        let deadline = std::time::Instant::now() + LONG;
        while lookups.resolve("many.example", LONG).is_err() {
            assert!(std::time::Instant::now() < deadline);
            thread::yield_now();
        }
    }
}
