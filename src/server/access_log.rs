//! The access log's far end: a thread that writes one JSON object a line, and that no request waits for.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use crate::http::{AccessLog, LogEntry, WriterMessage, WriterStats};
use crate::wire::date::Timestamp;
use crate::wire::json::{Object, push_string};
use crate::wire::text::push_percent;

use super::clock;
use super::config::AccessLogTarget;
use super::threads::Threads;

/// The least time between two complaints about a log that cannot be written, and between two attempts to open it anew.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// Bytes that are written at a time, while more lines wait.
const BATCH_BYTES: usize = 64 << 10;

/// Opens the log and starts its writer, which ends after [`AccessLog::stop`].
///
/// # Errors
/// When the file cannot be opened, or the system refuses a thread.
pub(super) fn start(
    target: &AccessLogTarget,
    threads: &Threads,
) -> io::Result<(AccessLog, JoinHandle<()>)> {
    let (path, file) = match target {
        // Not by the library's handle: that one keeps what it could not write, and we could not count it.
        AccessLogTarget::Stdout => (None, io::stdout().as_fd().try_clone_to_owned()?.into()),
        AccessLogTarget::File(path) => (Some(path.clone()), open(path)?),
    };
    let (log, messages) = AccessLog::new();
    let writer = Writer::new(path, Box::new(file), Arc::clone(log.stats()));
    let thread = threads.spawn("access-log", move || writer.run(&messages))?;
    Ok((log, thread))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).open(path)
}

struct Writer {
    /// `None` for standard output, which is not opened anew.
    path: Option<PathBuf>,
    /// Kept through every failure: a disk that has room again is written on at once.
    out: Box<dyn Write + Send>,
    stats: Arc<WriterStats>,
    /// Whole lines that are to be written.
    batch: Vec<u8>,
    /// The file ends in the middle of a line.
    is_torn: bool,
    /// Since when the log cannot be written, as far as the last complaint told.
    complained: Option<Instant>,
    /// Lines lost since that complaint.
    lost: u64,
}

impl Writer {
    fn new(path: Option<PathBuf>, out: Box<dyn Write + Send>, stats: Arc<WriterStats>) -> Writer {
        Writer {
            path,
            out,
            stats,
            batch: Vec::with_capacity(BATCH_BYTES * 2),
            is_torn: false,
            complained: None,
            lost: 0,
        }
    }

    fn run(mut self, messages: &Receiver<WriterMessage>) {
        loop {
            if self.stats.take_reopen() {
                self.write();
                self.reopen();
            }
            let message = match messages.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Disconnected) => break,
                // Nothing waits: what has been written shows before the next request.
                Err(TryRecvError::Empty) => {
                    self.write();
                    match messages.recv() {
                        Ok(message) => message,
                        Err(_) => break,
                    }
                }
            };
            match message {
                WriterMessage::Entry(entry) => {
                    render(&entry, &mut self.batch);
                    if self.batch.len() >= BATCH_BYTES {
                        self.write();
                    }
                }
                WriterMessage::Wake => {}
                WriterMessage::Stop => break,
            }
        }
        self.write();
    }

    /// Writes the batch, and counts the lines that came whole and those that did not. What could not be written is not
    /// tried again: it would delay what follows.
    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let mut written = 0;
        let outcome = self.attempt(&mut written);
        let taken = self.batch.get(..written).unwrap_or_default();
        let (whole, all) = (count_lines(taken), count_lines(&self.batch));
        if let Some(last) = taken.last() {
            self.is_torn = *last != b'\n';
        }
        self.batch.clear();
        self.stats.count(whole, all - whole);
        match outcome {
            Ok(()) => self.recover(),
            Err(error) => self.complain(&error, all - whole),
        }
    }

    /// Writes the batch; `written` tells how much of it came through. A line that a failure has torn is ended first.
    fn attempt(&mut self, written: &mut usize) -> io::Result<()> {
        if self.is_torn {
            write_some(&mut self.out, b"\n")?;
            self.is_torn = false;
        }
        while let Some(rest) = self.batch.get(*written..).filter(|rest| !rest.is_empty()) {
            *written += write_some(&mut self.out, rest)?;
        }
        Ok(())
    }

    /// Opens the file anew under its name; one that cannot be opened leaves the log where it is.
    fn reopen(&mut self) {
        let Some(path) = &self.path else {
            return;
        };
        match open(path) {
            Ok(file) => {
                info!(file = %path.display(), "the access log was opened anew");
                self.take(file);
            }
            Err(error) => {
                warn!(file = %path.display(), %error, "the access log cannot be opened anew, the old file is written on");
            }
        }
    }

    /// Writes to `file` from now on.
    fn take(&mut self, file: File) {
        // The same file, opened again, still has its torn line.
        self.is_torn &= file.metadata().is_ok_and(|data| data.len() > 0);
        self.out = Box::new(file);
    }

    /// Tells that the log goes on after it could not be written.
    fn recover(&mut self) {
        if self.complained.take().is_some() {
            let lines = std::mem::take(&mut self.lost);
            info!(
                lines,
                "the access log is written again; so many were lost since the last complaint"
            );
        }
    }

    /// Complains from time to time about lines that could not be written, and then opens the file anew: what was opened
    /// may be of a mount that is gone. Serving goes on without it.
    fn complain(&mut self, error: &io::Error, lines: u64) {
        self.lost += lines;
        let now = clock::instant();
        let recent = |at: Instant| now - at < COMPLAINT_INTERVAL;
        if self.complained.is_some_and(recent) {
            return;
        }
        self.complained = Some(now);
        let lines = std::mem::take(&mut self.lost);
        warn!(%error, lines, "the access log cannot be written, lines are lost");
        // One that cannot be opened either leaves the one that we have, which may recover.
        if let Some(Ok(file)) = self.path.as_deref().map(open) {
            self.take(file);
        }
    }
}

/// Writes some of `bytes`, and returns how many.
fn write_some(out: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match out.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Appends one line.
fn render(entry: &LogEntry, out: &mut Vec<u8>) {
    let time = Timestamp::from_unix(entry.unix_ms.div_euclid(1_000)).render_rfc3339();
    let time = String::from_utf8_lossy(&time[..19]).into_owned();
    let ms = entry.unix_ms.rem_euclid(1_000);
    let mut object = Object::begin(out);
    object
        .string("time", &format!("{time}.{ms:03}Z"))
        .string("client", &entry.client.to_canonical().to_string())
        .string("method", entry.method.as_str())
        .string("path", &escaped(&entry.path))
        .u64("status", u64::from(entry.status))
        .u64("bytes", entry.bytes);
    let elapsed_us = u64::try_from(entry.elapsed.as_micros()).unwrap_or(u64::MAX);
    object.u64("duration_us", elapsed_us);
    let trace = object.key("traceparent");
    match &entry.trace {
        Some(parent) => push_string(trace, parent.as_str()),
        None => trace.extend_from_slice(b"null"),
    }
    object.end();
    out.push(b'\n');
}

/// Escapes what is no visible ASCII as a URL would: nothing that a client sends can steer a terminal or look like
/// another line.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    push_percent(&mut text, path, |byte| byte.is_ascii_graphic());
    text
}

#[cfg(test)]
mod tests;
