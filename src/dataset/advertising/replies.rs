//! What a reply tells of a client's matter.

use std::collections::HashSet;
use std::iter::once;

use super::{listed, words};
use crate::dataset::mentions::Comparable;
use crate::model::Dataset;

/// What may stand before a word that begins something of its own.
const OPENING: [char; 5] = ['(', '"', '“', '‘', '['];

/// What a reply may name.
pub(super) struct KnownNames {
    /// The words of the names of the practice and its people.
    names: HashSet<Comparable>,
    /// The words of its places, services and titles, and those that it describes itself with.
    words: HashSet<Comparable>,
}

impl KnownNames {
    pub(super) fn of(dataset: &Dataset) -> KnownNames {
        let (business, taxonomy) = (&dataset.business, &dataset.taxonomy);
        let (address, staff) = (&business.address, &business.technicians);
        let people = taxonomy.technicians.iter();
        let names = people.flat_map(|person| once(&person.name).chain(&person.aliases));
        let names = names
            .chain(staff.iter().map(|person| &person.name))
            .chain(once(&business.name));
        let places = [
            &address.street_address,
            &address.locality,
            &address.region,
            &address.country,
        ];
        let concepts = [
            &taxonomy.aspects,
            &taxonomy.services,
            &taxonomy.service_areas,
        ];
        let concepts = concepts.into_iter().flatten();
        let texts = once(&business.description)
            .chain(places)
            .chain(&business.service_areas)
            .chain(business.services.iter().map(|service| &service.label))
            .chain(staff.iter().map(|person| &person.title))
            .chain(concepts.flat_map(|concept| once(&concept.label).chain(&concept.phrases)));
        KnownNames {
            names: names.flat_map(|name| name_words(name)).collect(),
            words: texts.flat_map(|text| name_words(text)).collect(),
        }
    }
}

/// The first name in `text` with a title, after a relation, in the caption of a case or of two words, that is neither
/// the author's nor `known`.
pub(super) fn other_person<'t>(text: &'t str, author: &str, known: &KnownNames) -> Option<&'t str> {
    let author: HashSet<Comparable> = name_words(author).collect();
    let is_own = |word: &Comparable| author.contains(word) || known.names.contains(word);
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let names = tokens
        .iter()
        .enumerate()
        .map(|(at, token)| (at, bare_name(token)));
    let mut others = names
        .filter(|(_, name)| is_capitalised(name) && !name_words(name).all(|word| is_own(&word)));
    let introduced = others.find(|(at, _)| introduces(&tokens[..*at]));
    introduced.map(|(_, name)| name).or_else(|| {
        let is_no_name = |name: &str| {
            name_words(name).any(|word| is_own(&word) || known.words.contains(&word))
                || words(name).any(|word| listed("capitalised", &word.to_lowercase()))
        };
        text.lines().find_map(|line| full_name(line, is_no_name))
    })
}

/// Whether the tokens `before` a word say that it is a name: a title, a relation of the reader, or the caption of a case.
fn introduces(before: &[&str]) -> bool {
    let Some(token) = before.last() else {
        return false;
    };
    let bare = token.trim_end_matches([',', '.']).to_lowercase();
    let is_readers =
        matches!(before, [.., your, _] if your.trim_matches('"').eq_ignore_ascii_case("your"));
    // "Talk to your son. We …" ends a sentence there.
    let is_relation = is_readers && !token.ends_with('.') && listed("relations", &bare);
    let is_title = listed("titles", bare.trim_start_matches(['(', '"', '“']));
    is_title || is_relation || matches!(*token, "v." | "vs." | "vs")
}

/// The second of the first two capitalised words in a row, initials left out, that are within a sentence and of which
/// neither `is_no_name`.
fn full_name(line: &str, is_no_name: impl Fn(&str) -> bool) -> Option<&str> {
    let mut begins = true;
    let mut is_after_name = false;
    for token in line.split_whitespace() {
        let name = bare_name(token);
        let last = token.strip_suffix(',').unwrap_or_default();
        if listed("sign_offs", &last.to_lowercase()) {
            // Who signs is named on purpose.
            return None;
        }
        let initial = token.strip_suffix('.').unwrap_or_default();
        if !begins && initial.chars().count() == 1 && initial.chars().all(char::is_uppercase) {
            continue;
        }
        let is_name = !begins
            && is_capitalised(name)
            && name.chars().any(char::is_lowercase)
            && !is_no_name(name);
        if is_name && is_after_name && !token.starts_with(OPENING) {
            return Some(name);
        }
        let ends = token.trim_end_matches(['"', '”', '’', ')']);
        begins = ends.ends_with(['.', '!', '?', ':', ';', '…']) || name.is_empty();
        is_after_name = is_name && token.ends_with(char::is_alphanumeric);
    }
    None
}

fn is_capitalised(name: &str) -> bool {
    let is_pronoun = name.starts_with("I'") || name.starts_with("I’");
    name.starts_with(char::is_uppercase) && name.chars().count() >= 2 && !is_pronoun
}

/// The first number of a case in `text`.
pub(super) fn case_number(text: &str) -> Option<&str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    tokens.iter().enumerate().find_map(|(at, token)| {
        let bare = bare(token);
        match listed("cases", &bare.to_lowercase()) {
            _ if is_docket(bare) => Some(bare),
            true => number_of_case(&tokens[at + 1..]),
            false => None,
        }
    })
}

/// The number that follows "case", with at most two markers such as "no." before it.
fn number_of_case<'t>(after: &[&'t str]) -> Option<&'t str> {
    let mut is_marked = false;
    for token in after.iter().take(3) {
        let bare = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
        if listed("markers", &bare.to_lowercase()) {
            is_marked = true;
            continue;
        }
        let number = bare.trim_start_matches('#');
        is_marked |= number.len() < bare.len();
        // `24-48` and `24/7` are hours, `21-4455` and `345/21` numbers of cases.
        let is_numbered =
            number.contains(['-', '/']) && number.split(['-', '/']).any(|part| digits(part) >= 3);
        return ((is_marked && digits(number) >= 3) || is_numbered).then_some(number);
    }
    None
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Whether the word is shaped like `2021-CV-00123` or `3:21-cr-0045`.
fn is_docket(word: &str) -> bool {
    let parts: Vec<&str> = word.split(['-', ':']).collect();
    let is_number = |part: &str| !part.is_empty() && digits(part) == part.len();
    parts.windows(3).any(|parts| {
        is_number(parts[0])
            && (2..=3).contains(&parts[1].len())
            && parts[1].bytes().all(|byte| byte.is_ascii_alphabetic())
            && is_number(parts[2])
            && parts[2].len() >= 3
    })
}

/// The first words such as "your divorce", at most one word between them.
pub(super) fn matter(text: &str) -> Option<&str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let is_your = |token: &str| matches!(token.to_lowercase().as_str(), "your" | "su" | "tu");
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| is_your(token))
    {
        for (next, word) in tokens.iter().enumerate().skip(at + 1).take(2) {
            let lower = bare(word).to_lowercase();
            let is_aid = tokens
                .get(next + 1)
                .is_some_and(|after| after.starts_with("aid"));
            if listed("matters", lower.strip_suffix("'s").unwrap_or(&lower)) && !is_aid {
                return Some(bare(word));
            }
            // A comma or a full stop ends what "your" speaks of.
            if word.ends_with(|c: char| !c.is_alphanumeric()) {
                break;
            }
        }
    }
    None
}

/// The words of a name, to compare; a double name is two, and any apostrophe is the same.
fn name_words(name: &str) -> impl Iterator<Item = Comparable> {
    words(name).map(Comparable::new)
}

/// A word without what stands around it.
fn bare(token: &str) -> &str {
    token.trim_matches(|c: char| !c.is_alphanumeric())
}

/// A name without what stands around it, nor a possessive ending.
fn bare_name(token: &str) -> &str {
    let name = bare(token);
    let owner = name.strip_suffix("'s").or(name.strip_suffix("’s"));
    owner.unwrap_or(name)
}
