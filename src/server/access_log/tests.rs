//! Log lines, and a full disk.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use arrayvec::ArrayString;

use std::time::Duration;

use super::*;

fn entry(path: &str) -> LogEntry {
    LogEntry {
        unix_ms: 1_800_000_000_007,
        client: "::ffff:192.0.2.1".parse::<IpAddr>().unwrap(),
        method: ArrayString::from("GET").unwrap(),
        path: path.to_owned(),
        status: 200,
        bytes: 12,
        elapsed: Duration::from_micros(34),
        trace: None,
    }
}

fn line(entry: &LogEntry) -> String {
    let mut out = Vec::new();
    render(entry, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_path_cannot_break_its_line_or_steer_a_terminal() {
    let line = line(&entry("/\u{202e}\u{1b}[2J\"\\ é"));
    let path = r#""path":"/%E2%80%AE%1B[2J\"\\%20%C3%A9""#;
    assert!(line.contains(path), "{line}");
    let mut characters = line.trim_end().chars();
    assert!(characters.all(|character| (' '..='~').contains(&character)));
}

/// Accepts bytes up to `room`, and then fails until `room` grows.
#[derive(Clone, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Arc<AtomicUsize>,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.bytes.lock().unwrap();
        let taken = bytes.len().min(self.room.load(Relaxed) - held.len());
        held.extend_from_slice(&bytes[..taken]);
        match taken {
            0 => Err(io::ErrorKind::StorageFull.into()),
            taken => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn writer(path: Option<PathBuf>, out: impl Write + Send + 'static) -> (Writer, Arc<WriterStats>) {
    let stats = Arc::<WriterStats>::default();
    let writer = Writer::new(path, Box::new(out), Arc::clone(&stats));
    (writer, stats)
}

fn put(writer: &mut Writer, path: &str) {
    render(&entry(path), &mut writer.batch);
}

#[test]
fn a_line_is_bounded_whatever_is_asked() {
    let mut longest = entry(&"\u{e9}".repeat(128));
    longest.client = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap();
    longest.method = ArrayString::from(&"M".repeat(16)).unwrap();
    (longest.status, longest.bytes) = (u16::MAX, u64::MAX);
    longest.elapsed = Duration::MAX;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    longest.trace = ArrayString::from(parent).ok();
    let length = line(&longest).len();
    assert!((1_000..1_100).contains(&length), "{length}");
}

#[test]
fn after_a_full_disk_each_line_stands_alone() {
    let disk = Disk::default();
    let (mut writer, stats) = writer(None, disk.clone());
    let whole = line(&entry("/1")).len();
    disk.room.store(whole + 10, Relaxed);
    put(&mut writer, "/1");
    put(&mut writer, "/2");
    writer.write();
    let counts = || [&stats.written, &stats.failed].map(|count| count.load(Relaxed));
    assert_eq!(counts(), [0, 2]);
    // Still full: nothing is appended to the incomplete line.
    put(&mut writer, "/3");
    writer.write();
    disk.room.store(usize::MAX, Relaxed);
    for path in ["/4", "/5"] {
        put(&mut writer, path);
        writer.write();
    }
    assert_eq!(counts(), [2, 3]);
    let text = String::from_utf8(disk.bytes.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[1].len(), 10);
    for (at, path) in [(0, "/1"), (2, "/4"), (3, "/5")] {
        assert_eq!(format!("{}\n", lines[at]), line(&entry(path)));
    }
}

#[test]
fn after_a_failure_a_line_begins_at_the_top_of_a_new_file_and_on_a_line_of_its_own_in_an_old_one() {
    let directory = tempfile::tempdir().unwrap();
    let whole = line(&entry("/2"));
    for (name, before, expected) in [
        ("new", None, whole.clone()),
        ("old", Some("{\"ti"), format!("{{\"ti\n{whole}")),
    ] {
        let path = directory.path().join(name);
        if let Some(text) = before {
            std::fs::write(&path, text).unwrap();
        }
        let (mut writer, _) = writer(Some(path.clone()), Disk::default());
        put(&mut writer, "/1");
        writer.write();
        writer.reopen();
        put(&mut writer, "/2");
        writer.write();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected, "{name}");
    }
}
