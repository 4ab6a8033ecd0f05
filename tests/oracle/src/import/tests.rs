//! Properties of the merge over records of every kind, with few ids, so that records collide.

use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::{check, check_import_csv, check_import_json};

/// Values of each key, separated by bars.
const VALUES: [(&str, &str); 9] = [
    ("id", "1|2|"),
    ("author", "Ann|Bob| <b>Ann</b> "),
    ("rating", "5|FOUR|★★☆☆☆|3/5|six"),
    ("date", "2024-03-04|13/04/2024|March 5, 2024|03/04/2024"),
    (
        "text",
        "Good.|(Translated by Google) a\n\n(Original)\nb|a &amp; b|",
    ),
    ("owner_reply", "Thank you.|"),
    ("source", "google|Google|yelp"),
    ("verified", "true|false|"),
    ("updated", "2024-03-04T00:00:00Z|2024-03-04T00:00:01.5Z"),
];

/// A record in which each key may be missing.
fn record() -> impl Strategy<Value = String> {
    let values = VALUES.map(|(_, values)| of(select(values.split('|').collect::<Vec<_>>())));
    values.prop_map(|values| {
        let pairs = VALUES
            .iter()
            .zip(values)
            .filter_map(|((key, _), value)| Some(((*key).to_owned(), value?.into())));
        Value::Object(pairs.collect()).to_string()
    })
}

proptest! {
    #[test]
    fn importing_twice_changes_nothing_and_order_does_not_matter(records in proptest::collection::vec(record(), 0..12)) {
        for flag in ["jsonl", "reviewd"] {
            check(flag, records.join("\n").as_bytes());
        }
    }

    #[test]
    fn any_table_keeps_the_properties(rows in proptest::collection::vec("[-0-9a-z,;\"/★ <>&.\r\n]{0,60}", 0..8)) {
        check_import_csv(format!("id,author,rating,date,text\n1,Ann,5,2024-03-04,x\n{}", rows.join("\n")).as_bytes());
    }

    #[test]
    fn any_lines_keep_the_properties(lines in proptest::collection::vec("[ -~]{0,40}", 0..8)) {
        check_import_json(lines.join("\n").as_bytes());
    }
}
