//! Faults of the machine: killed under load, a state directory that cannot be written, no descriptors. Others have
//! their tests where their subject is: a full disk and clocks in `hub`, data that are gone in `reload`.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::manners::{Load, activated};
use crate::settings::assert_state_is_refused;
use crate::support::{Connection, Program, get, send, wait_until};

/// Each of the four clients may lose the one request that it is at; whatever waits in the socket is answered.
#[test]
fn killed_under_load_nothing_but_what_was_under_way_is_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = activated(&listener, &[]);
    let load = Load::on(address);
    load.wait_for(200);
    old.signal("KILL");
    assert_eq!(old.wait().0, None);
    let new = activated(&listener, &[]);
    load.wait_for(200);
    let (answered, lost) = load.end();
    assert!(lost.len() <= 4, "of {answered}: {lost:?}");
    assert_eq!(get(new.address(), "/readyz", &[]).json()["ready"], true);
}

/// A file system of a megabyte; unmounted at the end.
struct Mount(tempfile::TempDir);

impl Mount {
    /// Mounts an empty one; `None` where that is not permitted.
    fn new() -> Option<Mount> {
        let mount = Mount(tempfile::tempdir().unwrap());
        let options = ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"];
        let mounted = Command::new("mount")
            .args(options)
            .arg(mount.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(mount)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes it writable (`rw`) or not (`ro`).
    fn make(&self, how: &str) {
        let options = format!("remount,{how}");
        let status = Command::new("mount")
            .args(["-o", &options])
            .arg(self.path())
            .status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: the store may still be open.
        let _unmounted = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}

#[test]
fn a_state_directory_that_is_read_only_costs_the_hub_and_no_read_until_it_is_mended() {
    let Some(mount) = Mount::new() else {
        println!("SKIPPED: nothing can be mounted here");
        return;
    };
    mount.make("ro");
    // Where there never was a state it is the wrong place for one.
    assert_state_is_refused(mount.path());
    mount.make("rw");
    let before = Program::serve(&["--state", mount.path().to_str().unwrap()]);
    before.signal("TERM");
    assert_eq!(before.wait().0, Some(0));
    mount.make("ro");
    let program = Program::serve(&["--state", mount.path().to_str().unwrap()]);
    let address = program.address();
    let subscribe = || {
        let body = format!(
            "hub.mode=subscribe&hub.topic=http://{address}/feed.xml&hub.callback=https://subscriber.example/"
        );
        let fields = [("Content-Type", "application/x-www-form-urlencoded")];
        send(address, "POST", "/api/websub/hub", &fields, body.as_bytes()).status
    };
    wait_until("the reason", || {
        get(address, "/readyz", &[]).text().contains("hub_store")
    });
    assert_eq!(get(address, "/readyz", &[]).status, 200);
    assert_eq!(get(address, "/reviews.json", &[]).status, 200);
    assert_eq!(subscribe(), 503);
    mount.make("rw");
    wait_until("it is taken", || subscribe() == 202);
    wait_until("no reason", || {
        !get(address, "/readyz", &[]).text().contains("hub_store")
    });
}

/// Those that are open are served while no other can be accepted.
#[test]
fn without_descriptors_open_connections_are_served_and_the_rest_later() {
    let program = Program::serve_with_descriptors(64, &["--threads", "1", "--no-hub"]);
    let mut first = Connection::open(program.address());
    assert_eq!(first.get("/healthz").status, 200);
    let crowd: Vec<_> = (0..80)
        .map(|_| Connection::open(program.address()))
        .collect();
    program.wait_for_log("a connection could not be accepted");
    assert_eq!(first.get("/reviews.json").status, 200);
    drop(crowd);
    assert_eq!(get(program.address(), "/reviews.json", &[]).status, 200);
}
