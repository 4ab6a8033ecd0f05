//! Logs: one line per event, as text or JSON, on standard error.
//!
//! A line that cannot be written (the disk is full, the terminal or the reader of the pipe is gone) is dropped and
//! counted. The error is not returned: the logging library would print it to standard error, and panic.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tracing::Level;
use tracing::subscriber::{SetGlobalDefaultError, set_global_default};
use tracing_subscriber::filter::LevelFilter;

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text, coloured on a terminal unless `NO_COLOR` is set.
    Text,
    /// One JSON object in each line.
    Json,
}

/// Number of lines of this process that could not be written.
pub(super) static DROPPED_LINES: AtomicU64 = AtomicU64::new(0);

/// Writes each line completely, or drops and counts it.
struct LossyWriter<W>(W);

impl<W: Write> Write for LossyWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.write_all(line).is_err() {
            DROPPED_LINES.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Standard error has no buffer.
        Ok(())
    }
}

/// Writes the events of this process at `level` and above to standard error.
///
/// # Errors
/// If logging has been set up before.
pub fn set_up(format: Format, level: Level) -> Result<(), SetGlobalDefaultError> {
    let terminal = io::stderr().is_terminal();
    let json = match format {
        Format::Auto => !terminal,
        Format::Text => false,
        Format::Json => true,
    };
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let builder = tracing_subscriber::fmt()
        .with_writer(|| LossyWriter(io::stderr()))
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
