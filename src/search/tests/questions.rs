//! Words, names and hints as people and models ask.

use super::*;
use crate::model::{Concept, Technician};
use crate::search::hints::{Advice, hints};
use crate::search::names::NameMatch;
use crate::search::query::{Buffers, Parameter, parse_query};
use crate::search::run::run;

fn taxonomy() -> Taxonomy {
    let technician = |name: &str| Technician {
        name: name.to_owned(),
        aliases: Vec::new(),
    };
    Taxonomy {
        technicians: [
            "Adaeze Okafor",
            "Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k",
            "Ada Dvorak",
        ]
        .map(technician)
        .into(),
        services: vec![Concept {
            id: "family".to_owned(),
            label: "Family law & divorce".to_owned(),
            phrases: Vec::new(),
        }],
        ..Taxonomy::default()
    }
}

fn index() -> Index {
    let mut reviews = reviews([
        "They missed a filing deadline. Rude, and the staff (all) couldn\u{2019}t care.",
        "Se habla espa\u{f1}ol; \u{201c}wheelchair-accessible\u{201d} office",
        "Dismissed my case by the deadlines",
    ]);
    reviews[0].mentioned_technicians = vec!["Adaeze Okafor".to_owned()];
    reviews[1].mentioned_services = vec!["family".to_owned()];
    Index::build(&reviews, &taxonomy(), &options(u64::MAX))
}

/// The rows that a query string finds.
fn found(index: &Index, raw: &str) -> Vec<u32> {
    let mut buffers = Buffers::default();
    let query = parse_query(raw.as_bytes(), &mut buffers).expect("it is right");
    let page = run(index, &query, &mut Scratch::default());
    page.rows.iter().map(|row| row.0).collect()
}

#[test]
fn words_are_found_in_any_order_from_their_beginning() {
    let index = index();
    for (raw, rows) in [
        ("words=missed+deadline", vec![0]),
        ("words=deadline+missed", vec![0]),
        ("words=deadline", vec![0, 2]),
        ("words=rude+staff", vec![0]),
        ("words=wheelchair+accessible", vec![1]),
        ("words=all", vec![0]),
        ("words=ll", vec![]),
        ("words=couldn%E2%80%99t", vec![0]),
        ("query=couldn%27t", vec![0]),
        ("words=espanol", vec![1]),
        ("query=ESPA%C3%91OL", vec![1]),
        ("words=%22filing+deadline%22", vec![0]),
        ("words=%22deadline+filing%22", vec![]),
        ("words=%22filing+dead%22", vec![]),
        ("words=%22iling+deadline%22", vec![]),
        ("words=%22+the+staff+%22", vec![0]),
        ("words=%22all%22", vec![0]),
        ("words=%22deadline%22", vec![0]),
        ("words=-%22deadline%22+deadline", vec![2]),
        ("words=%22accessible%22+%22office%22", vec![1]),
        ("words=deadline+-rude", vec![2]),
        ("words=-deadline", vec![1]),
        ("words=%22%22", vec![0, 1, 2]),
        ("words=wheelchair-acc", vec![1]),
        ("words=%C2%BFrude,+%28staff%29+%26+care%3F", vec![0]),
        ("words=%22staff%2C%22", vec![]),
        ("words=%22wheelchair-accessible%22", vec![1]),
    ] {
        assert_eq!(found(&index, raw), rows, "{raw}");
    }
}

#[test]
fn a_part_of_a_name_finds_what_it_names_alone() {
    let index = index();
    assert_eq!(found(&index, "mentions_technician=okafor"), [0]);
    assert_eq!(found(&index, "mentions_service=Family+Law"), [1]);
    assert!(found(&index, "mentions_technician=smith").is_empty());
    let resolve = |name| index.resolve(Parameter::MentionsTechnician, name);
    assert_eq!(resolve("okafor"), Some(NameMatch::Unique("Adaeze Okafor")));
    let several = vec!["Dr. Ji\u{159}\u{ed} Dvo\u{159}\u{e1}k", "Ada Dvorak"];
    assert_eq!(resolve("dvorak"), Some(NameMatch::Ambiguous(several)));
    let near = vec!["Adaeze Okafor"];
    assert_eq!(resolve("okafr"), Some(NameMatch::Unknown(near)));
    assert_eq!(resolve("..."), Some(NameMatch::Unknown(Vec::new())));
    assert_eq!(index.resolve(Parameter::Query, "okafor"), None);
}

#[test]
fn an_empty_result_tells_what_empties_it() {
    let index = index();
    let names = vec!["Adaeze Okafor".to_owned()];
    let rude = (Parameter::Words, "rude", Advice::Alone(1));
    for (raw, expected) in [
        (
            "words=rude+espanol&max_rating=5",
            vec![
                rude.clone(),
                (Parameter::Words, "espanol", Advice::Alone(1)),
            ],
        ),
        (
            "words=rude&since=2030-01-01",
            vec![(Parameter::Since, "", Advice::Without(1)), rude],
        ),
        (
            "query=missed+deadline",
            vec![(Parameter::Query, "missed deadline", Advice::Alone(1))],
        ),
        (
            "language=es",
            vec![(Parameter::Language, "es", Advice::Unknown(Vec::new()))],
        ),
        (
            "since=2030-01-01",
            vec![(Parameter::Since, "", Advice::Without(3))],
        ),
        (
            "mentions_technician=okafr",
            vec![(
                Parameter::MentionsTechnician,
                "okafr",
                Advice::Unknown(names),
            )],
        ),
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
