//! The access log: one event of tracing for each response, which the server's log writer writes as a line of JSON.

use std::net::IpAddr;
use std::time::Duration;

use arrayvec::ArrayString;
use tracing::info;

use super::error::HttpError;
use super::head::RequestHead;
use crate::wire::text::{push_percent, truncate};
use crate::wire::trace::{self, parse_traceparent};

/// The target of the events of the access log.
pub const ACCESS_LOG: &str = "reviewd::access";

/// Bytes of a path that are logged.
const PATH_BYTES_MAX: usize = 256;

/// Bytes of a method that are logged; registered methods have at most 17, and those that the service uses at most 7.
const METHOD_BYTES_MAX: usize = 16;

/// One line of the access log.
#[derive(Debug)]
pub(super) struct LogEntry {
    /// The address of the client, or of the peer if the head is not complete.
    pub(super) client: IpAddr,
    /// The method, cut at 16 bytes: HPACK lets a client repeat a very long method at the cost of one byte.
    pub(super) method: ArrayString<METHOD_BYTES_MAX>,
    /// The path as received, without the query, cut at 256 bytes.
    pub(super) path: String,
    /// The status of the response; 0 until it is ready.
    pub(super) status: u16,
    /// Bytes of the response body.
    pub(super) bytes: u64,
    /// Time from the request head until the response is ready.
    pub(super) elapsed: Duration,
    /// The client's `traceparent`, if it is valid.
    pub(super) trace: Option<ArrayString<{ trace::LENGTH }>>,
}

impl LogEntry {
    /// Creates the entry of a request; the fields of the response are set later.
    pub(super) fn begin(head: &RequestHead, client: IpAddr) -> LogEntry {
        let mut traces = head.lines_from_last("traceparent");
        // More than one is invalid (Trace Context §3.2.2.5).
        let trace = match (traces.next(), traces.next()) {
            (Some(only), None) => parse_traceparent(only),
            _ => None,
        };
        LogEntry {
            client,
            // A method is an ASCII token (RFC 9110 §5.6.2), so it is cut between characters.
            method: ArrayString::from(truncate(head.method().as_str(), METHOD_BYTES_MAX))
                .unwrap_or_default(),
            path: truncate(head.path(), PATH_BYTES_MAX).to_owned(),
            status: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            trace: trace.and_then(|trace| ArrayString::from(trace).ok()),
        }
    }

    /// Returns the entry of a request from `peer` that was refused with `error` before its head was complete: without
    /// method, path and time.
    pub(super) fn of_refused(peer: IpAddr, error: HttpError) -> LogEntry {
        LogEntry {
            client: peer,
            method: ArrayString::new(),
            path: String::new(),
            status: error.status().as_u16(),
            bytes: error.body().len() as u64,
            elapsed: Duration::ZERO,
            trace: None,
        }
    }

    /// Adds the entry to the access log.
    pub(super) fn log(&self) {
        // Percent-encoded, so that no byte of a client can control a terminal or forge a line.
        let mut path = String::with_capacity(self.path.len());
        push_percent(&mut path, &self.path, |byte| byte.is_ascii_graphic());
        info!(
            target: ACCESS_LOG,
            client = %self.client.to_canonical(),
            method = self.method.as_str(),
            path,
            status = self.status,
            bytes = self.bytes,
            duration_us = u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX),
            traceparent = self.trace.as_deref(),
        );
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::super::head::tests::of_parts;
    use super::*;

    fn entry(method: &str, path: &str, traces: &[&str]) -> LogEntry {
        let mut request = Request::builder().method(method).uri(path);
        for value in traces {
            request = request.header("traceparent", *value);
        }
        let (parts, ()) = request.body(()).expect("a valid head").into_parts();
        LogEntry::begin(&of_parts(parts), IpAddr::from([127, 0, 0, 1]))
    }

    #[test]
    fn long_paths_and_methods_are_cut() {
        let long = format!("/{}", "a".repeat(300));
        assert_eq!(entry("GET", &long, &[]).path.len(), PATH_BYTES_MAX);
        for (length, logged) in [(7, 7), (16, 16), (17, 16), (8_000, 16)] {
            let entry = entry(&"M".repeat(length), "/", &[]);
            assert_eq!(entry.method.as_str(), "M".repeat(logged));
        }
    }

    #[test]
    fn repeated_or_invalid_traceparents_are_ignored() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let logged = entry("GET", "/", &[good]).trace;
        assert_eq!(logged.expect("a trace").as_str(), good);
        for ignored in [&[good, good][..], &["x"]] {
            assert!(entry("GET", "/", ignored).trace.is_none(), "{ignored:?}");
        }
    }
}
