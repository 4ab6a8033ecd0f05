//! Names to addresses that the guard permits.
//!
//! The system's resolver cannot be interrupted: a lookup may take half a minute. So it runs on the thread of its exchange,
//! which holds no place any more once it has hung for a while, and no more lookups hang than there may be exchanges.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::guard::Guard;
use super::outcome::Failure;

/// Returns the addresses of a name; blocking.
pub(super) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Asks the system's resolver.
pub(super) fn look_up(host: &str) -> io::Result<Vec<IpAddr>> {
    let addresses = (host, 0).to_socket_addrs()?;
    Ok(addresses.map(|address| address.ip()).collect())
}

/// Looks names up, and checks every address before one is connected to.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    pub(super) lookup: Lookup,
    pub(super) guard: Guard,
}

impl GuardedResolver {
    /// Returns the addresses of `host`, at most four, all of them permitted: one refused address condemns the name. An answer
    /// that took longer than `time_max` counts as none.
    ///
    /// # Errors
    /// [`Failure::Resolve`] or [`Failure::Blocked`].
    pub(super) fn addresses(&self, host: &str, time_max: Duration) -> Result<Vec<IpAddr>, Failure> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let began = Instant::now();
        let mut addresses = match bare.parse() {
            Ok(address) => vec![address],
            Err(_) => (self.lookup)(host).map_err(|_| Failure::Resolve)?,
        };
        if addresses.is_empty() || began.elapsed() >= time_max {
            return Err(Failure::Resolve);
        }
        let is_permitted = |address: &IpAddr| self.guard.check_address(*address).is_ok();
        if !addresses.iter().all(is_permitted) {
            return Err(Failure::Blocked);
        }
        addresses.truncate(ADDRESSES_MAX);
        Ok(addresses)
    }
}

/// The addresses that were checked are the ones that ureq connects to, without another lookup between.
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
        let addresses = addresses.map_err(|failure| ureq::Error::Other(Box::new(failure)))?;
        let mut resolved = self.empty();
        for address in addresses {
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

/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::guard::Ports;

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
        let ports = Ports::parse("443").expect("ports");
        let guard = Guard {
            allow_private: false,
            ports,
        };
        let resolver = GuardedResolver {
            lookup: Arc::new(table),
            guard,
        };
        let long = Duration::from_secs(10);
        for (host, time_max, count) in [
            ("mixed.example", long, Err(Failure::Blocked)),
            ("[::1]", long, Err(Failure::Blocked)),
            ("1.1.1.1", long, Ok(1)),
            ("many.example", long, Ok(4)),
            ("none.example", long, Err(Failure::Resolve)),
            ("other.example", long, Err(Failure::Resolve)),
            ("many.example", Duration::ZERO, Err(Failure::Resolve)),
        ] {
            let found = resolver.addresses(host, time_max);
            assert_eq!(found.map(|found| found.len()), count, "{host}");
        }
    }
}
