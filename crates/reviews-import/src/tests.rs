//! What the merge accepts and refuses; `tests/oracle` checks its properties with random records.

use serde_json::{Value, json};

use super::merge::Report;
use super::*;
use reviewd_wire::date::{Date, Timestamp};

/// A review of a reviewd.
fn review(id: &str, author: &str, date: &str, text: &str) -> Value {
    json!({"id": id, "author": author, "rating": 5, "date": date, "text": text})
}

/// Merges reviews into a file, and returns the report and the new file.
fn merged(file: &str, reviews: &[Value], vouched: Vouched) -> (Report, String) {
    let text = Value::from(reviews).to_string();
    let mut options = Options::new(Date::MAX);
    options.format = named("reviewd");
    options.vouched = vouched;
    let source = ImportSource::open("test", text.as_bytes(), &options).expect("an array");
    let mut merge = Merge::new(file).expect("a valid file");
    merge.begin(&source);
    for found in source.records() {
        merge.take(found.expect("an array"), &source);
    }
    (merge.report(false), merge.render(Timestamp::from_unix(0)))
}

/// A file with one review.
fn stored(text: &str) -> (Value, String) {
    let old = review("a", "Ann", "2024-03-04", text);
    let empty = new_file("A", "Store", "https://a.example/", Timestamp::from_unix(0));
    let (_, file) = merged(&empty, std::slice::from_ref(&old), Vouched::Nothing);
    (old, file)
}

#[test]
fn vouching_for_new_reviews_leaves_the_others_alone() {
    let (old, file) = stored("Good.");
    let mut new = review("b", "Bob", "2024-03-04", "Bad.");
    let counts = |new: &Value, vouched| {
        let reviews = [old.clone(), new.clone()];
        let (report, _) = merged(&file, &reviews, vouched);
        (
            report.review_count,
            report.published_count,
            report.newly_published_count,
        )
    };
    assert_eq!(counts(&new, Vouched::New), (2, 1, 0));
    new["verified"] = json!(false);
    assert_eq!(
        counts(&new, Vouched::All),
        (2, 1, 1),
        "a value that the source states is kept"
    );
}

#[test]
fn a_reviewds_correction_is_taken_and_another_review_with_the_id_refused() {
    let (_, file) = stored("Good.");
    for (author, date, text, is_taken) in [
        ("Anne", "2024-03-05", "Good.", true),
        ("Anne", "2024-03-04", "Fine.", true),
        ("Ann", "2024-03-05", "Fine.", true),
        ("Anne", "2024-03-05", "Fine.", false),
    ] {
        let changed = [review("a", author, date, text)];
        let (report, _) = merged(&file, &changed, Vouched::Nothing);
        assert_eq!(report.changes, is_taken, "{changed:?}");
        let why = "id: is that of the existing review by \"Ann\" from \"import\"";
        let mut rejected = report.rejected.iter();
        let is_named = rejected.any(|note| note.reason.as_deref() == Some(why));
        assert_eq!(is_named, !is_taken, "{changed:?}");
    }
}

#[test]
fn addresses_are_removed_from_the_names_of_a_reviewd_too() {
    let empty = new_file("A", "Store", "https://a.example/", Timestamp::from_unix(0));
    for (name, published) in [
        ("Bob bob@mail.example (203.0.113.9)", "Bob"),
        ("bob@mail.example", "Anonymous"),
        ("Bob  &amp; Co", "Bob &amp; Co"),
    ] {
        let reviews = [review("a", name, "2024-03-04", "Good.")];
        let (_, file) = merged(&empty, &reviews, Vouched::Nothing);
        let author = format!("\"author\": \"{published}\",");
        assert!(file.contains(&author), "{file}");
    }
}

#[test]
fn a_text_of_two_columns_has_the_limit_of_one_text() {
    // Each column is labeled with its name, and an empty line is between them.
    let added = "Pros: ".len() + "\n\n".len() + "Cons: ".len();
    let half = reviewd_data::dataset::PROSE_BYTES_MAX / 2;
    for (over, added_count) in [(0, 1), (1, 0)] {
        let pros = "a".repeat(half - added);
        let cons = "b".repeat(half + over);
        let table = format!("Name,Stars,Date,Pros,Cons\nAnn,5,2024-03-04,{pros},{cons}\n");
        let options = Options::new(Date::MAX);
        let source = ImportSource::open("test", table.as_bytes(), &options).expect("a table");
        let empty = new_file("A", "Store", "https://a.example/", Timestamp::from_unix(0));
        let mut merge = Merge::new(&empty).expect("a valid file");
        merge.begin(&source);
        for found in source.records() {
            merge.take(found.expect("a table"), &source);
        }
        let report = merge.report(false);
        assert_eq!(report.sources[0].added, added_count, "{over} over");
        assert_eq!(report.sources[0].rejected, 1 - added_count, "{over} over");
    }
}

/// Imports a CSV file into a new file, then another one, and returns the texts and days of the replies.
fn replies_after(first: &str, second: &str) -> Vec<(String, String)> {
    let options = Options::new(Date::MAX);
    let mut file = new_file("A", "Store", "https://a.example/", Timestamp::from_unix(0));
    for csv in [first, second] {
        let source = ImportSource::open("test.csv", csv.as_bytes(), &options).expect("a table");
        let mut merge = Merge::new(&file).expect("a valid file");
        merge.begin(&source);
        for found in source.records() {
            merge.take(found.expect("a row"), &source);
        }
        file = merge.render(Timestamp::from_unix(0));
    }
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let mut replies = Vec::new();
    for review in file["reviews"].as_array().expect("reviews") {
        let reply = &review["owner_reply"];
        if let (Some(text), Some(date)) = (reply["text"].as_str(), reply["date"].as_str()) {
            replies.push((text.to_owned(), date.to_owned()));
        }
    }
    replies.sort();
    replies
}

#[test]
fn an_answer_in_another_column_does_not_remove_the_stored_ones() {
    let ann = "Ann,5,2024-03-04,Great work on the roof.";
    let bob = "Bob,4,2024-03-05,Good work on the stairs.";
    let first = format!(
        "Name,Stars,Date,Text,Reply,Antwort der Praxis\n{ann},,Thank you very much!\n{bob},,We are glad to hear it.\n"
    );
    let cat = "Cat,3,2024-03-06,It took two weeks.,Sorry that it took so long.,";
    let found = replies_after(&first, &format!("{first}{cat}\n"));
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert!(texts.contains(&"Thank you very much!"), "{texts:?}");
    assert!(texts.contains(&"We are glad to hear it."), "{texts:?}");
}

#[test]
fn a_blank_answer_in_the_only_column_removes_the_stored_one() {
    let table = |answer: &str| {
        format!(
            "Name,Stars,Date,Text,Antwort\nAnn,5,2024-03-04,Great work.,{answer}\n\
             Bob,4,2024-03-05,Good work.,We are glad to hear it.\n"
        )
    };
    let answered = table("Thank you very much!");
    assert_eq!(replies_after(&answered, &answered).len(), 2);
    assert_eq!(replies_after(&answered, &table("")).len(), 1);
}

#[test]
fn an_address_with_three_words_is_no_answer_and_one_with_four_is() {
    for (answer, count) in [
        ("Please write ann@mail.example today", 0),
        ("Please write to ann@mail.example today", 1),
    ] {
        let table =
            format!("Name,Stars,Date,Text,Antwort\nAnn,5,2024-03-04,Great work.,{answer}\n");
        assert_eq!(replies_after(&table, &table).len(), count, "{answer}");
    }
}

#[test]
fn a_reply_whose_day_the_source_no_longer_has_keeps_the_stored_one() {
    let ann = "Ann,5,2024-03-04,Great work on the roof.,Thank you very much!";
    let heading = "Name,Stars,Date,Text,Antwort der Praxis,Beantwortet am";
    let first = format!("{heading}\n{ann},2024-03-10\n");
    let bob = "Bob,4,2024-03-05,Good work on the stairs.,We are glad to hear it.,by telephone";
    let kept = ("Thank you very much!".to_owned(), "2024-03-10".to_owned());
    let found = replies_after(&first, &format!("{first}{bob}\n"));
    assert_eq!(found.first(), Some(&kept), "{found:?}");
}

#[test]
fn an_answer_with_an_address_in_it_is_one_and_that_to_a_question_is_none() {
    let table = |heading: &str, answer: &str| {
        format!(
            "Name,Stars,Date,Text,{heading}\nAnn,5,2024-03-04,Great work on the roof.,{answer}\n"
        )
    };
    let with_mail = table(
        "Company Response",
        "Sorry! Please contact us at help@shop.example.",
    );
    assert_eq!(replies_after(&with_mail, &with_mail).len(), 1);
    for (heading, answer) in [
        (
            "Frage,Antworttext",
            "Was nehmen Sie ein?,Ich nehme seit Jahren Insulin.",
        ),
        (
            "Frage,Antwort",
            "Was nehmen Sie ein?,Ich nehme seit Jahren Insulin.",
        ),
        ("Hotel-Rückmeldung", "Das Zimmer war leider nicht sauber."),
        ("Reply-To", "Ann Lee <ann@mail.example>"),
    ] {
        let table = table(heading, answer);
        assert_eq!(replies_after(&table, &table), [], "{heading}");
    }
}
