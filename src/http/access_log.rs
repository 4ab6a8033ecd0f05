//! The request side of the access log: sends one entry for each response to a writer thread, without waiting for it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use arrayvec::ArrayString;

use super::head::RequestHead;
use crate::clock;
use crate::wire::text::truncate;
use crate::wire::trace::{self, parse_traceparent};

/// Capacity of the queue to the writer; entries beyond it are dropped and counted. About 3 MB with paths of 256 bytes.
const QUEUE: usize = 8_192;

/// Bytes of a path that are logged.
const PATH_BYTES_MAX: usize = 256;

/// Bytes of a method that are logged; registered methods have at most 17, and those that the service uses at most 7.
const METHOD_BYTES_MAX: usize = 16;

/// One line of the access log.
#[derive(Debug)]
pub struct LogEntry {
    /// When the request arrived, in milliseconds since 1970.
    pub unix_ms: i64,
    /// The address of the client.
    pub client: IpAddr,
    /// The method, cut at 16 bytes: HPACK lets a client repeat a very long method at the cost of one byte.
    pub method: ArrayString<METHOD_BYTES_MAX>,
    /// The path as received, without the query, cut at 256 bytes.
    pub path: String,
    /// The status of the response.
    pub status: u16,
    /// Bytes of the response body.
    pub bytes: u64,
    /// Time from the request head until the response is ready.
    pub elapsed: Duration,
    /// The client's `traceparent`, if it is valid.
    pub trace: Option<ArrayString<{ trace::LENGTH }>>,
}

impl LogEntry {
    /// Creates the entry of a request; the fields of the response are set later.
    pub(super) fn begin(head: &RequestHead<'_>, client: IpAddr) -> LogEntry {
        let mut traces = head.lines_from_last("traceparent");
        // More than one is invalid (Trace Context §3.2.2.5).
        let trace = match (traces.next(), traces.next()) {
            (Some(only), None) => parse_traceparent(only),
            _ => None,
        };
        LogEntry {
            unix_ms: clock::unix_ms(),
            client,
            // A method is an ASCII token (RFC 9110 §5.6.2), so it is cut between characters.
            method: ArrayString::from(truncate(head.method.as_str(), METHOD_BYTES_MAX))
                .unwrap_or_default(),
            path: truncate(head.path, PATH_BYTES_MAX).to_owned(),
            status: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            trace: trace.and_then(|trace| ArrayString::from(trace).ok()),
        }
    }
}

/// A message to the writer.
#[derive(Debug)]
pub enum WriterMessage {
    /// A line to write.
    Entry(LogEntry),
    /// Check the reopen flag.
    Wake,
    /// Write the entries received so far, and stop.
    Stop,
}

/// Counters of the writer, and its reopen flag, which is not a message because the queue may be full.
#[derive(Debug, Default)]
pub(crate) struct WriterStats {
    /// Lines that were written, and lines that could not be written.
    pub(crate) written: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Entries dropped because the queue was full.
    pub(crate) dropped: AtomicU64,
    reopen: AtomicBool,
}

impl WriterStats {
    /// Reads and clears the flag that [`AccessLog::reopen`] sets.
    pub(crate) fn take_reopen(&self) -> bool {
        self.reopen.load(SeqCst) && self.reopen.swap(false, SeqCst)
    }
}

/// The queue to the writer.
#[derive(Debug)]
pub struct AccessLog {
    queue: SyncSender<WriterMessage>,
    pub(crate) stats: Arc<WriterStats>,
}

impl AccessLog {
    /// Returns the sending side and the receiver of a new queue.
    #[must_use]
    pub fn new() -> (AccessLog, Receiver<WriterMessage>) {
        let (queue, messages) = sync_channel(QUEUE);
        let stats = Arc::default();
        (AccessLog { queue, stats }, messages)
    }

    /// Asks the writer to reopen its file, which may have been moved.
    pub(crate) fn reopen(&self) {
        // The flag is set first: if the queue is full, the writer checks the flag before it takes the next message.
        self.stats.reopen.store(true, SeqCst);
        let _full = self.queue.try_send(WriterMessage::Wake);
    }

    /// Asks the writer to stop after the queued entries; returns false if the queue is full.
    pub(crate) fn stop(&self) -> bool {
        let sent = self.queue.try_send(WriterMessage::Stop);
        !matches!(sent, Err(TrySendError::Full(_)))
    }

    pub(super) fn push(&self, entry: LogEntry) {
        if self.queue.try_send(WriterMessage::Entry(entry)).is_err() {
            self.stats.dropped.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use hyper::header::{HeaderMap, HeaderValue};

    use super::super::head::tests::of_headers;
    use super::*;

    fn entry(path: &str, traces: &[&'static str]) -> LogEntry {
        let mut headers = HeaderMap::new();
        for value in traces {
            headers.append("traceparent", HeaderValue::from_static(value));
        }
        let mut head = of_headers(&headers);
        head.path = path;
        LogEntry::begin(&head, IpAddr::from([127, 0, 0, 1]))
    }

    #[test]
    fn long_paths_and_methods_are_cut() {
        let long = format!("/{}", "a".repeat(300));
        assert_eq!(entry(&long, &[]).path.len(), PATH_BYTES_MAX);
        let headers = HeaderMap::new();
        for (length, kept) in [(7, 7), (16, 16), (17, 16), (8_000, 16)] {
            let method = Method::from_bytes("M".repeat(length).as_bytes()).expect("a token");
            let mut head = of_headers(&headers);
            head.method = &method;
            let entry = LogEntry::begin(&head, head.peer);
            assert_eq!(entry.method.as_str(), "M".repeat(kept));
        }
    }

    #[test]
    fn repeated_or_invalid_traceparents_are_ignored() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = |traces: &[&'static str]| entry("/", traces).trace;
        assert_eq!(trace(&[good]).expect("a trace").as_str(), good);
        assert!(trace(&[good, good]).is_none() && trace(&["x"]).is_none());
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (log, messages) = AccessLog::new();
        for _ in 0..QUEUE + 2 {
            log.push(entry("/", &[]));
        }
        assert_eq!(log.stats.dropped.load(Relaxed), 2);
        assert!(!log.stop());
        log.reopen();
        assert!(log.stats.take_reopen(), "a full queue loses no reopen");
        assert!(!log.stats.take_reopen());
        drop(messages);
        assert!(log.stop());
    }
}
