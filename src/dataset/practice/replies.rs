//! What a reply tells of a client's matter.

use std::collections::HashSet;
use std::iter::once;

use super::lists::{CAPITALISED, CASES, MARKERS, MATTERS, RELATIONS, SIGN_OFFS, TITLES};
use super::{listed, words};
use crate::dataset::mentions::Comparable;
use crate::model::Dataset;

/// What may stand before a word that begins something of its own.
const OPENING: [char; 5] = ['(', '"', '“', '‘', '['];

/// What a reply may name.
pub(super) struct Known {
    /// The words of the names of the practice and its people.
    names: HashSet<Comparable>,
    /// The words of its places, services and titles, and those that it describes itself with.
    words: HashSet<Comparable>,
}

impl Known {
    pub(super) fn of(dataset: &Dataset) -> Known {
        let (business, taxonomy) = (&dataset.business, &dataset.taxonomy);
        let people = taxonomy.technicians.iter();
        let aliased = people.flat_map(|person| once(&person.name).chain(&person.aliases));
        let listed = business.technicians.iter().map(|person| &person.name);
        let names = aliased.chain(listed).chain(once(&business.name));
        let address = &business.address;
        let texts = [
            &business.description,
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
        let texts = texts
            .into_iter()
            .chain(&business.service_areas)
            .chain(business.services.iter().map(|service| &service.label))
            .chain(business.technicians.iter().map(|person| &person.title))
            .chain(concepts.flat_map(|concept| once(&concept.label).chain(&concept.phrases)));
        Known {
            names: names.flat_map(|name| name_words(name)).collect(),
            words: texts.flat_map(|text| name_words(text)).collect(),
        }
    }
}

/// The first name in `text` with a title, after a relation, in the caption of a case or of two words, that is neither
/// the author's nor `known`.
pub(super) fn stranger<'t>(text: &'t str, author: &str, known: &Known) -> Option<&'t str> {
    let author: HashSet<Comparable> = name_words(author).collect();
    let is_own = |word: &Comparable| author.contains(word) || known.names.contains(word);
    let is_known = |name: &str| name_words(name).all(|word| is_own(&word));
    introduced(text, is_known).or_else(|| {
        let is_word = |name: &str| {
            name_words(name).any(|word| is_own(&word) || known.words.contains(&word))
                || words(name).any(|word| listed(CAPITALISED, &word.to_lowercase()))
        };
        full_name(text, is_word)
    })
}

/// The first name that a title, a relation or the caption of a case says to be one.
fn introduced(text: &str, is_known: impl Fn(&str) -> bool) -> Option<&str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    for pair in tokens.windows(2) {
        let &[token, next] = pair else { continue };
        let bare = token.trim_end_matches([',', '.']).to_lowercase();
        let name = bare_name(next);
        if !is_capitalised(name) {
            continue;
        }
        let titled = listed(TITLES, bare.trim_start_matches(['(', '"', '“']));
        // "Talk to your son. We …" ends a sentence there.
        let related =
            listed(RELATIONS, &bare) && !token.ends_with('.') && precedes(&tokens, token, "your");
        let caption = matches!(token, "v." | "vs." | "vs");
        if (titled || related || caption) && !is_known(name) {
            return Some(name);
        }
    }
    None
}

/// The second of the first two capitalised words in a row, initials left out, that are within a sentence and of which
/// neither `is_word`.
fn full_name(text: &str, is_word: impl Fn(&str) -> bool) -> Option<&str> {
    for line in text.lines() {
        let mut begins = true;
        let mut is_after_name = false;
        for token in line.split_whitespace() {
            let name = bare_name(token);
            if is_sign_off(token) {
                // Who signs is named on purpose.
                break;
            }
            if !begins && is_initial(token) {
                continue;
            }
            let is_name = !begins
                && is_capitalised(name)
                && name.chars().any(char::is_lowercase)
                && !is_word(name);
            if is_name && is_after_name && !token.starts_with(OPENING) {
                return Some(name);
            }
            let ends = token.trim_end_matches(['"', '”', '’', ')']);
            begins = ends.ends_with(['.', '!', '?', ':', ';', '…']) || name.is_empty();
            is_after_name = is_name && token.ends_with(char::is_alphanumeric);
        }
    }
    None
}

fn is_capitalised(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
        && name.chars().count() >= 2
        && !name.starts_with("I'")
        && !name.starts_with("I’")
}

/// Whether the token ends the words before a signature on the same line, as in "Best regards, …".
fn is_sign_off(token: &str) -> bool {
    token
        .strip_suffix(',')
        .is_some_and(|word| listed(SIGN_OFFS, &word.to_lowercase()))
}

/// Whether the token is an initial such as "J.".
fn is_initial(token: &str) -> bool {
    let letter = token.strip_suffix('.').unwrap_or_default();
    letter.chars().count() == 1 && letter.chars().all(char::is_uppercase)
}

/// The first number of a case in `text`.
pub(super) fn case_number(text: &str) -> Option<&str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let digits = |token: &str| token.chars().filter(char::is_ascii_digit).count();
    for (at, token) in tokens.iter().enumerate() {
        let trimmed = token.trim_matches(|c: char| !c.is_alphanumeric());
        if is_docket(trimmed) {
            return Some(trimmed);
        }
        if !listed(CASES, &trimmed.to_lowercase()) {
            continue;
        }
        let mut marked = false;
        for next in tokens.iter().skip(at + 1).take(3) {
            let bare = next.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
            if listed(MARKERS, &bare.to_lowercase()) {
                marked = true;
                continue;
            }
            let number = bare.trim_start_matches('#');
            marked |= number.len() < bare.len();
            if (marked && digits(number) >= 3) || is_numbered(number) {
                return Some(number);
            }
            break;
        }
    }
    None
}

/// Whether the word is shaped like `21-4455` or `345/21`; `24-48` and `24/7` are hours.
fn is_numbered(word: &str) -> bool {
    let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).count();
    word.contains(['-', '/']) && word.split(['-', '/']).any(|part| digits(part) >= 3)
}

/// Whether the word is shaped like `2021-CV-00123` or `3:21-cr-0045`.
fn is_docket(word: &str) -> bool {
    let parts: Vec<&str> = word.split(['-', ':']).collect();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.windows(3).any(|parts| {
        let &[year, kind, number] = parts else {
            return false;
        };
        digits(year)
            && (2..=3).contains(&kind.len())
            && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
            && digits(number)
            && number.len() >= 3
    })
}

/// The first words such as "your divorce", at most one word between them.
pub(super) fn matter(text: &str) -> Option<&str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    for (at, token) in tokens.iter().enumerate() {
        if !matches!(token.to_lowercase().as_str(), "your" | "su" | "tu") {
            continue;
        }
        for (next, after) in (1..=2).map(|step| (at + step, at + step + 1)) {
            let Some(word) = tokens.get(next) else { break };
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let lower = bare.to_lowercase();
            let lower = lower.strip_suffix("'s").unwrap_or(&lower);
            let aid = tokens
                .get(after)
                .is_some_and(|next| next.starts_with("aid"));
            if listed(MATTERS, lower) && !aid {
                return Some(bare);
            }
            // A comma or a full stop ends what "your" speaks of.
            if word.ends_with(|c: char| !c.is_alphanumeric()) {
                break;
            }
        }
    }
    None
}

/// Whether `word` stands right before `token`, which is one of `tokens` itself and not a copy.
fn precedes(tokens: &[&str], token: &str, word: &str) -> bool {
    tokens.windows(2).any(|pair| {
        std::ptr::eq(pair[1], token) && pair[0].trim_matches('"').eq_ignore_ascii_case(word)
    })
}

/// The words of a name, to compare; a double name is two, and any apostrophe is the same.
fn name_words(name: &str) -> impl Iterator<Item = Comparable> {
    words(name).map(Comparable::new)
}

/// A name without what stands around it, nor a possessive ending.
fn bare_name(token: &str) -> &str {
    let name = token.trim_matches(|c: char| !c.is_alphanumeric());
    let name = name.strip_suffix("'s").or(name.strip_suffix("’s"));
    name.unwrap_or(token.trim_matches(|c: char| !c.is_alphanumeric()))
}
