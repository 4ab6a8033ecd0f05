//! TLS at our own door: the certificate and its key, read at the start and again whenever their files change.
//!
//! Only the certificate is exchanged: keys of session tickets outlive it, so that clients resume, and connections that
//! are open go on. A pair that cannot be used changes nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info};

use super::certificate::{self, Validity};
use super::config::TlsFiles;
use super::files::{ReadCause, Stamp, read_settled};
use crate::clock;
use crate::http::{Readiness, Reason};
use crate::wire::date::Timestamp;

/// Largest file of certificates or of a key: a chain is a few kilobytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why a certificate and its key cannot be used: the operator's mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    /// The flag that names the file.
    flag: &'static str,
    path: PathBuf,
    what: String,
}

impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {}: {}",
            self.flag,
            self.path.display(),
            self.what
        )
    }
}

impl std::error::Error for TlsError {}

/// The pair that the next handshake is made with.
#[derive(Debug)]
struct CertificateResolver(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// When the certificate ends that is served now, whichever it is.
#[derive(Clone, Debug)]
pub(super) struct Expiry(Arc<CertificateResolver>);

impl Expiry {
    /// Returns the last second in which it is valid, since 1970.
    pub(super) fn unix(&self) -> Option<i64> {
        let pair = self.0.0.load();
        let validity = certificate::parse_validity(pair.cert.first()?)?;
        Some(validity.ends.unix())
    }
}

/// The state of both files, by which a change is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamps(Option<Stamp>, Option<Stamp>);

/// Keeps the pair up to date; the thread that reloads has it.
#[derive(Debug)]
pub(super) struct CertificateReloader {
    files: TlsFiles,
    current: Arc<CertificateResolver>,
    config: Arc<ServerConfig>,
    /// The last second of the certificate that is served.
    ends: Timestamp,
    /// That it has passed is said once.
    is_end_told: bool,
    /// The files as they were when they were last read.
    seen: Stamps,
    /// A changed pair that could not be used at the first look: perhaps the second file was yet to be replaced.
    doubted: Option<Stamps>,
}

/// A pair that can be used.
struct CertKeyPair {
    key: CertifiedKey,
    /// The last second of its certificate.
    ends: Timestamp,
}

/// Under this code `/readyz` tells that a changed pair cannot be used.
const REFUSED: &str = "tls_reload_failed";

/// Under this code `/readyz` tells that the certificate that is served has expired.
const EXPIRED: &str = "tls_expired";

impl CertificateReloader {
    /// Reads the pair of the beginning: TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN, resumption by tickets that take
    /// no memory here.
    ///
    /// # Errors
    /// See [`TlsError`]; an expired certificate is one.
    pub(super) fn load(files: &TlsFiles) -> Result<CertificateReloader, TlsError> {
        // Looked at before reading: what changes meanwhile is read once more, never missed.
        let seen = Stamps::of(files);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pair = read_pair(files, &provider, clock::now())?;
        let current = Arc::new(CertificateResolver(ArcSwap::from_pointee(pair.key)));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&current) as _;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![H2.to_vec(), b"http/1.1".to_vec()];
        // Requests in the first flight could be replayed, and the first of them would not know its client.
        config.max_early_data_size = 0;
        config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(|error| {
            let what = format!("the system has no randomness for tickets: {error}");
            fail(CERT_FLAG, &files.certificate, what)
        })?;
        Ok(CertificateReloader {
            files: files.clone(),
            current,
            config: Arc::new(config),
            ends: pair.ends,
            is_end_told: false,
            seen,
            doubted: None,
        })
    }

    /// Returns what accepts handshakes; each takes the pair that is current when it begins.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }

    /// Returns what tells when the certificate ends that is served.
    pub(super) fn expiry(&self) -> Expiry {
        Expiry(Arc::clone(&self.current))
    }

    /// Reads the pair if its files have changed or a reload was asked for, and tells `readiness` and the log of it.
    pub(super) fn look(&mut self, readiness: &Readiness, asked: bool) {
        let stamps = Stamps::of(&self.files);
        if stamps != self.seen || asked {
            self.renew(readiness, stamps, asked);
        }
        if clock::now() > self.ends && !self.is_end_told {
            self.is_end_told = true;
            let ends = render(self.ends);
            error!(%ends, "the certificate that is served has expired: put a renewed one there");
            report(
                readiness,
                EXPIRED,
                format!("the certificate expired at {ends}"),
            );
        }
    }

    fn renew(&mut self, readiness: &Readiness, stamps: Stamps, asked: bool) {
        match read_pair(&self.files, self.config.crypto_provider(), clock::now()) {
            Ok(pair) => {
                let is_other = self.current.0.load().cert != pair.key.cert;
                // Stored in any case: the same certificate may have come with the key in another form.
                self.current.0.store(Arc::new(pair.key));
                if is_other {
                    info!("a changed certificate is served");
                }
                self.ends = pair.ends;
                self.is_end_told = false;
                readiness.withdraw(REFUSED);
                readiness.withdraw(EXPIRED);
            }
            Err(_) if !asked && self.doubted != Some(stamps) => {
                self.doubted = Some(stamps);
                return;
            }
            Err(error) => {
                error!("{error}; what was used before is used on");
                // `/readyz` is public, so without the path.
                report(
                    readiness,
                    REFUSED,
                    format!("{}: {}", error.flag, error.what),
                );
            }
        }
        self.seen = stamps;
        self.doubted = None;
    }
}

/// Tells `/readyz` what the operator ought to know; traffic need not go elsewhere.
fn report(readiness: &Readiness, code: &'static str, message: String) {
    readiness.report(&Reason::new(code, message));
}

fn render(time: Timestamp) -> String {
    String::from_utf8_lossy(&time.render_rfc3339()).into_owned()
}

impl Stamps {
    fn of(files: &TlsFiles) -> Stamps {
        Stamps(Stamp::at(&files.certificate), Stamp::at(&files.key))
    }
}

/// How HTTP/2 is called in ALPN (RFC 7301 §6).
pub(super) const H2: &[u8] = b"h2";

const CERT_FLAG: &str = "--tls-cert";
const KEY_FLAG: &str = "--tls-key";

fn fail(flag: &'static str, path: &Path, what: impl Into<String>) -> TlsError {
    TlsError {
        flag,
        path: path.to_owned(),
        what: what.into(),
    }
}

fn read_pair(
    files: &TlsFiles,
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<CertKeyPair, TlsError> {
    let wrong_certificate = |what: String| fail(CERT_FLAG, &files.certificate, what);
    let wrong_key = |what: String| fail(KEY_FLAG, &files.key, what);
    let pem = read(&files.certificate).map_err(wrong_certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong_certificate(format!("is not PEM: {error}")))?;
    let Some(own) = chain.first() else {
        let what = "holds no certificate (PEM, BEGIN CERTIFICATE), the server's own first";
        return Err(wrong_certificate(what.to_owned()));
    };
    let ends = check_validity(own, now).map_err(wrong_certificate)?;
    let pem = read(&files.key).map_err(wrong_key)?;
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        wrong_key("holds no private key that is not encrypted (PEM, BEGIN PRIVATE KEY)".to_owned())
    })?;
    let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => wrong_key(format!(
            "is not the key of the first certificate in {CERT_FLAG}: name the two files of one pair"
        )),
        rustls::Error::InvalidCertificate(_) => {
            wrong_certificate(format!("the first certificate cannot be used: {error}"))
        }
        error => wrong_key(format!("cannot be used: {error}")),
    })?;
    Ok(CertKeyPair { key, ends })
}

/// Returns the last second of `own`, which has to be valid at `now`.
fn check_validity(own: &CertificateDer<'_>, now: Timestamp) -> Result<Timestamp, String> {
    let Some(Validity { begins, ends }) = certificate::parse_validity(own) else {
        return Err("the first certificate is not X.509".to_owned());
    };
    if now > ends {
        return Err(format!(
            "the first certificate expired at {}: put a renewed one there",
            render(ends)
        ));
    }
    if now < begins {
        return Err(format!(
            "the first certificate begins at {}: check the clock, or wait",
            render(begins)
        ));
    }
    Ok(ends)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    match read_settled(path, FILE_BYTES_MAX) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(ReadCause::Missing.to_string()),
        Err(ReadCause::TooLarge(most)) => Err(format!("is larger than {most} bytes")),
        Err(cause) => Err(cause.to_string()),
    }
}
