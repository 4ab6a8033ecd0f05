//! Both sides of the bounds of sources and of the file that they become.

use super::{file, import, raw, reasons, reviews};

const LINKED_BYTES_MAX: usize = 8 << 20;
const MARKED_UP_BYTES_MAX: usize = 4 * 65_536;

#[test]
fn a_linked_document_may_have_8_mib_and_no_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    let document = |bytes: usize| {
        let node = r#"{"@type":"Review","author":"Ann","datePublished":"2024-03-04","reviewRating":5,"padding":""}"#;
        let padding = "x".repeat(bytes - node.len());
        node.replace("\"\"", &format!("\"{padding}\""))
    };
    let source = file(folder.path(), "a.json", document(LINKED_BYTES_MAX));
    let (status, report) = import(folder.path(), &[&source, "--from", "jsonld"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(reviews(folder.path()).len(), 1);
    let source = file(folder.path(), "b.json", document(LINKED_BYTES_MAX + 1));
    let output = raw(folder.path(), &[&source, "--from", "jsonld"]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("is larger than 8388608 bytes, the most for schema.org: split it"),
        "{message}"
    );
}

#[test]
fn a_text_is_measured_before_its_markup_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    // So much markup that little is left of it.
    let marked_up = |bytes: usize| {
        let mut text = "<b></b>".repeat(bytes / 7);
        text.push_str(&"x".repeat(bytes - text.len()));
        text
    };
    for (at, field) in ["author", "text", "title", "reply"].iter().enumerate() {
        for (bytes, reason) in [
            (MARKED_UP_BYTES_MAX, None),
            (
                MARKED_UP_BYTES_MAX + 1,
                Some("is longer than 262144 bytes with its markup"),
            ),
        ] {
            let long = marked_up(bytes);
            let mut values = ["Ann", "Good.", "", ""];
            values[at] = &long;
            let [author, text, title, reply] = values;
            let table = format!(
                "author,rating,date,text,title,reply\n{author},5,2024-03-04,{text},{title},{reply}\n"
            );
            let source = file(folder.path(), "a.csv", table);
            let (_, report) = import(folder.path(), &[&source, "--dry-run"]);
            let expected: Vec<String> = reason
                .iter()
                .map(|reason| {
                    let field = field.replace("reply", "owner_reply");
                    format!("2: {field}: {reason}")
                })
                .collect();
            assert_eq!(reasons(&report), expected, "{field} {bytes}");
        }
    }
}

#[test]
fn a_result_may_have_the_size_limit_and_no_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "a.csv",
        "author,rating,date,text\nAnn,5,2024-03-04,Good.\nBob,4,2024-03-05,Fair.\n",
    );
    let (_, report) = import(folder.path(), &[&source, "--dry-run"]);
    let bytes = report["byte_count"].as_u64().unwrap();
    let limited = |limit: u64| {
        let limit = limit.to_string();
        raw(folder.path(), &[&source, "--data-file-bytes", &limit])
    };
    let output = limited(bytes - 1);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!(
        "reviews.json would be larger than {} bytes (--data-file-bytes); check and serve need the same flag, and take at most 1073741824",
        bytes - 1
    );
    assert!(message.contains(&expected), "{message}");
    assert_eq!(limited(bytes).status.code(), Some(0));
    let written = std::fs::metadata(folder.path().join("reviews.json")).unwrap();
    assert_eq!(written.len(), bytes);
}

#[test]
fn a_workbook_may_have_32_mib_and_no_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    for (bytes, message) in [
        (
            32 << 20,
            "is an archive, and no workbook (.xlsx) that can be read",
        ),
        (
            (32 << 20) + 1,
            "is a workbook of more than 33554432 bytes: save the sheet as CSV",
        ),
    ] {
        let source = file(folder.path(), "a.xlsx", b"PK\x03\x04");
        let sparse = std::fs::OpenOptions::new()
            .write(true)
            .open(&source)
            .unwrap();
        sparse.set_len(bytes).unwrap();
        let output = raw(folder.path(), &[&source]);
        assert_eq!(output.status.code(), Some(65));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_table_may_have_1000_columns_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    for (columns, status) in [(1_000, 0), (1_001, 65)] {
        let mut header = "name,stars,date".to_owned();
        for column in 3..columns {
            header.push_str(&format!(",c{column}"));
        }
        let table = format!("{header}\nAnn,5,2024-03-04\n");
        let source = file(folder.path(), "a.csv", table);
        let output = raw(folder.path(), &[&source, "--dry-run"]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
}
