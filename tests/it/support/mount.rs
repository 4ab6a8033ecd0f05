//! A small tmpfs, if mounting is permitted, which tests can fill, empty again, and make read-only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of [`MOUNT_BYTES`]; unmounted at the end.
pub(crate) struct Mount(tempfile::TempDir);

/// Its capacity.
const MOUNT_BYTES: usize = 1 << 20;

impl Mount {
    /// Mounts an empty file system; if that is not permitted, prints a message and returns `None`.
    pub(crate) fn new() -> Option<Mount> {
        let mount = Mount(tempfile::tempdir().unwrap());
        let options = format!("size={MOUNT_BYTES},mode=700");
        if mount.run(&["-t", "tmpfs", "-o", &options, "tmpfs"]) {
            return Some(mount);
        }
        println!("SKIPPED: nothing can be mounted here");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path as text, for flags.
    pub(crate) fn text(&self) -> &str {
        self.path().to_str().unwrap()
    }

    /// Makes it writable (`rw`) or not (`ro`).
    pub(crate) fn make(&self, how: &str) {
        assert!(self.run(&["-o", &format!("remount,{how}")]));
    }

    /// Runs `mount` on its directory; false if it fails.
    fn run(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("mount");
        let output = command.args(arguments).arg(self.path()).output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Fills the remaining space.
    pub(crate) fn fill(&self) {
        let written = fs::write(self.filler(), vec![0; 2 * MOUNT_BYTES]);
        assert!(written.is_err(), "it is full now");
    }

    /// Frees that space again.
    pub(crate) fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily, because the tested program may still have files open there.
        let _unmounted = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}
