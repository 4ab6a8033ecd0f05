//! Remarks on imported records: values that were left out, and possible duplicates.

use super::{Folder, lines};

#[test]
fn an_address_that_cannot_be_published_is_named_and_the_review_is_taken() {
    let folder = Folder::new();
    let table = "author,rating,date,text,url,avatar\n\
        Ann,5,2024-03-04,Good.,https://a.example/1,\n\
        Bob,4,2024-03-05,Fair.,/reviews/2,//a.example/b.png\n\
        Cy,3,2024-03-06,So so.,,n/a\n";
    let report = folder.import(&[&folder.file("a.csv", table), "--strict"]);
    assert_eq!(report["status"], 0, "a remark is no refusal: {report}");
    let why = "is not an http or https URL of at most 2048 bytes, and was omitted";
    let expected = [
        format!("3: source_url: \"/reviews/2\" {why}"),
        format!("4: author_avatar_url: \"n/a\" {why}"),
    ];
    assert_eq!(lines(&report, "remarks", "remark"), expected);
    assert_eq!(report["remark_count"], 2);
    assert_eq!(report["review_count"], 3);
}

#[test]
fn ten_remarks_are_shown_and_the_rest_is_counted() {
    let folder = Folder::new();
    for (rows, more) in [(10, ""), (11, "and 1 more remarks\n")] {
        let rows = (0..rows).map(|row| format!("{row},Ann,5,2024-03-04,none\n"));
        let table = "id,author,rating,date,url\n".to_owned() + &rows.collect::<String>();
        let text = folder.says(
            &[&folder.file("a.csv", table), "--dry-run", "--no-text"],
            0,
            more,
        );
        assert_eq!(text.matches(": source_url: ").count(), 10, "{text}");
        assert_eq!(text.contains("more remarks"), !more.is_empty(), "{text}");
    }
}

#[test]
fn a_review_that_was_typed_in_by_hand_and_is_imported_later_gets_a_remark() {
    let folder = Folder::new();
    let typed = "author,rating,date,text\n\
        Ann Lee,5,2024-03-04,\"They called back, at once!\"\n\
        Bob,1,2024-03-05,Too slow.\n\
        Cy,3,2024-03-06,Fair.\n\
        A Google user,4,2024-03-07,One.\n";
    folder.import(&[&folder.file("typed.csv", typed)]);
    let ids = folder.each("id");
    let [ann, bob] = [&ids[3], &ids[2]].map(|id| id.as_str().expect("an id"));
    let export = "id,author,rating,date,text,source\n\
        1,ANN LEE,4,2024-03-09,They called back at once,google\n\
        2,Bob,1,2024-03-05,Much too slow.,google\n\
        3,Cy,3,2024-03-07,Good.,google\n\
        4,A Google user,4,2024-03-07,Two.,google\n\
        5,Bob,1,2024-03-05,Another Bob.,google\n";
    let export = folder.file("export.csv", export);
    let report = folder.import(&[&export]);
    let expected = [
        format!("2: looks like review {ann}: same author and text"),
        format!("3: looks like review {bob}: same author, day and stars"),
        format!("6: looks like review {bob}: same author, day and stars"),
    ];
    assert_eq!(lines(&report, "remarks", "remark"), expected);
    assert_eq!(report["review_count"], 9, "none is refused for it");
    let report = folder.import(&[&export]);
    assert_eq!(report["remark_count"], 0, "it was said: {report}");
}
