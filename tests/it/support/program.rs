//! The real program in a separate process.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use tempfile::TempDir;

use super::{DEADLINE, wait_until};

/// A running `reviewd`; dropping it kills it.
pub(crate) struct Program {
    child: Child,
    address: SocketAddr,
    /// Its log, line by line.
    log: Receiver<String>,
    /// Lines logged before it served.
    earlier: Vec<String>,
    /// Its state directory, removed at the end.
    _state: TempDir,
}

/// Environment variable with the path of another `reviewd`, such as a release build for the long forms of tests.
const PROGRAM: &str = "REVIEWD_TEST_PROGRAM";

/// Flags that [`Program::spawn`] relies on: a free port, and a log as JSON.
pub(crate) const LISTEN: [&str; 4] = ["--listen", "127.0.0.1:0", "--log-format", "json"];

/// Returns the path of `reviewd` as built for the tests, or the one in [`PROGRAM`].
fn path() -> OsString {
    std::env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_reviewd").into())
}

/// Returns `reviewd` without the settings and proxies of the environment.
pub(crate) fn command() -> Command {
    let mut command = without_settings(path());
    command.stdin(Stdio::null());
    command
}

/// Returns a shell, for what only a shell can do before it starts `reviewd`, without settings and proxies.
pub(crate) fn shell() -> Command {
    without_settings("sh".into())
}

fn without_settings(program: OsString) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_uppercase();
        if text.starts_with("REVIEWD_") || text.ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs `reviewd` with `arguments`, and waits for its exit.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    Ended::of(command().args(arguments))
}

/// The exit status and the output of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Runs a command, and waits for its exit.
    pub(crate) fn of(command: &mut Command) -> Ended {
        let output = command.output().expect("the program can be run");
        Ended {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("it prints text"),
            stderr: String::from_utf8(output.stderr).expect("it prints text"),
        }
    }

    /// Asserts the exit status, and returns standard output followed by standard error.
    #[track_caller]
    pub(crate) fn with(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{self:?}");
        self.stdout + &self.stderr
    }

    /// Asserts the exit status, and returns the standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self, status: i32) -> serde_json::Value {
        assert_eq!(self.status, Some(status), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns `reviewd serve` as started by a service manager that passes `count` sockets, the first being `socket`.
pub(crate) fn activated(socket: OwnedFd, count: u8, arguments: &[&str]) -> Command {
    let mut shell = shell();
    // Sockets are passed from descriptor 3 on, to the process whose id is `LISTEN_PID`.
    let script = format!("exec 3<&0 </dev/null; LISTEN_FDS={count} LISTEN_PID=$$ exec \"$@\"");
    shell.args(["-c", &script, "sh"]).arg(path());
    shell.arg("serve").args(arguments);
    shell.stdin(Stdio::from(socket));
    shell
}

/// Starts `reviewd serve` on a passed listening socket, and waits until it serves.
pub(crate) fn serve_on(listener: &TcpListener, arguments: &[&str]) -> Program {
    let socket = listener.try_clone().expect("a socket can be shared").into();
    let arguments = [&["--log-format", "json"], arguments].concat();
    Program::spawn(activated(socket, 1, &arguments))
}

impl Program {
    /// Starts `reviewd serve` on a free port with further arguments, and waits until it serves.
    pub(crate) fn serve(arguments: &[&str]) -> Program {
        let mut command = command();
        command.arg("serve").args(LISTEN).args(arguments);
        Program::spawn(command)
    }

    /// Starts `reviewd serve` with at most `descriptors` open files, and waits until it serves.
    pub(crate) fn serve_with_descriptors(descriptors: u32, arguments: &[&str]) -> Program {
        Program::serve_with_limit(&format!("-n {descriptors}"), arguments)
    }

    /// Starts `reviewd serve` with a limit of the shell's `ulimit`, and waits until it serves.
    pub(crate) fn serve_with_limit(limit: &str, arguments: &[&str]) -> Program {
        let mut shell = shell();
        let script = format!("ulimit {limit} && exec \"$@\"");
        shell.args(["-c", &script, "sh"]).arg(path()).arg("serve");
        shell.args(LISTEN).args(arguments).stdin(Stdio::null());
        Program::spawn(shell)
    }

    /// Starts a prepared command whose log is JSON, and waits until it serves.
    pub(crate) fn spawn(mut command: Command) -> Program {
        let state = tempfile::tempdir().expect("a directory can be made");
        let mut child = command
            .env("REVIEWD_STATE", state.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be run");
        let stderr = child.stderr.take().expect("standard error is piped");
        let (line, log) = channel();
        thread::spawn(move || {
            for text in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line.send(text).is_err() {
                    return;
                }
            }
        });
        let mut program = Program {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            log,
            earlier: Vec::new(),
            _state: state,
        };
        let mut earlier = Vec::new();
        let serving = program.collect_until("\"serving\"", &mut earlier);
        program.earlier = earlier;
        let event: serde_json::Value = serde_json::from_str(&serving).expect("the log is JSON");
        let address = event["address"].as_str().and_then(|text| text.parse().ok());
        program.address = address.expect("the event names the address");
        program
    }

    /// Returns the address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the value of `name`, such as "VmRSS", in `/proc/PID/status`, without the unit.
    pub(crate) fn status(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(found, _)| *found == name).expect(name);
        value.trim().trim_end_matches(" kB").to_owned()
    }

    /// Returns the line with `part` that it logged before it served.
    pub(crate) fn seen(&self, part: &str) -> &str {
        let line = self.earlier.iter().find(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("no line with {part}, but {:#?}", self.earlier))
    }

    /// Tells whether it logged a line with `part` before it served.
    pub(crate) fn has_seen(&self, part: &str) -> bool {
        self.earlier.iter().any(|line| line.contains(part))
    }

    /// Stops reading the log: the pipe is closed at the next line that the program writes.
    pub(crate) fn stop_reading_the_log(&mut self) {
        self.log = channel().1;
    }

    /// Waits for a line of the log that contains `part`, and returns it.
    pub(crate) fn wait_for_log(&self, part: &str) -> String {
        self.collect_until(part, &mut Vec::new())
    }

    fn collect_until(&self, part: &str, seen: &mut Vec<String>) -> String {
        loop {
            match self.log.recv_timeout(DEADLINE) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("no line with {part} ({error}), but {seen:#?}"),
            }
        }
    }

    /// Sends it a signal by name, such as "TERM".
    pub(crate) fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let status = kill.args(["-s", name, &self.id().to_string()]).status();
        assert!(status.expect("kill can be run").success(), "SIG{name}");
    }

    /// Returns the lines that it logs from now on until it exits.
    pub(crate) fn rest_of_log(&self) -> Vec<String> {
        std::iter::from_fn(|| self.log.recv_timeout(DEADLINE).ok()).collect()
    }

    /// Sends SIGTERM, and asserts that it exits with status 0.
    pub(crate) fn stop(self) {
        self.signal("TERM");
        assert_eq!(self.wait().0, Some(0));
    }

    /// Waits for the exit, and returns the exit status and the standard output.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        // What it prints fits into the pipe.
        wait_until("the process ends", || {
            self.child.try_wait().expect("a child").is_some()
        });
        let mut printed = String::new();
        let mut stdout = self.child.stdout.take().expect("standard output is piped");
        stdout.read_to_string(&mut printed).expect("it prints text");
        let status = self.child.wait().expect("the process ends");
        (status.code(), printed)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process may have exited already; then both fail.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
