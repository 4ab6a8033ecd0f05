//! The short way against the long one.

use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::*;
use crate::dataset::mentions::{Derive, Matcher};
use crate::dataset::reviews;
use crate::dataset::tests::{NOW, REVIEW, reviews_file};
use crate::model::Taxonomy;
use crate::wire::date::Timestamp;

/// What both ways make of `text`: the file that the short way accepts, if it does, and the outcome of both together.
fn read(text: &str, threads: usize) -> (Option<ReviewsFile>, ReviewsFile, Problems) {
    let taxonomy = Taxonomy::default();
    let means = Means {
        derive: &Derive {
            taxonomy: &taxonomy,
            matcher: &Matcher::new(&taxonomy).expect("an empty taxonomy"),
        },
        now: Timestamp::from_unix(NOW),
        reviews_max: 2_000,
        threads: NonZeroUsize::new(threads).expect("threads"),
        keeps_ids: true,
    };
    let mut problems = Problems::default();
    let mut check = Check {
        subject: REVIEWS,
        problems: &mut problems,
    };
    let long = reviews::decode_long(text, means, &mut check);
    (decode(text, means), long, problems)
}

/// Asserts that the short way refuses `text` if the long one does, and otherwise gives the same; tells whether it did.
fn agree(text: &str, threads: usize) -> bool {
    let (quick, long, problems) = read(text, threads);
    let Some(quick) = quick else {
        return false;
    };
    assert_eq!(problems.to_string(), "", "{text}");
    assert_eq!(quick.business, long.business);
    assert_eq!(quick.disclaimer, long.disclaimer);
    assert_eq!(quick.updated_at, long.updated_at);
    let (quick, long) = (quick.reviews, long.reviews);
    assert_eq!(quick.published, long.published);
    assert_eq!(quick.unverified_count, long.unverified_count);
    assert_eq!(quick.incomplete, long.incomplete);
    assert_eq!(quick.ids.len(), long.ids.len());
    for id in long.ids.keys() {
        assert_eq!(quick.why_not(id), long.why_not(id));
    }
    true
}

fn entries(count: usize) -> Vec<String> {
    (0..count)
        .map(|at| {
            let entry = REVIEW.replace("r1", &format!("r{at}"));
            match at % 7 {
                0 => entry.replace("\"verified\":true", "\"verified\":false"),
                1 => entry.replace("Good", r#"\"},{\"id\":\"x\\\u00e9"#),
                2 => entry.replace(",\"mentioned_services\":[\"wills\"]", ""),
                _ => entry,
            }
        })
        .collect()
}

#[test]
fn any_number_of_runs_reads_what_one_reads() {
    for count in [0, 1, 2, 3, 50, 2_000] {
        for separator in [",", " ,\r\n\t"] {
            let text = reviews_file(&entries(count).join(separator));
            for threads in [1, 2, 3, 8] {
                assert!(agree(&text, threads), "{count} entries, {threads} threads");
            }
        }
    }
    let spread = reviews_file(&entries(50).join(",")).replace("},{\"id\"", "} , {\n\"id\"");
    assert!(agree(&spread, 4));
}

#[test]
fn the_parts_of_the_file_come_in_any_order() {
    let text = reviews_file(&entries(50).join(","));
    let (head, reviews) = text.split_once(",\"reviews\":").expect("the last key");
    let reviews = reviews.strip_suffix('}').expect("an object");
    let turned = format!("{{\"reviews\":{reviews},{}}}", head.trim_start_matches('{'));
    assert!(agree(&turned, 1));
    assert!(agree(&turned, 3));
}

#[test]
fn a_place_that_only_looks_like_the_next_entry_is_noticed() {
    // Read from the middle, this is an object after an object, with an id.
    let inner = r#"{"a":{},"b":[{},{"id":"r9","x":1}]}"#;
    let all = [REVIEW, inner, &REVIEW.replace("r1", "r2")].join(",");
    let text = reviews_file(&all);
    for threads in 1..6 {
        assert!(!agree(&text, threads));
    }
}

#[test]
fn what_is_refused_is_left_to_the_long_way() {
    let good = entries(20);
    let file = |change: &dyn Fn(&mut Vec<String>)| {
        let mut entries = good.clone();
        change(&mut entries);
        reviews_file(&entries.join(","))
    };
    let whole = reviews_file(&good.join(","));
    let refused = [
        file(&|all| all[13] = all[3].clone()),
        file(&|all| all[14] = all[14].replace("\"r14\"", "\"r7\"")),
        file(&|all| all[7] = all[7].replace(":5,", ":6,")),
        file(&|all| all[7] = all[7].replace("\"author\"", "\"autor\"")),
        file(&|all| all[7] = all[7].replacen('{', "{\"id\":\"r7\",", 1)),
        file(&|all| all[7] = "1".to_owned()),
        file(&|all| all[19].push(',')),
        file(&|all| *all = entries(2_001)),
        whole.replace("\"disclaimer\"", "\"disclaimers\""),
        whole.replace("\"disclaimer\":\"D\",", ""),
        whole.replacen(
            "\"disclaimer\":\"D\",",
            "\"disclaimer\":\"D\",\"disclaimer\":\"D\",",
            1,
        ),
        whole.replace("2026-11-18T00", "2126-11-18T00"),
        format!("{whole}x"),
        whole[..whole.len() - 1].to_owned(),
        whole[..whole.len() / 2].to_owned(),
        "{}".to_owned(),
        "{\"reviews\":[]}".to_owned(),
    ];
    for text in refused {
        for threads in [1, 2, 5] {
            let (quick, _, problems) = read(&text, threads);
            assert!(!problems.is_empty(), "{text}");
            assert!(quick.is_none(), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_file_is_never_taken_for_another(at in 0..4_000_usize, byte in "[\\[\\]{},:\"\\\\ 0-9a-z]", threads in 1..4_usize) {
        let mut text = reviews_file(&entries(12).join(","));
        let mut at = at % text.len();
        while !text.is_char_boundary(at) || !text.is_char_boundary(at + 1) {
            at -= 1;
        }
        text.replace_range(at..=at, &byte);
        let is_short = agree(&text, threads);
        let (_, _, problems) = read(&text, threads);
        prop_assert_eq!(is_short, problems.is_empty(), "the short way is for every file without mistakes: {}", text);
    }
}
