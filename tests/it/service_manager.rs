//! Notifications to the service manager, restarts on an inherited socket, and the watchdog.

use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::{LISTEN, command, serve_on};
use crate::support::{DEADLINE, Load, Program, get, wait_until};

/// A service manager that receives the notifications of `sd_notify`.
struct Manager {
    directory: tempfile::TempDir,
    socket: UnixDatagram,
}

impl Manager {
    fn new() -> Manager {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        Manager { directory, socket }
    }

    fn heard(&self) -> String {
        let mut words = [0; 256];
        let length = self.socket.recv(&mut words).expect("it is told something");
        // Every variable ends with a line feed.
        let text = String::from_utf8(words[..length].to_vec()).unwrap();
        text.trim_end().to_owned()
    }

    /// Receives and drops what was sent until now; otherwise the sender waits.
    fn drain(&self) {
        self.socket.set_nonblocking(true).unwrap();
        while self.socket.recv(&mut [0; 256]).is_ok() {}
        self.socket.set_nonblocking(false).unwrap();
    }

    /// Asserts that nothing is heard for three seconds, after what was sent before.
    fn assert_silent(&self) {
        self.drain();
        let three_seconds = Some(Duration::from_secs(3));
        self.socket.set_read_timeout(three_seconds).unwrap();
        assert!(self.socket.recv(&mut [0; 256]).is_err());
        self.socket.set_read_timeout(Some(DEADLINE)).unwrap();
    }

    /// Starts the program, which checks the files as often as `poll` says.
    fn start(&self, data: &DataDir, poll: &str) -> Program {
        self.start_with(data, |command| {
            command.args(["--poll", poll]);
        })
    }

    /// Starts the program with a changed command line or environment.
    fn start_with(&self, data: &DataDir, change: impl FnOnce(&mut Command)) -> Program {
        let mut command = command();
        command.arg("serve").args(LISTEN);
        command.arg("--data").arg(data.path());
        change(&mut command);
        command.env("NOTIFY_SOCKET", self.directory.path().join("notify"));
        let program = Program::spawn(command);
        // The watchdog's thread may run already.
        let mut words = self.heard();
        while words == "WATCHDOG=1" {
            words = self.heard();
        }
        assert_eq!(words, "READY=1");
        program
    }
}

#[test]
fn the_service_manager_is_told_of_start_reload_and_stop() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let manager = Manager::new();
    // Only the signals wake the thread that reads the files.
    let program = manager.start(&data, "0");
    for (contents, line) in [
        (reviews_json(2, "2026-01-02T00:00:00Z"), "is served"),
        ("{".to_owned(), "the previous data is still served"),
    ] {
        data.write("reviews.json", &contents);
        program.signal("HUP");
        let heard = manager.heard();
        let is_reloading = heard.starts_with("RELOADING=1\nMONOTONIC_USEC=");
        assert!(is_reloading, "{heard}");
        assert_eq!(manager.heard(), "READY=1", "a refused reload ends as well");
        program.wait_for_log(line);
        let served = get(program.address(), "/readyz", &[]).json();
        assert_eq!(served["review_count"], 2);
    }
    program.signal("TERM");
    assert_eq!(manager.heard(), "STOPPING=1");
    assert_eq!(program.wait().0, Some(0));
}

/// For any timing of the signals: the last `READY=1` belongs to a reload that began after the last signal, and each
/// announced reload is followed by `READY=1`.
#[test]
fn each_reload_signal_is_followed_by_a_reload_that_begins_after_it() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let manager = Manager::new();
    let program = manager.start(&data, "250ms");
    for number in 2..6 {
        // The changed file also triggers a reload, which may be running when the signals arrive.
        let date = format!("2026-01-0{number}T00:00:00Z");
        data.write("reviews.json", &reviews_json(number, &date));
        for _ in 0..number {
            program.signal("HUP");
        }
        let now = clock_us();
        program.signal("HUP");
        // Wait for a reload that begins after the last signal, and for its end.
        let mut is_open = false;
        loop {
            let words = manager.heard();
            match words.strip_prefix("RELOADING=1\nMONOTONIC_USEC=") {
                Some(began) => is_open = began.parse::<u64>().unwrap() >= now,
                None if is_open => break assert_eq!(words, "READY=1"),
                None => assert_eq!(words, "READY=1"),
            }
        }
        let served = get(program.address(), "/readyz", &[]).json();
        // The new data are served when `READY=1` is sent.
        assert_eq!(served["review_count"], number);
    }
    program.signal("TERM");
    // If a signal was noticed after that reload began, one more reload follows.
    loop {
        let words = manager.heard();
        match words.as_str() {
            "STOPPING=1" => break,
            "READY=1" => {}
            _ => assert!(words.starts_with("RELOADING=1"), "{words}"),
        }
    }
    assert_eq!(program.wait().0, Some(0));
}

/// Returns the time of the clock of `MONOTONIC_USEC`.
fn clock_us() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000).unwrap()
}

#[test]
fn a_restart_on_an_inherited_socket_loses_no_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = serve_on(&listener, &[]);
    assert_eq!(old.address(), address);
    let load = Load::on(address, "/reviews.json");
    load.wait_for(20);
    // Both serve for a while; then the old one stops.
    let new = serve_on(&listener, &[]);
    load.wait_for(20);
    old.stop();
    load.wait_for(20);
    // Now one after the other: requests in between wait in the listening socket.
    new.stop();
    let _last = serve_on(&listener, &[]);
    load.wait_for(50);
    assert_eq!(load.end(), [] as [String; 0]);
}

/// A thread of another process that is stopped, as if it hung.
struct StoppedThread(nix::unistd::Pid);

impl StoppedThread {
    /// Stops the thread `name` of `program`; only that one.
    fn stop(program: &Program, name: &str) -> StoppedThread {
        let mut found = None;
        // A thread sets its name after it has started.
        wait_until("the thread has its name", || {
            found = thread_named(program, name);
            found.is_some()
        });
        let task = found.expect(name);
        let id = task.file_name().unwrap().to_str().unwrap();
        let thread = nix::unistd::Pid::from_raw(id.parse().unwrap());
        ptrace::seize(thread, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(thread).unwrap();
        waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
        StoppedThread(thread)
    }
}

/// Returns the folder in /proc of the thread `name` of `program`.
fn thread_named(program: &Program, name: &str) -> Option<PathBuf> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", program.id())).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().path());
    // A thread may end meanwhile.
    tasks.find(|task| {
        let found = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        found.trim_end() == name
    })
}

/// Lets it continue; otherwise the process could not end.
impl Drop for StoppedThread {
    fn drop(&mut self) {
        let _ended = ptrace::detach(self.0, None);
    }
}

#[test]
fn threads_that_hang_are_named_by_the_health_check_and_stop_the_watchdog() {
    let manager = Manager::new();
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let program = manager.start_with(&data, |command| {
        command.args(["--threads", "2", "--admin-listen", "127.0.0.1:0"]);
        command.env("WATCHDOG_USEC", "1000000");
    });
    assert_eq!(manager.heard(), "WATCHDOG=1");
    let admin = program.seen("to the administrator");
    let admin: serde_json::Value = serde_json::from_str(admin).unwrap();
    let admin = admin["address"].as_str().unwrap().parse().unwrap();
    assert_eq!(get(admin, "/healthz", &[]).json()["status"], "ok");
    let names = "accept hub reload serve-0 serve-1 signals watch";
    let stopped: Vec<_> = names
        .split(' ')
        .map(|name| StoppedThread::stop(&program, name))
        .collect();
    wait_until("all are named", || {
        manager.drain();
        let health = get(admin, "/healthz", &[]).json();
        let hung = health["threads"].as_array().cloned().unwrap_or_default();
        let mut hung: Vec<_> = hung.iter().filter_map(|name| name.as_str()).collect();
        hung.sort_unstable();
        hung.join(" ") == names
    });
    assert_eq!(get(admin, "/healthz", &[]).status, 503);
    wait_until("traffic goes elsewhere", || {
        manager.drain();
        let readiness = get(admin, "/readyz", &[]);
        readiness.status == 503 && readiness.text().contains("thread_hung")
    });
    manager.assert_silent();
    drop(stopped);
    wait_until("it is healthy again", || {
        get(admin, "/healthz", &[]).status == 200
    });
    assert_eq!(manager.heard(), "WATCHDOG=1");
    program.stop();
}
