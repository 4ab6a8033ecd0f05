//! HTTPS connections to callbacks for ureq, which replace its own for three features:
//!
//! - a limit for the kernel's send buffer, so that sent data is soon acknowledged;
//! - a count of the bytes of each attempt, by which the scheduler sees its progress;
//! - our own TLS configuration, which trusts the public authorities and those in a file of the operator. A file that
//!   cannot be used completely is an error; ureq would silently skip an invalid certificate.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use socket2::SockRef;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, ShutdownHandle, Transport,
};

use super::guard::bare;
use super::resolve::NoConnection;
use super::subscription::AttemptFailure;

thread_local! {
    /// Counts the progress of the attempt that runs on this thread, in bytes. ureq has no argument for it.
    static PROGRESS: RefCell<Arc<AtomicU64>> = RefCell::default();
}

/// A byte of a handshake counts as this many bytes of progress. Our choice: a handshake has some 3 KiB, but takes as much
/// processor time as sending megabytes, so a connection that is busy with one must not seem to stand still.
const HANDSHAKE_WEIGHT: u64 = 8;

/// Largest number of TLS sessions kept for resumption; the oldest are dropped.
const SESSIONS_MAX: usize = 1_024;

/// The kernel's send buffer of a connection, which Linux doubles. Our choice: when the last byte of a body is written,
/// the unacknowledged rest is small enough to reach a slow subscriber within the time for its response, and one
/// delivery still fills a link of 20 Mbit/s with a round trip of 0.1 s.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Largest wait, longer than any time limit, so that no `Instant` is out of range.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts the progress of the connections that this thread makes from now on in `progress`.
pub(super) fn count_progress_in(progress: &Arc<AtomicU64>) {
    PROGRESS.set(Arc::clone(progress));
}

/// Connects to callbacks.
#[derive(Debug)]
pub(super) struct HttpsConnector(pub(super) Arc<ClientConfig>);

impl Connector for HttpsConnector {
    type Out = HttpsTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<HttpsTransport>, ureq::Error> {
        let until = Instant::now() + (*details.timeout.after).min(WAIT_MAX);
        let stream = Arc::new(connect(&details.addrs, until)?);
        stream.set_nodelay(true)?;
        SockRef::from(&*stream).set_send_buffer_size(SEND_BUFFER_BYTES)?;
        let handle = Arc::downgrade(&stream) as Weak<dyn ShutdownHandle>;
        (details.register_shutdown)(handle)?;
        let host = details.uri.host().unwrap_or_default();
        let name = ServerName::try_from(bare(host).to_owned())
            .map_err(|_| ureq::Error::Tls("not a name that a certificate can have"))?;
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name)?;
        let mut socket = CallbackSocket {
            stream,
            until,
            progress: PROGRESS.with_borrow(Arc::clone),
            weight: HANDSHAKE_WEIGHT,
        };
        let shaken = connection.complete_io(&mut socket);
        shaken.map_err(|error| of_io(error, details.timeout))?;
        socket.weight = 1;
        let config = details.config;
        Ok(Some(HttpsTransport {
            stream: StreamOwned::new(connection, socket),
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
        }))
    }
}

/// Connects to the first address that accepts; each but the last gets half of the remaining time. If one address
/// refuses the connection, that is the error returned, whatever the later ones return: the host can be reached.
fn connect(addresses: &[SocketAddr], until: Instant) -> Result<TcpStream, NoConnection> {
    let mut failed = io::Error::from(io::ErrorKind::TimedOut);
    for (index, address) in addresses.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        let share = if index + 1 < addresses.len() {
            left / 2
        } else {
            left
        };
        if share.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                if failed.kind() != io::ErrorKind::ConnectionRefused {
                    failed = error;
                }
            }
        }
    }
    Err(match failed.kind() {
        io::ErrorKind::TimedOut => AttemptFailure::Timeout.into(),
        io::ErrorKind::ConnectionRefused => NoConnection::Refused,
        _ => match Errno::from_io_error(&failed) {
            // No free file descriptor.
            Some(Errno::MFILE | Errno::NFILE) => NoConnection::Deferred,
            _ => AttemptFailure::Connect.into(),
        },
    })
}

/// Converts a socket error to ureq's; a timeout gets the reason of its deadline.
fn of_io(error: io::Error, timeout: NextTimeout) -> ureq::Error {
    match error.kind() {
        io::ErrorKind::TimedOut => ureq::Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

/// A TCP connection whose reads and writes have a deadline.
#[derive(Debug)]
struct CallbackSocket {
    stream: Arc<TcpStream>,
    until: Instant,
    /// Bytes read and written, each counted `weight` times.
    progress: Arc<AtomicU64>,
    weight: u64,
}

impl CallbackSocket {
    fn set_timeout(&mut self, timeout: NextTimeout) {
        self.until = Instant::now() + (*timeout.after).min(WAIT_MAX);
    }

    /// Runs `act` with the remaining time as its timeout, and again after a signal.
    fn within(
        &self,
        set_timeout: fn(&TcpStream, Option<Duration>) -> io::Result<()>,
        mut act: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            set_timeout(&self.stream, Some(left))?;
            match act(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The system's error for an expired timeout.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(count) => {
                    let bytes = u64::try_from(count).unwrap_or_default();
                    self.progress
                        .fetch_add(bytes * self.weight, Ordering::Relaxed);
                    return Ok(count);
                }
                failed => return failed,
            }
        }
    }
}

impl Read for CallbackSocket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.within(TcpStream::set_read_timeout, |mut stream| stream.read(bytes))
    }
}

impl Write for CallbackSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.within(TcpStream::set_write_timeout, |mut stream| {
            stream.write(bytes)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A TLS connection.
#[derive(Debug)]
pub(super) struct HttpsTransport {
    stream: StreamOwned<ClientConnection, CallbackSocket>,
    buffers: LazyBuffers,
}

impl Transport for HttpsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeout = timeout.for_write();
        self.stream.sock.set_timeout(timeout);
        let written = self.stream.write_all(&self.buffers.output()[..amount]);
        let flushed = written.and_then(|()| self.stream.flush());
        flushed.map_err(|error| of_io(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let timeout = timeout.for_read();
        self.stream.sock.set_timeout(timeout);
        let read = self.stream.read(self.buffers.input_append_buf());
        let amount = read.map_err(|error| of_io(error, timeout))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Connections are never reused.
    fn is_open(&mut self) -> bool {
        false
    }

    fn is_tls(&self) -> bool {
        true
    }
}

/// Why a file of certificate authorities cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CaError {
    path: PathBuf,
    what: String,
}

/// Builds the client's configuration: TLS 1.2 and 1.3, the public authorities, and those of `ca_file`.
///
/// # Errors
/// If the file cannot be read, contains no certificate, or contains one that cannot be parsed.
pub(super) fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, CaError> {
    let mut roots = public_authorities();
    if let Some(path) = ca_file {
        add_authorities(&mut roots, path)?;
    }
    let mut config = config_with(roots, b"http/1.1");
    config.resumption = rustls::client::Resumption::in_memory_sessions(SESSIONS_MAX);
    Ok(Arc::new(config))
}

pub(super) fn public_authorities() -> RootCertStore {
    RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    }
}

/// Builds a client's configuration that trusts `roots` and offers one protocol.
pub(super) fn config_with(roots: RootCertStore, protocol: &[u8]) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config
}

/// Adds the certificates of a PEM file.
pub(super) fn add_authorities(roots: &mut RootCertStore, path: &Path) -> Result<(), CaError> {
    let pem = std::fs::read(path).map_err(|error| CaError::of(path, error.to_string()))?;
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        count += 1;
        let certificate = certificate.map_err(|error| {
            CaError::of(path, format!("certificate {count} is not PEM: {error}"))
        })?;
        roots.add(certificate).map_err(|error| {
            CaError::of(path, format!("certificate {count} cannot be used: {error}"))
        })?;
    }
    if count == 0 {
        let what = "contains no certificate (PEM, BEGIN CERTIFICATE)";
        return Err(CaError::of(path, what.to_owned()));
    }
    Ok(())
}

impl CaError {
    fn of(path: &Path, what: String) -> CaError {
        CaError {
            path: path.to_owned(),
            what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(file.path(), text).expect("written");
        file
    }

    #[test]
    fn a_file_of_authorities_is_counted_and_every_one_must_parse() {
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]);
        let pem = made.expect("made").cert.pem();
        assert!(client_config(Some(file(&pem).path())).is_ok());
        let wrapped =
            |text| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        for (text, what) in [
            (String::new(), "contains no certificate"),
            ("no certificate here".to_owned(), "contains no certificate"),
            (wrapped("AAAA"), "certificate 1 cannot be used"),
            (wrapped("****"), "certificate 1 is not PEM"),
            (pem + &wrapped("AAAA"), "certificate 2 cannot be used"),
        ] {
            let error = client_config(Some(file(&text).path()))
                .expect_err(&text)
                .to_string();
            assert!(error.starts_with('/'), "{error}");
            assert!(error.contains(what), "{error}");
        }
        assert!(client_config(Some(Path::new("/nowhere"))).is_err());
    }
}
