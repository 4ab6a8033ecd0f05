//! The file of a killed writer, and lines that cannot be written.

use std::fs;
use std::io::Read;

use super::*;

/// An output that appends to the file at `path`.
fn output(path: &Path) -> LogOutput {
    LogOutput::new(Log::Requests, LogFile::open(path).unwrap())
}

/// Adds a line like the thread does.
fn put(output: &mut LogOutput, line: &str) {
    counts(output.log)
        .queued_bytes
        .fetch_add(line.len(), Relaxed);
    output.waiting.extend(line.bytes());
}

#[test]
fn the_torn_last_line_of_a_killed_process_is_ended_before_the_next_line() {
    let directory = tempfile::tempdir().unwrap();
    for (before, expected) in [
        ("", "{}\n"),
        ("{\"a\":1}\n", "{\"a\":1}\n{}\n"),
        ("{\"a", "{\"a\n{}\n"),
    ] {
        let path = directory.path().join("access.log");
        fs::write(&path, before).unwrap();
        let mut output = output(&path);
        put(&mut output, "{}\n");
        while !output.is_empty() {
            output.write();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{before:?}");
    }
}

#[test]
fn a_line_that_was_written_in_part_is_completed_after_a_failure() {
    let (mut reader, writer) = io::pipe().unwrap();
    let file = LogFile::of(File::from(std::os::fd::OwnedFd::from(writer)), None).unwrap();
    let mut output = LogOutput::new(Log::Requests, file);
    put(&mut output, "first\nsecond\nthird\n");
    output.destination.file.write_all(b"first\nsec").unwrap();
    output.note_written(9);
    output.fail(&ErrorKind::Other.into());
    put(&mut output, "fourth\n");
    while !output.is_empty() {
        output.write();
    }
    drop(output);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "first\nsecond\nfourth\n");
}

#[test]
fn lines_wait_while_the_disk_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let mut output = output(&path);
    put(&mut output, "first\n");
    output.fail(&ErrorKind::StorageFull.into());
    assert!(!output.is_due(clock::instant()), "it pauses");
    assert!(output.is_due(clock::instant() + PAUSE));
    output.write();
    assert_eq!(fs::read_to_string(&path).unwrap(), "first\n");
}

#[test]
fn the_rest_of_a_line_does_not_go_to_the_next_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let mut output = output(&path);
    put(&mut output, "first\nsecond\n");
    output.note_written(2);
    output.fail(&ErrorKind::StorageFull.into());
    fs::rename(&path, directory.path().join("access.log.1")).unwrap();
    output.reopen();
    output.write();
    assert_eq!(fs::read_to_string(&path).unwrap(), "second\n");
}
