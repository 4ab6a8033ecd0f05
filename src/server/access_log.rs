//! The writer of the access log: a thread that writes one JSON object per line; requests do not wait for it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{info, warn};

use crate::http::{AccessLog, AppState, LogEntry, WriterMessage, WriterStats};
use crate::wire::date::Timestamp;
use crate::wire::json::Object;
use crate::wire::text::push_percent;

use super::config::{AccessLogTarget, Config};
use super::{StartError, clock, threads};

/// Bytes per write while more lines are queued.
const BATCH_BYTES: usize = 64 << 10;

/// Time limit for writing the last lines at shutdown.
const LAST_LINES_TIME: Duration = Duration::from_secs(2);

/// Opens the log, if requests are to be logged, and starts its writer.
pub(super) fn start(config: &Config, app: &AppState) -> Result<Option<JoinHandle<()>>, StartError> {
    let Some(target) = &config.access_log else {
        return Ok(None);
    };
    let (path, opened) = match target {
        // `io::Stdout` would buffer what it could not write, so lost lines could not be counted.
        AccessLogTarget::Stdout => (
            None,
            io::stdout().as_fd().try_clone_to_owned().map(File::from),
        ),
        AccessLogTarget::File(path) => (Some(path.clone()), open(path)),
    };
    let file = opened.map_err(|cause| StartError::AccessLog {
        path: path.clone().unwrap_or_else(|| "-".into()),
        cause,
    })?;
    let (log, messages) = AccessLog::new();
    let writer = Writer::new(path, Box::new(file), Arc::clone(&log.stats));
    let thread = threads::spawn(&app.readiness, "access-log", move || writer.run(&messages));
    app.set_access_log(log);
    thread.map(Some).map_err(StartError::Threads)
}

/// Stops the writer after the last line; waits at most [`LAST_LINES_TIME`] for a disk that hangs.
pub(super) fn stop(app: &AppState, writer: &JoinHandle<()>) {
    let Some(log) = app.access_log.get() else {
        return;
    };
    let deadline = clock::instant() + LAST_LINES_TIME;
    let mut notified = log.stop();
    while !(notified && writer.is_finished()) && clock::instant() < deadline {
        thread::sleep(Duration::from_millis(5));
        notified = notified || log.stop();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).open(path)
}

struct Writer {
    /// `None` for standard output, which is not reopened.
    path: Option<PathBuf>,
    /// Stays open after a failure, so that writing continues as soon as the disk has space again.
    out: Box<dyn Write + Send>,
    stats: Arc<WriterStats>,
    /// Complete lines to write.
    batch: Vec<u8>,
    /// The last write failed, so the file may end in the middle of a line.
    is_torn: bool,
}

impl Writer {
    fn new(path: Option<PathBuf>, out: Box<dyn Write + Send>, stats: Arc<WriterStats>) -> Writer {
        Writer {
            path,
            out,
            stats,
            batch: Vec::with_capacity(BATCH_BYTES * 2),
            is_torn: false,
        }
    }

    fn run(mut self, messages: &Receiver<WriterMessage>) {
        loop {
            if self.stats.take_reopen() {
                self.write();
                self.reopen();
            }
            let message = messages.try_recv().or_else(|error| match error {
                TryRecvError::Disconnected => Err(()),
                // The queue is empty: write the batch, so that its lines are visible before the next request.
                TryRecvError::Empty => {
                    self.write();
                    messages.recv().map_err(drop)
                }
            });
            match message {
                Ok(WriterMessage::Entry(entry)) => {
                    render(&entry, &mut self.batch);
                    if self.batch.len() >= BATCH_BYTES {
                        self.write();
                    }
                }
                Ok(WriterMessage::Wake) => {}
                Ok(WriterMessage::Stop) | Err(()) => break,
            }
        }
        self.write();
    }

    /// Writes the batch. If that fails, all its lines count as lost. It is not retried, because that would delay later
    /// lines.
    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let lines = self.batch.iter().filter(|byte| **byte == b'\n').count() as u64;
        let was_torn = self.is_torn;
        // First ends a line that was only partly written.
        let end: &[u8] = if was_torn { b"\n" } else { b"" };
        let result = self.out.write_all(end);
        let result = result.and_then(|()| self.out.write_all(&self.batch));
        self.batch.clear();
        self.is_torn = result.is_err();
        let count = match result {
            Ok(()) => &self.stats.written,
            Err(_) => &self.stats.failed,
        };
        count.fetch_add(lines, Relaxed);
        match result {
            Err(error) if !was_torn => {
                warn!(%error, "the access log cannot be written; lines are lost and counted in the metrics");
            }
            Ok(()) if was_torn => info!("the access log can be written again"),
            _ => {}
        }
    }

    /// Opens the file again by its path; if that fails, keeps writing to the old file.
    fn reopen(&mut self) {
        let Some(path) = &self.path else {
            return;
        };
        match open(path) {
            Ok(file) => {
                info!(file = %path.display(), "the access log was reopened");
                self.is_torn &= file.metadata().is_ok_and(|data| data.len() > 0);
                self.out = Box::new(file);
            }
            Err(error) => {
                warn!(file = %path.display(), %error, "the access log cannot be reopened; writing to the old file");
            }
        }
    }
}

/// Appends one line.
fn render(entry: &LogEntry, out: &mut Vec<u8>) {
    let time = Timestamp::from_unix(entry.unix_ms.div_euclid(1_000)).to_string();
    let time = time.trim_end_matches('Z');
    let ms = entry.unix_ms.rem_euclid(1_000);
    // Percent-encoded, so that no byte of a client can control a terminal or forge a line.
    let mut path = String::with_capacity(entry.path.len());
    push_percent(&mut path, &entry.path, |byte| byte.is_ascii_graphic());
    let elapsed_us = u64::try_from(entry.elapsed.as_micros()).unwrap_or(u64::MAX);
    let mut object = Object::begin(out);
    object
        .string("time", &format!("{time}.{ms:03}Z"))
        .string("client", &entry.client.to_canonical().to_string())
        .string("method", entry.method.as_str())
        .string("path", &path)
        .u64("status", u64::from(entry.status))
        .u64("bytes", entry.bytes)
        .u64("duration_us", elapsed_us);
    object.opt_string("traceparent", entry.trace.as_deref());
    object.end();
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
