//! Existing state directories: made by `mkdir`, volumes of containers, and Kubernetes volumes with `fsGroup`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::json;

use super::rig::{BASE, post};
use crate::support::program::{LISTEN, command};
use crate::support::{Program, get, wait_until};

/// The user and group of the containers in `deploy/`.
const CONTAINER_ID: u32 = 65532;

const WARNING: &str = "every user of this machine can write to the state directory";

/// Makes a state directory that contains a foreign file.
fn make(path: &Path, mode: u32) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("lost+found"), "x").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Starts the program on the state directory, as `user` if given.
fn serve(state: &Path, user: Option<u32>) -> Program {
    let mut command = command();
    command.arg("serve").args(LISTEN).args(["--base-url", BASE]);
    command
        .args(["--allow-private-callbacks", "--state"])
        .arg(state);
    if let Some(id) = user {
        command.uid(id).gid(id);
    }
    Program::spawn(command)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Checks that the hub works, that its files have mode 0600, and that the directory's mode is unchanged.
fn assert_works(program: &Program, state: &Path, directory_mode: u32) {
    let address = program.address();
    let ask = || post(address, "subscribe", "https://127.0.0.1:1024/", 1000).status;
    wait_until("the hub takes requests", || ask() == 202);
    let ready = get(address, "/readyz", &[]);
    assert_eq!((ready.status, &ready.json()["reasons"]), (200, &json!([])));
    assert!(state.join("hub.sqlite3").exists());
    for entry in fs::read_dir(state).unwrap().flatten() {
        if entry.file_name() != "lost+found" {
            assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        }
    }
    assert_eq!(mode(state), directory_mode);
}

#[test]
fn an_existing_directory_of_any_mode_is_used_with_a_warning_if_world_writable() {
    let temp = tempfile::tempdir().unwrap();
    for directory_mode in [0o700, 0o755, 0o2775, 0o777] {
        let state = temp.path().join(format!("{directory_mode:o}"));
        make(&state, directory_mode);
        let program = serve(&state, None);
        assert_works(&program, &state, directory_mode);
        let is_open = directory_mode == 0o777;
        assert_eq!(program.has_seen(WARNING), is_open, "{directory_mode:o}");
        drop(program);
        // A volume or a restored copy may have widened the modes of the files; startup sets them back.
        for name in ["hub.sqlite3", "hub.sqlite3-wal", "hub.lock"] {
            fs::set_permissions(state.join(name), Permissions::from_mode(0o664)).unwrap();
        }
        assert_works(&serve(&state, None), &state, directory_mode);
    }
    // A named Docker volume has the owner and mode of the image's directory; a Kubernetes volume with `fsGroup` belongs
    // to root and that group, and is setgid and writable by the group.
    fs::set_permissions(temp.path(), Permissions::from_mode(0o755)).unwrap();
    for (owner, directory_mode) in [(CONTAINER_ID, 0o755), (0, 0o2775)] {
        let state = temp.path().join(format!("volume-{directory_mode:o}"));
        make(&state, directory_mode);
        if chown(&state, Some(owner), Some(CONTAINER_ID)).is_err() {
            println!("SKIPPED: only root can give a directory away");
            return;
        }
        // `chown` clears the setgid bit.
        fs::set_permissions(&state, Permissions::from_mode(directory_mode)).unwrap();
        assert_works(&serve(&state, Some(CONTAINER_ID)), &state, directory_mode);
    }
}

#[test]
fn a_damaged_store_makes_the_service_not_ready_unless_the_hub_is_off() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("state");
    make(&state, 0o700);
    fs::write(state.join("hub.sqlite3"), "x".repeat(512)).unwrap();
    let program = serve(&state, None);
    let address = program.address();
    let ready = || get(address, "/readyz", &[]);
    wait_until("not ready", || ready().status == 503);
    let reason = &ready().json()["reasons"][0];
    let code = &reason["code"];
    let is_blocking = &reason["blocking"];
    assert_eq!((code, is_blocking), (&json!("hub_store"), &json!(true)));
    assert_eq!(get(address, "/reviews.json", &[]).status, 200);
    fs::remove_file(state.join("hub.sqlite3")).unwrap();
    wait_until("ready", || ready().status == 200);
    fs::write(state.join("hub.sqlite3"), "x".repeat(512)).unwrap();
    let without = Program::serve(&["--no-hub", "--state", state.to_str().unwrap()]);
    assert_eq!(get(without.address(), "/readyz", &[]).status, 200);
}
