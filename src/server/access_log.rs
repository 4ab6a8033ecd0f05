//! The access log's far end: a thread that writes one JSON object a line, and that no request waits for.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::{self, JoinHandle};

use tokio::time::Instant;
use tracing::{info, warn};

use crate::http::{AccessLog, Entry, Letter};
use crate::wire::date::Timestamp;
use crate::wire::json::{Object, push_string};

use super::clock;
use super::config::AccessLogTarget;

/// The first seconds between two complaints about a log that cannot be written.
const COMPLAINT_INTERVAL: std::time::Duration = std::time::Duration::from_secs(10);

/// Opens the log and starts its writer, which ends after [`AccessLog::stop`].
///
/// # Errors
/// When the file cannot be opened, or the system refuses a thread.
pub(super) fn start(target: &AccessLogTarget) -> io::Result<(AccessLog, JoinHandle<()>)> {
    let (path, out): (_, Box<dyn Write + Send>) = match target {
        AccessLogTarget::Stdout => (None, Box::new(io::stdout())),
        AccessLogTarget::File(path) => (Some(path.clone()), Box::new(open(path)?)),
    };
    let (log, letters) = AccessLog::new();
    let writer = Writer {
        path,
        out: BufWriter::with_capacity(64 << 10, out),
        line: Vec::new(),
        complained: None,
    };
    let thread = thread::Builder::new()
        .name("access-log".to_owned())
        .spawn(move || writer.run(&letters))?;
    Ok((log, thread))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).open(path)
}

struct Writer {
    /// `None` for standard output, which is not opened anew.
    path: Option<PathBuf>,
    out: BufWriter<Box<dyn Write + Send>>,
    line: Vec<u8>,
    complained: Option<Instant>,
}

impl Writer {
    fn run(mut self, letters: &Receiver<Letter>) {
        loop {
            let letter = match letters.try_recv() {
                Ok(letter) => letter,
                Err(TryRecvError::Disconnected) => break,
                // Nothing waits: what has been written shows before the next request.
                Err(TryRecvError::Empty) => {
                    let flushed = self.out.flush();
                    self.judge(flushed);
                    match letters.recv() {
                        Ok(letter) => letter,
                        Err(_) => break,
                    }
                }
            };
            match letter {
                Letter::Entry(entry) => {
                    self.line.clear();
                    render(&entry, &mut self.line);
                    let written = self.out.write_all(&self.line);
                    self.judge(written);
                }
                Letter::Reopen => self.reopen(),
                Letter::Stop => break,
            }
        }
        let flushed = self.out.flush();
        self.judge(flushed);
    }

    /// Opens the file anew under its name; one that cannot be opened leaves the log where it is.
    fn reopen(&mut self) {
        let Some(path) = &self.path else {
            return;
        };
        match open(path) {
            Ok(file) => {
                let file = BufWriter::with_capacity(64 << 10, Box::new(file) as _);
                let flushed = std::mem::replace(&mut self.out, file).flush();
                info!(file = %path.display(), "the access log was opened anew");
                self.judge(flushed);
            }
            Err(error) => {
                warn!(file = %path.display(), %error, "the access log cannot be opened anew, the old file is written on");
            }
        }
    }

    /// Complains from time to time about what could not be written. Serving goes on without it.
    fn judge(&mut self, outcome: io::Result<()>) {
        let Err(error) = outcome else {
            return;
        };
        let now = clock::instant();
        let recent = |at: Instant| now - at < COMPLAINT_INTERVAL;
        if !self.complained.is_some_and(recent) {
            self.complained = Some(now);
            warn!(%error, "the access log cannot be written, lines are lost");
        }
        // What is buffered would be tried again with every line, and never end.
        self.forget();
    }

    /// Throws away what is buffered.
    fn forget(&mut self) {
        let path = self.path.as_deref();
        let out: Box<dyn Write + Send> = match path.map(open) {
            Some(Ok(file)) => Box::new(file),
            Some(Err(_)) => Box::new(io::sink()),
            None => Box::new(io::stdout()),
        };
        let broken = std::mem::replace(&mut self.out, BufWriter::with_capacity(64 << 10, out));
        // Taken apart, so that its end does not write once more.
        let (_file, _lost) = broken.into_parts();
    }
}

/// Appends one line.
fn render(entry: &Entry, out: &mut Vec<u8>) {
    let time = Timestamp::from_unix(entry.unix_ms.div_euclid(1_000)).render_rfc3339();
    let time = String::from_utf8_lossy(&time[..19]).into_owned();
    let ms = entry.unix_ms.rem_euclid(1_000);
    let mut object = Object::begin(out);
    object
        .string("time", &format!("{time}.{ms:03}Z"))
        .string("client", &entry.client.to_canonical().to_string())
        .string("method", entry.method.as_str())
        .string("path", &escaped(&entry.path))
        .u64("status", u64::from(entry.status))
        .u64("bytes", entry.bytes);
    let elapsed_us = u64::try_from(entry.elapsed.as_micros()).unwrap_or(u64::MAX);
    object.u64("duration_us", elapsed_us);
    let trace = object.key("traceparent");
    match &entry.trace {
        Some(parent) => push_string(trace, parent.as_str()),
        None => trace.extend_from_slice(b"null"),
    }
    object.end();
    out.push(b'\n');
}

/// Escapes what is no visible ASCII as a URL would: nothing that a client sends can steer a terminal or look like
/// another line.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'!'..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use super::*;
    use crate::wire::trace::TraceParent;

    fn entry(path: &str) -> Entry {
        Entry {
            unix_ms: 1_800_000_000_007,
            client: "::ffff:192.0.2.1".parse::<IpAddr>().unwrap(),
            method: hyper::Method::GET,
            path: path.to_owned(),
            status: 200,
            bytes: 12,
            elapsed: Duration::from_micros(34),
            trace: None,
        }
    }

    fn line(entry: &Entry) -> String {
        let mut out = Vec::new();
        render(entry, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_entry_is_one_line_of_json() {
        let mut entry = entry("/a");
        let expected = "{\"time\":\"2027-01-15T08:00:00.007Z\",\"client\":\"192.0.2.1\",\"method\":\"GET\",\
             \"path\":\"/a\",\"status\":200,\"bytes\":12,\"duration_us\":34,\"traceparent\":null}\n";
        assert_eq!(line(&entry), expected);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        entry.trace = TraceParent::parse(parent.as_bytes());
        assert!(line(&entry).ends_with(&format!(",\"traceparent\":\"{parent}\"}}\n")));
    }

    #[test]
    fn a_path_cannot_break_its_line_or_steer_a_terminal() {
        let line = line(&entry("/\u{202e}\u{1b}[2J\"\\ é"));
        assert!(
            line.contains(r#""path":"/%E2%80%AE%1B[2J\"\\%20%C3%A9""#),
            "{line}"
        );
        assert!(
            line.trim_end()
                .bytes()
                .all(|byte| (b' '..=b'~').contains(&byte))
        );
    }

    #[test]
    fn a_file_that_was_moved_away_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let (path, moved) = (
            directory.path().join("access.log"),
            directory.path().join("access.log.1"),
        );
        let mut writer = Writer {
            path: Some(path.clone()),
            out: BufWriter::new(Box::new(open(&path).unwrap())),
            line: Vec::new(),
            complained: None,
        };
        let (_log, letters) = {
            let (queue, letters) = std::sync::mpsc::sync_channel(8);
            for letter in [
                Letter::Entry(entry("/1")),
                Letter::Reopen,
                Letter::Entry(entry("/2")),
                Letter::Stop,
            ] {
                queue.send(letter).unwrap();
            }
            (queue, letters)
        };
        std::fs::rename(&path, &moved).unwrap();
        writer.line.clear();
        writer.run(&letters);
        assert!(std::fs::read_to_string(&moved).unwrap().contains("\"/1\""));
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"/2\""));
    }

    #[test]
    fn a_full_disk_costs_lines_and_nothing_else() {
        let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
            return;
        };
        let (queue, letters) = std::sync::mpsc::sync_channel(4);
        queue.send(Letter::Entry(entry("/1"))).unwrap();
        queue.send(Letter::Stop).unwrap();
        let writer = Writer {
            path: Some("/dev/full".into()),
            out: BufWriter::new(Box::new(full)),
            line: Vec::new(),
            complained: None,
        };
        writer.run(&letters);
    }
}
