//! Which certificate authorities the hub's clients trust: the public ones and, on top, those of an operator's file. A file
//! that cannot be used in full is an error; ureq would skip such a certificate without a word.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

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
