//! The hop that a proxy adds to X-Forwarded-For is parsed correctly, whatever the client has sent before it.

use super::lines;
use reviewd::wire::forwarded::{HOPS_MAX, parse_x_forwarded_for};

/// The hop that the trusted proxy adds in this check.
const PEER: &str = "192.0.2.7";

/// Checks the field on each line of `data`.
///
/// # Panics
/// If the client's part of the field changes the hop that the proxy adds, or if too many hops are read.
pub fn check_forwarded(data: &[u8]) {
    let peer = Some(PEER.parse().ok());
    for line in lines(data) {
        let line = [line, b", ", PEER.as_bytes()].concat();
        let mut hops = parse_x_forwarded_for(&line);
        assert_eq!(hops.next(), peer, "{:?}", line.escape_ascii());
        assert!(hops.count() < HOPS_MAX);
    }
}
