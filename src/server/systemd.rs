//! Notifies the service manager of start, reload, stop and health (sd_notify(3)). Without `NOTIFY_SOCKET` in the
//! environment nothing is sent.

use std::env;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use sd_notify::NotifyState;
use tracing::{error, info, warn};

use super::connections::Connections;
use super::counters::Counters;

/// The connection to the service manager; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SdNotify {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// A reload was announced, and its end was not.
    reloading: AtomicBool,
    stopping: AtomicBool,
    /// How often the manager wants to be notified.
    watchdog: Option<Duration>,
}

impl SdNotify {
    /// Finds the manager that started this process, if it wants to be notified.
    #[must_use]
    pub fn from_environment() -> SdNotify {
        let is_set = env::var_os("NOTIFY_SOCKET").is_some_and(|path| !path.is_empty());
        let inner = is_set.then(|| Inner {
            watchdog: sd_notify::watchdog_enabled().filter(|period| !period.is_zero()),
            ..Inner::default()
        });
        SdNotify {
            inner: inner.map(Arc::new),
        }
    }

    /// Reports that requests are served.
    pub(super) fn ready(&self) {
        self.send(&[NotifyState::Ready]);
    }

    /// Reports that the data are read again, from now on; [`SdNotify::reloaded`] has to follow.
    ///
    /// Called by the reload itself, not by the signal: otherwise the end of an earlier reload would pass for the end of
    /// the one that was requested.
    pub(super) fn reloading(&self) {
        if let Some(inner) = &self.inner
            && !self.is_stopping()
            && let Ok(now) = NotifyState::monotonic_usec_now()
        {
            inner.reloading.store(true, SeqCst);
            self.send(&[NotifyState::Reloading, now]);
        }
    }

    /// Reports that a reload has ended, good or bad, if one was announced.
    pub(super) fn reloaded(&self) {
        if let Some(inner) = &self.inner
            && inner.reloading.swap(false, SeqCst)
            && !self.is_stopping()
        {
            self.ready();
        }
    }

    /// Reports that the server stops.
    pub(super) fn stopping(&self) {
        if let Some(inner) = &self.inner
            && !inner.stopping.swap(true, SeqCst)
        {
            self.send(&[NotifyState::Stopping]);
        }
    }

    fn is_stopping(&self) -> bool {
        let inner = self.inner.as_ref();
        inner.is_none_or(|inner| inner.stopping.load(SeqCst))
    }

    fn send(&self, states: &[NotifyState<'_>]) {
        if self.inner.is_some()
            && let Err(error) = sd_notify::notify(states)
        {
            warn!(%error, ?states, "the service manager cannot be notified (NOTIFY_SOCKET)");
        }
    }

    fn watchdog(&self) -> Option<Duration> {
        self.inner.as_ref()?.watchdog
    }

    /// Returns a listener for the requests of the watchdog, where it is to have one: on an inherited socket the response
    /// could come from another process.
    ///
    /// # Errors
    /// When the system has no free port of loopback.
    pub(super) fn watchdog_listener(&self, is_inherited: bool) -> io::Result<Option<TcpListener>> {
        if self.watchdog().is_none() || !is_inherited {
            return Ok(None);
        }
        let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let addresses: [SocketAddr; 2] = loopback.map(|ip: IpAddr| SocketAddr::new(ip, 0));
        let listener = TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        Ok(Some(listener))
    }

    /// Starts to notify the manager, at half of the period that it asks for, while requests are answered: before each
    /// notification `probe` makes one as a client would.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn watch(&self, probe: Probe) -> io::Result<()> {
        let Some(period) = self.watchdog().map(|period| period / 2) else {
            return Ok(());
        };
        let systemd = self.clone();
        let thread = thread::Builder::new().name("watchdog".to_owned());
        thread.spawn(move || {
            info!(period_ms = period.as_millis(), "the watchdog is notified");
            while !systemd.is_stopping() {
                match probe.check(period) {
                    Ok(()) => systemd.send(&[NotifyState::Watchdog]),
                    Err(_) if systemd.is_stopping() => return,
                    Err(error) => {
                        error!(%error, "requests are not answered, so the watchdog is not notified")
                    }
                }
                thread::sleep(period);
            }
        })?;
        Ok(())
    }
}

/// Checks that our own listener answers.
pub(super) struct Probe {
    pub(super) address: SocketAddr,
    pub(super) connections: Arc<Connections>,
    pub(super) counters: Arc<Counters>,
}

impl Probe {
    /// Makes a request as any client does; any response counts, a refusal or a TLS record too.
    ///
    /// A server whose connections are all in use closes new ones at once: it is busy, not stuck, and a restart would drop
    /// the clients that it serves.
    fn check(&self, timeout: Duration) -> io::Result<()> {
        let closed = || self.counters.rejected_total() + self.counters.rejected_per_address();
        let before = closed();
        let answered = self.request(timeout);
        let is_full = closed() > before || self.connections.open() >= self.connections.max();
        answered.or_else(|error| if is_full { Ok(()) } else { Err(error) })
    }

    fn request(&self, timeout: Duration) -> io::Result<()> {
        let address = reachable(self.address);
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let request =
            format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        match stream.read(&mut [0; 16])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Returns the address under which this machine reaches a listener of its own.
#[must_use]
pub fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, listening.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_has_its_own_listener_where_the_address_is_inherited() {
        let manager = |watchdog| SdNotify {
            inner: Some(Arc::new(Inner {
                watchdog,
                ..Inner::default()
            })),
        };
        let watched = manager(Some(Duration::from_secs(1)));
        assert!(manager(None).watchdog_listener(true).unwrap().is_none());
        assert!(watched.watchdog_listener(false).unwrap().is_none());
        let listener = watched.watchdog_listener(true).unwrap().unwrap();
        assert!(listener.local_addr().unwrap().ip().is_loopback());
    }

    #[test]
    fn a_listener_on_every_address_is_reached_on_loopback() {
        for (listening, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            let address = reachable(listening.parse().unwrap());
            assert_eq!(address, reached.parse().unwrap());
        }
    }

    fn probe(address: SocketAddr, max: u32) -> Probe {
        let config = crate::server::connection::tests::config();
        let mut limits = config.limits;
        limits.connections = max;
        Probe {
            address,
            connections: Arc::new(Connections::new(&limits, config.proxies)),
            counters: Arc::default(),
        }
    }

    #[test]
    fn a_server_that_accepts_and_says_nothing_does_not_answer() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let timeout = Duration::from_millis(50);
        assert!(probe(address, 1).check(timeout).is_err());
        // One at its limit of connections is busy.
        assert!(probe(address, 0).check(timeout).is_ok());
    }
}
