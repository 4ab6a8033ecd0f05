//! What platforms say of a review in ways of their own: where it was left, whether it is shown, by whom it was verified;
//! and what none of them may hand on.

use std::net::IpAddr;

use super::columns::{is_listed, normal};
use super::formats::{ANONYMOUS, CHANNELS, SHOWN};
use super::normalise::Rules;
use super::rating;
use super::record::{Field, Record};
use crate::dataset::is_language_tag;
use crate::model::{Rating, Verification, platform};

/// Where the review was left: as the operator says, as the source does, or what its format says of all.
pub(super) fn source(record: &Record, stated: Option<String>, rules: &Rules) -> String {
    let is_place = |source: &String| {
        !source.is_empty() && (record.is_ours || !is_listed(CHANNELS, &normal(source)))
    };
    let stated = stated.filter(is_place);
    let asked = rules.source.clone();
    let found = match record.is_ours {
        true => stated.or(asked),
        false => asked.or(stated),
    };
    found.unwrap_or_else(|| rules.format.source.to_owned())
}

/// The stars, in the words of the format too.
///
/// # Errors
/// A line that says what is wrong.
pub(super) fn stars(record: &Record, rules: &Rules) -> Result<Rating, String> {
    let words = rules.format.ratings;
    let Some(given) = record.filled(Field::Rating) else {
        let taken: Vec<String> = words
            .iter()
            .map(|(word, stars)| format!("{word} for {stars}"))
            .collect();
        let remedy = match taken.is_empty() {
            true => String::new(),
            false => format!(
                ", as in a recommendation; --map rating=recommendation_type takes {}",
                taken.join(", ")
            ),
        };
        return Err(format!("rating: is missing{remedy}"));
    };
    let word = words
        .iter()
        .find(|(word, _)| given.eq_ignore_ascii_case(word));
    let given = word.map_or(given, |(_, stars)| stars);
    rating::parse(given, record.filled(Field::Best))
}

/// Whether the platform's owner hides the review: whatever the format, or any that is known, does not call published.
pub(super) fn is_hidden(record: &Record, rules: &Rules) -> bool {
    let Some(status) = record.value(Field::Status) else {
        return false;
    };
    let status = normal(status);
    match rules.format.published {
        "" => !status.is_empty() && !is_listed(SHOWN, &status),
        published => !is_listed(published, &status),
    }
}

/// The language that the source states as a tag; a name such as "English" is none, though it has the form of one.
pub(super) fn stated_language(record: &Record) -> Option<Option<String>> {
    let tag = record.value(Field::Language)?.trim().replace('_', "-");
    let is_short = tag
        .split('-')
        .next()
        .is_some_and(|primary| primary.len() <= 3);
    Some((is_short && is_language_tag(&tag)).then_some(tag))
}

/// The verification that a platform states. A table of the operator's own speaks for the business, and a source that does
/// not speak of it takes nothing away from what is there.
pub(super) fn stated_verification(
    record: &Record,
    verified: Option<bool>,
    source: &str,
) -> Option<Option<Verification>> {
    let by = || Verification {
        by: source.to_owned(),
        method: None,
    };
    match verified {
        Some(is_verified) if !record.is_ours && platform(source).is_some() => {
            Some(is_verified.then(by))
        }
        _ => None,
    }
}

/// A name without e-mail and IP addresses, which are never kept; `None` where it holds none.
pub(super) fn without_addresses(name: &str) -> Option<String> {
    let is_address = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_mail = word
            .split_once('@')
            .is_some_and(|(own, host)| !own.is_empty() && host.contains('.'));
        is_mail || word.parse::<IpAddr>().is_ok()
    };
    if !name.split_whitespace().any(|word| is_address(&word)) {
        return None;
    }
    let rest: Vec<&str> = name
        .split_whitespace()
        .filter(|word| !is_address(word))
        .collect();
    match rest.as_slice() {
        [] => Some(ANONYMOUS[ANONYMOUS.len() - 1].to_owned()),
        words => Some(words.join(" ")),
    }
}
