//! Sockets that the process which starts the program passes on, and descriptors that are none.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};

use super::one_line;

/// Runs `reviewd serve` with `descriptor` as the socket that it is handed.
fn handed(descriptor: OwnedFd, count: &str) -> Output {
    let script = format!("exec 3<&0 </dev/null; LISTEN_FDS={count} LISTEN_PID=$$ exec \"$@\"");
    let temp = tempfile::tempdir().unwrap();
    Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_reviewd"), "serve"])
        .env("REVIEWD_STATE", temp.path())
        .stdin(Stdio::from(descriptor))
        .output()
        .unwrap()
}

#[test]
fn what_is_handed_over_and_is_no_listening_socket_of_tcp_is_78_and_named() {
    let temp = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let unix = UnixListener::bind(temp.path().join("socket")).unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    for descriptor in [connected.into(), udp.into(), unix.into(), file.into()] {
        let said = one_line(&handed(descriptor, "1"), 78, "no listening socket");
        assert!(
            said.contains("LISTEN_FDS: ") && said.contains("is not a listening"),
            "{said}"
        );
    }
    let said = one_line(&handed(listener.into(), "2"), 78, "two sockets");
    assert!(said.contains("LISTEN_FDS: 2 sockets"), "{said}");
    let mut shell = Command::new("sh");
    let script = "exec 3<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"";
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_reviewd"), "serve"]);
    let said = one_line(&shell.output().unwrap(), 78, "closed");
    assert!(said.contains("LISTEN_FDS: "), "{said}");
}
