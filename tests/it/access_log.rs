//! The access log: one line for each answered request, and no request waits for it. The program's own log: lines that
//! cannot be written are dropped and counted, without further effect.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::termios::{FlowArg, tcflow};
use rustix::process::{Pid, Signal, kill_process};

use crate::hub::subscriber::Subscriber;
use crate::hub::{authority, rig};
use crate::observation::{ANY_PORT, metrics};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::{activated, run};
use crate::support::{Connection, Program, get, send, wait_until};

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

#[test]
fn each_answered_request_is_a_line_of_the_access_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let program = Program::serve(&["--access-log", path.to_str().unwrap()]);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let search = "/api/reviews/search?query=secret";
    let found = get(program.address(), search, &[("traceparent", trace)]);
    get(
        program.address(),
        "/nowhere\u{202e}",
        &[("traceparent", "00-broken")],
    );
    let text = [("Content-Type", "text/plain")];
    send(program.address(), "POST", "/api/websub/hub", &text, b"");
    wait_until("they are written", || lines(&path).len() == 3);
    for (line, (method, path, status)) in lines(&path).iter().zip([
        ("GET", "/api/reviews/search", 200),
        // Encoded, so that it cannot steer a terminal.
        ("GET", "/nowhere%E2%80%AE", 400),
        ("POST", "/api/websub/hub", 415),
    ]) {
        assert!(line["timestamp"].is_string(), "{line}");
        assert_eq!(line["client"], "127.0.0.1");
        assert_eq!([&line["method"], &line["path"]], [method, path]);
        assert_eq!(line["status"], status, "{line}");
        assert!(line["duration_us"].is_u64());
        if status == 200 {
            assert_eq!(line["traceparent"], trace);
            assert_eq!(line["bytes"], found.body.len());
        } else {
            assert_eq!(line["traceparent"], serde_json::Value::Null);
        }
    }
}

/// The HTTP parser refuses these, and no handler sees them.
#[test]
fn requests_with_an_invalid_or_late_head_are_lines_of_the_access_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let program = Program::serve(&["--access-log", path.to_str().unwrap()]);
    let long = "x".repeat(17 << 10);
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n");
    for (number, (bytes, status)) in [
        ("no request\r\n\r\n", 400),
        (&long, 431),
        ("GET / HTTP/1.1\r\nHost", 408),
    ]
    .into_iter()
    .enumerate()
    {
        let mut connection = Connection::open(program.address());
        connection.write(bytes.as_bytes());
        let response = connection.response("GET");
        assert_eq!(response.status, status);
        wait_until("it is written", || lines(&path).len() == number + 1);
        let line = &lines(&path)[number];
        assert_eq!(line["status"], status, "{line}");
        assert_eq!(line["client"], "127.0.0.1");
        assert_eq!(line["bytes"], response.body.len());
        assert_eq!([&line["method"], &line["path"]], ["", ""]);
    }
}

#[test]
fn the_access_log_may_be_standard_output() {
    let program = Program::serve(&["--access-log", "-"]);
    assert_eq!(get(program.address(), "/healthz", &[]).status, 200);
    program.signal("TERM");
    let (status, printed) = program.wait();
    assert_eq!(status, Some(0));
    let line: serde_json::Value = serde_json::from_str(&printed).expect("one line");
    assert_eq!(line["path"], "/healthz");
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
    let mut pipe = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let flags = ["--access-log", path.to_str().unwrap()];
    let program = Program::serve(&[&flags[..], &["--admin-listen", ANY_PORT]].concat());
    let admin = admin_address(&program);
    let lines = |outcome: &str| {
        let name = format!("reviewd_log_lines_total{{log=\"requests\",outcome=\"{outcome}\"}}");
        metrics(admin)[&name]
    };
    let mut asked = 0.0;
    wait_until("lines are dropped", || {
        let mut connection = Connection::open(program.address());
        for _ in 0..2_000 {
            connection.assert_served();
            asked += 1.0;
        }
        lines("dropped") > 0.0
    });
    // This thread ends with the process, because our own write end keeps the pipe open.
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while pipe.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    wait_until("every line is accounted for", || {
        lines("written") + lines("dropped") == asked
    });
    assert_eq!(lines("failed"), 0.0);
    // The log of events has another reader.
    program.signal("HUP");
    program.wait_for_log("SIGHUP");
}

#[test]
fn a_pipe_without_a_reader_is_not_reopened_and_delays_no_other_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let reader = OpenOptions::new().read(true).write(true).open(&path);
    let program = Program::serve(&["--access-log", path.to_str().unwrap()]);
    drop(reader);
    program.signal("USR1");
    program.wait_for_log("the access log cannot be reopened");
    program.signal("HUP");
    program.wait_for_log("SIGHUP");
}

#[test]
fn a_start_with_a_pipe_without_a_reader_fails_and_does_not_wait() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let ended = run(&["serve", "--access-log", path.to_str().unwrap()]);
    // Not 78: the reader may start later, so a service manager shall try again.
    let message = ended.with(69);
    assert!(message.contains("is a pipe without a reader"), "{message}");
}

/// Returns the administrator's address of a program that has one.
fn admin_address(program: &Program) -> SocketAddr {
    let line = program.seen("to the administrator");
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["address"].as_str().unwrap().parse().unwrap()
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

/// A program on a passed socket, whose log the test does not read; dropping it kills it.
struct Unread {
    child: Child,
    address: SocketAddr,
    _state: tempfile::TempDir,
}

impl Unread {
    /// Starts it with these standard streams.
    fn serve(stdout: Stdio, stderr: Stdio, arguments: &[&str]) -> Unread {
        let state = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut command = activated(listener.into(), 1, arguments);
        command.env("REVIEWD_STATE", state.path());
        let child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
        Unread {
            child,
            address,
            _state: state,
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends SIGTERM, and asserts that the exit status is 0.
    fn stop(mut self) {
        self.signal(Signal::TERM);
        wait_until("the process ends", || {
            self.child.try_wait().expect("a child").is_some()
        });
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        // The process may have exited already; then both fail.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn the_service_works_while_its_log_disk_is_full() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let flags = ["--data", data.path().to_str().unwrap(), "--poll", "100ms"];
    let program = Unread::serve(Stdio::null(), Stdio::from(full), &flags);
    change(&data, program.address, 2);
    program.stop();
}

/// Asserts that requests, a subscription, a reload and a delivery work, and that signals stop the program, while it
/// cannot write to its standard streams.
fn assert_works_unread(stdout: Stdio, stderr: Stdio) {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let subscriber = Subscriber::good();
    let ca = data.path().join("ca.pem");
    authority::write_ca(&ca);
    let [folder, ca] = [data.path(), &ca].map(|path| path.to_str().unwrap());
    let flags = "--log-level debug --poll 100ms --allow-private-callbacks --access-log -";
    let flags: Vec<&str> = flags.split(' ').collect();
    let own = [
        "--data",
        folder,
        "--base-url",
        rig::BASE,
        "--callback-ca",
        ca,
    ];
    let program = Unread::serve(stdout, stderr, &[&own[..], &flags].concat());
    let callback = subscriber.callback("/cb");
    // Until its store is open, the hub answers 503.
    wait_until("the request is accepted", || {
        rig::post(program.address, "subscribe", &callback, 1_000).status == 202
    });
    subscriber.wait_verification(1);
    change(&data, program.address, 2);
    subscriber.wait_delivery(1);
    program.signal(Signal::HUP);
    program.signal(Signal::USR1);
    let readiness = get(program.address, "/readyz", &[]);
    assert_eq!(readiness.json()["ready"], true);
    program.stop();
}

#[test]
fn the_service_works_while_the_reader_of_its_logs_hangs() {
    let (_reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[b'\n'; 4_096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    let stdout = writer.try_clone().unwrap();
    assert_works_unread(Stdio::from(stdout), Stdio::from(writer));
}

/// As after Ctrl-S.
#[test]
fn the_service_works_on_a_terminal_that_is_stopped() {
    let terminal = nix::pty::openpty(None, None).unwrap();
    tcflow(&terminal.slave, FlowArg::TCOOFF).unwrap();
    let stdout = terminal.slave.try_clone().unwrap();
    assert_works_unread(Stdio::from(stdout), Stdio::from(terminal.slave));
}

#[test]
fn the_service_works_after_its_log_reader_exits_and_counts_lost_lines() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let flags = ["--data", data.path().to_str().unwrap(), "--poll", "100ms"];
    let mut program = Program::serve(&[&flags[..], &["--admin-listen", ANY_PORT]].concat());
    let admin = admin_address(&program);
    let failed = "reviewd_log_lines_total{log=\"events\",outcome=\"failed\"}";
    assert_eq!(metrics(admin)[failed], 0.0);
    program.stop_reading_the_log();
    // The first line may still fit into the pipe.
    for count in 2..4 {
        change(&data, program.address(), count);
    }
    let counted = metrics(admin);
    assert!(counted[failed] > 0.0);
    assert_eq!(counted["reviewd_ready"], 1.0);
    program.stop();
}
