use super::*;

fn person(name: &str, aliases: &[&str]) -> Technician {
    Technician {
        name: name.to_owned(),
        aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
    }
}

fn service(id: &str, label: &str, phrases: &[&str]) -> Concept {
    let phrases = phrases.iter().map(|&phrase| phrase.to_owned()).collect();
    Concept {
        id: id.to_owned(),
        label: label.to_owned(),
        phrases,
    }
}

fn taxonomy() -> Taxonomy {
    Taxonomy {
        technicians: vec![
            person("Adaeze Okafor", &["Ada"]),
            person("Daniel Reyes", &["Daniel", "Mr. Reyes"]),
            person("Marisol Reyes", &["Marisol"]),
            person("José Núñez Jr.", &["Pepe"]),
            person("Seamus O'Dowd", &["Shay"]),
            person("Daniel Kim", &["Dan"]),
            person("Pepa Lindqvist", &["Pepe"]),
        ],
        services: vec![
            service("estate", "Estate planning", &["estate", "last will"]),
            service("real-estate", "Real estate", &["closing"]),
            service("dui", "DUI", &[]),
        ],
        ..Taxonomy::default()
    }
}

fn people(text: &str) -> Vec<String> {
    let taxonomy = taxonomy();
    let matcher = Matcher::new(&taxonomy).expect("a small taxonomy");
    Derive {
        taxonomy: &taxonomy,
        matcher: &matcher,
    }
    .technicians(&Comparable::new(text))
}

fn services(text: &str) -> Vec<String> {
    let taxonomy = taxonomy();
    let matcher = Matcher::new(&taxonomy).expect("a small taxonomy");
    Derive {
        taxonomy: &taxonomy,
        matcher: &matcher,
    }
    .services(&Comparable::new(text))
}

#[test]
fn services_are_found_in_the_plural_as_aspects_are() {
    assert_eq!(services("They drew up our last wills."), ["estate"]);
    assert_eq!(services("Two closings in one week"), ["real-estate"]);
    assert_eq!(services("He is DUI’s best"), ["dui"]);
    // Another word that begins like a phrase is none of its forms.
    assert_eq!(services("Estateless, at the last willing"), [""; 0]);
}

#[test]
fn people_are_named_by_full_name_alias_and_title_with_surname() {
    for text in [
        "Adaeze Okafor was great",
        "ADAEZE\n  OKAFOR!",
        "Thanks, Ada.",
        "Ms. Okafor's advice",
        "ms okafor",
        "Attorney Okafor",
        "(Dr. Okafor)",
        "Señora Okafor",
    ] {
        assert_eq!(people(text), ["Adaeze Okafor"], "{text}");
    }
}

#[test]
fn parts_of_words_and_of_other_names_name_nobody() {
    for text in [
        "Okafor",
        "Adam and Nevada",
        "Ms. Okafor-Hale",
        "Ms. Okaforson",
        "Ada-Marie",
        "O'Dowd",
        "Mary-Ada",
        "",
    ] {
        assert_eq!(people(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn apostrophes_may_be_straight_or_curly() {
    for text in ["Seamus O'Dowd", "Mr. O’Dowd's letter", "Mr O'Dowd’s letter"] {
        assert_eq!(people(text), ["Seamus O'Dowd"], "{text}");
    }
    assert_eq!(people("Mr. O’Dowdy"), [] as [&str; 0]);
    assert_eq!(Comparable::new("’s O’Dowd’"), Comparable::new("'s O'Dowd'"));
}

#[test]
fn case_composition_and_accents_do_not_count() {
    assert_eq!(people("JOSÉ NÚÑEZ JR."), ["José Núñez Jr."]);
    assert_eq!(people("Sr. Nu\u{301}n\u{303}ez"), ["José Núñez Jr."]);
    assert_eq!(people("Sr. Nunez"), ["José Núñez Jr."]);
}

#[test]
fn an_ambiguous_name_names_nobody() {
    assert_eq!(people("Ms. Reyes helped"), [] as [&str; 0]);
    assert_eq!(people("Pepe helped"), [] as [&str; 0]);
    let ambiguous = Matcher::new(&taxonomy())
        .expect("a small taxonomy")
        .ambiguous()
        .to_vec();
    assert_eq!(
        ambiguous,
        [Ambiguity {
            name: "pepe".to_owned(),
            people: [3, 6]
        }]
    );
}

#[test]
fn an_alias_with_a_title_settles_who_is_meant() {
    assert_eq!(people("Mr. Reyes helped"), ["Daniel Reyes"]);
    assert_eq!(people("mr reyes helped"), ["Daniel Reyes"]);
    assert_eq!(people("Mrs. Reyes helped"), [] as [&str; 0]);
}

#[test]
fn a_longer_name_hides_a_shorter_one_within_it() {
    assert_eq!(people("Daniel Kim"), ["Daniel Kim"]);
    assert_eq!(people("Daniel Kimberley"), ["Daniel Reyes"]);
    assert_eq!(
        people("Daniel and Daniel Kim"),
        ["Daniel Reyes", "Daniel Kim"]
    );
    assert_eq!(services("a real estate matter"), ["real-estate"]);
    assert_eq!(
        services("my estate, and the real estate"),
        ["estate", "real-estate"]
    );
}

#[test]
fn services_are_found_by_label_and_phrase_as_whole_words() {
    assert_eq!(services("DUI"), ["dui"]);
    assert_eq!(services("my Last  Will."), ["estate"]);
    assert_eq!(services("residui foreclosing estateside"), [] as [&str; 0]);
    assert_eq!(services("estate-planning"), ["estate"]);
}

#[test]
fn an_empty_taxonomy_finds_nothing() {
    let taxonomy = Taxonomy::default();
    let matcher = Matcher::new(&taxonomy).expect("an empty taxonomy");
    assert_eq!(
        matcher.technicians(&Comparable::new("Ada")),
        [] as [usize; 0]
    );
    assert_eq!(
        matcher.service_areas(&Comparable::new("Ada")),
        [] as [usize; 0]
    );
}
