//! `reviewd healthcheck`: asks a running service how it is, for containers that have no other client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ureq::Agent;
use ureq::config::Config;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, TcpConnector};
use url::Url;

use crate::delivery::tls::{TlsConnector, client_config};
use crate::server::supervisor::reachable;

use super::exit::{Failure, Status, tell};
use super::values::{parse_listen, time};

/// The flags of `healthcheck`.
#[derive(Args, Clone, Debug)]
pub struct HealthcheckArgs {
    /// Address to ask, such as http://127.0.0.1:9090/readyz [default: /healthz where --listen says]
    #[arg(value_name = "URL", value_parser = parse_url)]
    url: Option<Url>,
    /// Where the service listens, as it was told
    #[arg(
        long,
        env = "REVIEWD_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    listen: SocketAddr,
    /// Certificate of the service, as it was told: with one it is asked by https
    #[arg(long, env = "REVIEWD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Trust the certificate authorities in this PEM file, too, for URL
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How long the answer may take
    #[arg(long, value_name = "TIME", default_value = "5s",
        value_parser = time(Duration::from_millis(1), Duration::from_secs(60 * 60)))]
    timeout: Duration,
}

/// Asks, and ends with 0 for an answer of 200 to 299, and with 1 for any other and for none.
pub(super) fn run(args: &HealthcheckArgs) -> Result<ExitCode, Failure> {
    let (url, agent) = match &args.url {
        Some(url) => (url.to_string(), agent_for(url, args)?),
        None => (own_url(args)?, agent_for_own(args)),
    };
    match agent.get(&url).call() {
        Ok(response) if response.status().is_success() => Ok(ExitCode::SUCCESS),
        Ok(response) => {
            tell(format_args!(
                "{url} answered {}",
                response.status().as_u16()
            ));
            Ok(ExitCode::FAILURE)
        }
        Err(error) => {
            tell(format_args!("{url} did not answer: {error}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Returns where this machine's own service tells how it is.
fn own_url(args: &HealthcheckArgs) -> Result<String, Failure> {
    let address = reachable(args.listen);
    if address.port() == 0 {
        let message = format!(
            "--listen {} is a port that only the service knows: name URL",
            args.listen
        );
        return Err(Failure::new(Status::Usage, message));
    }
    let scheme = if args.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    Ok(format!("{scheme}://{address}/healthz"))
}

/// Returns what asks our own address. Its certificate is of the public name and not of the address, and proves nothing:
/// whoever could listen here could answer by http as well.
fn agent_for_own(args: &HealthcheckArgs) -> Agent {
    let tls = TlsConfig::builder().disable_verification(true).build();
    Agent::from(config(args, tls))
}

/// Returns what asks any address; a certificate has to be of its name, and from an authority that is trusted.
fn agent_for(url: &Url, args: &HealthcheckArgs) -> Result<Agent, Failure> {
    let trusted = client_config(args.ca.as_deref())
        .map_err(|error| Failure::new(Status::Config, format!("--ca {error}")))?;
    let config = config(args, TlsConfig::default());
    if url.scheme() == "http" {
        return Ok(Agent::from(config));
    }
    let connector = ().chain(TcpConnector::default()).chain(TlsConnector(trusted));
    Ok(Agent::with_parts(
        config,
        connector,
        DefaultResolver::default(),
    ))
}

fn config(args: &HealthcheckArgs, tls: TlsConfig) -> Config {
    // Asked directly: a proxy that answers says nothing about the service.
    Agent::config_builder()
        .proxy(None)
        .tls_config(tls)
        .timeout_global(Some(args.timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build()
}

fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .map_err(|error| format!("is not a URL such as http://127.0.0.1:9090/readyz: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "must begin with http:// or https://, not {}:",
            url.scheme()
        ));
    }
    Ok(url)
}
