//! Those who watch the server: the administrator's listener and the access log. They come before the first request and
//! go after the last.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::Socket;
use tracing::info;

use crate::http::AppState;

use super::config::{AccessLogTarget, Config};
use super::listener_group::{ListenerGroup, ShutdownPhase};
use super::metrics::MetricSources;
use super::threads::Threads;
use super::{StartError, access_log, admin, clock, listen};

/// How long the last lines of the access log may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// What watches a server.
pub(super) struct AdminServices {
    /// The administrator's listener.
    pub(super) admin: Option<ListenerGroup>,
    /// The thread that writes the access log.
    pub(super) log_writer: Option<JoinHandle<()>>,
}

impl AdminServices {
    /// Ends them.
    pub(super) fn stop(self, app: &AppState) {
        if let Some(admin) = self.admin {
            admin.set_phase(ShutdownPhase::Drain);
            // Scrapes that do not end in time are cut; the scraper comes again.
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

/// Refuses one address for two services: which of them a client reached would be chance.
///
/// # Errors
/// When a connection could be either's.
pub(super) fn check_addresses(config: &Config) -> Result<(), StartError> {
    match config.admin_listen {
        Some(admin_listen) if overlap(config.listen, admin_listen) => {
            Err(StartError::SameAddress {
                listen: config.listen,
                admin_listen,
            })
        }
        _ => Ok(()),
    }
}

/// Tells whether a connection could be to both addresses. Port 0 becomes a free one each time.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (one_ip, other_ip) = (one.ip().to_canonical(), other.ip().to_canonical());
    // `[::]` takes IPv4 as well, `0.0.0.0` nothing else.
    let covers = |all: IpAddr, ip: IpAddr| all.is_unspecified() && (all.is_ipv6() || ip.is_ipv4());
    one.port() == other.port()
        && one.port() != 0
        && (one_ip == other_ip || covers(one_ip, other_ip) || covers(other_ip, one_ip))
}

/// Takes the administrator's address, if there is to be one. It is never shared: a scrape would reach one process or
/// the other, and with a public port of another process no answer at all would be right.
pub(super) fn bind_admin(config: &Config) -> Result<Option<Socket>, StartError> {
    let Some(address) = config.admin_listen else {
        return Ok(None);
    };
    let bound = listen::bind(address);
    bound
        .map(Some)
        .map_err(|cause| refused_admin(address, cause))
}

/// Begins to listen for the administrator; before the public address is, so that a clash is found before a client was
/// answered.
pub(super) fn listen_admin(
    socket: Option<Socket>,
    config: &Config,
) -> Result<Option<TcpListener>, StartError> {
    let (Some(socket), Some(address)) = (socket, config.admin_listen) else {
        return Ok(None);
    };
    let listener = listen::listen(socket).map_err(|cause| refused_admin(address, cause))?;
    Ok(Some(listener))
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
    listener: Option<TcpListener>,
    config: &Config,
    observed: MetricSources,
) -> Result<Option<ListenerGroup>, StartError> {
    let Some(listener) = listener else {
        return Ok(None);
    };
    let group = admin::start(listener, config, observed).map_err(StartError::Threads)?;
    info!(address = %group.address(), "metrics and health are served to the administrator");
    Ok(Some(group))
}

/// Begins to log requests, if they are to be logged.
pub(super) fn start_access_log(
    config: &Config,
    app: &AppState,
) -> Result<Option<JoinHandle<()>>, StartError> {
    let Some(target) = &config.access_log else {
        return Ok(None);
    };
    let threads = Threads::new(&app.readiness, "");
    let started = access_log::start(target, &threads);
    let (log, writer) = started.map_err(|cause| StartError::AccessLog {
        path: match target {
            AccessLogTarget::File(path) => path.clone(),
            AccessLogTarget::Stdout => "-".into(),
        },
        cause,
    })?;
    app.set_access_log(log);
    Ok(Some(writer))
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn two_addresses_overlap_where_a_connection_could_be_to_both() {
        for (one, other, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("[::]:80", "127.0.0.1:80", true),
            ("[::]:80", "0.0.0.0:80", true),
            ("[::]:80", "[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", true),
        ] {
            let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(overlap(one, other), expected, "{one} {other}");
            assert_eq!(overlap(other, one), expected, "{other} {one}");
        }
    }
}
