//! The log writer: the only thread that writes logs. Every other thread puts its lines into a queue and never waits for
//! a disk, a terminal or the reader of a pipe.
//!
//! A pipe, a terminal or a socket gets bytes only while it can take them, so a reader that hangs delays no other log. A
//! full disk is tried again every second, and the line that was only partly written is completed first. The queue of
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
use tokio::time::Instant;
use tracing::{info, warn};

use super::clock;

/// Bytes of lines that wait for one log, 2 MiB; further lines are dropped and counted. Our choice: some 5,000 requests.
const QUEUE_BYTES_MAX: usize = 2 << 20;

/// Bytes of one write to a file.
const FILE_BYTES: usize = 64 << 10;

/// Bytes of one write to a pipe, a terminal or a socket: a pipe that can be written has room for this many (PIPE_BUF).
const PIPE_BYTES: usize = 4 << 10;

/// Longest wait for a reader before new lines, which may be for another log, are taken from the queue.
const READER_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Pause after a write that failed.
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
        ["events", "requests"][self as usize]
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
            Some(Output::new(Log::Events, events)),
            requests.map(|file| Output::new(Log::Requests, file)),
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

/// Waits until the queued lines are written, at most `time_max`; not for a log whose writes fail.
pub(super) fn flush(time_max: Duration) {
    let (done, is_done) = sync_channel(1);
    if send(LogMessage::Flush(done)) {
        // After that time the rest is lost.
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
    /// A regular file takes any number of bytes in one write without a wait for a reader.
    is_regular: bool,
    /// Whether the last line of the file has no line feed, because its process was killed.
    is_torn: bool,
}

impl LogFile {
    /// Returns a standard stream. Its own type would buffer what it could not write, so lost lines could not be counted.
    pub(super) fn standard(stream: &impl AsFd) -> io::Result<LogFile> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        LogFile::of(file, None)
    }

    /// Opens or creates the file at `path`; lines are appended.
    pub(super) fn open(path: &Path) -> io::Result<LogFile> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o640).open(path)?;
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
    outputs: [Option<Output>; 2],
    flushes: Vec<SyncSender<()>>,
}

impl LogWriter {
    fn run(mut self) {
        loop {
            let is_idle = self.outputs.iter().flatten().all(Output::is_empty);
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
                // The dropped channels are the replies.
                self.flushes.clear();
            }
        }
    }

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
        let mut due: Vec<&mut Output> = self.outputs.iter_mut().flatten().collect();
        due.retain(|output| output.is_due(now));
        let mut files: Vec<PollFd<'_>> = due
            .iter()
            .map(|output| output.destination.file.as_fd())
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::OUT))
            .collect();
        // If this fails, no log is ready, and the loop tries again.
        let _interrupted = poll(&mut files, Some(&READER_WAIT));
        let ready: Vec<bool> = files
            .iter()
            .map(|file| !file.revents().is_empty())
            .collect();
        for (output, is_ready) in due.into_iter().zip(ready) {
            if is_ready {
                output.write();
            }
        }
    }
}

/// One log: its destination, and the bytes that wait for it.
struct Output {
    log: Log,
    destination: LogFile,
    /// Lines, the first of which may be written in part.
    waiting: VecDeque<u8>,
    /// Whether the first byte that waits continues a line.
    is_inside_line: bool,
    is_failing: bool,
    /// When to write again after a failure.
    retry_at: Option<Instant>,
}

impl Output {
    fn new(log: Log, destination: LogFile) -> Output {
        let mut output = Output {
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

    fn note_written(&mut self, bytes: usize) {
        let lines = self.remove(0, bytes);
        counts(self.log).written.fetch_add(lines, Relaxed);
        self.retry_at = None;
        let was_failing = std::mem::replace(&mut self.is_failing, false);
        if was_failing && self.log == Log::Requests {
            info!("the access log can be written again");
        }
    }

    /// Handles a failed write: lines wait for space on the disk, and are lost otherwise, except the rest of a line that
    /// was written in part.
    fn fail(&mut self, error: &io::Error) {
        self.retry_at = Some(clock::instant() + PAUSE);
        let is_full = matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        );
        if !is_full {
            let first = self.rest_of_line();
            let lines = self.remove(first, self.waiting.len());
            counts(self.log).failed.fetch_add(lines, Relaxed);
        }
        let was_failing = std::mem::replace(&mut self.is_failing, true);
        // An event about the log of events could not be written either.
        if !was_failing && self.log == Log::Requests {
            warn!(%error, "the access log cannot be written; lines that find its queue full are lost, and counted in the metrics");
        }
    }

    /// Returns the number of bytes that continue a line.
    fn rest_of_line(&self) -> usize {
        if !self.is_inside_line {
            return 0;
        }
        let end = self.waiting.iter().position(|byte| *byte == b'\n');
        end.map_or(self.waiting.len(), |at| at + 1)
    }

    /// Removes the bytes from `first` to `end`; returns the number of line ends among them.
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

    /// Opens the file again by its path, which may have been renamed; if that fails, keeps writing to the old one.
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
                // The beginning of a line that the old file has cannot be moved.
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
