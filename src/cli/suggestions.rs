//! What the page of a business lacks, for `reviewd check`. Each suggestion has JSON to paste.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::dataset::trade_of_type;
use crate::insights::name_candidates;
use crate::model::{Business, Dataset};

/// Most people that are suggested.
const PEOPLE_MAX: usize = 5;

/// Titles before a name that is suggested: capitalized, and hardly ever another word. Of all titles that a name may have
/// (`dataset::names`), many are, such as "coach" and "pan".
const SUGGESTED_TITLES: [&str; 14] = [
    "Dr", "Mr", "Mrs", "Ms", "Attorney", "Chef", "Frau", "Herr", "Dra", "Mme", "Sra", "Sr", "Prof",
    "Herrn",
];

/// Those that belong to the name, and are written with a full stop.
const TITLES_OF_NAMES: [&str; 3] = ["Dr", "Dra", "Prof"];

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
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for review in &dataset.reviews {
        for name in &review.mentioned_technicians {
            if !is_among(name, &listed) {
                // One review is enough for a person of the taxonomy.
                *counts.entry(name.clone()).or_default() += REVIEWS_MIN;
            }
        }
        let mut titled = titled_names(&review.text);
        titled.retain(|name| !is_among(name, &known));
        titled.sort_unstable();
        titled.dedup();
        for name in titled {
            *counts.entry(name).or_default() += 1;
        }
    }
    for candidate in name_candidates(dataset) {
        let name = candidate.name;
        let is_part = counts.keys().any(|counted| counted.contains(&name));
        if !is_part && !is_among(&name, &known) {
            counts.insert(name, candidate.thanked_count as u32);
        }
    }
    let mut people: Vec<(String, u32)> = counts.into_iter().collect();
    people.retain(|(_, count)| *count >= REVIEWS_MIN);
    people.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    people.truncate(PEOPLE_MAX);
    people.into_iter().map(|(name, _)| name).collect()
}

/// A name in lower case, without titles.
fn bare_name(name: &str) -> String {
    let words = name.split_whitespace().filter(|word| !is_title(word));
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Whether `name` is that of one of these people, a part of it, or begins with a surname of one: in German texts a noun
/// may follow a name.
fn is_among(name: &str, people: &[String]) -> bool {
    let name = bare_name(name);
    let first = name.split(' ').next().unwrap_or_default();
    people
        .iter()
        .any(|person| person.contains(&name) || person.rsplit(' ').next() == Some(first))
}

fn is_title(word: &str) -> bool {
    SUGGESTED_TITLES.contains(&word.trim_end_matches('.'))
}

/// Returns the names after a title such as "Dr.": one or two words that begin with a capital letter.
fn titled_names(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut names = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let mut titles = Vec::new();
        while at < words.len() && is_title(words[at]) {
            let title = words[at].trim_end_matches('.');
            if TITLES_OF_NAMES.contains(&title) {
                titles.push(format!("{title}."));
            }
            at += 1;
        }
        let is_titled = at > 0 && is_title(words[at - 1]);
        let name = if is_titled {
            name_at(&words[at..])
        } else {
            String::new()
        };
        if !name.is_empty() {
            titles.push(name);
            names.push(titles.join(" "));
        }
        at += 1;
    }
    names
}

/// The one or two words with a capital letter at the beginning of `words`.
fn name_at(words: &[&str]) -> String {
    let mut name = Vec::new();
    for next in words.iter().take(2) {
        let plain = next.trim_end_matches(|letter: char| !letter.is_alphabetic());
        if !plain.starts_with(char::is_uppercase) || is_title(plain) {
            break;
        }
        name.push(plain);
        // A name ends at a comma and at the end of a sentence.
        if plain.len() < next.len() {
            break;
        }
    }
    name.join(" ")
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
}
