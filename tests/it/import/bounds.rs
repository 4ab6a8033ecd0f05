//! Both sides of the bounds of sources and of the file that they become.

use super::{file, import, raw, reasons};

const MARKED_UP_BYTES_MAX: usize = 4 * 65_536;

#[test]
fn a_review_in_json_may_have_1_mib_and_no_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    let object = r#"{"author":"Ann","date":"2024-03-04","rating":5,"padding":""}"#;
    for (bytes, refused) in [
        (1 << 20, None),
        ((1 << 20) + 1, Some("1: is longer than 1048576 bytes")),
    ] {
        let padding = "x".repeat(bytes - object.len());
        let text = object.replace("\"\"", &format!("\"{padding}\""));
        let source = file(folder.path(), "a.json", text);
        let (_, report) = import(folder.path(), &[&source, "--dry-run"]);
        assert_eq!(reasons(&report), Vec::from_iter(refused), "{bytes}");
    }
}

#[test]
fn a_text_is_measured_before_its_markup_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    // So much markup that little is left of it.
    let marked_up = |bytes: usize| "<b></b>".repeat(bytes / 7) + &"x".repeat(bytes % 7);
    for (at, field) in ["author", "text", "title", "owner_reply"]
        .iter()
        .enumerate()
    {
        for bytes in [MARKED_UP_BYTES_MAX, MARKED_UP_BYTES_MAX + 1] {
            let mut values = ["Ann", "Good.", "", ""].map(str::to_owned);
            values[at] = marked_up(bytes);
            let [author, text, title, reply] = values;
            let table = format!(
                "author,rating,date,text,title,reply\n{author},5,2024-03-04,{text},{title},{reply}\n"
            );
            let source = file(folder.path(), "a.csv", table);
            let (_, report) = import(folder.path(), &[&source, "--dry-run"]);
            let why = format!("2: {field}: is longer than 262144 bytes with its markup");
            let refused = reasons(&report);
            assert_eq!(refused, vec![why; usize::from(bytes > MARKED_UP_BYTES_MAX)]);
        }
    }
}

#[test]
fn a_table_may_have_1000_columns_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    for (columns, status) in [(1_000, 0), (1_001, 65)] {
        let more: String = (3..columns).map(|column| format!(",c{column}")).collect();
        let table = format!("name,stars,date{more}\nAnn,5,2024-03-04\n");
        let source = file(folder.path(), "a.csv", table);
        let output = raw(folder.path(), &[&source, "--dry-run"]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
}
