//! What the page of a business lacks, for `reviewd check`. Each suggestion has JSON to paste.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::dataset::trade_of_type;
use crate::insights::{is_greeting, is_usual_word, name_candidates};
use crate::model::{Business, Dataset};

/// Most people that are suggested.
const PEOPLE_MAX: usize = 5;

/// Titles before a name that is suggested: capitalized, and hardly ever another word. Of all titles that a name may have
/// (`dataset::names`), many are, such as "coach" and "pan". These are short forms, perhaps with a full stop.
const SHORT_TITLES: [&str; 9] = ["Dr", "Mr", "Mrs", "Ms", "Dra", "Mme", "Sra", "Sr", "Prof"];

/// Those that are written in full: a full stop after one ends the sentence.
const FULL_TITLES: [&str; 6] = ["Attorney", "Chef", "Doktor", "Frau", "Herr", "Herrn"];

/// Those that belong to the name, and are written with a full stop.
const TITLES_OF_NAMES: [&str; 3] = ["Dr", "Dra", "Prof"];

/// What may stand between "Dr." and a name.
const DEGREES: [&str; 16] = [
    "med", "medic", "dent", "vet", "rer", "nat", "phil", "jur", "iur", "ing", "Ing", "habil",
    "univ", "h", "c", "mult",
];

/// The least number of reviews that name a person who is suggested.
const REVIEWS_MIN: u32 = 2;

/// A key that the page lacks.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Suggestion {
    /// Where the value belongs.
    path: &'static str,
    /// What visitors miss.
    message: String,
    /// A value with the right form, to be edited.
    example: Value,
}

impl Suggestion {
    fn of(path: &'static str, message: &str, example: Value) -> Suggestion {
        Suggestion {
            path,
            message: message.to_owned(),
            example,
        }
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.path.rsplit('.').next().unwrap_or_default();
        let Suggestion {
            path,
            message,
            example,
        } = self;
        writeln!(
            formatter,
            "suggestion: reviews.json: {path}: {message}, for example\n  \"{key}\": {example}"
        )
    }
}

/// Returns what the page of the business lacks.
pub(super) fn suggestions(dataset: &Dataset) -> Vec<Suggestion> {
    let business = &dataset.business;
    let trade = trade_of_type(&business.kind);
    let mut found = Vec::new();
    if business.address.street_address.is_empty() && business.address.locality.is_empty() {
        let address = json!({"street_address": "1 Main St", "locality": "Quillhaven", "region": "CO", "postal_code": "80699",
            "country": "US"});
        found.push(Suggestion::of(
            "business.address",
            "visitors do not learn where to find you",
            address,
        ));
    }
    if business.opening_hours.is_empty() {
        found.push(Suggestion::of(
            "business.opening_hours",
            "visitors do not learn when you are open",
            json!(usual_hours(trade)),
        ));
    }
    if business.telephone.is_empty() {
        found.push(Suggestion::of(
            "business.telephone",
            "visitors cannot call",
            json!("+1 970-555-0142"),
        ));
    }
    if business.description.is_empty() {
        let description = format!("{}: what you do, and for whom.", business.name);
        found.push(Suggestion::of(
            "business.description",
            "search engines and the page have no sentence about you",
            json!(description),
        ));
    }
    let unlisted = unlisted_people(dataset);
    if !unlisted.is_empty() {
        let names = unlisted.join(", ");
        let message = format!("reviews name people whom the business does not list ({names})");
        let people = people_with(business, &unlisted, usual_title(&business.kind, trade));
        found.push(Suggestion::of(
            "business.technicians",
            &message,
            json!(people),
        ));
    }
    found
}

/// The usual hours of a trade, in the notation of schema.org.
fn usual_hours(trade: &str) -> Vec<&'static str> {
    match trade {
        "legal" => vec!["Mo-Th 08:30-17:30", "Fr 08:30-16:00"],
        "restaurant" => vec!["Tu-Su 11:30-22:00"],
        "hotel" => vec!["Mo-Su 00:00-24:00"],
        "retail" | "beauty" => vec!["Mo-Sa 09:00-18:00"],
        _ => vec!["Mo-Fr 08:00-17:00"],
    }
}

/// The usual title of the people of a business of this schema.org type, which belongs to this trade.
fn usual_title(kind: &str, trade: &str) -> &'static str {
    match kind {
        "Dentist" => return "Dentist",
        "VeterinaryCare" => return "Veterinarian",
        "Pharmacy" => return "Pharmacist",
        "Physiotherapy" => return "Physiotherapist",
        "Optician" => return "Optician",
        "Notary" => return "Notary",
        "Plumber" => return "Plumber",
        "Electrician" => return "Electrician",
        "AccountingService" => return "Accountant",
        _ => {}
    }
    match trade {
        "legal" => "Attorney",
        "medical" => "Physician",
        "restaurant" | "hotel" => "Host",
        "beauty" => "Stylist",
        "education" => "Teacher",
        "home-services" | "automotive" => "Technician",
        _ => "Team member",
    }
}

/// The people of the business, and those with these names, who get the title.
fn people_with(business: &Business, names: &[String], title: &str) -> Vec<Value> {
    let mut people = Vec::new();
    for person in &business.technicians {
        people.push(json!({"name": person.name, "title": person.title}));
    }
    for name in names {
        people.push(json!({"name": name, "title": title}));
    }
    people
}

/// Names of people whom reviews name and the business does not list, most frequent first. These are people of the
/// taxonomy whom a review mentions, names after a title in several reviews, and names that several reviews thank.
fn unlisted_people(dataset: &Dataset) -> Vec<String> {
    let mut listed: Vec<String> = Vec::new();
    for person in &dataset.business.technicians {
        listed.push(bare_name(&person.name));
    }
    let mut known = listed.clone();
    for person in &dataset.taxonomy.technicians {
        known.push(bare_name(&person.name));
        known.extend(person.aliases.iter().map(|alias| bare_name(alias)));
    }
    let mut counts = SuggestedPeople::default();
    for review in &dataset.reviews {
        for name in &review.mentioned_technicians {
            if !is_among(name, &listed) {
                // One review is enough for a person of the taxonomy.
                counts.add(name, REVIEWS_MIN);
            }
        }
        let mut titled = titled_names(&review.text);
        titled.retain(|name| !is_among(name, &known));
        // The form with a title comes first, and stays.
        titled.sort_by_key(|name| (bare_name(name), std::cmp::Reverse(name.len())));
        titled.dedup_by_key(|name| bare_name(name));
        for name in titled {
            counts.add(&name, 1);
        }
    }
    for candidate in name_candidates(dataset) {
        let name = bare_name(&candidate.name);
        let mut counted = counts.by_bare_name.keys();
        let is_part = counted.any(|longer| has_words(longer, &name));
        if !is_part && !is_among(&candidate.name, &known) {
            counts.add(&candidate.name, candidate.thanked_count as u32);
        }
    }
    counts.most_frequent()
}

/// In how many reviews names are, whatever the titles: "Dr. Weber" and "Frau Weber" are one.
#[derive(Default)]
struct SuggestedPeople {
    by_bare_name: BTreeMap<String, SuggestedPerson>,
}

#[derive(Default)]
struct SuggestedPerson {
    /// The name with its titles.
    shown: String,
    reviews: u32,
}

impl SuggestedPeople {
    fn add(&mut self, name: &str, reviews: u32) {
        let count = self.by_bare_name.entry(bare_name(name)).or_default();
        count.reviews += reviews;
        if name.len() > count.shown.len() {
            count.shown = name.to_owned();
        }
    }

    fn most_frequent(self) -> Vec<String> {
        let mut people: Vec<SuggestedPerson> = self.by_bare_name.into_values().collect();
        people.retain(|person| person.reviews >= REVIEWS_MIN);
        people.sort_by_key(|person| (std::cmp::Reverse(person.reviews), person.shown.clone()));
        people.truncate(PEOPLE_MAX);
        people.into_iter().map(|person| person.shown).collect()
    }
}

/// A name in lower case, without titles.
fn bare_name(name: &str) -> String {
    let words = name
        .split_whitespace()
        .filter(|word| !is_title(word) && !is_degree(word));
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Whether `name` is that of one of these people, a part of it, or begins with a surname of one: in German texts a noun
/// may follow a name.
fn is_among(name: &str, people: &[String]) -> bool {
    let name = bare_name(name);
    let first = name.split(' ').next().unwrap_or_default();
    people
        .iter()
        .any(|person| has_words(person, &name) || person.rsplit(' ').next() == Some(first))
}

/// Whether these whole words are in `text`.
fn has_words(text: &str, words: &str) -> bool {
    format!(" {text} ").contains(&format!(" {words} "))
}

fn is_title(word: &str) -> bool {
    FULL_TITLES.contains(&word) || SHORT_TITLES.contains(&word.trim_end_matches('.'))
}

fn is_degree(word: &str) -> bool {
    DEGREES.contains(&word.trim_matches(['.', '-']))
}

/// Returns the names after a title such as "Dr.": one or two words that begin with a capital letter.
fn titled_names(text: &str) -> Vec<String> {
    // Some write "Dr.med.Weber".
    let text = text.replace('.', ". ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut names = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !is_title(words[at]) {
            at += 1;
            continue;
        }
        let mut name = Vec::new();
        while at < words.len() && (is_title(words[at]) || is_degree(words[at])) {
            let title = words[at].trim_end_matches('.');
            if TITLES_OF_NAMES.contains(&title) {
                name.push(format!("{title}."));
            }
            at += 1;
        }
        let untitled = name_at(&words[at..]);
        if !untitled.is_empty() {
            name.push(untitled);
            names.push(name.join(" "));
        }
    }
    names
}

/// The one or two words with a capital letter at the beginning of `words`, without those of a greeting ("Liebe Grüße").
fn name_at(words: &[&str]) -> String {
    let mut name = Vec::new();
    for (at, word) in words.iter().enumerate().take(2) {
        let plain = without_end(word);
        let next = words.get(at + 1);
        let is_in_greeting =
            plain == *word && next.is_some_and(|next| is_greeting(without_end(next)));
        // Short surnames such as An and So are words of other languages.
        let is_usual = is_usual_word(plain) && (at > 0 || plain.len() > 2);
        let is_capital = plain.starts_with(char::is_uppercase);
        if !is_capital || is_title(plain) || is_usual || is_in_greeting {
            break;
        }
        name.push(plain);
        // A name ends at a comma and at the end of a sentence.
        if plain.len() < word.len() {
            break;
        }
    }
    name.join(" ")
}

/// A word without the punctuation after it.
fn without_end(word: &str) -> &str {
    word.trim_end_matches(|letter: char| !letter.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Files, decode, embedded};
    use crate::wire::date::Timestamp;

    fn dataset(change: impl Fn(&mut Value)) -> Dataset {
        let mut reviews: Value = serde_json::from_slice(&embedded().reviews).expect("JSON");
        change(&mut reviews);
        let files = Files {
            reviews: reviews.to_string().into_bytes(),
            ..embedded()
        };
        decode(files, Timestamp::from_unix(4_000_000_000))
            .expect("valid")
            .dataset
    }

    #[test]
    fn the_sample_lacks_nothing_and_an_empty_business_address_hours_and_telephone() {
        assert_eq!(suggestions(&dataset(|_| {})), []);
        let empty = dataset(|file| {
            let business = &mut file["business"];
            business["opening_hours"] = json!([]);
            business["telephone"] = json!("");
            business["address"]["street_address"] = json!("");
            business["address"]["locality"] = json!("");
        });
        let paths: Vec<&str> = suggestions(&empty).iter().map(|one| one.path).collect();
        assert_eq!(
            paths,
            [
                "business.address",
                "business.opening_hours",
                "business.telephone"
            ]
        );
    }

    #[test]
    fn people_whom_reviews_thank_are_suggested() {
        let thanked = dataset(|file| {
            let reviews = file["reviews"].as_array_mut().expect("a list");
            for review in &mut reviews[..3] {
                review["text"] = json!("Thanks to Zebulon for everything.");
            }
        });
        let found = suggestions(&thanked);
        assert!(found[0].message.ends_with("(Zebulon)"), "{found:?}");
    }

    #[test]
    fn people_whom_reviews_name_are_suggested_with_those_who_are_listed() {
        let lacking = dataset(|file| {
            let people = file["business"]["technicians"]
                .as_array_mut()
                .expect("a list");
            people.retain(|person| person["name"] != "Adaeze Okafor");
        });
        let found = suggestions(&lacking);
        assert_eq!(found.len(), 1);
        let last = found[0]
            .example
            .as_array()
            .and_then(|all| all.last().cloned());
        assert_eq!(
            last,
            Some(json!({"name": "Adaeze Okafor", "title": "Attorney"}))
        );
        assert_eq!(
            titled_names("Dr. Ann Lee and Ms O'Dowd"),
            ["Dr. Ann Lee", "O'Dowd"]
        );
    }

    #[test]
    fn a_greeting_is_no_person_and_a_title_belongs_to_the_name_after_it() {
        let german = |people: Value| {
            dataset(move |file| {
                file["business"]["type"] = json!("Dentist");
                let listed = file["business"]["technicians"]
                    .as_array_mut()
                    .expect("a list");
                listed.extend(people.as_array().expect("a list").clone());
                let reviews = file["reviews"].as_array_mut().expect("a list");
                for review in &mut reviews[..4] {
                    review["text"] = json!("Frau Dr. Weber ist toll. Danke & liebe Grüße");
                }
            })
        };
        let found = suggestions(&german(json!([])));
        let example = found[0].example.as_array().expect("a list");
        assert_eq!(
            example.last(),
            Some(&json!({"name": "Dr. Weber", "title": "Dentist"})),
            "{found:?}"
        );
        assert!(found[0].message.ends_with("(Dr. Weber)"), "{found:?}");
        for name in ["Dr. Weber", "Anna Weber"] {
            let listed = german(json!([{"name": name, "title": "Dentist"}]));
            assert_eq!(suggestions(&listed), [], "{name}");
        }
    }

    #[test]
    fn what_follows_a_title_is_a_name_without_greetings_pronouns_and_degrees() {
        for (text, expected) in [
            ("Danke Herr Doktor Liebe Grüße", vec![]),
            ("Sehr geehrter Herr Doktor", vec![]),
            ("Vielen Dank Herr Doktor. Super Praxis", vec![]),
            ("Danke Herr Doktor Weber", vec!["Weber"]),
            ("Danke Frau Weber Sie sind toll", vec!["Weber"]),
            ("Danke Frau Weber Herzliche Grüße", vec!["Weber"]),
            ("Danke Frau Weber, Grüße", vec!["Weber"]),
            ("Frau Dr. med. Weber", vec!["Dr. Weber"]),
            ("Frau Dr.med.dent.Weber", vec!["Dr. Weber"]),
            ("Prof. Dr.-Ing. Weber", vec!["Prof. Dr. Weber"]),
            ("Dr. dent. Anna Weber", vec!["Dr. Anna Weber"]),
            ("Dr. rer. nat. Anna Weber", vec!["Dr. Anna Weber"]),
            ("Dr. Li and Mr. An Lee", vec!["Dr. Li", "An Lee"]),
        ] {
            assert_eq!(titled_names(text), expected, "{text}");
        }
    }

    /// The people who are suggested if three reviews have a text, beside these who are listed.
    fn suggested(text: &str, listed: &[&str]) -> Vec<String> {
        unlisted_people(&dataset(|file| {
            for name in listed {
                let people = file["business"]["technicians"].as_array_mut();
                let person = json!({"name": name, "title": "Dentist"});
                people.expect("a list").push(person);
            }
            let reviews = file["reviews"].as_array_mut().expect("a list");
            for review in &mut reviews[..3] {
                review["text"] = json!(text);
            }
        }))
    }

    #[test]
    fn a_greeting_and_the_author_who_signs_are_no_people() {
        for text in [
            "Danke Liebe Grüße",
            "Danke und Herzliche Grüße",
            "Danke Liebe Grüße Zebulon",
            "Merci Bonne continuation",
            "Sehr geehrter Herr Doktor",
            "Gracias Cordiales Saludos",
            "Grazie Cordiali Saluti",
        ] {
            assert_eq!(suggested(text, &[]), Vec::<String>::new(), "{text}");
        }
        assert_eq!(suggested("Danke Zebulon", &[]), ["Zebulon"]);
    }

    #[test]
    fn one_person_with_several_titles_is_suggested_once() {
        let text = "Dr. Weber und Frau Weber sind toll";
        assert_eq!(suggested(text, &[]), ["Dr. Weber"]);
    }

    #[test]
    fn a_person_is_listed_by_whole_words() {
        let li = "Thanks to Dr. Li for everything.";
        assert_eq!(suggested(li, &["Julia Meier"]), ["Dr. Li"]);
        let anna = "Danke an Frau Anna für alles.";
        assert_eq!(suggested(anna, &["Joanna"]), ["Anna"]);
        for listed in ["Anna Meier", "Anna"] {
            assert_eq!(suggested(anna, &[listed]), Vec::<String>::new(), "{listed}");
        }
    }
}
