//! Promises of how a matter will end.

use super::{list, listed, sentences, words};

/// How far before a guarantee a denial may stand, in words without particles.
const DENIAL_WORDS_MAX: usize = 3;

/// The first sentence that promises an outcome.
pub(super) fn promise(text: &str) -> Option<&str> {
    sentences(text).find(|sentence| {
        let lower = sentence.to_lowercase().replace('’', "'");
        if list("promises")
            .iter()
            .any(|promise| holds_words(&lower, promise))
        {
            return true;
        }
        let promised = list("guarantees")
            .iter()
            .flat_map(|stem| lower.match_indices(*stem))
            .any(|(at, _)| !is_denied(&lower[..at]));
        promised && names_outcome(&lower)
    })
}

/// Whether the text, in lower case, has a word for how a matter ends; "in case" is none.
fn names_outcome(lower: &str) -> bool {
    let mut before = "";
    words(lower).any(|word| {
        let is_condition = before == "in" && word == "case";
        before = word;
        !is_condition
            && list("outcomes")
                .iter()
                .any(|outcome| word.starts_with(outcome))
    })
}

/// Whether the words `before` a guarantee deny it, as in "we cannot guarantee a result", which bars want to read.
fn is_denied(before: &str) -> bool {
    let clause = before.rsplit([':', ';', '–', '—']).next();
    let clause = clause.and_then(|clause| clause.rsplit(" - ").next());
    let mut near: Vec<&str> = words(clause.unwrap_or_default())
        .filter(|word| !listed("particles", word))
        .collect();
    let near = near.split_off(near.len().saturating_sub(DENIAL_WORDS_MAX));
    near.iter().enumerate().any(|(at, word)| {
        // "No doubt" affirms.
        let affirms = near
            .get(at + 1)
            .is_some_and(|next| listed("affirmed", next));
        (word.ends_with("n't") || listed("denials", word)) && !affirms
    })
}

/// Whether `text` holds `phrase` as whole words that nothing denies.
fn holds_words(text: &str, phrase: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, found)| {
        !letter(text[..at].chars().next_back())
            && !letter(text[at + found.len()..].chars().next())
            && !is_denied(&text[..at])
    })
}
