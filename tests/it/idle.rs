//! Connections that are kept and silent: what each costs the server's process.

use std::net::SocketAddr;

use crate::support::{Connection, Program, get, wait_until};

/// Connections of each of three rounds; `REVIEWD_IDLE_CONNECTIONS` asks for another number, such as 4,000.
const CONNECTIONS: usize = 400;

/// What one may cost of our own memory, the kernel's aside.
const BYTES_MAX: usize = 24 * 1024;

#[test]
fn kept_connections_cost_little_and_are_served() {
    let count = std::env::var("REVIEWD_IDLE_CONNECTIONS");
    let count = count.map_or(CONNECTIONS, |count| count.parse().expect("a number"));
    let flags = "--no-hub --poll 0 --address-connections 0 --max-connections 20000 --idle-time 10m";
    let program = Program::serve(&flags.split(' ').collect::<Vec<_>>());
    wait_until("what is made in the background is made", || {
        let coding = [("Accept-Encoding", "br")];
        let reply = get(program.address(), "/insights.json", &coding);
        reply.field("content-encoding") == Some("br")
    });
    // The first use up what the process has left over from its start, and what is needed once. Work in the background may
    // fall into any round, but hardly into each. A short run still flatters: what the allocator gives back is subtracted.
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

/// Opens connections, each of which has had an answer.
fn hold(address: SocketAddr, count: usize) -> Vec<Connection> {
    let open = |_| {
        let mut connection = Connection::open(address);
        assert_eq!(connection.get("/robots.txt").status, 200);
        connection
    };
    (0..count).map(open).collect()
}

/// Returns the bytes of memory that belong to the process alone and to no file.
fn anonymous_bytes(program: &Program) -> usize {
    program.status("RssAnon").parse::<usize>().unwrap() * 1024
}
