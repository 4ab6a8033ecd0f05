//! The access log's near end: one entry for each answered request, handed to a writer that no request waits for.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use hyper::Method;
use hyper::http::request::Parts;

use super::app::App;
use super::client::client_address;
use crate::clock;
use crate::wire::trace::TraceParent;

/// Entries that wait for the writer; one more is dropped and counted. At 256 bytes of path that is some 3 MB.
const QUEUE: usize = 8_192;

/// Bytes of a path that are kept.
const PATH_BYTES_MAX: usize = 256;

/// What is known of an answered request.
#[derive(Debug)]
pub struct Entry {
    /// When it came, in milliseconds since 1970.
    pub unix_ms: i64,
    /// Who asked.
    pub client: IpAddr,
    /// The method.
    pub method: Method,
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

/// What the writer is sent.
#[derive(Debug)]
pub enum Letter {
    /// A line to write.
    Entry(Entry),
    /// The file was moved away: open a new one under its name.
    Reopen,
    /// Write what has come, and end.
    Stop,
}

/// The queue to the writer.
#[derive(Debug)]
pub struct AccessLog {
    queue: SyncSender<Letter>,
    accepted: AtomicU64,
    dropped: AtomicU64,
}

impl AccessLog {
    /// Returns a queue and its other end.
    #[must_use]
    pub fn new() -> (AccessLog, Receiver<Letter>) {
        let (queue, letters) = sync_channel(QUEUE);
        let log = AccessLog {
            queue,
            accepted: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        };
        (log, letters)
    }

    /// Returns how many entries the queue took.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Returns how many entries found the queue full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Asks the writer to open its file anew.
    pub fn reopen(&self) {
        // A queue that stays full means that the writer is stuck; the next signal asks again.
        let _full = self.queue.try_send(Letter::Reopen);
    }

    /// Asks the writer to end after what has come; false where its queue is full at present.
    #[must_use]
    pub fn stop(&self) -> bool {
        !matches!(
            self.queue.try_send(Letter::Stop),
            Err(TrySendError::Full(_))
        )
    }

    fn push(&self, entry: Entry) {
        let counter = match self.queue.try_send(Letter::Entry(entry)) {
            Ok(()) => &self.accepted,
            Err(_) => &self.dropped,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// What is noted of a request before it is answered, where there is an access log.
#[derive(Debug)]
pub(super) struct Note {
    unix_ms: i64,
    began: Instant,
    client: IpAddr,
    method: Method,
    path: String,
    trace: Option<TraceParent>,
}

impl Note {
    /// Notes the request of `peer`, or of whom it speaks for, that `parts` are of.
    pub(super) fn of(app: &App, parts: &Parts, peer: IpAddr) -> Note {
        Note::from(parts, client_address(app, &parts.headers, peer))
    }

    fn from(parts: &Parts, client: IpAddr) -> Note {
        let path = parts.uri.path();
        let mut end = path.len().min(PATH_BYTES_MAX);
        while !path.is_char_boundary(end) {
            end -= 1;
        }
        let mut traces = parts.headers.get_all("traceparent").iter();
        // Given twice it is nobody's (Trace Context §3.2.2.5 treats it as invalid).
        let trace = match (traces.next(), traces.next()) {
            (Some(only), None) => TraceParent::parse(only.as_bytes()),
            _ => None,
        };
        Note {
            unix_ms: clock::unix_ms(),
            began: clock::instant(),
            client,
            method: parts.method.clone(),
            path: path[..end].to_owned(),
            trace,
        }
    }

    /// Hands the entry to the writer.
    pub(super) fn push(self, log: &AccessLog, status: u16, bytes: u64) {
        log.push(Entry {
            unix_ms: self.unix_ms,
            client: self.client,
            method: self.method,
            path: self.path,
            status,
            bytes,
            elapsed: self.began.elapsed(),
            trace: self.trace,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str, fields: &[(&str, &str)]) -> Note {
        let mut request = hyper::Request::get(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        Note::from(&parts, IpAddr::from([127, 0, 0, 1]))
    }

    #[test]
    fn a_path_is_cut_and_its_query_left_out() {
        let long = format!("/{}", "a".repeat(300));
        assert_eq!(note(&long, &[]).path.len(), PATH_BYTES_MAX);
        assert_eq!(note("/a?query=secret", &[]).path, "/a");
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
        let (log, letters) = AccessLog::new();
        for _ in 0..QUEUE + 2 {
            note("/", &[]).push(&log, 200, 1);
        }
        assert_eq!((log.accepted(), log.dropped()), (QUEUE as u64, 2));
        assert!(!log.stop());
        drop(letters);
        assert!(log.stop());
    }
}
