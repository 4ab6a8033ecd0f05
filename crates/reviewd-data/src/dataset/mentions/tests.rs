use super::*;

fn person(name: &str, aliases: &[&str]) -> Technician {
    Technician {
        name: name.to_owned(),
        aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
    }
}

fn service(id: &str, label: &str, phrases: &[&str]) -> Concept {
    Concept {
        id: id.to_owned(),
        label: label.to_owned(),
        phrases: phrases.iter().map(|&phrase| phrase.to_owned()).collect(),
        not_phrases: Vec::new(),
    }
}

/// The people of a dentist's practice, listed with titles.
fn dentists() -> Finder {
    let names = [
        "Dr. Anna Weber",
        "Dr. Jonas Krüger",
        "Paul Krüger",
        "Mia Lang",
    ];
    let taxonomy = Taxonomy {
        technicians: names.map(|name| person(name, &[])).into(),
        ..Taxonomy::default()
    };
    let matcher = Matcher::new(&taxonomy).expect("a small taxonomy");
    matcher.technicians
}

#[test]
fn a_person_who_is_listed_with_a_title_is_found_with_others_and_without() {
    let finder = dentists();
    for text in [
        "Dr. Weber ist einfühlsam",
        "bei Frau Dr. Weber",
        "Frau Weber (Dr.Weber)",
        "Dr. med. dent. Weber",
        "dr.med.Weber",
        "Anna Weber nahm sich Zeit",
        "Frau Anna Weber",
        "Zahnärztin Dr. Anna Weber!",
    ] {
        let found = finder.find_names(&comparable(text));
        assert_eq!(found, ["Dr. Anna Weber"], "{text}");
    }
    for text in [
        "Weber",
        "Anna",
        "Weber Grill",
        "Herr Doktor. Webers",
        "Frau Weberin",
    ] {
        let found = finder.find_names(&comparable(text));
        assert_eq!(found, [] as [&str; 0], "{text}");
    }
}

#[test]
fn of_two_with_a_surname_the_one_who_is_listed_with_the_title_is_found() {
    let finder = dentists();
    let found = |text: &str| finder.find_names(&comparable(text));
    assert_eq!(found("Dr. Krüger hat operiert"), ["Dr. Jonas Krüger"]);
    assert_eq!(found("Herr Krüger hat operiert"), [] as [&str; 0]);
    assert_eq!(found("Paul Krüger am Empfang"), ["Paul Krüger"]);
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

/// Asserts that each text, separated by bars, mentions these people and services of `taxonomy`.
fn assert_found(texts: &str, expected: &[&str]) {
    let matcher = Matcher::new(&taxonomy()).expect("a small taxonomy");
    for text in texts.split('|') {
        let words = comparable(text);
        let people = matcher.technicians.find_names(&words);
        let found = [people, matcher.services.find_names(&words)].concat();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn people_are_found_by_full_name_alias_and_title_with_surname() {
    let okafor =
        "Adaeze Okafor was great|Thanks, Ada.|Ms. Okafor's advice|(Dr. Okafor)|Señora Okafor";
    assert_found(okafor, &["Adaeze Okafor"]);
    let dowd = "Seamus O'Dowd|Mr. O’Dowd's letter|Mr O'Dowd’s letter";
    assert_found(dowd, &["Seamus O'Dowd"]);
    let nunez = "JOSÉ NÚÑEZ JR.|Sr. Nu\u{301}n\u{303}ez|Sr. Nunez";
    assert_found(nunez, &["José Núñez Jr."]);
    let parts = "Okafor|Adam and Nevada|Ms. Okafor-Hale|Ada-Marie|O'Dowd|";
    assert_found(parts, &[]);
}

#[test]
fn an_ambiguous_name_is_nobody_unless_an_alias_with_a_title_settles_it() {
    assert_found("Ms. Reyes helped|Pepe helped|Mrs. Reyes helped", &[]);
    assert_found("Mr. Reyes helped|mr reyes helped", &["Daniel Reyes"]);
    let matcher = Matcher::new(&taxonomy()).expect("a small taxonomy");
    let fits = "\"pepe\" matches José Núñez Jr. and Pepa Lindqvist";
    assert_eq!(matcher.ambiguous, [fits]);
}

#[test]
fn a_longer_name_hides_a_shorter_one_within_it() {
    assert_found("Daniel Kim", &["Daniel Kim"]);
    assert_found("Daniel Kimberley", &["Daniel Reyes"]);
    assert_found("Daniel and Daniel Kim", &["Daniel Reyes", "Daniel Kim"]);
    assert_found("a real estate matter", &["real-estate"]);
    assert_found("my estate, the real estate", &["estate", "real-estate"]);
}

#[test]
fn services_are_found_by_label_and_phrase_as_whole_words_in_their_simple_forms() {
    let estate = "my Last  Will.|They drew up our last wills.";
    assert_found(estate, &["estate"]);
    assert_found("Two closings in one week", &["real-estate"]);
    assert_found("DUI|He is DUI’s best", &["dui"]);
    let others = "residui foreclosing estateside|Estateless, at the last willing";
    assert_found(others, &[]);
}
