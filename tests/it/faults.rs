//! Faults of the machine: SIGKILL under load, a full or read-only disk, no file descriptors. Other faults are tested
//! with their subject: a full disk and clock jumps in `hub`, missing data in `reload`.

use std::net::{SocketAddr, TcpListener};

use crate::settings::assert_state_is_refused;
use crate::support::program::serve_on;
use crate::support::{Connection, Load, Mount, Program, get, send, wait_until};

/// Each of the four clients may lose its current request; connections that wait in the listening socket are answered.
#[test]
fn sigkill_under_load_loses_only_requests_in_flight() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = serve_on(&listener, &[]);
    let load = Load::on(address, "/reviews.json");
    load.wait_for(200);
    old.signal("KILL");
    assert_eq!(old.wait().0, None);
    let new = serve_on(&listener, &[]);
    load.wait_for(200);
    let lost = load.end();
    assert!(lost.len() <= 4, "{lost:?}");
    assert_eq!(get(new.address(), "/readyz", &[]).json()["ready"], true);
}

/// Sends a subscribe request for callback `number` to the hub at `address`; returns the status of the response.
fn subscribe(address: SocketAddr, number: usize) -> u16 {
    let callback = format!("https://127.0.0.1:1024/{number}");
    let topic = format!("http://{address}/feed.xml");
    let body = format!("hub.mode=subscribe&hub.topic={topic}&hub.callback={callback}");
    let fields = [("Content-Type", "application/x-www-form-urlencoded")];
    send(address, "POST", "/api/websub/hub", &fields, body.as_bytes()).status
}

/// Flags of a hub that does not limit requests from this machine.
const ANY_NUMBER: [&str; 5] = [
    "--allow-private-callbacks",
    "--hub-rate",
    "0",
    "--subscriptions-per-host",
    "100000",
];

fn has_reason(address: SocketAddr) -> bool {
    get(address, "/readyz", &[]).text().contains("hub_store")
}

#[test]
fn a_read_only_state_directory_stops_only_the_hub_until_it_is_writable() {
    let Some(mount) = Mount::new() else { return };
    mount.make("ro");
    // Without an existing store, startup refuses a read-only directory.
    assert_state_is_refused(mount.path());
    mount.make("rw");
    let flags = [&["--state", mount.text()], &ANY_NUMBER[..]].concat();
    Program::serve(&flags).stop();
    mount.make("ro");
    let program = Program::serve(&flags);
    let address = program.address();
    wait_until("the reason", || has_reason(address));
    assert_eq!(get(address, "/readyz", &[]).status, 503);
    assert_eq!(get(address, "/reviews.json", &[]).status, 200);
    assert_eq!(subscribe(address, 0), 503);
    mount.make("rw");
    wait_until("it is taken", || subscribe(address, 0) == 202);
    wait_until("no reason", || !has_reason(address));
}

#[test]
fn a_full_disk_stops_only_the_hub_and_the_access_log_until_there_is_space() {
    let Some(mount) = Mount::new() else { return };
    let log = mount.path().join("access.log");
    let (state, log_text) = (mount.path().join("state"), log.to_str().unwrap());
    let flags = ["--state", state.to_str().unwrap(), "--access-log", log_text];
    let program = Program::serve(&[&flags[..], &ANY_NUMBER].concat());
    let address = program.address();
    assert_eq!(subscribe(address, 0), 202);
    mount.fill();
    // Free space in the last pages of the files is used up first.
    let mut number = 0;
    wait_until("the hub refuses", || {
        number += 1;
        subscribe(address, number) == 503
    });
    wait_until("the reason", || has_reason(address));
    // More lines than the rest of the log's last page holds.
    for _ in 0..100 {
        assert_eq!(get(address, "/reviews.json?page", &[]).status, 200);
    }
    program.wait_for_log("the access log cannot be written; lines are lost");
    mount.make_room();
    wait_until("it is taken", || subscribe(address, 0) == 202);
    wait_until("no reason", || !has_reason(address));
    program.wait_for_log("the access log can be written again");
    assert_eq!(get(address, "/feed.xml", &[]).status, 200);
    wait_until("the line", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("/feed.xml"))
    });
}

#[test]
fn without_descriptors_open_connections_are_served_and_new_ones_wait() {
    let program = Program::serve_with_descriptors(64, &["--threads", "1", "--no-hub"]);
    let warning = program.seen("the limit on open files");
    assert!(warning.contains("\"granted\":64"), "{warning}");
    let mut first = Connection::kept(program.address());
    let crowd = [(); 80].map(|()| Connection::open(program.address()));
    program.wait_for_log("a connection could not be accepted");
    assert_eq!(first.get("/reviews.json").status, 200);
    drop(crowd);
    // Connections queued in the kernel are accepted, found closed, and free descriptors for this one.
    assert_eq!(get(program.address(), "/reviews.json", &[]).status, 200);
}
