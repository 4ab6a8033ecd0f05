//! TLS to the database, by the rustls that the rest of the program uses: the name and the authority are checked always.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use super::database::Database;

/// Makes handshakes.
#[derive(Clone)]
pub(super) struct Security(Arc<ClientConfig>);

/// A handshake with a server of that name.
pub(super) struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// A connection under TLS.
pub(super) struct Secured(Box<client::TlsStream<Socket>>);

impl Security {
    /// Trusts the authorities of the database's own file, else the public ones.
    ///
    /// # Errors
    /// A line about the file, which cannot be used.
    pub(super) fn of(database: &Database) -> Result<Security, String> {
        let roots = match &database.root_cert {
            None => RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            },
            Some(path) => {
                let fail = |what: &dyn std::fmt::Display| {
                    format!("sslrootcert {}: {what}", path.display())
                };
                let pem = std::fs::read(path).map_err(|error| fail(&error))?;
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_slice_iter(&pem) {
                    let certificate = certificate.map_err(|error| fail(&error))?;
                    roots.add(certificate).map_err(|error| fail(&error))?;
                }
                if roots.is_empty() {
                    return Err(fail(&"holds no certificate (PEM, BEGIN CERTIFICATE)"));
                }
                roots
            }
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // What `sslnegotiation=direct` needs, and other servers pass over.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Security(Arc::new(config)))
    }
}

impl MakeTlsConnect<Socket> for Security {
    type Stream = Secured;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, InvalidDnsNameError> {
        Ok(Handshake {
            config: Arc::clone(&self.0),
            name: ServerName::try_from(domain.to_owned())?,
        })
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let connector = TlsConnector::from(self.config);
        Box::pin(async move {
            let stream = connector.connect(self.name, socket).await?;
            Ok(Secured(Box::new(stream)))
        })
    }
}

impl TlsStream for Secured {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
