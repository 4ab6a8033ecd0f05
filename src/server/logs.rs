//! Logs: one line for each event, for people or for machines, on standard error.

use std::fmt;
use std::io::{self, IsTerminal};

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// One line of text, coloured on a terminal unless `NO_COLOR` is set.
    Text,
    /// One JSON object in each line.
    Json,
}

/// Logging has been set up before in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadySet;

impl fmt::Display for AlreadySet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("logging has been set up before in this process")
    }
}

impl std::error::Error for AlreadySet {}

/// Sends the events of this process to standard error, those of `level` and above.
///
/// # Errors
/// When logging has been set up before.
pub fn set_up(format: Format, level: Level) -> Result<(), AlreadySet> {
    let terminal = io::stderr().is_terminal();
    let json = match format {
        Format::Auto => !terminal,
        Format::Text => false,
        Format::Json => true,
    };
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(LevelFilter::from_level(level))
        .with_target(false);
    let outcome = if json {
        tracing::subscriber::set_global_default(
            builder
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .finish(),
        )
    } else {
        tracing::subscriber::set_global_default(builder.with_ansi(terminal && !plain).finish())
    };
    outcome.map_err(|_| AlreadySet)
}
