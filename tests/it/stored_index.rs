//! The index of the texts in the state directory: a restart reads it, and what does not fit is built anew.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use reviewd::server::DataSource;
use tempfile::TempDir;

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Program, Server, get, wait_until};

const FIRST: &str = "2026-01-01T00:00:00Z";
const SECOND: &str = "2026-01-02T00:00:00Z";
const THIRD: &str = "2026-01-03T00:00:00Z";

const SEARCHES: [&str; 5] = [
    "/api/reviews/search?query=number+1",
    "/api/reviews/search?query=practice&sort=oldest&limit=3",
    "/api/reviews/search?query=e&rating=4",
    "/api/reviews/search?query=no+such+words",
    "/api/reviews/search?query=.",
];

/// Data, a state directory, and what was logged while a server started.
struct Place {
    data: DataDir,
    state: TempDir,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Place {
    fn new() -> Place {
        Place {
            data: DataDir::with_reviews(60, FIRST),
            state: tempfile::tempdir().unwrap(),
            log: Arc::default(),
        }
    }

    fn file(&self) -> PathBuf {
        self.state.path().join("state").join("search-index")
    }

    fn start(&self) -> Server {
        self.start_within(64 << 20)
    }

    /// Starts a server that keeps its index however small, and remembers what is logged meanwhile.
    fn start_within(&self, search_memory: u64) -> Server {
        self.log.lock().unwrap().clear();
        let log = Arc::clone(&self.log);
        let collector = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || Log(Arc::clone(&log)))
            .finish();
        tracing::subscriber::with_default(collector, || {
            Server::start_with(|config| {
                config.data = DataSource::Directory(self.data.path().to_owned());
                config.search_memory = Some(search_memory);
                config.cache = Some(self.file().parent().unwrap().to_owned());
            })
        })
    }

    /// Returns the lines about the index that the last start has logged.
    fn lines(&self) -> Vec<String> {
        let log = String::from_utf8(self.log.lock().unwrap().clone()).unwrap();
        let about_index = log.lines().filter(|line| line.contains("search index"));
        about_index.map(ToOwned::to_owned).collect()
    }

    /// Starts a server once, so that the index is stored.
    fn store(&self) {
        let server = self.start();
        assert_eq!(self.lines().len(), 1, "{:?}", self.lines());
        assert!(self.lines()[0].contains("there is none yet"));
        self.wait_until_stored();
        assert!(server.shutdown());
    }

    fn wait_until_stored(&self) {
        wait_until("the index is stored", || {
            fs::symlink_metadata(self.file()).is_ok_and(|file| file.is_file() && file.len() > 0)
        });
    }
}

/// Appends what is logged.
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_restored(server: &Server) -> bool {
    let site = server.running().app().current();
    site.snapshot().index.is_restored()
}

fn answers(server: &Server) -> Vec<Vec<u8>> {
    SEARCHES
        .iter()
        .map(|target| server.get(target).body)
        .collect()
}

#[test]
fn a_restart_reads_the_stored_index_and_answers_the_same() {
    let place = Place::new();
    let server = place.start();
    assert!(!is_restored(&server));
    let built = answers(&server);
    place.wait_until_stored();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = place.file().parent().unwrap().to_owned();
    assert_eq!((mode(&place.file()), mode(&directory)), (0o600, 0o700));
    assert!(!place.file().with_extension("new").exists());
    assert!(server.shutdown());

    let server = place.start();
    assert!(is_restored(&server));
    assert_eq!(place.lines().len(), 1);
    assert!(place.lines()[0].contains("the stored search index is used"));
    assert_eq!(answers(&server), built);
}

/// Puts something in place of the stored index, starts a server, and checks that it serves, says `reason` in one
/// line, and stores its own index in the end.
#[track_caller]
fn assert_built_anew(reason: &str, level: &str, damage: impl FnOnce(&Path)) {
    let place = Place::new();
    place.store();
    let whole = fs::read(place.file()).unwrap();
    damage(&place.file());
    let server = place.start();
    assert!(!is_restored(&server), "{reason}");
    let lines = place.lines();
    assert_eq!(lines.len(), 1, "{reason}: {lines:?}");
    assert!(
        lines[0].contains(reason) && lines[0].contains(level),
        "{reason}: {lines:?}"
    );
    assert_eq!(server.get(SEARCHES[0]).json()["matched"], 11, "{reason}");
    let stored = place.file();
    wait_until("the index is stored again", || {
        fs::symlink_metadata(&stored)
            .is_ok_and(|file| file.is_file() && file.len() == whole.len() as u64)
            && fs::read(&stored).is_ok_and(|bytes| bytes == whole)
    });
    assert!(server.shutdown());
    assert!(is_restored(&place.start()), "{reason}");
}

/// Changes the bytes of the file by `change`.
fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_truncated_index_is_built_anew() {
    assert_built_anew("it is damaged", "WARN", |path| {
        rewrite(path, |bytes| bytes.truncate(bytes.len() - 1));
    });
}

#[test]
fn an_index_with_a_changed_byte_is_built_anew() {
    assert_built_anew("it is damaged", "WARN", |path| {
        rewrite(path, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x40;
        });
    });
}

#[test]
fn a_foreign_an_empty_and_an_older_file_are_built_anew() {
    for damage in [
        (|path| fs::write(path, "something else").unwrap()) as fn(&Path),
        |path| fs::write(path, "").unwrap(),
        |path| rewrite(path, |bytes| bytes[15] -= 1),
        |path| rewrite(path, |bytes| bytes[15] += 1),
    ] {
        assert_built_anew("it is not an index of this version", "INFO", damage);
    }
}

#[test]
fn a_file_of_a_terabyte_is_not_read() {
    assert_built_anew("it is damaged", "WARN", |path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
    });
}

#[test]
fn a_pipe_or_a_link_in_place_of_the_index_is_replaced_and_not_followed() {
    assert_built_anew("it is not a regular file", "WARN", |path| {
        fs::remove_file(path).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    });
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("precious");
    fs::write(&target, "precious").unwrap();
    assert_built_anew("it is not a regular file", "WARN", |path| {
        fs::remove_file(path).unwrap();
        symlink(&target, path).unwrap();
        symlink(&target, path.with_extension("new")).unwrap();
    });
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

#[test]
fn an_index_within_another_budget_is_built_anew() {
    let place = Place::new();
    place.store();
    let server = place.start_within(32 << 20);
    assert!(!is_restored(&server));
    assert_eq!(place.lines().len(), 1);
    assert!(
        place.lines()[0].contains("another --search-memory"),
        "{:?}",
        place.lines()
    );
}

#[test]
fn a_directory_in_place_of_the_index_costs_no_more_than_the_index() {
    let place = Place::new();
    fs::create_dir_all(place.file().join("inner")).unwrap();
    let server = place.start();
    assert!(place.lines()[0].contains("it is not a regular file"));
    assert_eq!(server.get(SEARCHES[0]).json()["matched"], 11);
    let draft = place.file().with_extension("new");
    wait_until("the draft is given up", || !draft.exists());
    assert!(place.file().join("inner").exists());
}

#[test]
fn a_state_directory_that_cannot_be_had_costs_no_more_than_the_index() {
    let place = Place::new();
    fs::write(place.file().parent().unwrap(), "a file").unwrap();
    let server = place.start();
    assert!(!is_restored(&server));
    assert_eq!(place.lines().len(), 1);
    assert_eq!(server.get(SEARCHES[0]).json()["matched"], 11);
    assert!(server.shutdown());
    assert_eq!(fs::read(place.file().parent().unwrap()).unwrap(), b"a file");
}

#[test]
fn what_a_killed_process_has_left_is_removed() {
    let place = Place::new();
    place.store();
    let draft = place.file().with_extension("new");
    fs::write(&draft, "half an index").unwrap();
    let server = place.start();
    assert!(is_restored(&server));
    assert!(!draft.exists());
}

#[test]
fn a_reload_with_the_same_texts_reads_the_index_and_one_with_others_replaces_it() {
    let place = Place::new();
    let server = place.start();
    place.wait_until_stored();
    let stored = fs::read(place.file()).unwrap();
    let served = |date: &str| {
        let first = server.get("/reviews.json").json();
        first["updated_at"] == *date
    };
    let renamed = reviews_json(60, SECOND).replace("Author 7", "Renamed");
    place.data.write("reviews.json", &renamed);
    wait_until("the renamed author is served", || served(SECOND));
    assert!(is_restored(&server));

    place.data.write("reviews.json", &reviews_json(61, THIRD));
    wait_until("one review more is served", || served(THIRD));
    assert!(!is_restored(&server));
    wait_until("the other index is stored", || {
        fs::read(place.file()).is_ok_and(|bytes| bytes != stored)
    });
    assert!(server.shutdown());
    assert!(is_restored(&place.start()));
}

#[test]
fn few_texts_are_not_stored() {
    let place = Place::new();
    let server = Server::start_with(|config| {
        config.data = DataSource::Directory(place.data.path().to_owned());
        config.cache = Some(place.file().parent().unwrap().to_owned());
        config.index_texts_min = 1 << 20;
    });
    assert!(server.shutdown());
    assert!(!place.file().exists());
}

#[test]
fn a_full_disk_costs_no_more_than_the_index() {
    let data = DataDir::empty();
    let long = "words of this practice and others ".repeat(1_600);
    let one = reviews_json(21, FIRST);
    data.write("reviews.json", &one.replace("of this practice", &long));
    let state = tempfile::tempdir().unwrap();
    // A limit of the shell on the size of files refuses what is written as a full disk does.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"])
        .args([
            env!("CARGO_BIN_EXE_reviewd"),
            "serve",
            "--no-hub",
            "--log-format",
            "json",
        ])
        .args([
            "--listen",
            "127.0.0.1:0",
            "--data",
            data.path().to_str().unwrap(),
        ])
        .args(["--session-key", &"0".repeat(64), "--state"])
        .arg(state.path());
    let program = Program::spawn(shell);
    let line = program.wait_for_log("the search index cannot be stored");
    assert!(line.contains("WARN"), "{line}");
    let found = get(program.address(), "/api/reviews/search?query=others", &[]);
    assert_eq!(found.json()["matched"], 21);
    let left = fs::read_dir(state.path()).unwrap().flatten();
    let mut names = left.map(|entry| entry.file_name());
    assert!(names.all(|name| !name.to_string_lossy().starts_with("search-index")));
}
