//! TLS to the database, by the rustls that the rest of the program uses: the name and the authority are checked always.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::RootCertStore;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use super::database::Database;
use crate::hub::tls::{CaError, add_authorities, config_with, public_authorities};

/// Makes handshakes.
#[derive(Clone)]
pub(super) struct Security(TlsConnector);

/// A handshake with a server of that name.
pub(super) struct Handshake(TlsConnector, ServerName<'static>);

/// A connection under TLS.
pub(super) struct Secured(Box<client::TlsStream<Socket>>);

impl Security {
    /// Trusts the authorities of the database's own file, else the public ones.
    pub(super) fn of(database: &Database) -> Result<Security, CaError> {
        let roots = match &database.root_cert {
            None => public_authorities(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                add_authorities(&mut roots, path)?;
                roots
            }
        };
        // What `sslnegotiation=direct` needs, and other servers pass over.
        let config = config_with(roots, b"postgresql");
        Ok(Security(Arc::new(config).into()))
    }
}

impl MakeTlsConnect<Socket> for Security {
    type Stream = Secured;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, InvalidDnsNameError> {
        let name = ServerName::try_from(domain.to_owned())?;
        Ok(Handshake(self.0.clone(), name))
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let stream = self.0.connect(self.1, socket).await?;
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
