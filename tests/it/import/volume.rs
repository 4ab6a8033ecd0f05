//! Sources far larger than what they hold: memory depends on the result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// Bytes of each large source.
const SOURCE_BYTES: usize = 66 << 20;

/// Address space that the program may have; both sources are larger than what this leaves beside code and stacks.
const MEMORY_KIB: usize = 64 << 10;

/// Imports a source in a process whose memory is limited, and returns its standard output.
fn import(folder: &Path, source: &Path) -> String {
    let script = format!("ulimit -v {MEMORY_KIB} && exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_reviewd"), "import"])
        .arg(source)
        .arg("--into")
        .arg(folder)
        .args(["--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_large_table_and_a_large_array_stream_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let padding = "x".repeat(16 << 10);
    let rows = SOURCE_BYTES / padding.len();
    let table = folder.path().join("large.csv");
    let mut out = BufWriter::new(File::create(&table).unwrap());
    writeln!(out, "id,author,rating,date,text,padding").unwrap();
    for row in 0..rows {
        writeln!(
            out,
            "{},Ann,5,2024-03-04,Good {},{padding}",
            row % 1_000,
            row % 1_000
        )
        .unwrap();
    }
    out.into_inner().unwrap();
    let report = import(&folder.path().join("a"), &table);
    assert!(
        report.contains(
            "\"added\":1000,\"changed\":0,\"unchanged\":0,\"repeated\":3224,\"refused\":0"
        ),
        "{report}"
    );
    let array = folder.path().join("large.json");
    let mut out = BufWriter::new(File::create(&array).unwrap());
    write!(out, "{{\"reviews\":[").unwrap();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { "," };
        let id = row % 1_000;
        write!(out, "{comma}{{\"reviewId\":\"{id}\",\"reviewer\":{{\"displayName\":\"Ann\"}},\"starRating\":\"FIVE\",\"createTime\":\"2024-03-04T00:00:00Z\",\"padding\":\"{padding}\"}}").unwrap();
    }
    write!(out, "]}}").unwrap();
    out.into_inner().unwrap();
    let report = import(&folder.path().join("b"), &array);
    assert!(
        report.contains(
            "\"added\":1000,\"changed\":0,\"unchanged\":0,\"repeated\":3224,\"refused\":0"
        ),
        "{report}"
    );
}

#[test]
fn a_record_without_an_end_is_refused_and_not_read_into_memory() {
    let folder = tempfile::tempdir().unwrap();
    for (name, beginning) in [
        ("a.csv", "author,rating,date\n\"Ann"),
        ("a.json", "[{\"starRating\":\""),
        ("a.jsonl", "{\"rating\":\""),
    ] {
        let source = folder.path().join(name);
        let mut out = BufWriter::new(File::create(&source).unwrap());
        out.write_all(beginning.as_bytes()).unwrap();
        for _ in 0..64 {
            out.write_all(&[b'x'; 64 << 10]).unwrap();
        }
        out.into_inner().unwrap();
        let output = super::raw(&folder.path().join("into"), &[source.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(65), "{name}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("longer than 1048576 bytes"), "{message}");
    }
}
