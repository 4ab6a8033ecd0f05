//! Starter taxonomies: the usual aspects of a trade in ten languages, for a business without a `taxonomy.json` or with one
//! that extends a trade.
//!
//! Each file of `trades/` begins with the schema.org types of the trade, prefixes of everyday words with their types, and
//! the aspects that it takes from `common.txt`; then it has, for each language, lines of id, label and phrases and, after
//! a fourth bar, phrases in another sense that do not count. Only languages of the reviews are used, so that a word does
//! not match in another language, and phrases keep theirs; labels are in the language of `site.json`, else in the most
//! frequent one.

use std::collections::BTreeSet;

use crate::model::site::Clientele;
use crate::model::{Concept, Review, Taxonomy};

/// The trades by name, with their files; the last one is for types that no other trade lists.
pub(super) const TRADES: [(&str, &str); 10] = [
    ("legal", include_str!("trades/legal.txt")),
    ("home-services", include_str!("trades/home-services.txt")),
    ("medical", include_str!("trades/medical.txt")),
    ("restaurant", include_str!("trades/restaurant.txt")),
    ("hotel", include_str!("trades/hotel.txt")),
    ("retail", include_str!("trades/retail.txt")),
    ("automotive", include_str!("trades/automotive.txt")),
    ("beauty", include_str!("trades/beauty.txt")),
    ("education", include_str!("trades/education.txt")),
    ("professional", include_str!("trades/professional.txt")),
];

const COMMON: &str = include_str!("trades/common.txt");

/// Tags (BCP 47) of the languages of the files.
const STARTER_LANGUAGES: [&str; 10] = ["en", "es", "de", "fr", "it", "pt", "nl", "pl", "ja", "ar"];

/// Returns the trade of a schema.org type.
pub fn of_type(kind: &str) -> &'static str {
    let bare = kind.rsplit('/').next().unwrap_or(kind);
    for (name, file) in TRADES {
        if words(file, "types").any(|listed| listed.eq_ignore_ascii_case(bare)) {
            return name;
        }
    }
    "professional"
}

/// Tells whether a trade lists a schema.org type, so that its starter list is more than a general one.
pub fn is_listed_type(kind: &str) -> bool {
    let files = TRADES.iter().map(|(_, file)| file);
    let mut types = files.flat_map(|file| words(file, "types"));
    types.any(|listed| listed.eq_ignore_ascii_case(kind))
}

/// Returns the names of the trades.
pub fn trade_names() -> impl Iterator<Item = &'static str> {
    TRADES.iter().map(|(name, _)| *name)
}

/// Returns those whom a business of this trade serves.
pub(super) fn clientele(trade: &str) -> Clientele {
    match trade {
        "legal" => Clientele::Client,
        "medical" => Clientele::Patient,
        "hotel" | "restaurant" => Clientele::Guest,
        "education" => Clientele::Student,
        _ => Clientele::Customer,
    }
}

/// Returns the schema.org type of a lower-case `name`:
///
/// 1. the first type that begins with the name ("hair": `HairSalon`), or that the name begins with ("hair salons");
/// 2. else the type of the longest stem that the name begins with ("lawyer": `LegalService`).
pub fn type_in_words(name: &str) -> Option<&'static str> {
    let types = TRADES.iter().flat_map(|(_, file)| words(file, "types"));
    for kind in types {
        let in_words = in_words(kind);
        if begins_with_words(name, &in_words) || begins_with_words(&in_words, name) {
            return Some(kind);
        }
    }
    let stems = TRADES
        .iter()
        .flat_map(|(_, file)| words(file, "stems"))
        .filter_map(|pair| pair.split_once('='));
    let matching = stems.filter(|(stem, _)| name.starts_with(stem));
    let longest = matching.max_by_key(|(stem, _)| stem.len());
    longest.map(|(_, kind)| kind)
}

/// Returns a type in lower case with a space before each word: `HairSalon` as "hair salon".
fn in_words(kind: &str) -> String {
    let mut words = String::new();
    for character in kind.chars() {
        let is_after_word = words.ends_with(|last: char| last.is_ascii_lowercase());
        if character.is_ascii_uppercase() && is_after_word {
            words.push(' ');
        }
        words.push(character);
    }
    words.make_ascii_lowercase();
    words
}

/// Whether `text` begins with these whole words, the last perhaps in the plural.
fn begins_with_words(text: &str, words: &str) -> bool {
    let Some(rest) = text.strip_prefix(words) else {
        return false;
    };
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    rest.is_empty() || rest.starts_with(' ')
}

/// Adds the aspects of `trade` that `taxonomy` does not define. Their phrases are in the languages of `reviews` and in the
/// language `owner`, which the owner chose; the labels are in the latter.
pub(super) fn extend(
    taxonomy: &mut Taxonomy,
    trade: &str,
    reviews: &[Review],
    owner: Option<&str>,
) {
    let Some((_, file)) = TRADES.iter().find(|(name, _)| *name == trade) else {
        return;
    };
    let aspects = &mut taxonomy.aspects;
    let own_phrases: BTreeSet<String> = aspects.iter().flat_map(all_phrases).cloned().collect();
    let own = aspects.len();
    for language in languages(reviews, owner) {
        let common = words(file, "common").filter_map(|id| {
            part(COMMON, language).find(|line| line.split(" | ").next() == Some(id))
        });
        for line in part(file, language).chain(common) {
            let mut fields = line.split(" | ");
            let Some(id) = fields.next() else {
                continue;
            };
            let Some(label) = fields.next() else {
                continue;
            };
            let phrases = listed(fields.next());
            let not_phrases = listed(fields.next());
            for phrase in phrases.iter().chain(&not_phrases) {
                if !own_phrases.contains(phrase) {
                    let languages = taxonomy.phrase_languages.entry(phrase.clone());
                    languages.or_default().insert(language);
                }
            }
            let same = aspects
                .iter()
                .position(|aspect| aspect.id == id || aspect.label == label);
            match same {
                Some(at) if at < own => {}
                Some(at) => {
                    aspects[at].phrases.extend(phrases);
                    aspects[at].not_phrases.extend(not_phrases);
                }
                None => aspects.push(Concept {
                    id: id.to_owned(),
                    label: label.to_owned(),
                    phrases,
                    not_phrases,
                }),
            }
        }
    }
}

fn all_phrases(aspect: &Concept) -> impl Iterator<Item = &String> {
    aspect.phrases.iter().chain(&aspect.not_phrases)
}

/// The phrases of a field.
fn listed(field: Option<&str>) -> Vec<String> {
    let phrases = field.into_iter().flat_map(|field| field.split(", "));
    phrases.map(str::to_owned).collect()
}

/// The words of the line of `file` that begins with `key`.
fn words<'f>(file: &'f str, key: &str) -> impl Iterator<Item = &'f str> {
    let line = file.lines().find_map(|line| line.strip_prefix(key));
    line.into_iter().flat_map(str::split_ascii_whitespace)
}

/// The lines of `file` for a language.
fn part<'f>(file: &'f str, language: &'static str) -> impl Iterator<Item = &'f str> {
    let mut lines = file.lines();
    lines.find(|line| line.strip_prefix("# ") == Some(language));
    lines.take_while(|line| !line.starts_with('#'))
}

/// The language of the owner, and those of at least a twentieth of the reviews, the most frequent first; English if no
/// language is known. Reviews in other languages get no aspects, which would all have no mention.
fn languages(reviews: &[Review], owner: Option<&str>) -> Vec<&'static str> {
    let mut counts = STARTER_LANGUAGES.map(|language| (0, language));
    for review in reviews {
        let tag = review.language.as_deref().unwrap_or_default();
        let primary = tag.split('-').next().unwrap_or_default();
        let listed = counts
            .iter_mut()
            .find(|(_, language)| language.eq_ignore_ascii_case(primary));
        if let Some((count, _)) = listed {
            *count += 1;
        }
    }
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let detected: usize = counts.iter().map(|(count, _)| count).sum();
    let owners = STARTER_LANGUAGES
        .iter()
        .find(|language| Some(**language) == owner);
    let mut chosen: Vec<&'static str> = owners.copied().into_iter().collect();
    let is_unknown = reviews.iter().all(|review| review.language.is_none());
    if is_unknown && !chosen.contains(&"en") {
        chosen.push("en");
    }
    for (count, language) in counts {
        if count > 0 && count * 20 >= detected && !chosen.contains(&language) {
            chosen.push(language);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trade_has_aspects_in_every_language() {
        for (trade, file) in TRADES {
            for language in STARTER_LANGUAGES {
                let ids = |file, language| -> Vec<&str> {
                    part(file, language)
                        .filter_map(|line| line.split(" | ").next())
                        .collect()
                };
                assert!(ids(file, language).len() >= 5, "{trade} {language}");
                assert_eq!(ids(file, language), ids(file, "en"), "{trade} {language}");
                assert_eq!(ids(COMMON, language), ids(COMMON, "en"), "{language}");
                for id in words(file, "common") {
                    assert!(ids(COMMON, language).contains(&id), "{trade}: {id}");
                }
            }
            let lines = file.lines().chain(COMMON.lines());
            for line in lines.filter(|line| line.contains('|')) {
                assert!((3..=4).contains(&line.split(" | ").count()), "{line}");
                assert!(
                    line.split(['|', ',']).all(|field| !field.trim().is_empty()),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn the_type_of_a_business_chooses_its_trade() {
        assert_eq!(of_type("LegalService"), "legal");
        assert_eq!(of_type("https://schema.org/attorney"), "legal");
        assert_eq!(of_type("Plumber"), "home-services");
        assert_eq!(of_type("Dentist"), "medical");
        assert_eq!(of_type("ThingOfNoTrade"), "professional");
        assert!(!is_listed_type("ThingOfNoTrade"));
    }

    #[test]
    fn the_name_of_each_trade_and_every_stem_lead_to_a_type_of_that_trade() {
        for (trade, file) in TRADES {
            let kind = type_in_words(trade).expect("a type");
            assert_eq!(of_type(kind), trade, "{trade}: {kind}");
            for pair in words(file, "stems") {
                let (stem, kind) = pair.split_once('=').expect("a stem and a type");
                assert_eq!(of_type(kind), trade, "{pair}");
                assert_eq!(type_in_words(stem).map(of_type), Some(trade), "{pair}");
            }
        }
    }

    #[test]
    fn own_aspects_win_and_others_are_added_in_the_languages_of_the_reviews() {
        let own = Concept {
            id: "price".to_owned(),
            label: "Fees".to_owned(),
            phrases: vec!["fee".to_owned()],
            not_phrases: Vec::new(),
        };
        let mut taxonomy = Taxonomy {
            aspects: vec![own.clone()],
            ..Taxonomy::default()
        };
        extend(&mut taxonomy, "legal", &[], None);
        let mut aspects = taxonomy.aspects;
        aspects.retain(|aspect| ["price", "outcome"].contains(&&*aspect.id));
        let [price, outcome] = &aspects[..] else {
            panic!("{aspects:?}");
        };
        assert_eq!(*price, own);
        // No review is in German.
        let has = |word: &str| outcome.phrases.contains(&word.to_owned());
        assert!(has("verdict"));
        assert!(!has("urteil"));
        assert!(taxonomy.phrase_languages["verdict"].contains("en"));
        assert!(!taxonomy.phrase_languages.contains_key("fee"));
    }

    #[test]
    fn labels_are_in_the_language_that_the_owner_chose() {
        let mut taxonomy = Taxonomy::default();
        extend(&mut taxonomy, "legal", &[], Some("de"));
        let labels = taxonomy.aspects.iter().map(|aspect| &*aspect.label);
        assert!(labels.collect::<Vec<_>>().contains(&"Kommunikation"));
    }
}
