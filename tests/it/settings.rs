//! Invalid settings: each is refused with one line that names the flag and its value, and with status 64, 66, 69 or 78.

use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::support::program::{Ended, LISTEN, activated, command, run, shell};
use crate::support::{Program, get};

/// Checks status and output of a failed start, and returns its only line.
#[track_caller]
pub(crate) fn one_line(ended: Ended, status: i32) -> String {
    assert_eq!(ended.stdout, "");
    let said = ended.with(status);
    let is_line = said.starts_with("reviewd: ") && said.lines().count() == 1;
    assert!(is_line, "{said}");
    said
}

/// Runs `reviewd serve`, which has to fail with one line, and returns the line.
fn refused(flag: &str, value: &str, status: i32) -> String {
    let state = tempfile::tempdir().unwrap();
    let mut command = command();
    command.args(["serve", "--log-level", "error"]);
    command.env("REVIEWD_STATE", state.path());
    command.env("REVIEWD_LISTEN", "127.0.0.1:0");
    let ended = Ended::of(command.arg(format!("{flag}={value}")));
    one_line(ended, status)
}

/// Values that the command-line parser refuses are tested next to the flags.
#[test]
fn values_refused_at_startup_are_named_with_their_flags() {
    for (flag, value, status) in [
        ("--data", "/nowhere/at/all", 66),
        ("--data", "/dev/null", 66),
        ("--listen", "192.0.2.1:0", 69),
        ("--admin-listen", "192.0.2.1:0", 69),
        ("--callback-ca", "/nowhere/ca.pem", 78),
        ("--callback-ca", "/dev/null", 78),
        ("--access-log", "/nowhere/access.log", 78),
        ("--access-log", "/dev/null/access.log", 78),
    ] {
        let said = refused(flag, value, status);
        assert!(said.contains(flag), "{said}");
        assert!(said.contains(value), "{said}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--admin-listen"] {
        let said = refused(flag, &address, 69);
        let parts = [flag, &address, "use another port"];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn a_refused_secret_is_not_repeated() {
    let address = "mysql://me:0123456789abcdef@db.example/hub";
    let mut by_flag = command();
    let mut by_variable = command();
    by_flag.args(["serve", "--store", address]);
    by_variable.arg("serve").env("REVIEWD_STORE", address);
    for mut command in [by_flag, by_variable] {
        let said = one_line(Ended::of(&mut command), 78);
        let is_named = said.contains("--store") && !said.contains("0123456789");
        assert!(is_named, "{said}");
    }
}

#[test]
fn unknown_flags_and_commands_are_64_with_the_nearest_that_exist() {
    for (arguments, part) in [
        (&["--lisen", "x"][..], "'--listen'"),
        (&["serv"], "'serve'"),
        (&["serve", "--threads", "-1"], "--threads"),
    ] {
        let said = run(arguments).with(64);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn an_empty_variable_counts_as_unset_and_a_switch_accepts_common_boolean_words() {
    let with = |arguments: &[&str], word: &str| {
        let mut command = command();
        command.args(arguments).env("REVIEWD_NO_HUB", word);
        Ended::of(command.env("REVIEWD_POLL", "")).with(0)
    };
    for (word, end) in [
        ("", "default      false"),
        ("1", "environment  true"),
        ("YES", "environment  true"),
        ("off", "environment  false"),
    ] {
        let settings = with(&["config"], word);
        let mut lines = settings.lines();
        let line = lines.find(|line| line.starts_with("--no-hub ")).unwrap();
        assert!(line.ends_with(end), "{word}: {line}");
    }
    // The help names the variables; that of a flag that `serve` lacks includes the command's name.
    for (command, variable) in [
        ("serve", "REVIEWD_POLL"),
        ("import", "REVIEWD_IMPORT_PRUNE"),
    ] {
        let help = with(&[command, "--help"], "");
        assert!(help.contains(&format!("[env: {variable}=]")), "{help}");
    }
}

/// Runs `reviewd serve` with `descriptor` passed as its socket, and returns the line that it prints.
fn refused_socket(descriptor: OwnedFd, count: u8) -> String {
    let state = tempfile::tempdir().unwrap();
    let arguments = ["--state", state.path().to_str().unwrap()];
    let mut command = activated(descriptor, count, &arguments);
    one_line(Ended::of(&mut command), 78)
}

#[test]
fn passed_descriptors_that_are_not_listening_tcp_sockets_exit_78() {
    let temp = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let unix = UnixListener::bind(temp.path().join("socket")).unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    for descriptor in [connected.into(), udp.into(), unix.into(), file.into()] {
        let said = refused_socket(descriptor, 1);
        let is_named = said.contains("LISTEN_FDS: ") && said.contains("not one listening");
        assert!(is_named, "{said}");
    }
    let said = refused_socket(listener.into(), 2);
    assert!(said.contains("LISTEN_FDS: 2 passed"), "{said}");
    let mut closed = shell();
    let script = "exec 3<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"";
    closed.args(["-c", script, "sh", env!("CARGO_BIN_EXE_reviewd"), "serve"]);
    let said = one_line(Ended::of(&mut closed), 78);
    assert!(said.contains("LISTEN_FDS: "), "{said}");
}

#[test]
fn a_state_directory_is_created_with_its_parents_or_refused_with_78() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("a/b/state");
    let _program = Program::serve(&["--state", state.to_str().unwrap()]);
    assert!(state.is_dir());
    let path = |name: &str| temp.path().join(name);
    symlink("/nowhere/at/all", path("link")).unwrap();
    symlink(path("ring"), path("ring")).unwrap();
    std::fs::write(path("file"), "not a directory").unwrap();
    for name in "link ring ring/below file file/below".split(' ') {
        assert_state_is_refused(&path(name));
    }
    assert_state_is_refused(&path(&"a".repeat(300)));
    assert_state_is_refused(Path::new("/proc/nowhere/below"));
}

pub(crate) fn assert_state_is_refused(path: &Path) {
    let path = path.to_str().unwrap();
    let said = one_line(
        run(&["serve", "--listen", "127.0.0.1:0", "--state", path]),
        78,
    );
    let line = format!("reviewd: cannot write to the state directory {path} (--state)");
    assert!(said.starts_with(&line), "{said}");
}

/// Subscribers and feed readers would store links that never work.
#[test]
fn a_placeholder_as_public_address_is_refused_unless_only_this_machine_can_connect() {
    for (listen, base_url) in [
        ("0.0.0.0:0", "https://reviews.example"),
        (":0", "https://reviews.example:8443"),
    ] {
        let arguments = [
            "serve",
            "--no-hub",
            "--listen",
            listen,
            "--base-url",
            base_url,
        ];
        let said = one_line(
            run(&[&arguments[..], &["--log-level", "error"]].concat()),
            78,
        );
        assert!(said.contains("--base-url"), "{said}");
        assert!(said.contains(base_url), "{said}");
    }
    let arguments = ["--no-hub", "--base-url", "https://reviews.example"];
    Program::serve(&arguments).stop();
}

#[test]
fn a_port_alone_listens_on_loopback_and_one_after_a_colon_on_all_addresses() {
    for (listen, is_public) in [("0", false), ("localhost:0", false), (":0", true)] {
        let mut command = command();
        command.args([
            "serve",
            "--no-hub",
            "--log-format",
            "json",
            "--listen",
            listen,
        ]);
        let program = Program::spawn(command);
        let ip = program.address().ip();
        assert_eq!(ip.is_loopback(), !is_public, "{ip}");
        assert_eq!(ip.is_unspecified(), is_public, "{ip}");
        let local = SocketAddr::from(([127, 0, 0, 1], program.address().port()));
        assert_eq!(get(local, "/healthz", &[]).status, 200);
    }
}

#[test]
fn variables_that_do_not_exist_are_named_in_a_warning() {
    let mut command = command();
    command.args(["serve", "--no-hub"]).args(LISTEN);
    command.env("REVIEWD_BASEURL", "https://brightsmile.test");
    command.env("REVIEWD_PORT_80_TCP_ADDR", "10.0.0.1");
    command.env("REVIEWD_IMPORT_STRICT", "true");
    let program = Program::spawn(command);
    let warning = program.seen("REVIEWD_BASEURL");
    assert!(warning.contains("\"WARN\""), "{warning}");
    assert!(
        warning.contains("did you mean REVIEWD_BASE_URL?"),
        "{warning}"
    );
    // Kubernetes sets the first, and `import` reads the second.
    assert!(!program.has_seen("REVIEWD_PORT"));
    assert!(!program.has_seen("REVIEWD_IMPORT"));
}

#[test]
fn config_warns_of_what_serve_would_warn_of_or_refuse() {
    let mut command = command();
    command.args([
        "config",
        "--listen",
        ":8080",
        "--base-url",
        "https://reviews.example",
    ]);
    command.args(["--tls-cert", "/nowhere/cert.pem", "--tls-key", "/dev/null"]);
    command.env("REVIEWD_BASEURL", "https://brightsmile.test");
    let ended = Ended::of(&mut command);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    for said in [
        "warning: the environment variable REVIEWD_BASEURL is not known",
        "warning: --base-url https://reviews.example: names under .example are placeholders",
        "warning: --tls-cert /nowhere/cert.pem: ",
    ] {
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
}

#[test]
fn temporary_files_of_killed_processes_are_removed_at_the_next_start() {
    let state = tempfile::tempdir().unwrap();
    let path = |name: &str| state.path().join(name);
    // No process has this id (the limit is 4,194,304), and this process is alive.
    let dead = ["content-date.4194305.new", "writable.4194305"];
    let alive = format!("content-date.{}.new", std::process::id());
    let others = ["content-date.bak.new", "notes.new", &alive];
    for name in dead.iter().chain(&others) {
        std::fs::write(path(name), "").unwrap();
    }
    Program::serve(&["--state", state.path().to_str().unwrap()]).stop();
    for name in dead {
        assert!(!path(name).exists(), "{name}");
    }
    for name in others {
        assert!(path(name).exists(), "{name}");
    }
}

#[test]
fn a_start_with_too_little_memory_names_the_limit() {
    let mut shell = shell();
    // 80 MiB, in KiB: enough to log, too little to serve.
    let script = "ulimit -v 81920 && exec \"$@\"";
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_reviewd"), "serve"]);
    let ended = Ended::of(shell.args(["--no-hub", "--listen", "127.0.0.1:0"]));
    assert_ne!(ended.status, Some(0));
    assert!(ended.stderr.contains("ulimit -v"), "{}", ended.stderr);
}
