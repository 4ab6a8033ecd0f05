//! Logs: events as text or JSON on standard error, and requests as JSON lines in the access log.
//!
//! Both are events of tracing; requests have the target [`ACCESS_LOG`]. A thread that logs only adds a line to the queue
//! of `log_writer`, and never waits for it to be written.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::panic;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use thiserror::Error;
use tracing::subscriber::{SetGlobalDefaultError, set_global_default};
use tracing::{Level, Metadata, error};
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{fmt, registry};

use super::log_writer::{self, Log, LogFile};
use crate::http::ACCESS_LOG;

/// How long a process that ends waits for its last lines to be written.
const LAST_LINES_TIME: Duration = Duration::from_secs(1);

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text, colored on a terminal unless `NO_COLOR` is set.
    Text,
    /// One JSON object in each line.
    Json,
}

/// The settings of the logs of a process.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// How events are written.
    pub format: Format,
    /// The lowest level of events that are written.
    pub level: Level,
    /// The access log; `None` if requests are not logged.
    pub access_log: Option<AccessLogTarget>,
}

/// The target of the access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLogTarget {
    /// Standard output.
    Stdout,
    /// This file; lines are appended.
    File(PathBuf),
}

/// Why the logs cannot be set up.
#[derive(Debug, Error)]
pub enum LogError {
    /// The access log cannot be opened.
    #[error(
        "cannot open the access log {} (--access-log): {cause}; name a file in a directory that exists and can be written",
        path.display()
    )]
    AccessLog {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The access log is a named pipe that no process reads yet.
    #[error(
        "the access log {} (--access-log) is a pipe without a reader; start its reader first",
        path.display()
    )]
    AccessLogReader {
        /// The pipe.
        path: PathBuf,
    },
    /// The system refused a thread or a descriptor.
    #[error("cannot start the thread that writes the log: {0}")]
    Writer(io::Error),
    /// Logging has been set up before.
    #[error(transparent)]
    AlreadySetUp(#[from] SetGlobalDefaultError),
}

/// Writes the last lines, for at most a second, when it is dropped at the end of the process.
#[derive(Debug)]
pub struct LogGuard(());

impl Drop for LogGuard {
    fn drop(&mut self) {
        flush();
    }
}

/// Sets up the logs of this process. From then on a panic is an event, too.
///
/// # Errors
/// If the access log cannot be opened, the system refuses a thread, or logging has been set up before.
pub fn set_up(settings: &LogSettings) -> Result<LogGuard, LogError> {
    let access_log = settings.access_log.as_ref().map(open).transpose()?;
    log_writer::start(access_log).map_err(LogError::Writer)?;
    let is_terminal = io::stderr().is_terminal();
    let is_json = match settings.format {
        Format::Auto => !is_terminal,
        Format::Text => false,
        Format::Json => true,
    };
    let has_no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let layer = fmt::layer()
        .with_writer(|| LineWriter(Log::Events))
        .log_internal_errors(false)
        .with_target(false);
    let level = settings.level;
    let is_event =
        FilterFn::new(move |metadata| !is_request(metadata) && *metadata.level() <= level)
            .with_max_level_hint(level);
    let events = if is_json {
        layer
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_filter(is_event)
            .boxed()
    } else {
        layer
            .with_ansi(is_terminal && !has_no_color)
            .with_filter(is_event)
            .boxed()
    };
    let is_logged = settings.access_log.is_some();
    let requests = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(|| LineWriter(Log::Requests))
        .log_internal_errors(false)
        .with_target(false)
        .with_level(false)
        .with_filter(FilterFn::new(move |metadata| {
            is_logged && is_request(metadata)
        }));
    set_global_default(registry().with(events).with(requests))?;
    panic::set_hook(Box::new(log_panic));
    Ok(LogGuard(()))
}

/// Waits until the queued lines are written, at most a second.
pub(super) fn flush() {
    log_writer::flush(LAST_LINES_TIME);
}

/// Opens the access log.
fn open(target: &AccessLogTarget) -> Result<LogFile, LogError> {
    match target {
        AccessLogTarget::Stdout => LogFile::standard(&io::stdout()).map_err(LogError::Writer),
        AccessLogTarget::File(path) => LogFile::open(path).map_err(|cause| open_error(path, cause)),
    }
}

fn open_error(path: &Path, cause: io::Error) -> LogError {
    let path = path.to_owned();
    // A socket, which is no log, has the same error.
    let is_pipe = fs::metadata(&path).is_ok_and(|metadata| metadata.file_type().is_fifo());
    if is_pipe && Errno::from_io_error(&cause) == Some(Errno::NXIO) {
        return LogError::AccessLogReader { path };
    }
    LogError::AccessLog { path, cause }
}

/// Tells whether an event belongs to the access log.
fn is_request(metadata: &Metadata<'_>) -> bool {
    metadata.target() == ACCESS_LOG
}

/// Logs a panic. The standard library would print it to standard error, and wait for a reader that hangs.
fn log_panic(info: &panic::PanicHookInfo<'_>) {
    let current = thread::current();
    let thread = current.name().unwrap_or_default();
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    let message = panic_message(info.payload());
    let backtrace = Backtrace::capture();
    let backtrace = match backtrace.status() {
        BacktraceStatus::Captured => Some(backtrace.to_string()),
        _ => None,
    };
    error!(thread, location, backtrace, "a thread panicked: {message}");
}

/// Returns the message of a panic; empty if it is not a text.
pub(super) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return text;
    }
    match payload.downcast_ref::<String>() {
        Some(text) => text,
        None => "",
    }
}

/// Adds each line to the queue of a log.
struct LineWriter(Log);

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        log_writer::push(self.0, line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
