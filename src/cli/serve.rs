//! `reviewd serve`: starts the server, says where it is, and waits for the signal to stop.

use std::io::{self, IsTerminal, Write};

use crate::delivery;
use crate::server::signals::Signals;
use crate::server::{self, Config, DataSource, StartError, descriptors};

use super::config::ServeArgs;
use super::exit::{Failure, Status};
use super::serve_args_from_environment;

/// Serves as the flags say, until a signal; a terminal is told what is served where.
pub(super) fn run(args: &ServeArgs) -> Result<(), Failure> {
    args.logs.set_up();
    serve(args.config(), io::stdout().is_terminal())
}

/// Serves as the environment says, and welcomes whoever has just typed `reviewd`.
pub(super) fn run_default() -> Result<(), Failure> {
    let args = serve_args_from_environment()?;
    args.logs.set_up();
    serve(args.config(), true)
}

fn serve(config: Config, welcomed: bool) -> Result<(), Failure> {
    let listened = config.clone();
    let unavailable = |error| {
        Failure::new(
            Status::Unavailable,
            format!("cannot receive signals: {error}"),
        )
    };
    let mut signals = Signals::install().map_err(unavailable)?;
    let exchanges = config.hub.as_ref().map_or(0, |hub| hub.lanes.sockets());
    descriptors::allow_connections(config.limits.connections, exchanges);
    let running = server::start_obeying(config, &mut signals).map_err(|error| failure(&error))?;
    if welcomed {
        let address = running.local_addr();
        let text = welcome(&listened.data, &listened.origin_at(address));
        // A closed standard output is no reason not to serve.
        let _closed = io::stdout().write_all(text.as_bytes());
    }
    running.run_until_signal(signals).map_err(unavailable)
}

/// Finds the exit status and the words for a server that did not start.
fn failure(error: &StartError) -> Failure {
    let status = match error {
        StartError::Listen { .. }
        | StartError::Threads(_)
        | StartError::Signals(_)
        | StartError::Random(_) => Status::Unavailable,
        StartError::AccessLog(_) => Status::CannotCreate,
        StartError::Read(error) if error.is_missing() => Status::NoInput,
        StartError::Read(error) if error.is_wrong() => Status::Data,
        StartError::Read(_) => Status::Io,
        StartError::Data(_) => Status::Data,
        StartError::Settings(_)
        | StartError::Tls(_)
        | StartError::Hub(delivery::StartError::Ca(_)) => Status::Config,
        StartError::Hub(delivery::StartError::Thread(_)) => Status::Unavailable,
    };
    Failure::new(status, error.to_string())
}

/// Returns what a first run prints.
fn welcome(source: &DataSource, base: &str) -> String {
    let data = match source {
        DataSource::Directory(directory) => format!("the reviews in `{}`", directory.display()),
        DataSource::Sample => {
            "a sample (there is no `data` directory here; --data DIR serves yours)".to_owned()
        }
    };
    format!(
        "reviewd serves {data}

  {base}/reviews.json          every review
  {base}/insights.json         what they say, counted
  {base}/api/feed.json         the newest 50, JSON Feed
  {base}/feed.xml              the newest 50, Atom
  {base}/api/reviews/search    search
  {base}/mcp                   the same for agents (Model Context Protocol)

Try:
  curl '{base}/api/reviews/search?min_rating=4&limit=3'
  curl '{base}/api/reviews/since/2026-01-01'
  curl '{base}/api/feed.json'

Ctrl-C stops it.
"
    )
}

#[cfg(test)]
mod tests {
    use super::welcome;
    use crate::server::DataSource;

    #[test]
    fn the_welcome_names_the_data_and_three_commands_to_try() {
        let base = "http://127.0.0.1:8080";
        let text = welcome(&DataSource::Directory("data".into()), base);
        assert!(text.starts_with("reviewd serves the reviews in `data`\n"));
        assert_eq!(text.matches("\n  curl 'http://127.0.0.1:8080/").count(), 3);
        assert!(welcome(&DataSource::Sample, base).contains("serves a sample"));
    }
}
