//! The laws of the merge over records of every kind, with few ids so that they meet.

use proptest::prelude::*;
use reviewd::import::record::{Field, Record};

use super::{check_import_csv, check_import_json, check_records};

fn record() -> impl Strategy<Value = Record> {
    let maybe =
        |values: &'static [&'static str]| proptest::option::of(proptest::sample::select(values));
    (
        maybe(&["1", "2", ""]),
        maybe(&["Ann", "Bob", " <b>Ann</b> "]),
        proptest::sample::select(&["5", "FOUR", "★★☆☆☆", "3/5", "six"][..]),
        proptest::sample::select(&["2024-03-04", "13/04/2024", "March 5, 2024", "03/04/2024"][..]),
        maybe(&[
            "Good.",
            "(Translated by Google) a\n\n(Original)\nb",
            "a &amp; b",
            "",
        ]),
        maybe(&["Thank you.", ""]),
        maybe(&["google", "Google", "yelp"]),
        maybe(&["true", "false", ""]),
        maybe(&["2024-03-04T00:00:00Z", "2024-03-04T00:00:00.5Z"]),
        any::<bool>(),
    )
        .prop_map(
            |(id, author, rating, date, text, reply, source, verified, updated, is_ours)| {
                let mut record = Record::at(1);
                record.is_ours = is_ours;
                record.set(Field::Rating, rating);
                record.set(Field::Date, date);
                let rest = [
                    (Field::Id, id),
                    (Field::Author, author),
                    (Field::Text, text),
                    (Field::Reply, reply),
                    (Field::Source, source),
                    (Field::Verified, verified),
                    (Field::Updated, updated),
                ];
                for (field, value) in rest {
                    if let Some(value) = value {
                        record.set(field, value);
                    }
                }
                record
            },
        )
}

proptest! {
    #[test]
    fn importing_twice_changes_nothing_and_order_does_not_matter(records in proptest::collection::vec(record(), 0..12)) {
        check_records(&records);
    }

    #[test]
    fn any_table_keeps_the_laws(rows in proptest::collection::vec("[-0-9a-z,;\"/★ <>&.\r\n]{0,60}", 0..8)) {
        check_import_csv(format!("id,author,rating,date,text\n1,Ann,5,2024-03-04,x\n{}", rows.join("\n")).as_bytes());
    }

    #[test]
    fn any_lines_keep_the_laws(lines in proptest::collection::vec("[ -~]{0,40}", 0..8)) {
        check_import_json(lines.join("\n").as_bytes());
    }
}
