//! Directories for the state: made where they are missing, and refused where they cannot be.

use std::path::Path;

use super::one_line;
use crate::support::Program;
use crate::support::program::command;

#[test]
fn a_state_directory_that_cannot_be_is_78_and_named() {
    let temp = tempfile::tempdir().unwrap();
    let link = temp.path().join("link");
    std::os::unix::fs::symlink("/nowhere/at/all", &link).unwrap();
    let ring = temp.path().join("ring");
    std::os::unix::fs::symlink(&ring, &ring).unwrap();
    let long = temp.path().join("a".repeat(300));
    let file = temp.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let (in_ring, in_file) = (ring.join("below"), file.join("below"));
    for path in [&link, &ring, &in_ring, &long, &file, &in_file] {
        assert_state_is_refused(path);
    }
}

pub(crate) fn assert_state_is_refused(path: &Path) {
    let mut command = command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--state"]);
    let output = command.arg(path).output().unwrap();
    let said = one_line(&output, 78, &path.display().to_string());
    let line = format!(
        "reviewd: cannot write to the state directory {} (--state)",
        path.display()
    );
    assert!(said.starts_with(&line), "{said}");
}

#[test]
fn parents_of_the_state_directory_are_made() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("a/b/state");
    let _program = Program::serve(&["--state", state.to_str().unwrap()]);
    assert!(state.is_dir());
}
