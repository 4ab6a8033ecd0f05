//! TLS for the client: which authorities are trusted, and ureq's handshake over our own configuration.
//!
//! ureq's connector trusts either the roots that it brings or the ones that it is given; an operator's own authority
//! has to come on top of the public ones. It also skips certificates that it cannot parse without a word, where a
//! typing error in a file must stop the start.

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport, TransportAdapter,
    time,
};

use super::tcp::mark_connected;

/// Why a file of authorities cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CaError {
    path: PathBuf,
    what: String,
}

/// Builds the client's configuration: TLS 1.2 and 1.3, the public authorities, and those of `ca_file`.
///
/// # Errors
/// When the file cannot be read, holds no certificate, or holds one that cannot be parsed.
pub fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, CaError> {
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
    let fail = |what: String| CaError {
        path: path.to_owned(),
        what,
    };
    let pem = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        count += 1;
        let certificate = certificate
            .map_err(|error| fail(format!("certificate {count} is not PEM: {error}")))?;
        roots
            .add(certificate)
            .map_err(|error| fail(format!("certificate {count} cannot be used: {error}")))?;
    }
    match count {
        0 => {
            let what = "holds no certificate (PEM, BEGIN CERTIFICATE)";
            Err(fail(what.to_owned()))
        }
        _ => Ok(()),
    }
}

/// The last link of ureq's chain: a handshake over the connection that was made.
pub(crate) struct TlsConnector(pub(crate) Arc<ClientConfig>);

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = TlsTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<TlsTransport>, ureq::Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        mark_connected();
        let host = details.uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| ureq::Error::Tls("not a name that a certificate can have"))?;
        let connection = ClientConnection::new(Arc::clone(&self.0), name)?;
        let mut socket =
            TransportAdapter::new(transport.boxed(), Arc::clone(&details.current_time));
        socket.set_timeout(remaining(details)?);
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        let buffers = LazyBuffers::new(
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(TlsTransport { buffers, stream }))
    }
}

/// What making the connection has left of the time for connecting: both share it.
fn remaining(details: &ConnectionDetails) -> Result<NextTimeout, ureq::Error> {
    let mut timeout = details.timeout;
    if let (time::Duration::Exact(after), time::Instant::Exact(began), time::Instant::Exact(now)) =
        (timeout.after, details.now, (details.current_time)())
    {
        let left = after.saturating_sub(now.saturating_duration_since(began));
        if left == Duration::ZERO {
            return Err(ureq::Error::Timeout(timeout.reason));
        }
        timeout.after = time::Duration::Exact(left);
    }
    Ok(timeout)
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

/// A connection under TLS.
pub(crate) struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output)?;
        self.stream.flush()?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

/// TLS sessions kept for resumption; the oldest go.
const SESSIONS_MAX: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(file.path(), text).expect("written");
        file
    }

    #[test]
    fn a_file_of_authorities_is_counted_and_every_one_must_parse() {
        let pem = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()])
            .expect("made")
            .cert
            .pem();
        assert!(client_config(Some(file(pem.as_bytes()).path())).is_ok());
        for (text, what) in [
            ("", "holds no certificate"),
            ("no certificate here", "holds no certificate"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "certificate 1 cannot be used",
            ),
            (
                "-----BEGIN CERTIFICATE-----\n****\n-----END CERTIFICATE-----\n",
                "certificate 1 is not PEM",
            ),
        ] {
            let error = client_config(Some(file(text.as_bytes()).path()))
                .expect_err(text)
                .to_string();
            assert!(error.starts_with('/') && error.contains(what), "{error}");
        }
        let both = format!("{pem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assert!(client_config(Some(file(both.as_bytes()).path())).is_err());
        assert!(client_config(Some(Path::new("/nowhere"))).is_err());
    }
}
