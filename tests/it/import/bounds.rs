//! Both sides of the limits of import sources.

use super::{Folder, reasons};

const MARKED_UP_BYTES_MAX: usize = 4 * 65_536;

#[test]
fn a_review_in_json_may_have_1_mib_and_no_byte_more() {
    let folder = Folder::new();
    let object = r#"{"author":"Ann","date":"2024-03-04","rating":5,"padding":""}"#;
    for (bytes, refused) in [
        (1 << 20, None),
        ((1 << 20) + 1, Some("1: is longer than 1048576 bytes")),
    ] {
        let padding = "x".repeat(bytes - object.len());
        let text = object.replace("\"\"", &format!("\"{padding}\""));
        let report = folder.import(&[&folder.file("a.json", text), "--dry-run", "--no-text"]);
        assert_eq!(reasons(&report), Vec::from_iter(refused), "{bytes}");
    }
}

#[test]
fn the_limit_of_a_text_counts_its_markup() {
    let folder = Folder::new();
    let mut table = "author,rating,date,text,title,reply\n".to_owned();
    let mut expected = Vec::new();
    for (at, field) in ["author", "text", "title", "owner_reply"]
        .iter()
        .enumerate()
    {
        for bytes in [MARKED_UP_BYTES_MAX, MARKED_UP_BYTES_MAX + 1] {
            // Mostly markup, so the text itself is short.
            let long = "<b></b>".repeat(bytes / 7) + &"x".repeat(bytes % 7);
            let mut values = ["Ann", "Good.", "", ""];
            values[at] = &long;
            let [author, text, title, reply] = values;
            table += &format!("{author},5,2024-03-04,{text},{title},{reply}\n");
        }
        let line = 3 + 2 * at;
        expected.push(format!(
            "{line}: {field}: is longer than 262144 bytes with its markup"
        ));
    }
    let report = folder.import(&[&folder.file("a.csv", table), "--dry-run"]);
    assert_eq!(reasons(&report), expected);
}

#[test]
fn a_table_may_have_1000_columns_and_no_more() {
    let folder = Folder::new();
    for (columns, status) in [(1_000, 0), (1_001, 65)] {
        let more: String = (3..columns).map(|column| format!(",c{column}")).collect();
        let table = format!("name,stars,date{more}\nAnn,5,2024-03-04\n");
        folder.says(
            &[&folder.file("a.csv", table), "--dry-run", "--no-text"],
            status,
            "",
        );
    }
}
