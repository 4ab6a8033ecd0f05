//! Fetches a source of an import over HTTPS: no redirects, one deadline, answers of bounded size. The address is the
//! operator's own, so it may be private; a proxy is taken from the environment.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, Proxy};

use crate::cli::exit::{Failure, Status};
use crate::hub::tls::{TlsConnector, client_config};

/// How long an answer may take, from the name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Fetches what is at `url`, at most `bytes_max` bytes. The public authorities are trusted, and those in the file `ca`.
///
/// # Errors
/// 78 where the file of authorities cannot be used, 74 for anything that is not a whole answer with status 200.
pub(super) fn fetch(url: &str, ca: Option<&Path>, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let tls =
        client_config(ca).map_err(|error| Failure::new(Status::Config, format!("--ca {error}")))?;
    let failed = |reason: &str| Failure::new(Status::Io, format!("{url}: {reason}"));
    let response = agent(tls)
        .get(url)
        .call()
        .map_err(|error| failed(&error.to_string()))?;
    let status = response.status();
    if status != 200 {
        let location = response.headers().get("location");
        let more = match location.filter(|_| status.is_redirection()) {
            Some(to) => format!(
                ": import from {} if that is meant",
                String::from_utf8_lossy(to.as_bytes()).escape_debug()
            ),
            None => String::new(),
        };
        return Err(failed(&format!("answers {status}{more}")));
    }
    let mut bytes = Vec::new();
    response
        .into_body()
        .into_reader()
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| failed(&error.to_string()))?;
    if bytes.len() as u64 > bytes_max {
        return Err(failed(&format!(
            "is larger than {bytes_max} bytes (--data-file-bytes)"
        )));
    }
    Ok(bytes)
}

fn agent(tls: std::sync::Arc<rustls::ClientConfig>) -> Agent {
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
    Agent::with_parts(config, connector, DefaultResolver::default())
}
