//! The access log on the side of requests: one entry for each response, sent to a writer thread that no request waits for.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use hyper::Method;

use super::head::RequestHead;
use crate::clock;
use crate::wire::text::truncate;
use crate::wire::trace::TraceParent;

/// Entries that wait for the writer; one more is dropped and counted. At 256 bytes of path that is some 3 MB.
const QUEUE: usize = 8_192;

/// Bytes of a path that are kept.
const PATH_BYTES_MAX: usize = 256;

/// Bytes of a method that are kept; the registered ones have at most 17, of which the service knows those up to 7.
const METHOD_BYTES_MAX: usize = 16;

/// One line of the access log.
#[derive(Debug)]
pub struct LogEntry {
    /// When it came, in milliseconds since 1970.
    pub unix_ms: i64,
    /// The client.
    pub client: IpAddr,
    /// The method.
    pub method: MethodName,
    /// The path as it came, without the query, cut at 256 bytes.
    pub path: String,
    /// The status of the reply.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: u64,
    /// From the head to a reply that is ready.
    pub elapsed: Duration,
    /// The trace that the client sent along.
    pub trace: Option<TraceParent>,
}

/// A method, cut at 16 bytes: a client may send one as long as a head, and by HTTP/2 again and again for a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodName {
    bytes: [u8; METHOD_BYTES_MAX],
    length: usize,
}

impl MethodName {
    /// Keeps the beginning of `method`; allocates nothing.
    #[must_use]
    pub fn of(method: &Method) -> MethodName {
        let text = method.as_str().as_bytes();
        let length = text.len().min(METHOD_BYTES_MAX);
        let mut bytes = [0; METHOD_BYTES_MAX];
        bytes[..length].copy_from_slice(&text[..length]);
        MethodName { bytes, length }
    }

    /// Returns what was kept.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // A method is a token, of ASCII alone (RFC 9110 §5.6.2).
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }
}

/// What the writer is sent.
#[derive(Debug)]
pub enum WriterMessage {
    /// A line to write.
    Entry(LogEntry),
    /// Look at the stats: something was asked for.
    Wake,
    /// Write what has come, and end.
    Stop,
}

/// Counters of the writer, and what is asked of it apart from the queue, which may be full.
#[derive(Debug, Default)]
pub struct WriterStats {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    reopen: AtomicBool,
}

impl WriterStats {
    /// Returns how many lines were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Returns how many entries found the queue full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Returns how many lines could not be written.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Counts what came of lines that were to be written.
    pub fn count(&self, written: u64, failed: u64) {
        self.written.fetch_add(written, Relaxed);
        self.failed.fetch_add(failed, Relaxed);
    }

    /// Tells, once, whether the file was moved away, so that a new one is to be opened under its name.
    #[must_use]
    pub fn take_reopen(&self) -> bool {
        self.reopen.load(SeqCst) && self.reopen.swap(false, SeqCst)
    }
}

/// The queue to the writer.
#[derive(Debug)]
pub struct AccessLog {
    queue: SyncSender<WriterMessage>,
    stats: Arc<WriterStats>,
}

impl AccessLog {
    /// Returns a queue and its other end.
    #[must_use]
    pub fn new() -> (AccessLog, Receiver<WriterMessage>) {
        let (queue, messages) = sync_channel(QUEUE);
        let stats = Arc::default();
        (AccessLog { queue, stats }, messages)
    }

    /// Returns what became of the entries.
    #[must_use]
    pub fn stats(&self) -> &Arc<WriterStats> {
        &self.stats
    }

    /// Asks the writer to open its file anew.
    pub fn reopen(&self) {
        // Noted before the queue is tried: where it is full the writer takes another message, and looks before it does.
        self.stats.reopen.store(true, SeqCst);
        let _full = self.queue.try_send(WriterMessage::Wake);
    }

    /// Asks the writer to end after what has come; false where its queue is full at present.
    #[must_use]
    pub fn stop(&self) -> bool {
        !matches!(
            self.queue.try_send(WriterMessage::Stop),
            Err(TrySendError::Full(_))
        )
    }

    fn push(&self, entry: LogEntry) {
        if self.queue.try_send(WriterMessage::Entry(entry)).is_err() {
            self.stats.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// What is known of a request before it is answered, where there is an access log.
#[derive(Debug)]
pub(super) struct LogEntryBuilder {
    unix_ms: i64,
    client: IpAddr,
    method: MethodName,
    path: String,
    trace: Option<TraceParent>,
}

impl LogEntryBuilder {
    /// Notes what `head` says, a request of `client`.
    pub(super) fn new(head: &RequestHead<'_>, client: IpAddr) -> LogEntryBuilder {
        let path = head.path;
        let mut traces = head.lines_from_last("traceparent");
        // More than one is invalid (Trace Context §3.2.2.5).
        let trace = match (traces.next(), traces.next()) {
            (Some(only), None) => TraceParent::parse(only),
            _ => None,
        };
        LogEntryBuilder {
            unix_ms: clock::unix_ms(),
            client,
            method: MethodName::of(head.method),
            path: truncate(path, PATH_BYTES_MAX).to_owned(),
            trace,
        }
    }

    /// Returns who asked.
    pub(super) fn client(&self) -> IpAddr {
        self.client
    }

    /// Hands the entry to the writer.
    pub(super) fn push(self, log: &AccessLog, status: u16, bytes: u64, elapsed: Duration) {
        log.push(LogEntry {
            unix_ms: self.unix_ms,
            client: self.client,
            method: self.method,
            path: self.path,
            status,
            bytes,
            elapsed,
            trace: self.trace,
        });
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};

    use super::super::head::tests::of_headers;
    use super::*;

    fn note(path: &str, fields: &[(&'static str, &'static str)]) -> LogEntryBuilder {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let mut head = of_headers(&headers);
        head.path = path;
        LogEntryBuilder::new(&head, IpAddr::from([127, 0, 0, 1]))
    }

    #[test]
    fn a_path_is_cut() {
        let long = format!("/{}", "a".repeat(300));
        assert_eq!(note(&long, &[]).path.len(), PATH_BYTES_MAX);
    }

    #[test]
    fn sixteen_bytes_of_a_method_are_kept() {
        let kept = |text: &str| {
            let method = Method::from_bytes(text.as_bytes()).expect(text);
            MethodName::of(&method).as_str().to_owned()
        };
        assert_eq!(kept("OPTIONS"), "OPTIONS");
        assert_eq!(kept(&"M".repeat(16)), "M".repeat(16));
        assert_eq!(kept(&"M".repeat(17)), "M".repeat(16));
        assert_eq!(kept(&"M".repeat(8_000)), "M".repeat(16));
    }

    #[test]
    fn a_trace_that_came_twice_is_no_trace() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let one = ("traceparent", good);
        assert_eq!(
            note("/", &[one])
                .trace
                .map(|trace| trace.as_str().to_owned()),
            Some(good.to_owned())
        );
        assert!(note("/", &[one, one]).trace.is_none());
        assert!(note("/", &[("traceparent", "x")]).trace.is_none());
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (log, messages) = AccessLog::new();
        for _ in 0..QUEUE + 2 {
            note("/", &[]).push(&log, 200, 1, Duration::ZERO);
        }
        assert_eq!(log.stats().dropped(), 2);
        assert!(!log.stop());
        log.reopen();
        assert!(log.stats().take_reopen(), "a full queue loses no order");
        assert!(!log.stats().take_reopen());
        drop(messages);
        assert!(log.stop());
    }
}
