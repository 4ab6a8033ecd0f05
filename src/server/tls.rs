//! TLS on the public listener: loads the certificate and its key at start, and again whenever their files change.
//!
//! A reload replaces only the certificate and its key. The keys of session tickets stay, so clients can resume, and
//! open connections continue. A pair that cannot be used changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info};

use super::certificate::parse_validity;
use super::clock::instant;
use super::config::TlsFiles;
use super::files::{ReadCause, Stamp, read_file};
use super::retry::Retry;
use crate::clock;
use crate::http::{Readiness, Reason};
use crate::wire::date::Timestamp;

/// Largest file of certificates or of a key: a chain is a few kilobytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name of HTTP/2 in ALPN (RFC 7301 §6).
pub(super) const H2: &[u8] = b"h2";

/// The code on `/readyz` for a changed pair that cannot be used.
const RELOAD_FAILED: &str = "tls_reload_failed";

/// The code on `/readyz` for an expired certificate.
const EXPIRED: &str = "tls_expired";

const CERT_FLAG: &str = "--tls-cert";
const KEY_FLAG: &str = "--tls-key";

/// Why a certificate and its key cannot be used.
#[derive(Clone, Debug, Error)]
#[error("{flag} {}: {what}", path.display())]
pub struct TlsError {
    /// The flag that names the file.
    flag: &'static str,
    path: PathBuf,
    what: String,
    /// Whether the reason may pass without a change of the file.
    may_pass: bool,
}

/// Why a certificate is not valid now.
#[derive(Debug, Error)]
enum ValidityError {
    #[error("the first certificate is not X.509")]
    NotX509,
    #[error("the first certificate expired at {0}: replace it with a renewed one")]
    Expired(Timestamp),
    #[error("the first certificate is not valid before {0}: check the clock, or wait")]
    NotYetValid(Timestamp),
}

/// The certificate and key that the next handshake uses.
#[derive(Debug)]
pub(super) struct CertificateResolver(ArcSwap<CertificatePair>);

/// A certificate with its key.
#[derive(Debug)]
struct CertificatePair {
    key: Arc<CertifiedKey>,
    /// The last second in which the certificate is valid.
    ends: Timestamp,
}

impl CertificateResolver {
    /// Returns the last second in which the certificate is valid.
    pub(super) fn ends(&self) -> Timestamp {
        self.0.load().ends
    }
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.load().key))
    }
}

/// Reloads the pair when its files change; owned by the thread that watches.
pub(super) struct CertificateReloader {
    files: TlsFiles,
    pub(super) resolver: Arc<CertificateResolver>,
    /// Accepts handshakes; each uses the pair that is current when it begins.
    pub(super) acceptor: TlsAcceptor,
    /// Whether the log has the expiry of the certificate that is served.
    has_logged_expiry: bool,
    /// The state of the files when they were last read.
    seen: [Option<Stamp>; 2],
    /// When to read the files again after a failure that may pass.
    retry: Retry,
}

impl CertificateReloader {
    /// Loads the first pair, and configures TLS: the versions 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN, and resumption by
    /// tickets, which need no memory on the server.
    pub(super) fn load(files: &TlsFiles) -> Result<CertificateReloader, TlsError> {
        // Taken before the files are read, so that a change in between leads to another reload.
        let seen = stamps(files);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pair = read_pair(files, &provider, clock::now())?;
        let resolver = Arc::new(CertificateResolver(ArcSwap::from_pointee(pair)));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&resolver) as _);
        config.alpn_protocols = vec![H2.to_vec(), b"http/1.1".to_vec()];
        // Early data could be replayed, and would arrive before the client is known.
        config.max_early_data_size = 0;
        config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(|error| {
            let what = format!("the system has no randomness for tickets: {error}");
            fail(CERT_FLAG, &files.certificate, what)
        })?;
        Ok(CertificateReloader {
            files: files.clone(),
            resolver,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            has_logged_expiry: false,
            seen,
            retry: Retry::default(),
        })
    }

    /// Reads the pair if its files have changed or a reload was requested. Reports faults on `/readyz` and in the log, also
    /// that the certificate that is served has expired.
    pub(super) fn check_files(&mut self, readiness: &Readiness, is_requested: bool) {
        let stamps = stamps(&self.files);
        if stamps != self.seen || is_requested || self.retry.is_due(instant()) {
            self.seen = stamps;
            self.renew(readiness);
        }
        let ends = self.resolver.ends();
        if clock::now() > ends && !self.has_logged_expiry {
            self.has_logged_expiry = true;
            error!(%ends, "the certificate that is served has expired: replace it with a renewed one");
            let message = format!("the certificate expired at {ends}");
            readiness.report(&Reason::new(EXPIRED, message));
        }
    }

    /// Reads the pair, and serves it from the next handshake on if it can be used.
    fn renew(&mut self, readiness: &Readiness) {
        let provider = self.acceptor.config().crypto_provider();
        match read_pair(&self.files, provider, clock::now()) {
            Ok(pair) => {
                let certificate = pair.key.cert.clone();
                // Stored even if the certificate is the same: the key may have another encoding.
                let previous = self.resolver.0.swap(Arc::new(pair));
                if previous.key.cert != certificate {
                    info!("a changed certificate is served");
                }
                self.has_logged_expiry = false;
                self.retry.cancel();
                readiness.withdraw(RELOAD_FAILED);
                readiness.withdraw(EXPIRED);
            }
            // One of the files may not be replaced yet; then the next reload reads the pair.
            Err(error) => {
                error!("{error}; the previous certificate is still served");
                // `/readyz` is public, so without the path.
                let mut message = format!("{}: {}", error.flag, error.what);
                if error.may_pass {
                    self.retry.schedule(instant());
                    message += "; it is tried again";
                } else {
                    self.retry.cancel();
                }
                readiness.report(&Reason::new(RELOAD_FAILED, message));
            }
        }
    }
}

/// Returns the state of both files, which shows a change.
fn stamps(files: &TlsFiles) -> [Option<Stamp>; 2] {
    [Stamp::at(&files.certificate), Stamp::at(&files.key)]
}

/// Returns the error of a file whose content cannot be used.
fn fail(flag: &'static str, path: &Path, what: String) -> TlsError {
    TlsError {
        flag,
        path: path.to_owned(),
        what,
        may_pass: false,
    }
}

/// Returns the error of a file that cannot be read.
fn fail_to_read(flag: &'static str, path: &Path, cause: &ReadCause) -> TlsError {
    TlsError {
        may_pass: cause.may_pass(),
        ..fail(flag, path, cause.to_string())
    }
}

/// Reads a pair that is valid at `now`.
fn read_pair(
    files: &TlsFiles,
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<CertificatePair, TlsError> {
    let certificate_pem = read(&files.certificate)
        .map_err(|cause| fail_to_read(CERT_FLAG, &files.certificate, &cause))?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&certificate_pem)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong_certificate(files, format!("is not PEM: {error}")))?;
    let Some(own) = chain.first() else {
        let what = "contains no certificate (PEM, BEGIN CERTIFICATE), the server's own first";
        return Err(wrong_certificate(files, what.to_owned()));
    };
    let ends =
        check_validity(own, now).map_err(|error| wrong_certificate(files, error.to_string()))?;
    let key_pem = read(&files.key).map_err(|cause| fail_to_read(KEY_FLAG, &files.key, &cause))?;
    let private_key = PrivateKeyDer::from_pem_slice(&key_pem).map_err(|_| {
        let what = "contains no unencrypted private key (PEM, BEGIN PRIVATE KEY)";
        wrong_key(files, what.to_owned())
    })?;
    let key = CertifiedKey::from_der(chain, private_key, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => wrong_key(
            files,
            format!(
                "is not the key of the first certificate in {CERT_FLAG}: use the two files of one pair"
            ),
        ),
        rustls::Error::InvalidCertificate(_) => {
            wrong_certificate(files, format!("the first certificate cannot be used: {error}"))
        }
        error => wrong_key(files, format!("cannot be used: {error}")),
    })?;
    Ok(CertificatePair {
        key: Arc::new(key),
        ends,
    })
}

/// Returns the error of a file of certificates that cannot be used.
fn wrong_certificate(files: &TlsFiles, what: String) -> TlsError {
    fail(CERT_FLAG, &files.certificate, what)
}

/// Returns the error of a file of a key that cannot be used.
fn wrong_key(files: &TlsFiles, what: String) -> TlsError {
    fail(KEY_FLAG, &files.key, what)
}

/// Returns the last valid second of `own`; an error if it is not valid at `now`.
fn check_validity(own: &CertificateDer<'_>, now: Timestamp) -> Result<Timestamp, ValidityError> {
    let validity = parse_validity(own).ok_or(ValidityError::NotX509)?;
    let (begins, ends) = validity.into_inner();
    if now > ends {
        return Err(ValidityError::Expired(ends));
    }
    if now < begins {
        return Err(ValidityError::NotYetValid(begins));
    }
    Ok(ends)
}

/// Reads a file, which must exist.
fn read(path: &Path) -> Result<Vec<u8>, ReadCause> {
    let bytes = read_file(path, FILE_BYTES_MAX)?;
    bytes.ok_or(ReadCause::Missing)
}
