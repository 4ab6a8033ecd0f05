//! Notifies the service manager's watchdog while requests are answered.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tracing::{error, info};

use super::connections::Connections;
use super::counters::Counters;
use super::systemd::{SdNotify, reachable};

/// Starts to notify the manager, at half of the period that it asks for, while requests are answered: before each
/// notification `probe` makes one as a client would.
///
/// # Errors
/// When the system refuses a thread.
pub(super) fn start(systemd: SdNotify, probe: Probe) -> io::Result<()> {
    let Some(period) = systemd.watchdog().map(|period| period / 2) else {
        return Ok(());
    };
    let thread = thread::Builder::new().name("watchdog".to_owned());
    thread.spawn(move || {
        info!(period_ms = period.as_millis(), "the watchdog is notified");
        while !systemd.is_stopping() {
            match probe.check(period) {
                Ok(()) => systemd.alive(),
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
        let closed =
            || self.counters.rejected_total.get() + self.counters.rejected_per_address.get();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

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
