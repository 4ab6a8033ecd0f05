//! State directories that existed before: made by `mkdir`, a volume of a container, one of Kubernetes with `fsGroup`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;

use super::chaos::post;
use crate::support::program::command;
use crate::support::{Program, get, wait_until};

/// The user and group of the containers in `deploy/`.
const CONTAINER_ID: u32 = 65532;

const WARNING: &str = "every user of this machine can write to the state directory";

/// Makes the directory of a state beside files that are not ours.
fn make(path: &Path, mode: u32) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("lost+found"), "x").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Starts the program on the state directory, as `user` where one is given.
fn serve(state: &Path, user: Option<u32>) -> Program {
    let mut command = command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    command.args([
        "--base-url",
        "https://reviews.example",
        "--allow-private-callbacks",
    ]);
    command.arg("--state").arg(state);
    if let Some(id) = user {
        command.uid(id).gid(id);
    }
    Program::spawn(command)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// The hub works, its files are its owner's alone, and the directory is as it was.
fn assert_works(program: &Program, state: &Path, directory_mode: u32) {
    let address = program.address();
    let ask = || post(address, "subscribe", "https://127.0.0.1:1024/", 1000).status;
    wait_until("the hub takes requests", || ask() == 202);
    let ready = get(address, "/readyz", &[]);
    assert_eq!(
        (ready.status, &ready.json()["reasons"]),
        (200, &serde_json::json!([]))
    );
    let mut names = Vec::new();
    for entry in fs::read_dir(state).unwrap() {
        let (path, name) = entry
            .map(|entry| (entry.path(), entry.file_name()))
            .unwrap();
        if name == "lost+found" {
            continue;
        }
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(name);
    }
    assert!(names.iter().any(|name| name == "hub.sqlite3"), "{names:?}");
    assert_eq!(mode(state), directory_mode);
}

#[test]
fn a_directory_made_before_is_used_whatever_its_mode_and_a_warning_says_who_can_write() {
    let temp = tempfile::tempdir().unwrap();
    for (directory_mode, is_warned) in [
        (0o700, false),
        (0o755, false),
        (0o2775, false),
        (0o777, true),
    ] {
        let state = temp.path().join(format!("{directory_mode:o}"));
        make(&state, directory_mode);
        let program = serve(&state, None);
        assert_works(&program, &state, directory_mode);
        assert_eq!(program.has_seen(WARNING), is_warned, "{directory_mode:o}");
        drop(program);
        // A volume, or a restored copy, opened the files to others. What is derived from the data is no secret.
        for name in ["hub.sqlite3", "hub.sqlite3-wal", "hub.lock"] {
            fs::set_permissions(state.join(name), Permissions::from_mode(0o664)).unwrap();
        }
        assert_works(&serve(&state, None), &state, directory_mode);
    }
}

/// A named volume of Docker takes over owner and mode of the image's directory; Kubernetes gives a volume to `fsGroup`,
/// leaves it to root and sets the group's bits.
#[test]
fn the_containers_user_can_use_the_volumes_that_it_is_given() {
    let temp = tempfile::tempdir().unwrap();
    fs::set_permissions(temp.path(), Permissions::from_mode(0o755)).unwrap();
    for (name, user, directory_mode) in [("docker", CONTAINER_ID, 0o755), ("kubernetes", 0, 0o2775)]
    {
        let state = temp.path().join(name);
        make(&state, directory_mode);
        if chown(&state, Some(user), Some(CONTAINER_ID)).is_err() {
            println!("SKIPPED: only root can give a directory away");
            return;
        }
        // Changing the owner takes the bit of the group away.
        fs::set_permissions(&state, Permissions::from_mode(directory_mode)).unwrap();
        assert_works(&serve(&state, Some(CONTAINER_ID)), &state, directory_mode);
    }
}

#[test]
fn a_hub_that_only_the_operator_can_mend_is_not_ready_unless_there_is_to_be_none() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("state");
    make(&state, 0o700);
    fs::write(state.join("hub.sqlite3"), "x".repeat(512)).unwrap();
    let program = serve(&state, None);
    let address = program.address();
    wait_until("not ready", || get(address, "/readyz", &[]).status == 503);
    let reason = &get(address, "/readyz", &[]).json()["reasons"][0];
    assert_eq!(
        (&reason["code"], &reason["blocking"]),
        (&"hub_store".into(), &true.into())
    );
    assert_eq!(get(address, "/reviews.json", &[]).status, 200);
    fs::remove_file(state.join("hub.sqlite3")).unwrap();
    wait_until("ready", || get(address, "/readyz", &[]).status == 200);
    fs::write(state.join("hub.sqlite3"), "x".repeat(512)).unwrap();
    let without = Program::serve(&["--no-hub", "--state", state.to_str().unwrap()]);
    assert_eq!(get(without.address(), "/readyz", &[]).status, 200);
}
