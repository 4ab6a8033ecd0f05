//! `reviewd healthcheck`: asks a running service how it is, for containers that have no other client.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ureq::Agent;

use crate::server::supervisor::reachable;

use super::values::parse_positive_time;

/// The flags of `healthcheck`.
#[derive(Args, Clone, Debug)]
pub struct HealthcheckArgs {
    /// Address to ask, such as http://127.0.0.1:9090/readyz [default: /healthz where --listen says]
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Where the service listens, as it was told
    #[arg(
        long,
        env = "REVIEWD_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080"
    )]
    listen: SocketAddr,
    /// How long the answer may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_positive_time)]
    timeout: Duration,
}

/// Asks, and ends with 0 for an answer of 200 to 299, and with 1 for any other and for none.
pub(super) fn run(args: &HealthcheckArgs) -> ExitCode {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => format!("http://{}/healthz", reachable(args.listen)),
    };
    match ask(&url, args.timeout) {
        Ok(status) if (200..300).contains(&status) => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("reviewd: {url} answered {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("reviewd: {url} did not answer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ask(url: &str, timeout: Duration) -> Result<u16, ureq::Error> {
    // Asked directly: a proxy that answers says nothing about the service.
    let config = Agent::config_builder()
        .proxy(None)
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
        .build();
    let response = Agent::from(config).get(url).call()?;
    Ok(response.status().as_u16())
}
