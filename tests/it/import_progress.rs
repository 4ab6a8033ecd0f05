//! What `reviewd import` says of its progress where standard error is no terminal.

use crate::support::program::run;

/// Sources of this many bytes get a line for every tenth.
const LINES_BYTES_MIN: usize = 4 << 20;

/// Imports a table of `bytes` bytes and returns what is written to standard error.
fn progress(bytes: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "id,author,rating,date,text,padding\n".to_owned();
    let padding = "x".repeat(16 << 10);
    for row in 0.. {
        let line = format!("{row},Ann,5,2024-03-04,Good,{padding}\n");
        if table.len() + line.len() > bytes {
            break;
        }
        table.push_str(&line);
    }
    // The last row takes what is left.
    table.pop();
    table.push_str(&"x".repeat(bytes - table.len()));
    let source = folder.path().join("table.csv");
    std::fs::write(&source, table).unwrap();
    let into = folder.path().join("into");
    let output = run(&[
        "import",
        source.to_str().unwrap(),
        "--into",
        into.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_long_import_writes_a_line_for_every_tenth_to_standard_error() {
    let lines = progress(LINES_BYTES_MIN);
    let percents: Vec<u64> = lines
        .lines()
        .map(|line| {
            let (percent, rest) = line.split_once(" % of ").expect("a line of progress");
            assert_eq!(rest, "4194304 bytes");
            percent.parse().expect("a number")
        })
        .collect();
    let tenths: Vec<u64> = percents.iter().map(|percent| percent / 10).collect();
    assert_eq!(tenths, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "{lines}");
    assert_eq!(percents.last(), Some(&100));
}

#[test]
fn a_shorter_import_writes_none() {
    assert_eq!(progress(LINES_BYTES_MIN - 1), "");
}
