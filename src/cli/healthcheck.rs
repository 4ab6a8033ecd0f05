//! `reviewd healthcheck`: asks a running service whether it is healthy, for containers without an HTTP client.

use std::net::IpAddr;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::TlsConfig;
use url::Url;

use super::exit::{Failure, Status};

/// Time limit of the request.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Sends the request, and fails unless the status is 200 to 299.
pub(super) fn run(url: &Url) -> Result<(), Failure> {
    // The certificate names the public host and not a loopback address, so it is not verified there. Verification would
    // prove little: with a plain http URL, any local process on the port is accepted as well.
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_unverified = address.is_ok_and(|address| address.is_loopback());
    let tls = TlsConfig::builder().disable_verification(is_unverified);
    // A proxy is not used, as its response would say nothing about the service.
    let config = Agent::config_builder()
        .proxy(None)
        .tls_config(tls.build())
        .timeout_global(Some(TIME_MAX))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build();
    let message = match Agent::from(config).get(url.as_str()).call() {
        Ok(response) if response.status().is_success() => return Ok(()),
        Ok(response) => format!("{url} returned {}", response.status().as_u16()),
        Err(error) => format!("{url} did not respond: {error}"),
    };
    Err(Failure::new(Status::Unhealthy, message))
}
