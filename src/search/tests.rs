//! Tests that need the internals of the index; results are compared with a linear scan in `tests/oracle`.

use std::num::NonZeroUsize;

use crate::model::{Rating, Review, Taxonomy, Technician};
use crate::search::Tuning;
use crate::search::arena::Arena;
use crate::search::hints::hints;
use crate::search::index::{Index, IndexOptions};
use crate::search::query::{Buffers, Parameter, parse_query};
use crate::search::rank::search;
use crate::search::run::{Scratch, run, run_within};
use crate::search::tree::build_within;
use crate::search::work::Work;
use crate::wire::date::Date;

/// A dataset of the given texts, newest first, with various days and ratings.
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
        language_source: None,
        location: None,
        date_precision: None,
        rating_original: None,
        added_at: None,
        changed_at: None,
    };
    texts.into_iter().enumerate().map(review).collect()
}

#[test]
fn the_size_of_the_tree_does_not_depend_on_the_number_of_threads() {
    let reviews = reviews(
        (0..3_000).map(|number| format!("Great. Großartig {} {}", number % 14, number * number)),
    );
    let arena = Arena::build(reviews.iter().map(|review| review.text.as_str()));
    let tuning = Tuning {
        leaf_rows_max: 40,
        bitmap_rows_min: 24,
        union_steps_max: 16,
    };
    let grow = |threads| {
        let mut options = options(threads);
        options.tuning = Some(tuning);
        let tree = build_within(&arena, &options, &|| false);
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
        tuning: None,
    }
}

/// Three reviews and three people, of whom two share a name.
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
    let resolve = |name| {
        let found = index.resolve(Parameter::MentionsTechnician, name, &mut Work::for_hints());
        let found = found.expect("people have names");
        found.map(|resolved| resolved.name)
    };
    let wrong = |name| resolve(name).expect_err("no person has this name");
    assert_eq!(resolve("okafor"), Ok("Adaeze Okafor"));
    let several = vec!["Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k", "Ada Dvorak"];
    assert_eq!(wrong("dvorak").names, several);
    let problem = "may mean Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k or Ada Dvorak";
    assert_eq!(wrong("dvorak").problem, problem);
    // A title is ignored, unless it is the whole name; another first name is not.
    for name in ["ms. okafor", "attorney adaeze okafor"] {
        assert_eq!(resolve(name), Ok("Adaeze Okafor"));
    }
    assert_eq!(resolve("dr dvorak"), Ok(several[0]));
    assert_eq!(wrong("ms dvorak").names, several);
    for name in ["okafr", "brian okafor"] {
        let problem = "is unknown; similar names: Adaeze Okafor";
        assert_eq!(wrong(name).problem, problem);
    }
    assert_eq!(
        index.resolve(Parameter::Query, "okafor", &mut Work::for_hints()),
        None
    );
}

/// An index of people with these names and no review.
fn index_of_people(names: &[String]) -> Index {
    let mut taxonomy = Taxonomy::default();
    for name in names {
        taxonomy.technicians.push(Technician {
            name: name.clone(),
            aliases: Vec::new(),
        });
    }
    Index::build(&[], &taxonomy, &options(1))
}

/// Returns what is told about an unknown person.
fn problem_of_person(index: &Index, name: &str) -> String {
    let parameter = Parameter::MentionsTechnician;
    let found = index.resolve(parameter, name, &mut Work::for_hints());
    let wrong = found
        .expect("people have names")
        .expect_err("no person has this name");
    wrong.problem
}

#[test]
fn an_unknown_name_that_is_like_no_other_is_told_with_known_ones() {
    let names = ["ann", "bob", "cleo", "dan", "eve", "finn"].map(str::to_owned);
    for (count, problem) in [
        (0, "is unknown: no review has a value"),
        (1, "is unknown; known people: ann"),
        (5, "is unknown; known people: ann, bob, cleo, dan, eve"),
        (
            6,
            "is unknown; known people: ann, bob, cleo, dan, eve, and 1 more",
        ),
    ] {
        let index = index_of_people(&names[..count]);
        assert_eq!(problem_of_person(&index, "zyx"), problem);
    }
}

#[test]
fn at_most_five_similar_names_are_told() {
    for (count, told) in [
        (5, "okafor1, okafor2, okafor3, okafor4, okafor5"),
        (6, "okafor1, okafor2, okafor3, okafor4, okafor5"),
    ] {
        let names: Vec<String> = (1..=count).map(|at| format!("okafor{at}")).collect();
        let problem = problem_of_person(&index_of_people(&names), "okafor");
        assert_eq!(problem, format!("is unknown; similar names: {told}"));
    }
}

#[test]
fn the_first_2000_names_are_compared_with_an_unknown_one() {
    for (others, is_similar) in [(1_999, true), (2_000, false)] {
        let mut names: Vec<String> = (0..others).map(|at| format!("a{at:04}")).collect();
        names.push("zyxel".to_owned());
        let problem = problem_of_person(&index_of_people(&names), "zyxol");
        assert_eq!(
            problem.contains("similar names: zyxel"),
            is_similar,
            "{problem}"
        );
        assert_eq!(
            problem.contains("known people: a0000"),
            !is_similar,
            "{problem}"
        );
    }
}

#[test]
fn the_first_64_characters_of_an_unknown_name_are_compared() {
    let index = index_of_people(&["okafor".to_owned()]);
    // "oka" is like "okafor"; of "ok", which is too short, nothing is.
    for (before, is_similar) in [(61, true), (62, false)] {
        let name = format!("{}oka", "-".repeat(before));
        let problem = problem_of_person(&index, &name);
        assert_eq!(
            problem.contains("similar names"),
            is_similar,
            "{name:?} {problem}"
        );
    }
}

#[test]
fn an_unknown_name_and_its_first_four_words_are_compared() {
    let index = index_of_people(&["okafor".to_owned()]);
    for (name, is_similar) in [
        ("xxx yyy zzz okafr", true),
        ("xxx yyy zzz vvv okafr", false),
    ] {
        let problem = problem_of_person(&index, name);
        assert_eq!(
            problem.contains("similar names"),
            is_similar,
            "{name:?} {problem}"
        );
    }
}

#[test]
fn an_empty_result_tells_what_empties_it() {
    let index = index();
    for (raw, expected) in [
        (
            "words=rude+espanol&max_rating=5",
            &[
                "\"rude\" alone matches 1 review",
                "\"espanol\" alone matches 1 review",
            ][..],
        ),
        (
            "words=rude&since=2030-01-01",
            &[
                "without since, 1 review would match",
                "\"rude\" alone matches 1 review",
            ],
        ),
        (
            "query=missed+deadline",
            &[
                "\"missed\" alone matches 1 review",
                "\"deadline\" alone matches 2 reviews",
                "the words of \"missed deadline\" in any order (parameter words) match 1 review",
            ],
        ),
        (
            "query=missedly",
            &[
                "\"missedly\" alone matches 0 reviews",
                "\"missed\" alone matches 1 review",
            ],
        ),
        (
            "words=deadline+-missed+-%22the+deadlines%22",
            &[
                "without -missed -\"the deadlines\", 2 reviews would match",
                "\"deadline\" alone matches 2 reviews",
            ],
        ),
        (
            "language=es",
            &["language \"es\" is unknown: no review has a value"],
        ),
        (
            "since=2030-01-01",
            &["without since, 3 reviews would match"],
        ),
        (
            "mentions_technician=okafr",
            &["mentions_technician \"okafr\" is unknown; similar names: Adaeze Okafor"],
        ),
    ] {
        let mut buffers = Buffers::default();
        let query = parse_query(raw.as_bytes(), &mut buffers).expect("it is right");
        let hints = hints(
            &index,
            &query,
            &mut Scratch::default(),
            &mut Work::for_hints(),
        );
        let messages = hints.iter().map(|hint| &*hint.message);
        assert_eq!(messages.collect::<Vec<_>>(), expected, "{raw}");
    }
}

#[test]
fn a_search_that_costs_more_than_its_work_has_no_result() {
    let index = index();
    let mut buffers = Buffers::default();
    let query = parse_query(b"words=%22missed+a+filing%22+deadline", &mut buffers);
    let query = query.expect("it is right");
    let mut scratch = Scratch::default();
    assert_eq!(run(&index, &query, &mut scratch).matched, 1);
    let cost = scratch.spent();
    for (units, is_enough) in [(0, false), (1, false), (cost, false), (cost + 1, true)] {
        let mut work = Work::new(units);
        let page = run_within(&index, &query, &mut scratch, &mut work);
        assert_eq!(page.is_some(), is_enough, "{units} of {cost}");
        assert_eq!(work.is_spent(), !is_enough, "{units} of {cost}");
    }
}

#[test]
fn hints_and_similar_names_end_with_their_work() {
    let index = index();
    let mut buffers = Buffers::default();
    let raw = b"words=rude+espanol&mentions_technician=okafr&max_rating=5";
    let query = parse_query(raw, &mut buffers).expect("it is right");
    let hints_within = |units| {
        let mut work = Work::new(units);
        hints(&index, &query, &mut Scratch::default(), &mut work)
    };
    let all = hints_within(Work::HINTS_MAX);
    assert_eq!(all.len(), 3);
    let none = hints_within(0);
    assert_eq!(none.len(), 1);
    let known = "known people: Adaeze Okafor, Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k, Ada Dvorak";
    let message = format!("mentions_technician \"okafr\" is unknown; {known}");
    assert_eq!(none[0].message, message);
}

#[test]
fn an_empty_result_costs_at_most_two_milliseconds_of_hints() {
    let words = (0..4_000).map(|number| format!("w{number} {} common", number % 7));
    let index = Index::build(&reviews(words), &Taxonomy::default(), &options(1));
    let raw = format!("words={}zq", "common+-".repeat(15));
    let mut buffers = Buffers::default();
    let query = parse_query(raw.as_bytes(), &mut buffers).expect("it is right");
    let mut scratch = Scratch::default();
    let mut work = Work::for_hints();
    for _ in 0..100_000 {
        hints(&index, &query, &mut scratch, &mut work);
        if work.is_spent() {
            break;
        }
    }
    assert!(work.is_spent());
    // The last search ends within one of its steps.
    assert!(work.spent() < Work::HINTS_MAX + Work::HINTS_MAX / 4);
}

/// Returns the rows of a ranked search, and how many reviews match and fit.
fn ranked(index: &Index, raw: &str) -> (Vec<u32>, u32, Option<u32>) {
    let mut buffers = Buffers::default();
    let raw = format!("{raw}&sort=relevance");
    let query = parse_query(raw.as_bytes(), &mut buffers).expect("it is right");
    let page = search(index, &query, &mut Scratch::default());
    assert_eq!(page.next, None);
    let rows = page.rows.iter().map(|row| row.0).collect();
    (rows, page.matched, page.ranked)
}

#[test]
fn a_ranked_search_lists_reviews_that_lack_words_after_those_that_have_all() {
    let index = index();
    // Stems count: "deadline" and "deadlines" are one word; reviews without a language have no stems, but beginnings.
    assert_eq!(
        ranked(&index, "words=missed+deadline"),
        (vec![0, 2], 1, Some(2))
    );
    assert_eq!(
        ranked(&index, "words=rude+espanol+office"),
        (vec![1, 0], 0, Some(2))
    );
    // Filters, phrases and excluded words are exact.
    assert_eq!(ranked(&index, "words=deadline+-rude").0, [2]);
    assert_eq!(ranked(&index, "words=deadline+%22my+case%22").0, [2]);
    assert_eq!(ranked(&index, "words=zzz"), (vec![], 0, Some(0)));
    // A name counts like a word.
    assert_eq!(ranked(&index, "words=okafor").0, [0]);
}

#[test]
fn forms_of_a_word_in_the_language_of_the_review_count() {
    let mut reviews = reviews(["It leaks and nobody called", "Leaking again", "Ein Leck"]);
    for (review, language) in reviews.iter_mut().zip(["en", "en-US", "de"]) {
        review.language = Some(language.to_owned());
    }
    let index = Index::build(&reviews, &Taxonomy::default(), &options(1));
    assert_eq!(ranked(&index, "words=leaked"), (vec![1, 0], 0, Some(3)));
    assert_eq!(ranked(&index, "words=again").0, [1]);
}

#[test]
fn words_of_the_same_subject_count_less_than_the_word() {
    let texts = [
        "We were ill for days",
        "Food poisoning",
        "Es tat weh",
        "Very nice",
    ];
    let mut reviews = reviews(texts);
    for (review, language) in reviews.iter_mut().zip(["en", "en", "de", "en"]) {
        review.language = Some(language.to_owned());
    }
    let index = Index::build(&reviews, &Taxonomy::default(), &options(1));
    assert_eq!(ranked(&index, "words=ill"), (vec![0, 1], 1, Some(2)));
}

#[test]
fn a_german_word_is_found_in_compounds() {
    let mut reviews = reviews(["Die Endabrechnung stimmt nicht", "Ein Brechnung", "Gut"]);
    reviews[0].language = Some("de".to_owned());
    reviews[1].language = Some("en".to_owned());
    let index = Index::build(&reviews, &Taxonomy::default(), &options(1));
    assert_eq!(ranked(&index, "words=rechnungen").0, [0]);
}

#[test]
fn complaints_prefer_few_stars_and_negations_only_help() {
    let mut reviews = reviews(["They called me", "They never called", "They never wrote"]);
    for (review, stars) in reviews.iter_mut().zip([5, 1, 1]) {
        review.rating = Rating::new(stars).expect("a rating");
        review.language = Some("en".to_owned());
    }
    let index = Index::build(&reviews, &Taxonomy::default(), &options(1));
    assert_eq!(ranked(&index, "words=never+called").0, [1, 0]);
    assert_eq!(ranked(&index, "words=called+complaints").0, [1, 0]);
    assert_eq!(ranked(&index, "words=best+called").0, [0, 1]);
}

#[test]
fn only_function_words_of_a_language_tell_nothing() {
    let texts = [
        "Great place",
        "The spa was great",
        "My lawyer",
        "This lawyer is careful",
    ];
    let index = Index::build(&reviews(texts), &Taxonomy::default(), &options(1));
    // "spa" is the code of Spanish, and "careful" has a stem of another meaning.
    for (words, best) in [("great+spa", 1), ("careful+lawyer", 3)] {
        let query = format!("words={words}");
        assert_eq!(ranked(&index, &query).0[0], best, "{words}");
    }
}

#[test]
fn function_words_are_known_by_their_folded_form() {
    let texts = [
        "Mas y mas, por que no",
        "Le plus cher de tous, deja vu",
        "Das ist fur mich",
        "La comida cara",
        "Un avocat cher",
        "Ein guter Anwalt",
    ];
    let index = Index::build(&reviews(texts), &Taxonomy::default(), &options(1));
    for (words, found) in [
        ("la comida más cara", 3),
        ("déjà un avocat", 4),
        ("ein anwalt für mich", 5),
    ] {
        let query = format!("words={}", words.replace(' ', "+"));
        assert_eq!(ranked(&index, &query).0, [found], "{words}");
    }
}

#[test]
fn a_word_is_no_form_of_one_that_only_begins_alike() {
    let mut reviews = reviews([
        "Even my sister",
        "Open in the evenings",
        "Always busy",
        "My business",
    ]);
    for review in &mut reviews {
        review.language = Some("en".to_owned());
    }
    let index = Index::build(&reviews, &Taxonomy::default(), &options(1));
    assert_eq!(ranked(&index, "words=evening").0, [1]);
    assert_eq!(ranked(&index, "words=business").0, [3]);
}
