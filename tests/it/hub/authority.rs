//! A private certificate authority, one for all tests of the process.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

static AUTHORITY: LazyLock<CertifiedIssuer<'static, KeyPair>> = LazyLock::new(|| {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
});

/// Writes the authority's certificate, for `--callback-ca`.
pub(crate) fn write_ca(path: &Path) {
    std::fs::write(path, AUTHORITY.pem()).unwrap();
}

fn certify(names: &[&str]) -> (Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let params = CertificateParams::new(names).unwrap();
    (params.signed_by(&key, &AUTHORITY).unwrap(), key)
}

/// Returns a server's configuration with a certificate for `names`, each a DNS name or an address.
pub(crate) fn server_config(names: &[&str]) -> Arc<ServerConfig> {
    let (certificate, key) = certify(names);
    configure(certificate.der().clone(), &key)
}

/// Returns a certificate for `names` and its key, in PEM.
#[cfg(feature = "postgres")]
pub(crate) fn server_pem(names: &[&str]) -> (String, String) {
    let (certificate, key) = certify(names);
    (certificate.pem(), key.serialize_pem())
}

/// Returns a server's configuration with a certificate that no authority has signed.
pub(crate) fn untrusted_config(name: &str) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    configure(made.cert.der().clone(), &made.signing_key)
}

fn configure(certificate: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}
