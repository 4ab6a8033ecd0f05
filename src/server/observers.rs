//! Those who watch the server: the administrator's listener and the access log. They come before the first request and
//! go after the last.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::Socket;
use tracing::info;

use crate::http::App;

use super::config::Config;
use super::front::{Front, Phase};
use super::metrics::Observed;
use super::{StartError, access_log, admin, clock, listen};

/// How long the last lines of the access log may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// What watches a server.
pub(super) struct Observers {
    /// The administrator's listener.
    pub(super) admin: Option<Front>,
    /// The thread that writes the access log.
    pub(super) log_writer: Option<JoinHandle<()>>,
}

impl Observers {
    /// Ends them.
    pub(super) fn stop(self, app: &App) {
        if let Some(admin) = self.admin {
            admin.advance(Phase::Drain);
            // Scrapes that do not end in time are cut; nobody relies on them.
            let _cut = admin.join();
        }
        if let (Some(log), Some(writer)) = (app.access_log(), self.log_writer) {
            let deadline = clock::instant() + LAST_LINES;
            // A disk that hangs keeps us no longer than that.
            let mut told = log.stop();
            while !(told && writer.is_finished()) && clock::instant() < deadline {
                thread::sleep(Duration::from_millis(5));
                told = told || log.stop();
            }
        }
    }
}

/// Takes the administrator's address, if there is to be one.
pub(super) fn bind_admin(config: &Config) -> Result<Option<Socket>, StartError> {
    let Some(address) = config.admin_listen else {
        return Ok(None);
    };
    let bound = listen::bind(address, config.reuse_port);
    bound
        .map(Some)
        .map_err(|cause| refused_admin(address, cause))
}

fn refused_admin(address: SocketAddr, cause: std::io::Error) -> StartError {
    StartError::Listen {
        flag: "--admin-listen",
        address,
        cause,
    }
}

/// Begins to answer the administrator, where an address was taken for it.
pub(super) fn start_admin(
    socket: Option<Socket>,
    config: &Config,
    observed: Observed,
) -> Result<Option<Front>, StartError> {
    let (Some(socket), Some(address)) = (socket, config.admin_listen) else {
        return Ok(None);
    };
    let listener = listen::listen(socket).map_err(|cause| refused_admin(address, cause))?;
    let front = admin::start(listener, config, observed).map_err(StartError::Threads)?;
    info!(address = %front.address(), "metrics and health are served to the administrator");
    Ok(Some(front))
}

/// Begins to log requests, if they are to be logged.
pub(super) fn start_access_log(
    config: &Config,
    app: &App,
) -> Result<Option<JoinHandle<()>>, StartError> {
    let Some(target) = &config.access_log else {
        return Ok(None);
    };
    let (log, writer) = access_log::start(target).map_err(StartError::AccessLog)?;
    app.set_access_log(log);
    Ok(Some(writer))
}
