//! Logs: one line for each event, for people or for machines, on standard error.
//!
//! A line that cannot be written (the disk is full, the terminal or the reader of the pipe is gone) is dropped.

use std::io::{self, IsTerminal};

use tracing::Level;
use tracing::subscriber::{SetGlobalDefaultError, set_global_default};
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

/// Sends the events of this process to standard error, those of `level` and above.
///
/// # Errors
/// When logging has been set up before.
pub fn set_up(format: Format, level: Level) -> Result<(), SetGlobalDefaultError> {
    let terminal = io::stderr().is_terminal();
    let json = match format {
        Format::Auto => !terminal,
        Format::Text => false,
        Format::Json => true,
    };
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        // It would print them to standard error as well, and so panic.
        .log_internal_errors(false)
        .with_max_level(LevelFilter::from_level(level))
        .with_target(false);
    if json {
        set_global_default(
            builder
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .finish(),
        )
    } else {
        set_global_default(builder.with_ansi(terminal && !plain).finish())
    }
}
