//! Files read in pieces against files read whole.

use proptest::prelude::*;

use super::*;
use crate::dataset::mentions::Matcher;
use crate::dataset::tests::{NOW, REVIEW, reviews_file};
use crate::model::Taxonomy;

type Outcome = (Option<ReviewsFile>, Reviews, Problems);

/// Reads `text` whole, and in pieces by so many threads.
fn read(text: &str, threads: usize, piece_bytes: usize) -> (Outcome, Option<Outcome>) {
    let taxonomy = Taxonomy::default();
    let options = Options {
        derive: &Derive {
            taxonomy: &taxonomy,
            matcher: &Matcher::new(&taxonomy).expect("an empty taxonomy"),
        },
        now: Timestamp::from_unix(NOW),
        threads: NonZeroUsize::new(threads).expect("threads"),
        piece_bytes,
    };
    let pieces = in_pieces(text.as_bytes(), options);
    let pieces = pieces.map(|(file, reviews, problems)| (Some(file), reviews, problems));
    let (mut reviews, mut problems) = (Reviews::default(), Problems::default());
    let file = whole(text.as_bytes(), options, &mut reviews, &mut problems);
    // Problems found in pieces have no positions yet.
    problems
        .kept_mut()
        .iter_mut()
        .for_each(|problem| problem.position = None);
    ((file, reviews, problems), pieces)
}

/// Asserts that `text` gives the same in pieces as whole, if it can be read in pieces; tells whether it can.
fn agree(text: &str, threads: usize, piece_bytes: usize) -> bool {
    let ((file, reviews, problems), pieces) = read(text, threads, piece_bytes);
    let Some((file_of, reviews_of, problems_of)) = pieces else {
        return false;
    };
    if let Some(file) = file {
        let other = file_of.expect("always there");
        assert_eq!(
            (file.business, file.disclaimer),
            (other.business, other.disclaimer)
        );
        assert_eq!(file.updated_at, other.updated_at);
    }
    // Those of entries come before or after those of the file.
    let sorted = |problems: Problems| {
        let mut lines: Vec<String> = problems.kept().iter().map(ToString::to_string).collect();
        lines.sort();
        (lines, problems.total())
    };
    assert_eq!(sorted(problems), sorted(problems_of), "{text}");
    assert_eq!(reviews.published, reviews_of.published);
    assert_eq!(reviews.unverified_count(), reviews_of.unverified_count());
    for at in 0..2_000 {
        let id = format!("r{at}");
        assert_eq!(reviews.find(&id).err(), reviews_of.find(&id).err(), "{id}");
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
fn any_number_of_pieces_and_threads_gives_the_same() {
    for count in [0, 1, 2, 3, 50, 2_000] {
        for separator in [",", " ,\r\n\t"] {
            let text = reviews_file(&entries(count).join(separator));
            for (threads, piece_bytes) in [(1, 1 << 20), (1, 1_000), (2, 300), (3, 1), (8, 5_000)] {
                assert!(
                    agree(&text, threads, piece_bytes),
                    "{count} {threads} {piece_bytes}"
                );
            }
        }
    }
    let spread = reviews_file(&entries(50).join(",")).replace("},{\"id\"", "} , {\n\"id\"");
    assert!(agree(&spread, 4, 100));
}

#[test]
fn the_parts_of_the_file_come_in_any_order() {
    let text = reviews_file(&entries(50).join(","));
    let (head, reviews) = text.split_once(",\"reviews\":").expect("the last key");
    let reviews = reviews.strip_suffix('}').expect("an object");
    let turned = format!("{{\"reviews\":{reviews},{}}}", head.trim_start_matches('{'));
    assert!(agree(&turned, 1, 100));
    assert!(agree(&turned, 3, 100));
    assert!(agree(&turned.replace("D", "reviews: [1]"), 2, 100));
}

#[test]
fn what_only_looks_like_the_next_entry_is_noticed() {
    let inner = r#"{"a":{},"b":[{},{"id":"r9","x":1}]}"#;
    let all = [REVIEW, inner, &REVIEW.replace("r1", "r2")].join(",");
    assert!(!agree(&reviews_file(&all), 2, 1));
    // A form feed is no blank of JSON.
    for separator in [",\u{c}", "\u{c},", "\u{c}"] {
        let all = [REVIEW, &REVIEW.replace("r1", "r2")].join(separator);
        let ((file, ..), pieces) = read(&reviews_file(&all), 2, 1);
        assert!(file.is_none() && pieces.is_none(), "{separator:?}");
    }
}

#[test]
fn what_is_refused_in_pieces_has_the_same_problems() {
    let file = |change: &dyn Fn(&mut Vec<String>)| {
        let mut entries = entries(20);
        change(&mut entries);
        reviews_file(&entries.join(","))
    };
    let refused = [
        file(&|all| all[13] = all[3].clone()),
        file(&|all| all[14] = all[14].replace("\"r14\"", "\"r7\"")),
        file(&|all| all[7] = all[7].replace(":5,", ":6,")),
        file(&|all| all[7] = all[7].replace("\"author\"", "\"autor\"")),
        file(&|all| all[7] = all[7].replacen('{', "{\"id\":\"r7\",", 1)),
        file(&|all| all[7] = "1".to_owned()),
        file(&|all| all.extend(entries(5))),
        reviews_file(&entries(20).join(",")).replace("\"disclaimer\":\"D\",", ""),
        reviews_file(&entries(20).join(",")).replace("2026-11-18T00", "2126-11-18T00"),
    ];
    for text in refused {
        for (threads, piece_bytes) in [(1, 1), (2, 1_000), (5, 100)] {
            assert!(agree(&text, threads, piece_bytes), "{text}");
            let ((_, _, problems), _) = read(&text, threads, piece_bytes);
            assert!(!problems.is_empty(), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_file_gives_the_same_in_pieces(
        at in any::<prop::sample::Index>(),
        byte in "[\\[\\]{},:\"\\\\ 0-9a-z]",
        threads in 1..4_usize,
        piece_bytes in 1..2_000_usize,
    ) {
        let mut text = reviews_file(&entries(12).join(","));
        let at = at.index(text.len());
        text.replace_range(at..=at, &byte);
        let (_, pieces) = read(&text, threads, piece_bytes);
        let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        prop_assert!(pieces.is_none() || is_json, "accepted in pieces: {}", text);
        agree(&text, threads, piece_bytes);
    }
}
