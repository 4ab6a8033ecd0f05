//! Faults of the machine: killed under load, a disk that is full or read-only, no descriptors. Others have their tests
//! where their subject is: what a full disk owes and clocks in `hub`, data that are gone in `reload`.

use std::net::{SocketAddr, TcpListener};

use crate::settings::assert_state_is_refused;
use crate::support::program::serve_on;
use crate::support::{Connection, Load, Mount, Program, get, send, wait_until};

/// Each of the four clients may lose the one request that it is at; whatever waits in the socket is answered.
#[test]
fn killed_under_load_nothing_but_what_was_under_way_is_lost() {
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

/// Sends the hub of `address` a request, for the callback `number`; returns the status of its answer.
fn subscribe(address: SocketAddr, number: usize) -> u16 {
    let callback = format!("https://127.0.0.1:1024/{number}");
    let topic = format!("http://{address}/feed.xml");
    let body = format!("hub.mode=subscribe&hub.topic={topic}&hub.callback={callback}");
    let fields = [("Content-Type", "application/x-www-form-urlencoded")];
    send(address, "POST", "/api/websub/hub", &fields, body.as_bytes()).status
}

/// The flags of a hub that takes any number of requests from here.
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
fn a_state_directory_that_is_read_only_costs_the_hub_and_no_read_until_it_is_mended() {
    let Some(mount) = Mount::new() else { return };
    mount.make("ro");
    // Where there never was a state it is the wrong place for one.
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
fn a_disk_that_is_full_costs_the_hub_and_the_access_log_and_no_read_until_there_is_room() {
    let Some(mount) = Mount::new() else { return };
    let log = mount.path().join("access.log");
    let (state, log_text) = (mount.path().join("state"), log.to_str().unwrap());
    let flags = ["--state", state.to_str().unwrap(), "--access-log", log_text];
    let program = Program::serve(&[&flags[..], &ANY_NUMBER].concat());
    let address = program.address();
    assert_eq!(subscribe(address, 0), 202);
    mount.fill();
    // What the files have of their last pages is used up first.
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
    program.wait_for_log("the access log cannot be written, lines are lost");
    mount.make_room();
    wait_until("it is taken", || subscribe(address, 0) == 202);
    wait_until("no reason", || !has_reason(address));
    program.wait_for_log("the access log is written again");
    assert_eq!(get(address, "/feed.xml", &[]).status, 200);
    wait_until("the line", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("/feed.xml"))
    });
}

#[test]
fn without_descriptors_open_connections_are_served_and_the_rest_later() {
    let program = Program::serve_with_descriptors(64, &["--threads", "1", "--no-hub"]);
    let warning = program.seen("the limit on open files");
    assert!(warning.contains("\"granted\":64"), "{warning}");
    let mut first = Connection::kept(program.address());
    let crowd = [(); 80].map(|()| Connection::open(program.address()));
    program.wait_for_log("a connection could not be accepted");
    assert_eq!(first.get("/reviews.json").status, 200);
    drop(crowd);
    // Those that the kernel held back are accepted, found closed, and make room for this one.
    assert_eq!(get(program.address(), "/reviews.json", &[]).status, 200);
}
