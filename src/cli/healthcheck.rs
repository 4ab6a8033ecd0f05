//! `reviewd healthcheck`: asks a running service whether it is healthy, for containers without another client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ureq::Agent;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, TcpConnector};
use url::Url;

use crate::hub::tls::{TlsConnector, client_config};
use crate::server::systemd::reachable;

use super::exit::{Failure, Status, tell};
use super::values::{parse_http_url, parse_listen, time};

/// The flags of `healthcheck`.
#[derive(Args, Clone, Debug)]
pub(super) struct HealthcheckArgs {
    /// Address to request, such as http://127.0.0.1:9090/readyz [default: /healthz at --listen]
    #[arg(value_name = "URL", value_parser = parse_http_url)]
    url: Option<Url>,
    /// Address on which the service listens
    #[arg(
        long,
        env = "REVIEWD_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    listen: SocketAddr,
    /// Certificate of the service; if it is set, the request uses https
    #[arg(long, env = "REVIEWD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// File of certificate authorities (PEM) to trust for URL, besides the public ones
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Time limit of the request
    #[arg(long, value_name = "TIME", default_value = "5s",
        value_parser = time(Duration::from_millis(1), Duration::from_secs(60 * 60)))]
    timeout: Duration,
}

/// Sends the request, and ends with 0 for a status of 200 to 299, and with 1 for any other and for none.
pub(super) fn run(args: &HealthcheckArgs) -> Result<ExitCode, Failure> {
    let url = match &args.url {
        Some(url) => url.to_string(),
        None => own_url(args)?,
    };
    match agent(args)?.get(&url).call() {
        Ok(response) if response.status().is_success() => return Ok(ExitCode::SUCCESS),
        Ok(response) => tell(format_args!(
            "{url} answered {}",
            response.status().as_u16()
        )),
        Err(error) => tell(format_args!("{url} did not answer: {error}")),
    }
    Ok(ExitCode::FAILURE)
}

/// Returns the health address of the service on this machine.
fn own_url(args: &HealthcheckArgs) -> Result<String, Failure> {
    let address = reachable(args.listen);
    if address.port() == 0 {
        let message = format!(
            "--listen {} is a port that only the service knows: name URL",
            args.listen
        );
        return Err(Failure::new(Status::Usage, message));
    }
    let scheme = match args.tls_cert {
        Some(_) => "https",
        None => "http",
    };
    Ok(format!("{scheme}://{address}/healthz"))
}

/// Returns the client. The certificate of our own address is not verified: it names the public host and not this address,
/// and another process that listens here could serve plain http as well. That of a URL must name it and come from a
/// trusted authority.
fn agent(args: &HealthcheckArgs) -> Result<Agent, Failure> {
    let tls = TlsConfig::builder().disable_verification(args.url.is_none());
    // Without a proxy, whose response would say nothing about the service.
    let config = Agent::config_builder()
        .proxy(None)
        .tls_config(tls.build())
        .timeout_global(Some(args.timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build();
    let trusted = client_config(args.ca.as_deref())
        .map_err(|error| Failure::new(Status::Config, format!("--ca {error}")))?;
    if args.url.as_ref().is_none_or(|url| url.scheme() == "http") {
        return Ok(Agent::from(config));
    }
    let connector = ().chain(TcpConnector::default()).chain(TlsConnector(trusted));
    let resolver = DefaultResolver::default();
    Ok(Agent::with_parts(config, connector, resolver))
}
