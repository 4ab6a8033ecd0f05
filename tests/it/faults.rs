//! Faults of the machine: SIGKILL under load, a full or read-only disk, no file descriptors. Other faults are tested
//! with their subject: clock jumps in `hub`, missing data in `reload`.

use std::net::{SocketAddr, TcpListener};

use crate::hub::rig;
use crate::hub::subscriber::Subscriber;
use crate::settings::assert_state_is_refused;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::serve_on;
use crate::support::{Connection, Load, Mount, Program, get, wait_until};

const DATE: &str = "2026-01-01T00:00:00Z";

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

/// Starts the program with a hub on `state` that does not limit requests from this machine.
fn serve(data: &DataDir, state: &str, more: &[&str]) -> Program {
    let any = ["--subscriptions-per-host", "100000"];
    rig::serve(data, ["--state", state], &[&any, more].concat())
}

/// Sends a subscribe request for callback `number`; returns the status of the response.
fn subscribe(address: SocketAddr, number: usize) -> u16 {
    let callback = format!("https://127.0.0.1:1024/{number}");
    rig::post(address, "subscribe", &callback, 1_000).status
}

/// Whether the readiness names the hub's store as a reason.
fn names_hub_store(address: SocketAddr) -> bool {
    get(address, "/readyz", &[]).text().contains("hub_store")
}

#[test]
fn a_read_only_state_directory_stops_only_the_hub_until_it_is_writable() {
    let Some(mount) = Mount::new() else { return };
    mount.make("ro");
    // Without an existing store, startup refuses a read-only directory.
    assert_state_is_refused(mount.path());
    mount.make("rw");
    let data = DataDir::with_reviews(1, DATE);
    serve(&data, mount.text(), &[]).stop();
    mount.make("ro");
    let program = serve(&data, mount.text(), &[]);
    let address = program.address();
    wait_until("the store is named", || names_hub_store(address));
    assert_eq!(get(address, "/readyz", &[]).status, 503);
    assert_eq!(get(address, "/reviews.json", &[]).status, 200);
    assert_eq!(subscribe(address, 0), 503);
    mount.make("rw");
    wait_until("it is taken", || subscribe(address, 0) == 202);
    wait_until("no reason", || !names_hub_store(address));
}

#[test]
fn a_full_disk_stops_only_the_hub_and_the_access_log_until_there_is_space() {
    let Some(mount) = Mount::new() else { return };
    let data = DataDir::with_reviews(1, DATE);
    let subscriber = Subscriber::good();
    let log = mount.path().join("access.log");
    let state = mount.path().join("state");
    let flags = ["--access-log", log.to_str().unwrap()];
    let program = serve(&data, state.to_str().unwrap(), &flags);
    let address = program.address();
    rig::subscribe(&program, &subscriber.callback("/cb"));
    mount.fill();
    // Free space in the last pages of the files is used up first.
    let mut number = 0;
    wait_until("the hub refuses", || {
        number += 1;
        subscribe(address, number) == 503
    });
    program.wait_for_log("the disk is full");
    wait_until("the store is named", || names_hub_store(address));
    // More lines than the rest of the log's last page holds.
    for _ in 0..100 {
        assert_eq!(get(address, "/reviews.json?page", &[]).status, 200);
    }
    program.wait_for_log("the access log cannot be written");
    mount.make_room();
    wait_until("it is taken", || subscribe(address, 0) == 202);
    wait_until("no reason", || !names_hub_store(address));
    program.wait_for_log("the access log can be written again");
    // The earlier subscription is not lost.
    data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    subscriber.wait_delivery(1);
    assert_eq!(get(address, "/feed.xml", &[]).status, 200);
    let written = || std::fs::read_to_string(&log).unwrap();
    wait_until("the line", || written().contains("/feed.xml"));
    // No line was cut by the full disk.
    for line in written().lines() {
        let entry: serde_json::Value = serde_json::from_str(line).expect(line);
        assert_eq!(entry["client"], "127.0.0.1", "{line}");
    }
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

/// A program whose descriptors are all taken by connections.
struct Crowded {
    program: Program,
    /// A connection that is served.
    first: Connection,
    crowd: Vec<Connection>,
}

impl Crowded {
    fn new(data: &DataDir) -> Crowded {
        let flags = "--threads 1 --no-hub --poll 100ms --data";
        let mut flags: Vec<&str> = flags.split(' ').collect();
        flags.push(data.path().to_str().unwrap());
        let program = Program::serve_with_descriptors(64, &flags);
        let first = Connection::kept(program.address());
        let crowd = [(); 80].map(|()| Connection::open(program.address()));
        program.wait_for_log("a connection could not be accepted");
        Crowded {
            program,
            first,
            crowd: crowd.into(),
        }
    }
}

#[test]
fn data_that_cannot_be_read_without_descriptors_are_served_once_there_are_some() {
    let data = DataDir::with_reviews(1, DATE);
    let mut crowded = Crowded::new(&data);
    data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    wait_until("the reason is named", || {
        let readiness = crowded.first.get("/readyz");
        // EMFILE: its text depends on the C library.
        readiness.text().contains("(os error 24)") && readiness.text().contains("it is tried again")
    });
    crowded.crowd.clear();
    wait_until("the new data are served", || {
        crowded.first.get("/readyz").json()["review_count"] == 2
    });
    assert!(
        !crowded
            .first
            .get("/readyz")
            .text()
            .contains("reload_failed")
    );
}

#[test]
fn the_state_of_the_sources_is_read_again_once_there_are_descriptors() {
    let data = DataDir::with_reviews(1, DATE);
    let mut crowded = Crowded::new(&data);
    data.write("sync.json", r#"{"sources":{}}"#);
    wait_until("the reason is named", || {
        crowded.first.get("/readyz").text().contains("sync_state")
    });
    crowded.crowd.clear();
    wait_until("no reason", || {
        !crowded.first.get("/readyz").text().contains("sync_state")
    });
    // The failure was logged once, though it was tried more than once.
    crowded
        .program
        .wait_for_log("the state of the sources cannot be read");
    crowded.program.signal("TERM");
    let log = crowded.program.rest_of_log().concat();
    assert!(!log.contains("the state of the sources"), "{log}");
}
