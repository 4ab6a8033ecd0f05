//! The service manager: what systemd is told by its notification protocol (sd_notify(3)), and when.
//!
//! Datagrams to the socket that `NOTIFY_SOCKET` names, one variable a line. Without that variable nothing is sent.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tracing::{error, info, warn};

use super::connections::Connections;
use super::counters::Counters;

/// The service manager's socket; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SdNotify {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug)]
struct Inner {
    socket: UnixDatagram,
    address: UnixAddr,
    /// A reload was announced, and its end was not.
    reloading: AtomicBool,
    stopping: AtomicBool,
    /// How often the manager wants to hear from us.
    watchdog: Option<Duration>,
}

impl SdNotify {
    /// Finds the manager that started this process, if it wants to be told anything.
    #[must_use]
    pub fn from_environment() -> SdNotify {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let Some(path) = variable("NOTIFY_SOCKET") else {
            return SdNotify::default();
        };
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        // A process that the manager did not start itself has inherited the variables by mistake.
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|usec| is_ours && *usec > 0);
        SdNotify::at(&path, watchdog.map(Duration::from_micros)).unwrap_or_else(|error| {
            warn!(%error, "the service manager cannot be told how we are (NOTIFY_SOCKET)");
            SdNotify::default()
        })
    }

    fn at(path: &OsStr, watchdog: Option<Duration>) -> io::Result<SdNotify> {
        let address = match path.as_bytes() {
            [b'@', name @ ..] => UnixAddr::from_abstract_name(name)?,
            _ => UnixAddr::from_pathname(path)?,
        };
        let socket = UnixDatagram::unbound()?;
        // A manager that does not read is not waited for.
        socket.set_nonblocking(true)?;
        Ok(SdNotify {
            inner: Some(Arc::new(Inner {
                socket,
                address,
                reloading: AtomicBool::new(false),
                stopping: AtomicBool::new(false),
                watchdog,
            })),
        })
    }

    /// Says that requests are served.
    pub(super) fn ready(&self) {
        self.send("READY=1");
    }

    /// Says that the data are read again, from now on; [`SdNotify::reloaded`] has to follow.
    ///
    /// Called by the reload itself, not by the signal: otherwise the end of an earlier reload would pass for the end of
    /// the one that was asked for.
    pub(super) fn reloading(&self) {
        if let Some(inner) = &self.inner
            && !self.is_stopping()
        {
            inner.reloading.store(true, SeqCst);
            let now = clock_gettime(ClockId::Monotonic);
            let usec = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
            self.send(&format!("RELOADING=1\nMONOTONIC_USEC={usec}"));
        }
    }

    /// Says that a reload has come to its end, good or bad, if one was announced.
    pub(super) fn reloaded(&self) {
        if let Some(inner) = &self.inner
            && inner.reloading.swap(false, SeqCst)
            && !self.is_stopping()
        {
            self.ready();
        }
    }

    /// Says that we are stopping.
    pub(super) fn stopping(&self) {
        if let Some(inner) = &self.inner
            && !inner.stopping.swap(true, SeqCst)
        {
            self.send("STOPPING=1");
        }
    }

    fn is_stopping(&self) -> bool {
        let inner = self.inner.as_ref();
        inner.is_none_or(|inner| inner.stopping.load(SeqCst))
    }

    fn send(&self, words: &str) {
        if let Some(inner) = &self.inner
            && let Err(error) = inner.socket.send_to_addr(words.as_bytes(), &inner.address)
        {
            warn!(%error, words, "the service manager was not told");
        }
    }

    /// Returns a listener for the watchdog's own requests, where it is to have one: on an address that another process
    /// may listen on as well, any of them may answer.
    ///
    /// # Errors
    /// When the system has no free port of loopback.
    pub(super) fn private_listener(&self, is_shared: bool) -> io::Result<Option<TcpListener>> {
        let is_watched = self
            .inner
            .as_ref()
            .is_some_and(|inner| inner.watchdog.is_some());
        if !is_watched || !is_shared {
            return Ok(None);
        }
        let loopback = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        let listener = TcpListener::bind(&loopback.map(|ip| SocketAddr::new(ip, 0))[..])?;
        listener.set_nonblocking(true)?;
        Ok(Some(listener))
    }

    /// Starts to tell the manager, at half of the period that it asks for, that requests are answered: each time one
    /// is made as a client would make it, until we stop.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn watch(&self, probe: Probe) -> io::Result<()> {
        let period = self.inner.as_ref().and_then(|inner| inner.watchdog);
        let Some(period) = period.map(|period| period / 2) else {
            return Ok(());
        };
        let systemd = self.clone();
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || {
                info!(period_ms = period.as_millis(), "the watchdog is told that we answer");
                while !systemd.is_stopping() {
                    match probe.ask(period) {
                        Ok(()) => systemd.send("WATCHDOG=1"),
                        Err(_) if systemd.is_stopping() => return,
                        Err(error) => error!(%error, "we do not answer, so the watchdog is not told that we do"),
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
    /// Makes a request as any client does; whatever comes back, a refusal or a record of TLS, is an answer.
    ///
    /// A server whose places are all taken closes new connections at once: it is busy, not stuck, and to restart it
    /// would drop the clients that it serves.
    fn ask(&self, patience: Duration) -> io::Result<()> {
        let closed = || self.counters.rejected_total() + self.counters.rejected_per_address();
        let before = closed();
        let answered = self.exchange(patience);
        let is_full = closed() > before || self.connections.open() >= self.connections.max();
        match answered {
            Ok(()) => Ok(()),
            Err(_) if is_full => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn exchange(&self, patience: Duration) -> io::Result<()> {
        let address = reachable(self.address);
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
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
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, listening.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager() -> (tempfile::TempDir, UnixDatagram, SdNotify) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let systemd = SdNotify::at(path.as_os_str(), None).unwrap();
        (directory, socket, systemd)
    }

    fn heard(socket: &UnixDatagram) -> String {
        let mut words = [0; 256];
        let length = socket.recv(&mut words).unwrap();
        String::from_utf8(words[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_reload_is_announced_with_its_time_and_ended_once() {
        let (_directory, socket, systemd) = manager();
        systemd.ready();
        assert_eq!(heard(&socket), "READY=1");
        systemd.reloaded();
        systemd.reloading();
        let words = heard(&socket);
        let usec = words.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        assert!(usec.parse::<u64>().unwrap() > 0);
        systemd.reloaded();
        systemd.reloaded();
        assert_eq!(heard(&socket), "READY=1");
        systemd.reloading();
        assert!(heard(&socket).starts_with("RELOADING=1\n"));
        systemd.stopping();
        // Who stops is not ready again.
        systemd.reloaded();
        systemd.reloading();
        systemd.stopping();
        assert_eq!(heard(&socket), "STOPPING=1");
        socket.set_nonblocking(true).unwrap();
        assert!(socket.recv(&mut [0; 64]).is_err());
    }

    #[test]
    fn the_watchdog_has_a_listener_of_its_own_where_the_address_is_shared() {
        let (directory, _socket, unwatched) = manager();
        let path = directory.path().join("notify");
        let watched = SdNotify::at(path.as_os_str(), Some(Duration::from_secs(1))).unwrap();
        assert!(unwatched.private_listener(true).unwrap().is_none());
        assert!(watched.private_listener(false).unwrap().is_none());
        let listener = watched.private_listener(true).unwrap().unwrap();
        assert!(listener.local_addr().unwrap().ip().is_loopback());
    }

    #[test]
    fn an_abstract_socket_is_found() {
        let name = format!("reviewd-test-{}", std::process::id());
        let address = UnixAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let path = format!("@{name}");
        SdNotify::at(OsStr::new(&path), None).unwrap().stopping();
        assert_eq!(heard(&socket), "STOPPING=1");
    }

    #[test]
    fn a_listener_on_every_address_is_asked_on_loopback() {
        for (listening, asked) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(
                reachable(listening.parse().unwrap()),
                asked.parse().unwrap()
            );
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
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let patience = Duration::from_millis(50);
        assert!(probe(address, 1).ask(patience).is_err());
        // One without a free place is busy.
        assert!(probe(address, 0).ask(patience).is_ok());
    }
}
