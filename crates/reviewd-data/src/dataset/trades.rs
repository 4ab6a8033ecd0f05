//! Starter taxonomies: the usual aspects of a trade in ten languages, for a business without a `taxonomy.json` or with one
//! that extends a trade.
//!
//! Each file of `trades/` begins with the schema.org types of the trade; everyday names with their types: `stems` begin a
//! word, `words` are whole words, and `alone` are names that mean another trade beside other words (`_` is a space); and
//! the aspects that it takes from `common.txt`. Then it has, for each language, lines of id, label and phrases and, after
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

/// Words after which the name of a trade says more about the word before them: "escuela de cocina".
const CONNECTIVES: [&str; 22] = [
    "and", "of", "for", "with", "und", "für", "mit", "de", "del", "y", "para", "con", "des", "du",
    "et", "pour", "di", "della", "e", "per", "da", "&",
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
/// 1. the first type that begins with the name ("hair": `HairSalon`), or whose several words the name begins with
///    ("hair salons");
/// 2. else that of a name that must stand alone ("garage", but not "garage door");
/// 3. else that of its words ("law firm": `LegalService`). If they lead to several trades, the last one before a
///    connective counts: "camping shop" is a shop, and "escuela de peluquería" a school.
pub fn type_in_words(name: &str) -> Option<&'static str> {
    let name_words: Vec<&str> = name.split_whitespace().collect();
    let name = name_words.join(" ");
    for kind in types() {
        let in_words = in_words(kind);
        let is_specific = in_words.contains(' ') || name == in_words;
        if begins_with_words(&in_words, &name) || is_specific && begins_with_words(&name, &in_words)
        {
            return Some(kind);
        }
    }
    for (alone, kind) in pairs("alone") {
        if is_word(&name, &alone.replace('_', " ")) {
            return Some(kind);
        }
    }
    let is_connective = |word: &&str| CONNECTIVES.contains(word);
    let end = name_words.iter().position(is_connective);
    let head = &name_words[..end.unwrap_or(name_words.len())];
    type_of_words(head).or_else(|| type_of_words(&name_words))
}

/// Returns the type that words lead to: the first one, or the last one if they lead to several trades.
fn type_of_words(name_words: &[&str]) -> Option<&'static str> {
    let kinds: Vec<&str> = name_words
        .iter()
        .filter_map(|word| type_of_word(word))
        .collect();
    let first = *kinds.first()?;
    let is_one_trade = kinds.iter().all(|kind| of_type(kind) == of_type(first));
    if is_one_trade {
        return Some(first);
    }
    kinds.last().copied()
}

/// Returns the type of a word: it is the type or a listed word, perhaps in the plural, or else begins with a stem, of which
/// the longest counts.
fn type_of_word(word: &str) -> Option<&'static str> {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    if let Some(kind) = types().find(|kind| is_word(word, &in_words(kind))) {
        return Some(kind);
    }
    if let Some((_, kind)) = pairs("words").find(|(listed, _)| is_word(word, listed)) {
        return Some(kind);
    }
    let matching = pairs("stems").filter(|(stem, _)| word.starts_with(stem));
    let longest = matching.max_by_key(|(stem, _)| stem.len());
    longest.map(|(_, kind)| kind)
}

/// Whether `text` is `word`, perhaps in the plural.
fn is_word(text: &str, word: &str) -> bool {
    text == word || text.strip_suffix('s') == Some(word)
}

/// The types of all trades.
fn types() -> impl Iterator<Item = &'static str> {
    TRADES.iter().flat_map(|(_, file)| words(file, "types"))
}

/// The names with their types in the lines `key` of all trades.
fn pairs(key: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    TRADES
        .iter()
        .flat_map(move |(_, file)| words(file, key))
        .filter_map(|pair| pair.split_once('='))
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
            let listed = ["stems", "words", "alone"].map(|key| words(file, key));
            for pair in listed.into_iter().flatten() {
                let (listed, kind) = pair.split_once('=').expect("a name and a type");
                assert_eq!(of_type(kind), trade, "{pair}");
                let name = listed.replace('_', " ");
                assert_eq!(type_in_words(&name).map(of_type), Some(trade), "{pair}");
            }
        }
    }

    #[test]
    fn the_beginning_of_another_word_is_no_trade() {
        for name in [
            "garage door repair",
            "taller de cerámica",
            "geschäftsberatung",
            "ladenbau",
            "gartenrestaurant",
            "pension fund",
            "möbelspedition",
            "realschule",
            "autor",
            "veteran services",
            "dent repair",
            "paintball",
            "concession stand",
            "nursing home",
            "zahnrad",
            "salon de thé",
        ] {
            assert_eq!(type_in_words(name), None, "{name}");
        }
    }

    #[test]
    fn the_last_word_before_a_connective_decides_between_trades() {
        for (name, kind) in [
            ("boutique hotel", "Hotel"),
            ("camping shop", "Store"),
            ("spanish restaurant", "Restaurant"),
            ("agencia inmobiliaria", "RealEstateAgent"),
            ("agencia de viajes", "TravelAgency"),
            ("escuela de peluquería", "School"),
            ("law school", "School"),
            ("law firm", "LegalService"),
            ("bankruptcy lawyer", "LegalService"),
            ("auto insurance", "InsuranceAgency"),
            ("auto repair and tires", "AutoRepair"),
            ("dental  clinic", "Dentist"),
            ("hotel and restaurant", "Hotel"),
            ("taller mecánico", "AutoRepair"),
            ("home services", "HomeAndConstructionBusiness"),
        ] {
            assert_eq!(type_in_words(name), Some(kind), "{name}");
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
