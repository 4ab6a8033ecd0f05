//! The log writer: the only thread that writes logs. Every other thread puts its lines into a queue and never waits for
//! a disk, a terminal or the reader of a pipe.
//!
//! A pipe, a terminal or a socket gets bytes only while it can take them, so a reader that hangs delays no other log. After a
//! failed write the log is tried again every second, and a line of which a part is written is completed first. The queue of
//! each log is bounded; lines that find it full are dropped and counted.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use tokio::time::Instant;
use tracing::{info, warn};

use super::clock;

/// Bytes of lines that may wait for one log, 2 MiB; further lines are dropped and counted. Our choice: some 5,000 requests.
const QUEUE_BYTES_MAX: usize = 2 << 20;

/// Largest number of bytes of one write to a file.
const FILE_BYTES: usize = 64 << 10;

/// Largest number of bytes of one write to a pipe, a terminal or a socket: a pipe that is ready has room for as many
/// (PIPE_BUF).
const PIPE_BYTES: usize = 4 << 10;

/// Longest wait for a log to be ready, 0.1 s. Then new lines are taken from the queue, which may be for another log.
const READER_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Pause of a log after a failed write.
const PAUSE: Duration = Duration::from_secs(1);

/// The logs of this process; the number of each is its index in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// Events, on standard error.
    Events,
    /// Requests, on standard output or in a file.
    Requests,
}

impl Log {
    pub(super) const ALL: [Log; 2] = [Log::Events, Log::Requests];

    /// The name of the log in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Log::Events => "events",
            Log::Requests => "requests",
        }
    }
}

/// What happened to the lines of one log since the start.
#[derive(Debug, Default)]
pub(super) struct LineCounts {
    /// Bytes that wait to be written.
    queued_bytes: AtomicUsize,
    pub(super) written: AtomicU64,
    /// Lines that found the queue full.
    pub(super) dropped: AtomicU64,
    /// Lines whose write failed.
    pub(super) failed: AtomicU64,
}

/// A message to the writer.
enum LogMessage {
    Line {
        log: Log,
        bytes: Vec<u8>,
    },
    /// Open the file of the access log again.
    Reopen,
    /// Reply once nothing more can be written.
    Flush(SyncSender<()>),
}

/// The sending side. A process has one writer, because it has one standard error.
static SENDER: OnceLock<Sender<LogMessage>> = OnceLock::new();

static COUNTS: [LineCounts; 2] = [LineCounts::new(), LineCounts::new()];

impl LineCounts {
    const fn new() -> LineCounts {
        LineCounts {
            queued_bytes: AtomicUsize::new(0),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }
}

/// Returns the counts of `log`.
pub(super) fn counts(log: Log) -> &'static LineCounts {
    &COUNTS[log as usize]
}

/// Starts the writer, with standard error for events and `requests` for the access log; a second call changes nothing.
///
/// # Errors
/// If the system refuses a descriptor or a thread.
pub(super) fn start(requests: Option<LogFile>) -> io::Result<()> {
    let events = LogFile::standard(&io::stderr())?;
    let (sender, messages) = channel();
    if SENDER.set(sender).is_err() {
        return Ok(());
    }
    let writer = LogWriter {
        messages,
        outputs: [
            Some(LogOutput::new(Log::Events, events)),
            requests.map(|file| LogOutput::new(Log::Requests, file)),
        ],
        flushes: Vec::new(),
    };
    // The watchdog does not watch it: a restart would not mend a disk or a reader that hangs.
    let thread = thread::Builder::new().name("log".to_owned());
    thread.spawn(|| writer.run()).map(drop)
}

/// Adds a line, with its line feed, to the queue of `log`; drops and counts it if the queue is full.
pub(super) fn push(log: Log, line: &[u8]) {
    let counts = counts(log);
    let waiting = counts.queued_bytes.fetch_add(line.len(), Relaxed);
    let has_space = waiting + line.len() <= QUEUE_BYTES_MAX;
    let message = LogMessage::Line {
        log,
        bytes: if has_space { line.to_vec() } else { Vec::new() },
    };
    if !has_space || !send(message) {
        counts.queued_bytes.fetch_sub(line.len(), Relaxed);
        counts.dropped.fetch_add(1, Relaxed);
    }
}

/// Opens the file of the access log again, after the lines that are queued.
pub(super) fn reopen() {
    let _no_writer = send(LogMessage::Reopen);
}

/// Waits until the queued lines are written, at most `time_max`. Lines of a log whose writes fail are not waited for.
pub(super) fn flush(time_max: Duration) {
    let (done, is_done) = sync_channel(1);
    if send(LogMessage::Flush(done)) {
        // The lines that are left after this time are lost if the process ends.
        let _timeout = is_done.recv_timeout(time_max);
    }
}

/// Sends a message to the writer; false if there is none.
fn send(message: LogMessage) -> bool {
    let sender = SENDER.get();
    sender.is_some_and(|sender| sender.send(message).is_ok())
}

/// A destination of lines.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    /// `None` for a standard stream, which is not opened again.
    path: Option<PathBuf>,
    /// Whether this is a regular file, which takes any number of bytes in one write without a wait for a reader.
    is_regular: bool,
    /// Whether the last line of the file has no line feed, because the process that wrote it was killed.
    is_torn: bool,
}

impl LogFile {
    /// Returns a standard stream. The type of the standard library is not used: it would buffer what it could not write, so
    /// that lost lines could not be counted.
    pub(super) fn standard(stream: &impl AsFd) -> io::Result<LogFile> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        LogFile::of(file, None)
    }

    /// Opens or creates the file at `path`; lines are appended. A named pipe without a reader is an error.
    pub(super) fn open(path: &Path) -> io::Result<LogFile> {
        // Otherwise opening a named pipe would wait for its reader, and with the writer all logs.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o640);
        let file = options.custom_flags(flags).open(path)?;
        LogFile::of(file, Some(path.to_owned()))
    }

    fn of(file: File, path: Option<PathBuf>) -> io::Result<LogFile> {
        let metadata = file.metadata()?;
        let is_torn = match &path {
            Some(path) if metadata.is_file() => is_torn(path, metadata.len()),
            _ => false,
        };
        Ok(LogFile {
            is_regular: metadata.is_file(),
            is_torn,
            file,
            path,
        })
    }

    /// Returns the largest number of bytes of one write.
    fn chunk_bytes(&self) -> usize {
        if self.is_regular {
            FILE_BYTES
        } else {
            PIPE_BYTES
        }
    }
}

/// Tells whether the last of `length` bytes of the file at `path` is not a line feed; false if it cannot be read.
fn is_torn(path: &Path, length: u64) -> bool {
    let Some(last) = length.checked_sub(1) else {
        return false;
    };
    let mut byte = [b'\n'];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut byte, last));
    read.is_ok() && byte != [b'\n']
}

/// The thread's state.
struct LogWriter {
    messages: Receiver<LogMessage>,
    /// Indexed by [`Log`]; `None` if there is no access log.
    outputs: [Option<LogOutput>; 2],
    /// The replies to flushes, which are sent by dropping these.
    flushes: Vec<SyncSender<()>>,
}

impl LogWriter {
    /// Writes until no sender is left.
    fn run(mut self) {
        loop {
            let is_idle = self.outputs.iter().flatten().all(LogOutput::is_empty);
            if is_idle {
                self.flushes.clear();
                let Ok(message) = self.messages.recv() else {
                    return;
                };
                self.take(message);
            }
            while let Ok(message) = self.messages.try_recv() {
                self.take(message);
            }
            self.write();
            let mut outputs = self.outputs.iter().flatten();
            if outputs.all(|output| output.is_empty() || output.is_failing) {
                self.flushes.clear();
            }
        }
    }

    /// Does what a message says; a line is only added to those that wait.
    fn take(&mut self, message: LogMessage) {
        match message {
            LogMessage::Line { log, bytes } => {
                if let Some(output) = &mut self.outputs[log as usize] {
                    output.waiting.extend(bytes);
                }
            }
            LogMessage::Reopen => {
                if let Some(output) = &mut self.outputs[Log::Requests as usize] {
                    output.reopen();
                }
            }
            LogMessage::Flush(done) => self.flushes.push(done),
        }
    }

    /// Writes to each log that can take bytes; waits at most [`READER_WAIT`] if none can.
    fn write(&mut self) {
        let now = clock::instant();
        let mut due: Vec<&mut LogOutput> = self.outputs.iter_mut().flatten().collect();
        due.retain(|output| output.is_due(now));
        let ready = wait_until_ready(&due);
        for (output, is_ready) in due.into_iter().zip(ready) {
            if is_ready {
                output.write();
            }
        }
    }
}

/// Waits until one of the logs can take bytes, at most [`READER_WAIT`]; tells of each whether it can.
fn wait_until_ready(outputs: &[&mut LogOutput]) -> Vec<bool> {
    let mut files = Vec::new();
    for output in outputs {
        let file = output.destination.file.as_fd();
        files.push(PollFd::from_borrowed_fd(file, PollFlags::OUT));
    }
    // If this fails, no log is ready, and the writer tries again.
    let _interrupted = poll(&mut files, Some(&READER_WAIT));
    let ready = files.iter().map(|file| !file.revents().is_empty());
    ready.collect()
}

/// One log: its destination, and the bytes that wait for it.
struct LogOutput {
    log: Log,
    destination: LogFile,
    /// Lines, of which a part of the first may be written already.
    waiting: VecDeque<u8>,
    /// Whether a part of the first line is written already.
    is_inside_line: bool,
    /// Whether the last write failed.
    is_failing: bool,
    /// When to write again after a failure; `None` without one.
    retry_at: Option<Instant>,
}

impl LogOutput {
    fn new(log: Log, destination: LogFile) -> LogOutput {
        let mut output = LogOutput {
            log,
            destination,
            waiting: VecDeque::new(),
            is_inside_line: false,
            is_failing: false,
            retry_at: None,
        };
        output.end_torn_line();
        output
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Tells whether there are bytes to write, and no pause after a failure.
    fn is_due(&self, now: Instant) -> bool {
        !self.is_empty() && self.retry_at.is_none_or(|at| at <= now)
    }

    /// Ends the last line of a file whose previous writer was killed within it.
    fn end_torn_line(&mut self) {
        if std::mem::take(&mut self.destination.is_torn) {
            counts(self.log).queued_bytes.fetch_add(1, Relaxed);
            self.waiting.push_front(b'\n');
            self.is_inside_line = true;
        }
    }

    /// Writes as much as the destination takes at once.
    fn write(&mut self) {
        let (front, _) = self.waiting.as_slices();
        let length = front.len().min(self.destination.chunk_bytes());
        match self.destination.file.write(&front[..length]) {
            Ok(0) => self.fail(&ErrorKind::WriteZero.into()),
            Ok(written) => self.note_written(written),
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => self.fail(&error),
        }
    }

    /// Handles a write of the first `bytes` bytes that wait.
    fn note_written(&mut self, bytes: usize) {
        let lines = self.remove(0, bytes);
        counts(self.log).written.fetch_add(lines, Relaxed);
        self.retry_at = None;
        let was_failing = std::mem::replace(&mut self.is_failing, false);
        if was_failing && self.log == Log::Requests {
            info!("the access log can be written again");
        }
    }

    /// Handles a failed write. If the disk is full, the lines wait for space. Otherwise they are lost, except the rest of a
    /// line of which a part is written.
    fn fail(&mut self, error: &io::Error) {
        self.retry_at = Some(clock::instant() + PAUSE);
        let is_full = matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        );
        if !is_full {
            let kept_bytes = self.rest_of_line();
            let lines = self.remove(kept_bytes, self.waiting.len());
            counts(self.log).failed.fetch_add(lines, Relaxed);
        }
        let was_failing = std::mem::replace(&mut self.is_failing, true);
        // There is no event about the log of events, because it could not be written either.
        if !was_failing && self.log == Log::Requests {
            warn!(%error, "the access log cannot be written; lines that find its queue full are lost, and counted in the metrics");
        }
    }

    /// Returns the number of bytes of the first line if a part of it is written; otherwise 0.
    fn rest_of_line(&self) -> usize {
        if !self.is_inside_line {
            return 0;
        }
        let end = self.waiting.iter().position(|byte| *byte == b'\n');
        end.map_or(self.waiting.len(), |at| at + 1)
    }

    /// Removes the waiting bytes from the index `first` to before `end`; returns the number of line ends among them.
    fn remove(&mut self, first: usize, end: usize) -> u64 {
        let mut lines = 0;
        let mut last = None;
        let mut bytes = 0;
        for byte in self.waiting.drain(first..end) {
            lines += u64::from(byte == b'\n');
            last = Some(byte);
            bytes += 1;
        }
        if first == 0
            && let Some(last) = last
        {
            self.is_inside_line = last != b'\n';
        }
        counts(self.log).queued_bytes.fetch_sub(bytes, Relaxed);
        lines
    }

    /// Opens the file at the path again, as the old file may have been renamed; if that fails, keeps writing to the old one.
    fn reopen(&mut self) {
        let Some(path) = self.destination.path.clone() else {
            return;
        };
        // The lines until now belong to the old file.
        while !self.is_empty() && self.destination.is_regular && !self.is_failing {
            self.write();
        }
        match LogFile::open(&path) {
            Ok(opened) => {
                // The rest of a line whose beginning is in the old file cannot be completed.
                let lines = self.remove(0, self.rest_of_line());
                counts(self.log).failed.fetch_add(lines, Relaxed);
                self.is_inside_line = false;
                self.destination = opened;
                self.retry_at = None;
                self.end_torn_line();
                info!(file = %path.display(), "the access log was reopened");
            }
            Err(error) => {
                warn!(file = %path.display(), %error, "the access log cannot be reopened; writing to the old file");
            }
        }
    }
}

#[cfg(test)]
mod tests;
