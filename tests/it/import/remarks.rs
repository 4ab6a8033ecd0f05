//! What an import says of records that it took: what was left out, and what may be there twice.

use serde_json::Value;

use super::{file, import, raw};

/// The remarks of a report, one line each.
fn remarks(report: &Value) -> Vec<String> {
    let list = report["remarks"].as_array().expect("a list").iter();
    let text = |one: &Value| one["remark"].as_str().unwrap_or_default().to_owned();
    list.map(|one| format!("{}: {}", one["line"], text(one)))
        .collect()
}

#[test]
fn an_address_that_cannot_be_published_is_named_and_the_review_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "a.csv",
        "author,rating,date,text,url,avatar\n\
         Ann,5,2024-03-04,Good.,https://a.example/1,\n\
         Bob,4,2024-03-05,Fair.,/reviews/2,//a.example/b.png\n\
         Cy,3,2024-03-06,So so.,,n/a\n",
    );
    let (status, report) = import(folder.path(), &[&source, "--strict"]);
    assert_eq!(status, Some(0), "a remark is no refusal: {report}");
    let why = "is no http or https address of at most 2048 bytes, and left out";
    assert_eq!(
        remarks(&report),
        [
            format!("3: source_url: \"/reviews/2\" {why}"),
            format!("4: author_avatar_url: \"n/a\" {why}")
        ]
    );
    assert_eq!(report["remark_count"], 2);
    assert_eq!(report["review_count"], 3);
}

#[test]
fn ten_remarks_are_shown_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    for (rows, more) in [(10, None), (11, Some("and 1 more remarks\n"))] {
        let mut table = "id,author,rating,date,url\n".to_owned();
        for row in 0..rows {
            table.push_str(&format!("{row},Ann,5,2024-03-04,none\n"));
        }
        let source = file(folder.path(), "a.csv", table);
        let output = raw(folder.path(), &[&source, "--dry-run"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.matches(": source_url: ").count(), 10, "{text}");
        assert_eq!(more.is_some_and(|more| text.contains(more)), rows == 11);
    }
}

#[test]
fn a_review_that_was_typed_in_by_hand_and_is_imported_later_gets_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let typed = file(
        folder.path(),
        "typed.csv",
        "author,rating,date,text\n\
         Ann Lee,5,2024-03-04,\"They called back, at once!\"\n\
         Bob,1,2024-03-05,Too slow.\n\
         Cy,3,2024-03-06,Fair.\n\
         A Google user,4,2024-03-07,One.\n",
    );
    import(folder.path(), &[&typed]);
    let export = file(
        folder.path(),
        "export.csv",
        "id,author,rating,date,text,source\n\
         1,ANN LEE,4,2024-03-09,They called back at once,google\n\
         2,Bob,1,2024-03-05,Much too slow.,google\n\
         3,Cy,3,2024-03-07,Good.,google\n\
         4,A Google user,4,2024-03-07,Two.,google\n\
         5,Bob,1,2024-03-05,Another Bob.,google\n",
    );
    let (status, report) = import(folder.path(), &[&export]);
    assert_eq!(status, Some(0), "{report}");
    let ids: Vec<String> = super::reviews(folder.path())
        .iter()
        .filter(|review| review["source"] == "import")
        .map(|review| review["id"].as_str().unwrap().to_owned())
        .collect();
    let [_, _, bob, ann] = &ids[..] else {
        panic!("{ids:?}");
    };
    assert_eq!(
        remarks(&report),
        [
            format!("2: looks like review {ann}: same author and text"),
            format!("3: looks like review {bob}: same author, day and stars"),
            format!("6: looks like review {bob}: same author, day and stars"),
        ]
    );
    assert_eq!(report["review_count"], 9, "none is refused for it");
    let (_, report) = import(folder.path(), &[&export]);
    assert_eq!(report["remark_count"], 0, "it was said: {report}");
}
