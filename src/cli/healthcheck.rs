//! `reviewd healthcheck`: asks a running service whether it is healthy, for containers without another client.

use std::time::Duration;

use clap::Args;
use ureq::Agent;
use ureq::tls::TlsConfig;
use url::{Host, Url};

use super::exit::{Failure, Status};
use super::values::parse_http_url;

/// Time limit of the request.
const TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(super) struct HealthcheckArgs {
    /// Address to request, such as https://reviews.example/readyz
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080/healthz", value_parser = parse_http_url)]
    url: Url,
}

/// Sends the request, and fails unless the status is 200 to 299.
pub(super) fn run(args: &HealthcheckArgs) -> Result<(), Failure> {
    let url = args.url.as_str();
    // The certificate of a service names its public host and not this address, and another process that listens here
    // could serve plain http as well.
    let is_unverified = match args.url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        _ => false,
    };
    let tls = TlsConfig::builder().disable_verification(is_unverified);
    // Without a proxy, whose response would say nothing about the service.
    let config = Agent::config_builder()
        .proxy(None)
        .tls_config(tls.build())
        .timeout_global(Some(TIME_MAX))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build();
    let message = match Agent::from(config).get(url).call() {
        Ok(response) if response.status().is_success() => return Ok(()),
        Ok(response) => format!("{url} answered {}", response.status().as_u16()),
        Err(error) => format!("{url} did not answer: {error}"),
    };
    Err(Failure::new(Status::Unhealthy, message))
}
