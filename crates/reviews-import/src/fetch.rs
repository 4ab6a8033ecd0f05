//! Fetches pictures by https, from public addresses only.
//!
//! The addresses come from files that others have written, so a request must not reach the operator's own network: the resolver
//! checks every address of a name before a connection is made to it, also after a redirect.

use std::fmt;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use thiserror::Error;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::text::short_message;
use reviewd_wire::address::{is_permitted, is_public_name};

/// Largest file that is read, 10 MB; a larger one is refused.
pub const FILE_BYTES_MAX: u64 = 10_000_000;

/// Time limit of a request with its redirects, up to the last byte.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Redirects that are followed.
const REDIRECTS_MAX: u32 = 3;

/// Largest head of a response.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// What the operator permits.
#[derive(Clone, Debug, Default)]
pub struct FetchSettings {
    /// Permits private, shared and loopback addresses and names of private networks.
    pub allow_private: bool,
    /// Certificates of authorities that are trusted instead of the public ones, in PEM; empty for those.
    pub authorities: Vec<u8>,
}

/// Fetches files; cheap to share between threads.
#[derive(Debug)]
pub struct Fetcher {
    agent: Agent,
}

/// Why a file was not fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The authorities cannot be read.
    #[error("the certificates cannot be read")]
    Authorities,
    /// The address is not https.
    #[error("is not an https address")]
    Scheme,
    /// The host is not public.
    #[error("is not at a public address")]
    Private,
    /// The server answered with this status.
    #[error("was answered with status {0}")]
    Status(u16),
    /// It is too large.
    #[error("is larger than {FILE_BYTES_MAX} bytes")]
    Size,
    /// No answer, or a broken one.
    #[error("cannot be fetched: {0}")]
    Failed(String),
}

impl Fetcher {
    /// Creates a fetcher.
    ///
    /// # Errors
    /// [`FetchError::Authorities`].
    pub fn new(settings: &FetchSettings) -> Result<Fetcher, FetchError> {
        let mut tls = TlsConfig::builder();
        if !settings.authorities.is_empty() {
            let mut authorities = Vec::new();
            for item in parse_pem(&settings.authorities) {
                match item {
                    Ok(PemItem::Certificate(certificate)) => authorities.push(certificate),
                    Ok(_) => {}
                    Err(_) => return Err(FetchError::Authorities),
                }
            }
            if authorities.is_empty() {
                return Err(FetchError::Authorities);
            }
            tls = tls.root_certs(RootCerts::new_with_certs(&authorities));
        }
        let config = Agent::config_builder()
            .https_only(true)
            .http_status_as_error(false)
            // A proxy of the environment would resolve names itself.
            .proxy(None)
            .max_redirects(REDIRECTS_MAX)
            .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
            .accept("image/jpeg, image/png, image/webp")
            .accept_encoding("identity")
            .max_response_header_size(HEADER_BYTES_MAX)
            .timeout_global(Some(TIME_MAX))
            .tls_config(tls.build())
            .build();
        let resolver = PublicResolver {
            inner: DefaultResolver::default(),
            allow_private: settings.allow_private,
        };
        Ok(Fetcher {
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
        })
    }

    /// Fetches the file at `url`; blocks for at most 30 seconds.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub fn fetch(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        if !url.starts_with("https://") {
            return Err(FetchError::Scheme);
        }
        let mut response = self.agent.get(url).call().map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            return Err(FetchError::Status(status.as_u16()));
        }
        let mut bytes = Vec::new();
        let body = response.body_mut().as_reader();
        let read = body.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| FetchError::Failed(error.to_string()))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(FetchError::Size);
        }
        Ok(bytes)
    }
}

fn failed(error: ureq::Error) -> FetchError {
    match error {
        ureq::Error::Other(other) if other.is::<NotPublic>() => FetchError::Private,
        ureq::Error::RequireHttpsOnly(_) => FetchError::Scheme,
        other => FetchError::Failed(short_message(&other)),
    }
}

/// A host that is not public.
#[derive(Debug, Error)]
#[error("not a public address")]
struct NotPublic;

impl From<NotPublic> for ureq::Error {
    fn from(error: NotPublic) -> ureq::Error {
        ureq::Error::Other(Box::new(error))
    }
}

/// Looks up names, and refuses a name if any of its addresses is not permitted.
struct PublicResolver {
    inner: DefaultResolver,
    allow_private: bool,
}

impl Resolver for PublicResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_address = bare.parse::<IpAddr>().is_ok();
        if !is_address && !self.allow_private && !is_public_name(bare) {
            return Err(NotPublic.into());
        }
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut addresses = found.iter();
        if addresses.any(|address| !is_permitted(address.ip(), self.allow_private)) {
            return Err(NotPublic.into());
        }
        Ok(found)
    }
}

impl fmt::Debug for PublicResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PublicResolver")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_our_own_network_are_never_asked() {
        let fetcher = Fetcher::new(&FetchSettings::default()).expect("a fetcher");
        for url in [
            "https://127.0.0.1/a.jpg",
            "https://[::1]/a.jpg",
            "https://169.254.169.254/latest/meta-data",
            "https://localhost/a.jpg",
            "https://printer/a.jpg",
        ] {
            let refused = fetcher.fetch(url).expect_err("a private address");
            assert!(matches!(refused, FetchError::Private), "{url}: {refused}");
        }
        let refused = fetcher
            .fetch("http://cdn.example/a.jpg")
            .expect_err("no https");
        assert!(matches!(refused, FetchError::Scheme), "{refused}");
    }
}
