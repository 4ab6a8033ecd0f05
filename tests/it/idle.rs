//! Memory that idle keep-alive connections use in the server's process.

use std::net::SocketAddr;

use crate::support::{Connection, Program, get, wait_until};

/// Connections in each of three rounds; `REVIEWD_IDLE_CONNECTIONS` sets another number, such as 4,000.
const CONNECTIONS: usize = 400;

/// Limit of process memory per connection, without the kernel's memory.
const BYTES_MAX: usize = 24 * 1024;

#[test]
fn idle_connections_use_at_most_24_kib_each_and_are_served() {
    let count = std::env::var("REVIEWD_IDLE_CONNECTIONS");
    let count = count.map_or(CONNECTIONS, |count| count.parse().expect("a number"));
    let flags = "--no-hub --poll 0 --address-connections 0 --max-connections 20000 --idle-time 10m";
    let program = Program::serve(&flags.split(' ').collect::<Vec<_>>());
    wait_until("what is made in the background is made", || {
        let coding = [("Accept-Encoding", "br")];
        let reply = get(program.address(), "/insights.json", &coding);
        reply.field("content-encoding") == Some("br")
    });
    // The first connections use memory left over from the start and pay one-time costs. Background work may fall into
    // any round, but hardly into each. A short run measures too little: memory returned by the allocator is subtracted.
    let mut kept = hold(program.address(), count / 2);
    let mut each = usize::MAX;
    for _ in 0..3 {
        let before = anonymous_bytes(&program);
        kept.extend(hold(program.address(), count));
        let after = anonymous_bytes(&program);
        each = each.min(after.saturating_sub(before) / count);
    }
    println!("{count} kept connections: {each} bytes each");
    assert!(each <= BYTES_MAX, "{each} bytes for each of {count}");
    for mut connection in kept.into_iter().step_by(97) {
        assert_eq!(connection.get("/robots.txt").status, 200);
    }
}

/// Opens connections, and gets a response on each.
fn hold(address: SocketAddr, count: usize) -> Vec<Connection> {
    let open = |_| {
        let mut connection = Connection::open(address);
        assert_eq!(connection.get("/robots.txt").status, 200);
        connection
    };
    (0..count).map(open).collect()
}

/// Returns the anonymous memory of the process in bytes.
fn anonymous_bytes(program: &Program) -> usize {
    program.status("RssAnon").parse::<usize>().unwrap() * 1024
}
