//! The access log: a line for each answered request, and no request that waits for it.

use std::path::Path;

use reviewd::server::AccessLogTarget;

use crate::observation::{ANY_PORT, admin, metrics};
use crate::support::{Program, Server, get, send, wait_until};

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
    let fields = [("traceparent", trace)];
    let body = server
        .get_with("/api/reviews/search?query=secret", &fields)
        .body;
    server.get_with("/nowhere", &[("traceparent", "00-broken")]);
    let form = [("Content-Type", "text/plain")];
    send(server.address(), "POST", "/api/websub/hub", &form, b"x");
    wait_until("they are written", || lines(&path).len() == 3);
    let lines = lines(&path);
    assert_eq!(lines[0]["client"], "127.0.0.1");
    assert_eq!(lines[0]["method"], "GET");
    assert_eq!(lines[0]["path"], "/api/reviews/search");
    assert_eq!(lines[0]["status"], 200);
    assert_eq!(lines[0]["bytes"], body.len());
    assert_eq!(lines[0]["traceparent"], trace);
    assert!(lines[0]["duration_us"].is_u64());
    assert_eq!(lines[1]["status"], 404);
    assert!(lines[1]["traceparent"].is_null());
    assert_eq!(lines[2]["method"], "POST");
    assert_eq!(lines[2]["path"], "/api/websub/hub");
}

#[test]
fn a_log_that_was_moved_away_is_opened_anew_on_sigusr1_and_sighup() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let program = Program::serve(&["--access-log", path.to_str().unwrap()]);
    for (number, signal) in ["USR1", "HUP"].into_iter().enumerate() {
        assert_eq!(get(program.address(), "/healthz", &[]).status, 200);
        wait_until("it is written", || lines(&path).len() == 1);
        let moved = directory.path().join(format!("access.log.{number}"));
        std::fs::rename(&path, &moved).unwrap();
        program.signal(signal);
        program.wait_for_log("the access log was opened anew");
        assert_eq!(lines(&moved).len(), 1);
    }
    assert_eq!(get(program.address(), "/readyz", &[]).status, 200);
    program.signal("TERM");
    assert_eq!(program.wait().0, Some(0));
    assert_eq!(lines(&path)[0]["path"], "/readyz", "the last line is kept");
}

#[test]
fn lines_that_a_blocked_pipe_costs_are_counted_and_no_request_waits() {
    use std::io::Read;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    // Open for both, so that neither end waits for the other; nothing is read until the queue is full.
    let mut pipe = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let server = Server::start_with(|config| {
        config.admin_listen = Some(ANY_PORT.parse().unwrap());
        config.access_log = Some(AccessLogTarget::File(path.clone()));
    });
    let entries = |outcome: &str| {
        metrics(admin(&server))
            [&format!("reviewd_access_log_entries_total{{outcome=\"{outcome}\"}}")]
    };
    let mut connection = server.connect();
    let mut asked = 0.0;
    while entries("dropped") == 0.0 {
        for _ in 0..500 {
            assert_eq!(connection.get("/healthz").status, 200);
            asked += 1.0;
        }
        if asked % 5_000.0 == 0.0 {
            connection = server.connect();
        }
    }
    // It ends with the process: our own end keeps the pipe open.
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while pipe.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    wait_until("every line is accounted for", || {
        entries("written") + entries("dropped") == asked
    });
    assert_eq!(entries("failed"), 0.0);
}
