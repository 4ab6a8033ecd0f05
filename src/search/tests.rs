//! What needs the inside of the index; answers are compared with a linear scan in `tests/oracle`.

use std::num::NonZeroUsize;

use crate::model::{Rating, Review, Taxonomy, Technician};
use crate::search::Tuning;
use crate::search::arena::Arena;
use crate::search::hints::{Advice, hints};
use crate::search::index::{Index, IndexOptions};
use crate::search::names::NameMatch;
use crate::search::query::{Buffers, Parameter, parse_query};
use crate::search::run::Scratch;
use crate::search::tree::build_tree;
use crate::wire::date::Date;

/// A dataset of the given texts, newest first, on days and with ratings that differ.
fn reviews<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<Review> {
    let newest = Date::new(2026, 11, 1).expect("a day").days();
    let review = |(number, text): (usize, T)| Review {
        id: format!("R{:07}", 9_999_999 - number),
        author: String::new(),
        author_avatar_url: None,
        rating: Rating::new(1 + (number * 7 % 5) as u8).expect("a rating"),
        date: Date::from_days(newest - number as u32 / 3).expect("a day"),
        text: text.into(),
        source: String::new(),
        source_url: None,
        owner_reply: None,
        verified: true,
        mentioned_technicians: Vec::new(),
        mentioned_services: Vec::new(),
        verification: None,
        language: None,
        media: Vec::new(),
        translation: None,
    };
    texts.into_iter().enumerate().map(review).collect()
}

#[test]
fn the_size_of_the_tree_does_not_depend_on_the_number_of_threads() {
    let reviews = reviews(
        (0..3_000).map(|number| format!("Great. Großartig {} {}", number % 14, number * number)),
    );
    let arena = Arena::build(&reviews);
    let tuning = Tuning {
        leaf_rows_max: 40,
        bitmap_rows_min: 24,
        union_steps_max: 16,
    };
    let grow = |threads| {
        let tree = build_tree(&arena, tuning, &options(threads), &|| false);
        tree.expect("it fits").memory()
    };
    let one = grow(1);
    assert!(one > 0);
    assert_eq!([one; 2], [grow(2), grow(5)]);
}

fn options(threads: usize) -> IndexOptions {
    IndexOptions {
        memory_bytes: u64::MAX,
        threads: NonZeroUsize::new(threads).expect("threads"),
    }
}

/// Three reviews, and as many people of whom two share a name.
fn index() -> Index {
    let mut reviews = reviews([
        "They missed a filing deadline. Rude, and the staff (all) couldn\u{2019}t care.",
        "Se habla espa\u{f1}ol; \u{201c}wheelchair-accessible\u{201d} office",
        "Dismissed my case by the deadlines",
    ]);
    reviews[0].mentioned_technicians = vec!["Adaeze Okafor".to_owned()];
    let people = [
        "Adaeze Okafor",
        "Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k",
        "Ada Dvorak",
    ];
    let technician = |name: &str| Technician {
        name: name.to_owned(),
        aliases: Vec::new(),
    };
    let taxonomy = Taxonomy {
        technicians: people.map(technician).into(),
        ..Taxonomy::default()
    };
    Index::build(&reviews, &taxonomy, &options(1))
}

#[test]
fn a_name_stands_for_what_it_names_alone_or_is_like_others() {
    let index = index();
    let resolve = |name| index.resolve(Parameter::MentionsTechnician, name);
    assert_eq!(resolve("okafor"), Some(NameMatch::Unique("Adaeze Okafor")));
    let several = vec!["Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k", "Ada Dvorak"];
    assert_eq!(
        resolve("dvorak"),
        Some(NameMatch::Ambiguous(several.clone()))
    );
    // A title does not count, unless it is all that is given; another first name does.
    for name in ["ms. okafor", "attorney adaeze okafor"] {
        assert_eq!(resolve(name), Some(NameMatch::Unique("Adaeze Okafor")));
    }
    assert_eq!(resolve("dr dvorak"), Some(NameMatch::Unique(several[0])));
    assert_eq!(resolve("ms dvorak"), Some(NameMatch::Ambiguous(several)));
    for name in ["okafr", "brian okafor"] {
        let near = vec!["Adaeze Okafor"];
        assert_eq!(resolve(name), Some(NameMatch::Unknown(near)));
    }
    // Nothing is like it, so the first ones are told.
    let Some(NameMatch::Unknown(all)) = resolve("...") else {
        panic!("it names nobody");
    };
    assert_eq!(all.len(), 3);
    assert_eq!(index.resolve(Parameter::Query, "okafor"), None);
}

#[test]
fn an_empty_result_tells_what_empties_it() {
    let index = index();
    let names = vec!["Adaeze Okafor"];
    let okafr = (
        Parameter::MentionsTechnician,
        "okafr",
        Advice::Name(NameMatch::Unknown(names)),
    );
    let alone = |word, found| (Parameter::Words, word, Advice::Alone(found));
    let words = |word| alone(word, 1);
    let excluded = "-missed -\"the deadlines\"";
    let excluded = (Parameter::Words, excluded, Advice::Without(2));
    let deadline = (Parameter::Query, "missed deadline", Advice::Alone(1));
    let none = Advice::Name(NameMatch::Unknown(Vec::new()));
    let spanish = (Parameter::Language, "es", none);
    let since = |found| (Parameter::Since, "", Advice::Without(found));
    for (raw, expected) in [
        (
            "words=rude+espanol&max_rating=5",
            vec![words("rude"), words("espanol")],
        ),
        ("words=rude&since=2030-01-01", vec![since(1), words("rude")]),
        (
            "query=missed+deadline",
            vec![words("missed"), alone("deadline", 2), deadline],
        ),
        (
            "query=missedly",
            vec![alone("missedly", 0), alone("missed", 1)],
        ),
        (
            "words=deadline+-missed+-%22the+deadlines%22",
            vec![excluded, alone("deadline", 2)],
        ),
        ("language=es", vec![spanish]),
        ("since=2030-01-01", vec![since(3)]),
        ("mentions_technician=okafr", vec![okafr]),
    ] {
        let mut buffers = Buffers::default();
        let query = parse_query(raw.as_bytes(), &mut buffers).expect("it is right");
        let hints = hints(&index, &query, &mut Scratch::default());
        let hints = hints
            .iter()
            .map(|hint| (hint.parameter, &*hint.value, hint.advice.clone()));
        assert_eq!(hints.collect::<Vec<_>>(), expected, "{raw}");
    }
}
