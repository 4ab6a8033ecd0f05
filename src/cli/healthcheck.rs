//! `reviewd healthcheck`: asks a running service whether it is healthy, for containers without another client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ureq::Agent;
use ureq::tls::TlsConfig;
use url::Url;

use super::exit::{Failure, Status};
use super::values::parse_http_url;
use crate::server::systemd::reachable;

/// Time limit of the request.
const TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Args, Clone, Debug)]
pub(super) struct HealthcheckArgs {
    /// Address to request, such as http://127.0.0.1:9090/readyz [default: /healthz at --listen]
    #[arg(value_name = "URL", value_parser = parse_http_url)]
    url: Option<Url>,
    /// Address on which the service listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Certificate of the service; if it is set, the request uses https
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
}

/// Sends the request, and fails unless the status is 200 to 299.
pub(super) fn run(args: &HealthcheckArgs) -> Result<(), Failure> {
    let url = match &args.url {
        Some(url) => url.to_string(),
        None => own_url(args)?,
    };
    // The certificate of our own address names the public host and not this address, and another process that listens
    // here could serve plain http as well; so it is not verified.
    let tls = TlsConfig::builder().disable_verification(args.url.is_none());
    // Without a proxy, whose response would say nothing about the service.
    let config = Agent::config_builder()
        .proxy(None)
        .tls_config(tls.build())
        .timeout_global(Some(TIME_MAX))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build();
    let message = match Agent::from(config).get(&url).call() {
        Ok(response) if response.status().is_success() => return Ok(()),
        Ok(response) => format!("{url} answered {}", response.status().as_u16()),
        Err(error) => format!("{url} did not answer: {error}"),
    };
    Err(Failure::new(Status::Unhealthy, message))
}

/// Returns the health address of the service on this machine.
fn own_url(args: &HealthcheckArgs) -> Result<String, Failure> {
    let address = reachable(args.listen);
    if address.port() == 0 {
        let message = "--listen: port 0 is one that only the service knows: name URL";
        return Err(Failure::new(Status::Usage, message));
    }
    let scheme = if args.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    Ok(format!("{scheme}://{address}/healthz"))
}
