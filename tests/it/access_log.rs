//! The access log: one line for each answered request, and no request waits for it. The program's own log: lines that
//! cannot be written are dropped and counted, without further effect.

use std::fs::OpenOptions;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;

use reviewd::server::AccessLogTarget;

use crate::observation::{ANY_PORT, admin, metrics};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::activated;
use crate::support::{Program, Server, get, wait_until};

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

#[test]
fn each_answered_request_is_a_line_of_the_access_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let server = Server::start_with(|config| {
        config.access_log = Some(AccessLogTarget::File(path.clone()));
    });
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let search = "/api/reviews/search?query=secret";
    let found = server.get_with(search, &[("traceparent", trace)]);
    server.get_with("/nowhere", &[("traceparent", "00-broken")]);
    server.send("POST", "/api/websub/hub", &[("Content-Type", "text/plain")]);
    wait_until("they are written", || lines(&path).len() == 3);
    for (line, (method, path, status)) in lines(&path).iter().zip([
        ("GET", "/api/reviews/search", 200),
        ("GET", "/nowhere", 404),
        ("POST", "/api/websub/hub", 415),
    ]) {
        assert_eq!(line["client"], "127.0.0.1");
        assert_eq!([&line["method"], &line["path"]], [method, path]);
        assert_eq!(line["status"], status, "{line}");
        assert!(line["duration_us"].is_u64());
        let sent = (status == 200).then_some(trace);
        assert_eq!(line["traceparent"].as_str(), sent);
        assert!(status != 200 || line["bytes"] == found.body.len());
    }
}

#[test]
fn a_moved_access_log_is_reopened_on_sigusr1_and_sighup() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let program = Program::serve(&["--access-log", path.to_str().unwrap()]);
    for (number, signal) in ["USR1", "HUP"].into_iter().enumerate() {
        assert_eq!(get(program.address(), "/healthz", &[]).status, 200);
        wait_until("it is written", || lines(&path).len() == 1);
        let moved = directory.path().join(format!("access.log.{number}"));
        std::fs::rename(&path, &moved).unwrap();
        program.signal(signal);
        program.wait_for_log("the access log was reopened");
        assert_eq!(lines(&moved).len(), 1);
    }
    assert_eq!(get(program.address(), "/readyz", &[]).status, 200);
    program.stop();
    assert_eq!(lines(&path)[0]["path"], "/readyz", "the last line is kept");
}

#[test]
fn with_a_blocked_pipe_lines_are_dropped_and_counted_and_no_request_waits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    // Opened for reading and writing, so that `open` does not block; nothing is read until the queue is full.
    let pipe = OpenOptions::new().read(true).write(true).open(&path);
    let mut pipe = pipe.unwrap();
    let server = Server::start_with(|config| {
        config.admin_listen = Some(ANY_PORT.parse().unwrap());
        config.access_log = Some(AccessLogTarget::File(path.clone()));
        config.limits.connection_requests = u32::MAX;
    });
    let entries = |outcome: &str| {
        let name = format!("reviewd_access_log_entries_total{{outcome=\"{outcome}\"}}");
        metrics(admin(&server))[&name]
    };
    let mut connection = server.connect();
    let mut asked = 0.0;
    wait_until("lines are dropped", || {
        for _ in 0..500 {
            connection.assert_served();
            asked += 1.0;
        }
        entries("dropped") > 0.0
    });
    // This thread ends with the process, because our own write end keeps the pipe open.
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while pipe.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    wait_until("every line is accounted for", || {
        entries("written") + entries("dropped") == asked
    });
    assert_eq!(entries("failed"), 0.0);
}

/// Replaces the data with `count` reviews, and waits until they are served.
fn change(data: &DataDir, address: SocketAddr, count: usize) {
    let updated_at = format!("2026-01-{count:02}T00:00:00Z");
    data.write("reviews.json", &reviews_json(count, &updated_at));
    wait_until("the changed data are served", || {
        let served = get(address, "/reviews.json", &[]).json();
        served["reviews"].as_array().unwrap().len() == count
    });
    assert_eq!(get(address, "/readyz", &[]).status, 200);
}

#[test]
fn the_service_works_while_its_log_disk_is_full() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let state = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let directory = data.path().to_str().unwrap();
    let arguments = ["--data", directory, "--poll", "100ms"];
    let mut command = activated(listener.into(), 1, &arguments);
    command.env("REVIEWD_STATE", state.path());
    let mut child = command.stderr(Stdio::from(full)).spawn().unwrap();
    // Closes the command's copy of the socket.
    drop(command);
    change(&data, address, 2);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_service_works_after_its_log_reader_exits_and_counts_lost_lines() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let flags = ["--data", data.path().to_str().unwrap(), "--poll", "100ms"];
    let mut program = Program::serve(&[&flags[..], &["--admin-listen", ANY_PORT]].concat());
    let line = program.seen("to the administrator");
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let admin = line["address"].as_str().unwrap().parse().unwrap();
    assert_eq!(metrics(admin)["reviewd_log_lines_dropped_total"], 0.0);
    program.stop_reading_the_log();
    // The first line may still fit into the pipe.
    for count in 2..4 {
        change(&data, program.address(), count);
    }
    let counted = metrics(admin);
    assert!(counted["reviewd_log_lines_dropped_total"] > 0.0);
    assert_eq!(counted["reviewd_ready"], 1.0);
    program.stop();
}
