//! The flags by which a running service is observed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::values::parse_listen;
use crate::server::AccessLogTarget;

/// Who may look, and what is written down.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Observation")]
pub(super) struct ObserveFlags {
    /// Address and port of /metrics, /healthz and /readyz for the administrator, apart from the public ones; keep it
    /// private
    #[arg(long, env = "REVIEWD_ADMIN_LISTEN", value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub(super) admin_listen: Option<SocketAddr>,
    /// File that gets one JSON line for each answered request, `-` for standard output; SIGHUP and SIGUSR1 open it anew
    #[arg(long, env = "REVIEWD_ACCESS_LOG", value_name = "FILE")]
    access_log: Option<PathBuf>,
}

impl ObserveFlags {
    /// Returns where requests are logged.
    pub(super) fn access_log(&self) -> Option<AccessLogTarget> {
        self.access_log.as_ref().map(|path| match path.to_str() {
            Some("-") => AccessLogTarget::Stdout,
            _ => AccessLogTarget::File(path.clone()),
        })
    }
}
