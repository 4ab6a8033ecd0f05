//! A log that cannot be written: its lines are dropped and counted, and nothing else follows from it.

use std::fs::OpenOptions;
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;

use crate::observation::{ANY_PORT, metrics};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::activated;
use crate::support::{Program, get, wait_until};

/// Replaces the data by `count` reviews, and waits until they are served.
fn change(data: &DataDir, address: SocketAddr, count: usize) {
    let updated_at = format!("2026-01-{count:02}T00:00:00Z");
    data.write("reviews.json", &reviews_json(count, &updated_at));
    wait_until("the changed data are served", || {
        let served = get(address, "/reviews.json", &[]);
        served.json()["reviews"].as_array().unwrap().len() == count
    });
    assert_eq!(get(address, "/readyz", &[]).status, 200);
}

#[test]
fn a_full_disk_under_the_log_ends_nothing() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let state = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let directory = data.path().to_str().unwrap();
    let socket = listener.try_clone().unwrap().into();
    let mut child = activated(socket, 1, &["--data", directory, "--poll", "100ms"])
        .env("REVIEWD_STATE", state.path())
        .stderr(Stdio::from(full))
        .spawn()
        .unwrap();
    drop(listener);
    assert_eq!(get(address, "/healthz", &[]).status, 200);
    change(&data, address, 2);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_log_whose_reader_has_gone_ends_nothing_and_its_lines_are_counted() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let flags = ["--data", data.path().to_str().unwrap(), "--poll", "100ms"];
    let mut program = Program::serve(&[&flags[..], &["--admin-listen", ANY_PORT]].concat());
    let line: serde_json::Value =
        serde_json::from_str(program.seen("to the administrator")).unwrap();
    let admin = line["address"].as_str().unwrap().parse().unwrap();
    assert_eq!(metrics(admin)["reviewd_log_lines_dropped_total"], 0.0);
    program.stop_reading_the_log();
    // The first line may still find room in the pipe.
    for count in 2..4 {
        change(&data, program.address(), count);
    }
    let counted = metrics(admin);
    assert!(counted["reviewd_log_lines_dropped_total"] > 0.0);
    assert_eq!(counted["reviewd_ready"], 1.0);
    program.signal("TERM");
    assert_eq!(program.wait().0, Some(0));
}
