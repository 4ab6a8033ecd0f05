use super::*;

fn people(names: &[&str]) -> Names {
    let mut people = Vec::new();
    for name_and_aliases in names {
        let mut parts = name_and_aliases.split('=').map(str::to_owned);
        people.push(Technician {
            name: parts.next().unwrap_or_default(),
            aliases: parts.collect(),
        });
    }
    Names::people(&people)
}

fn concept(id: &str, label: &str, phrases: &[&str]) -> Concept {
    Concept {
        id: id.to_owned(),
        label: label.to_owned(),
        phrases: phrases.iter().map(|&phrase| phrase.to_owned()).collect(),
        not_phrases: Vec::new(),
    }
}

/// What `name` means: the entry and how it was found, or the entries, or nothing.
fn found(names: &Names, name: &str) -> String {
    match names.find(&comparable(name)) {
        Meaning::One(found) => format!("{} by {}", names.name(found.entry), found.kind.as_str()),
        Meaning::Several(entries) => {
            let entries: Vec<&str> = entries.iter().map(|entry| names.name(*entry)).collect();
            entries.join(" or ")
        }
        Meaning::Unknown => "unknown".to_owned(),
    }
}

fn assert_finds(names: &Names, cases: &[(&str, &str)]) {
    for (name, expected) in cases {
        assert_eq!(found(names, name), *expected, "{name}");
    }
}

#[test]
fn titles_are_folded_and_in_alphabetical_order() {
    for title in TITLES {
        assert_eq!(comparable(title), *title);
        assert!(title.len() <= TITLE_BYTES_MAX, "{title}");
    }
    for pair in TITLES.windows(2) {
        assert!(pair[0] < pair[1], "{pair:?}");
    }
}

#[test]
fn a_person_is_found_with_other_titles_or_without_them() {
    let names = people(&["Dr. Anna Weber", "Jonas Krüger, MD"]);
    let anna = "Dr. Anna Weber by part";
    assert_finds(
        &names,
        &[
            ("dr. anna weber", "Dr. Anna Weber by name"),
            ("DR. ANNA  WEBER", "Dr. Anna Weber by name"),
            ("Anna Weber", anna),
            ("Frau Anna Weber", anna),
            ("Frau Dr. Weber", anna),
            ("Frau Dr. med. Weber", anna),
            ("Dr.Weber", anna),
            ("Mrs Weber", anna),
            ("Weber", anna),
            ("Anna", anna),
            ("Jonas Kruger", "Jonas Krüger, MD by part"),
            ("Herr Krüger", "Jonas Krüger, MD by part"),
            ("Dr.", anna),
            ("Frau", "unknown"),
            ("Dr. Schmidt", "unknown"),
            ("Berta Weber", "unknown"),
        ],
    );
}

#[test]
fn a_title_of_each_language_is_ignored() {
    let names = people(&["Ana Weber"]);
    for name in [
        "Attorney Weber",
        "Rechtsanwältin Weber",
        "señora Weber",
        "Me Weber",
        "dott.ssa Weber",
        "Doutora Weber",
        "mevr. Weber",
        "Pani Weber",
        "الدكتورة Weber",
        "Weber先生",
    ] {
        assert_eq!(found(&names, name), "Ana Weber by part", "{name}");
    }
}

#[test]
fn a_surname_of_two_people_means_neither_unless_one_bears_the_title() {
    let names = people(&["Dr. Anna Weber", "Paul Weber", "Mia Weber-Lang"]);
    let both = "Dr. Anna Weber or Paul Weber";
    assert_finds(
        &names,
        &[
            ("Weber", both),
            ("Herr Weber", both),
            ("Dr. Weber", "Dr. Anna Weber by part"),
            ("Frau Dr. Weber", "Dr. Anna Weber by part"),
            ("Frau Weber-Lang", "Mia Weber-Lang by part"),
        ],
    );
    let names = people(&["Dr. Anna Weber", "Dr. Paul Weber"]);
    assert_eq!(
        found(&names, "Dr. Weber"),
        "Dr. Anna Weber or Dr. Paul Weber"
    );
}

#[test]
fn an_alias_of_two_people_means_neither_and_a_name_comes_before_an_alias() {
    let names = people(&["Ada Okafor=Ada=Boss", "Bo Lee=boss=Ada Okafor", "Ada Hale"]);
    assert_finds(
        &names,
        &[
            ("ada", "Ada Okafor by alias"),
            ("boss", "Ada Okafor or Bo Lee"),
            ("ada okafor", "Ada Okafor by name"),
        ],
    );
}

#[test]
fn a_service_is_found_by_id_label_phrase_or_part_of_its_label() {
    let services = [
        concept("wills", "Estate planning", &["living trust", "our wills"]),
        concept("probate", "Wills", &["executor", "living trust"]),
    ];
    let names = Names::concepts(&services);
    assert_finds(
        &names,
        &[
            ("wills", "wills by name"),
            ("Estate planning", "wills by alias"),
            ("Our  Wills", "wills by phrase"),
            ("executor", "probate by phrase"),
            ("planning", "wills by part"),
            ("living trust", "wills or probate"),
            ("living", "unknown"),
            ("Dr. executor", "unknown"),
            ("", "unknown"),
        ],
    );
}

#[test]
fn a_match_tells_the_spelling_of_the_operator() {
    let names = Names::concepts(&[concept("empathy", "Empathy", &["Rude"])]);
    let Meaning::One(found) = names.find("rude") else {
        panic!("one aspect has the phrase");
    };
    assert_eq!(found.spelling, "Rude");
}

#[test]
fn a_part_is_compared_with_the_spellings_of_each_word() {
    let mut listed = vec!["Ann Rare".to_owned()];
    listed.extend((0..100).map(|number| format!("Ann Common{number}")));
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    let names = people(&listed);
    assert_eq!(names.comparisons_max("rare ann"), 102);
    assert_eq!(names.comparisons_max("ann"), 101);
    assert_eq!(names.comparisons_max("other"), 0);
}

#[test]
fn a_mention_is_an_entry_by_its_whole_name_only() {
    let mut names = NamesBuilder::new(true);
    let anna = names.add_entry("Dr. Anna Weber");
    names.add_spelling(anna, SpellingKind::Alias, "Anni");
    for mention in ["Dr. Anna Weber", "anna weber", "ANNI"] {
        assert_eq!(names.entry_of_mention_or_new(mention), anna, "{mention}");
    }
    let other = names.entry_of_mention_or_new("Weber");
    assert_ne!(other, anna);
    assert_eq!(names.entry_of_mention_or_new("weber"), other);
    let names = names.finish();
    assert_eq!(names.entry_of_mention("weber"), Some(other));
    assert_eq!(names.entry_of_mention("Anna"), None);
}

#[test]
fn what_only_the_business_lists_is_added_once() {
    let mut taxonomy = Taxonomy {
        technicians: vec![Technician {
            name: "Anna Weber".to_owned(),
            aliases: vec!["Anni".to_owned()],
        }],
        services: vec![concept("wills", "Wills", &[])],
        ..Taxonomy::default()
    };
    let mut business = crate::dataset::sample().business;
    business.technicians = ["Dr. Anna Weber", "ANNI", "Bo Lee", "Bo  LEE"]
        .map(|name| crate::model::BusinessTechnician {
            name: name.to_owned(),
            title: String::new(),
        })
        .into();
    business.services = [("estate", "WILLS"), ("dui", "DUI")]
        .map(|(id, label)| crate::model::BusinessService {
            id: id.to_owned(),
            label: label.to_owned(),
        })
        .into();
    add_listed(&mut taxonomy, &business);
    let people = taxonomy.technicians.iter().map(|person| &*person.name);
    assert_eq!(people.collect::<Vec<_>>(), ["Anna Weber", "Bo Lee"]);
    assert_eq!(taxonomy.technicians[0].aliases, ["Anni", "Dr. Anna Weber"]);
    let services = taxonomy.services.iter().map(|service| &*service.id);
    assert_eq!(services.collect::<Vec<_>>(), ["wills", "dui"]);
}
