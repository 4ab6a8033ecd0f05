//! Heads that come in parts: the same answers wherever they are cut, and hyper for those of many.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::{get, plain, start_with};

/// A request that the fast path answers as soon as it is whole.
const REQUEST: &str = "GET /robots.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: test\r\n\r\n";

#[test]
fn a_head_in_two_parts_stays_on_the_fast_path_wherever_it_is_cut() {
    let server = start_with(|config| config.threads = NonZeroUsize::MIN);
    // The one thread that serves has read the first part once it has answered somebody who came later.
    let mut other = server.connect();
    let mut connection = server.connect();
    let expected = connection.get("/robots.txt").body;
    let before = plain(&server);
    for cut in 1..REQUEST.len() {
        connection.write(&REQUEST.as_bytes()[..cut]);
        assert_eq!(other.get("/healthz").status, 200);
        connection.write(&REQUEST.as_bytes()[cut..]);
        assert!(connection.response("GET").body == expected, "{cut}");
    }
    assert_eq!(plain(&server) - before, REQUEST.len() as u64 - 1);
}

#[test]
fn a_head_in_many_parts_is_answered_all_the_same() {
    for (parts, answered) in [(8, 1), (9, 0)] {
        let server = start_with(|config| config.threads = NonZeroUsize::MIN);
        let mut other = server.connect();
        let mut connection = server.connect();
        let (first, last) = REQUEST.split_at(parts - 1);
        for byte in first.as_bytes() {
            connection.write(&[*byte]);
            // What two connections send may arrive in another order, so one answer does not tell that the byte was read.
            for _ in 0..4 {
                assert_eq!(other.get("/healthz").status, 200);
            }
        }
        connection.write(last.as_bytes());
        assert_eq!(connection.response("GET").status, 200);
        assert_eq!(plain(&server), answered, "{parts} parts");
    }
}

#[test]
fn half_a_head_behind_an_answered_request_has_its_time_and_is_told_so() {
    let server = start_with(|config| config.limits.header_time = Duration::from_secs(2));
    let mut connection = server.connect();
    let half = &REQUEST[..REQUEST.len() - 1];
    connection.write((get("/robots.txt") + half).as_bytes());
    assert_eq!(connection.response("GET").status, 200);
    let late = connection.response("GET");
    let close = late.field("connection");
    assert_eq!((late.status, close), (408, Some("close")));
    assert_eq!(connection.rest(), b"");
    assert_eq!(server.running().counters().head_timeouts(), 1);
    assert_eq!(plain(&server), 1);
}
