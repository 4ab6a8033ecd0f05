//! Fetches a source of an import over HTTPS: no redirects, one deadline, responses of bounded size. The address is the
//! operator's own, so it may be private; a proxy is taken from the environment.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, Proxy};

use crate::cli::exit::{Failure, Status};
use crate::hub::tls::{TlsConnector, client_config};

/// Longest time of a response, from the name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Fetches what is at `url`, at most `bytes_max` bytes. The public authorities are trusted, and those in the file `ca`.
pub(super) fn fetch(url: &str, ca: Option<&Path>, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let tls = client_config(ca);
    let tls = tls.map_err(|error| Failure::new(Status::Config, format!("--ca {error}")))?;
    let config = Agent::config_builder()
        .https_only(true)
        .http_status_as_error(false)
        .proxy(Proxy::try_from_env())
        .max_redirects(0)
        .timeout_global(Some(TIME_MAX))
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .build();
    let connector =
        ().chain(ConnectProxyConnector::default())
            .chain(TcpConnector::default())
            .chain(TlsConnector(tls));
    let agent = Agent::with_parts(config, connector, DefaultResolver::default());
    let failed = |reason: String| Failure::new(Status::Io, format!("{url}: {reason}"));
    let response = agent
        .get(url)
        .call()
        .map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    if status != 200 {
        let location = response
            .headers()
            .get("location")
            .filter(|_| status.is_redirection());
        let more = location.map(|to| {
            let to = String::from_utf8_lossy(to.as_bytes());
            format!(": import from {} if that is meant", to.escape_debug())
        });
        return Err(failed(format!(
            "answers {status}{}",
            more.unwrap_or_default()
        )));
    }
    let mut bytes = Vec::new();
    let mut body = response
        .into_body()
        .into_reader()
        .take(bytes_max.saturating_add(1));
    body.read_to_end(&mut bytes)
        .map_err(|error| failed(error.to_string()))?;
    match bytes.len() as u64 <= bytes_max {
        true => Ok(bytes),
        false => Err(failed(format!(
            "is larger than {bytes_max} bytes (--data-file-bytes)"
        ))),
    }
}
