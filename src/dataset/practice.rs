//! What bar rules ask a law practice to mind in its reviews, its replies and its own words: results in money, promises
//! of an outcome, and replies that tell of a client's matter.
//!
//! Words and shapes decide, so some of what is found is harmless and some of what is not is missed: these are
//! remarks for a person to judge, each of which can be silenced with a reason. None of them removes a review.

mod lists;

use std::collections::HashSet;

use aho_corasick::AhoCorasick;

use super::mentions::Comparable;
use super::problem::quote;
use crate::model::{Dataset, Review};
use lists::{
    CASES, CURRENCIES, DENIALS, EXPENSES, GAINS, GUARANTEES, HINTS, LAW_TYPES, MARKERS, MATTERS,
    OUTCOMES, PROMISES, RELATIONS, RESULTS, TITLES,
};

#[cfg(test)]
mod tests;

/// A rule: its code, and what its remark says of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) code: &'static str,
    pub(super) says: &'static str,
}

/// An amount of money in the same sentence as a word of success.
pub(super) const MONEY: Rule = Rule {
    code: "money",
    says: "an amount of money as a result, which readers may take for what they can expect",
};

/// Words that promise how a matter will end.
pub(super) const PROMISE: Rule = Rule {
    code: "promise",
    says: "a promise of an outcome, which bar rules forbid in advertising, whoever said it",
};

/// A reply with the name of somebody who is neither its reader nor of the practice.
pub(super) const REPLY_NAME: Rule = Rule {
    code: "reply_name",
    says: "a reply that names somebody besides its reader and the practice",
};

/// A reply with the number of a case.
pub(super) const REPLY_CASE_NUMBER: Rule = Rule {
    code: "reply_case_number",
    says: "a reply with what looks like the number of a case",
};

/// A reply that says what the client's matter was.
pub(super) const REPLY_MATTER: Rule = Rule {
    code: "reply_matter",
    says: "a reply that tells what the matter was, which is confidential even where the review tells it",
};

/// All rules, in the order of their remarks.
pub(super) const RULES: [Rule; 5] = [MONEY, PROMISE, REPLY_NAME, REPLY_CASE_NUMBER, REPLY_MATTER];

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding<'d> {
    pub(super) rule: Rule,
    /// The review that it is in, or belongs to; `None` for the practice's own words.
    pub(super) review: Option<&'d Review>,
    /// The words in question, quoted.
    pub(super) words: String,
    /// The place in `editorial.json`, "" for a review.
    pub(super) place: String,
}

/// Looks through reviews, replies and the editorial of a practice; nothing for other kinds of business.
pub(super) fn findings(dataset: &Dataset) -> Vec<Finding<'_>> {
    if !LAW_TYPES.contains(&dataset.business.kind.as_str()) {
        return Vec::new();
    }
    // Most texts hold none of these, and one pass of an automaton says so at the speed of memory.
    let hints = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(HINTS.split(' '))
        .ok();
    let hinted = |text: &str| hints.as_ref().is_none_or(|hints| hints.is_match(text));
    let own_names = own_names(dataset);
    let mut findings = Vec::new();
    for review in &dataset.reviews {
        let mut add = |rule, words: Option<&str>| {
            findings.extend(words.map(|words| Finding {
                rule,
                review: Some(review),
                words: quote(words.trim()),
                place: String::new(),
            }));
        };
        if hinted(&review.text) {
            // A complaint about a sum makes nobody expect it.
            if review.rating.stars() >= 3 {
                add(MONEY, result_with_money(&review.text));
            }
            add(PROMISE, promise(&review.text));
        }
        let Some(reply) = &review.owner_reply else {
            continue;
        };
        add(MONEY, result_with_money(&reply.text));
        add(PROMISE, promise(&reply.text));
        add(
            REPLY_NAME,
            stranger(&reply.text, &review.author, &own_names),
        );
        add(REPLY_CASE_NUMBER, case_number(&reply.text));
        add(REPLY_MATTER, matter(&reply.text));
    }
    for (place, text) in editorial(dataset) {
        for (rule, words) in [(MONEY, result_with_money(text)), (PROMISE, promise(text))] {
            findings.extend(words.map(|words| Finding {
                rule,
                review: None,
                words: quote(words.trim()),
                place: place.clone(),
            }));
        }
    }
    findings
}

/// The practice's own words, by their place.
fn editorial(dataset: &Dataset) -> Vec<(String, &str)> {
    let editorial = &dataset.editorial;
    let mut texts: Vec<(String, &str)> = Vec::new();
    for (place, text) in [
        ("summary", &editorial.summary),
        ("pull_quote", &editorial.pull_quote),
    ] {
        texts.extend(text.as_deref().map(|text| (place.to_owned(), text)));
    }
    for (at, question) in editorial.faq.iter().enumerate() {
        texts.push((format!("faq[{at}].answer"), question.answer.as_str()));
    }
    texts
}

/// The words of the names of the practice and its people.
fn own_names(dataset: &Dataset) -> HashSet<Comparable> {
    let taxonomy = dataset.taxonomy.technicians.iter();
    let aliased = taxonomy.flat_map(|person| std::iter::once(&person.name).chain(&person.aliases));
    let listed = dataset.business.technicians.iter();
    let names = aliased.chain(listed.map(|person| &person.name));
    let names = names.chain([&dataset.business.name]);
    names.flat_map(|name| name_words(name)).collect()
}

/// The first sentence with an amount of money and a word of success.
fn result_with_money(text: &str) -> Option<&str> {
    let begins = |sentence: &str, stems: &str| {
        let fits = |word: &str, stem: &str| starts_with(word, stem) && word.len() <= stem.len() + 4;
        words(sentence).any(|word| stems.split(' ').any(|stem| fits(word, stem)))
    };
    sentences(text).find(|sentence| {
        names_money(sentence)
            && (begins(sentence, RESULTS) || begins(sentence, GAINS) && !begins(sentence, EXPENSES))
    })
}

/// The first sentence that promises an outcome.
fn promise(text: &str) -> Option<&str> {
    sentences(text).find(|sentence| {
        let lower = sentence.to_lowercase().replace('’', "'");
        if PROMISES
            .split(',')
            .any(|promise| holds_words(&lower, promise))
        {
            return true;
        }
        let guaranteed = GUARANTEES
            .split(' ')
            .find_map(|stem| Some(&lower[..lower.find(stem)?]));
        // "We cannot guarantee a result" is what bars want to read.
        let is_denied = |before: &str| {
            before.contains("n't") || words(before).any(|word| listed(DENIALS, word))
        };
        let of_outcome = || {
            words(&lower).any(|word| OUTCOMES.split(' ').any(|outcome| word.starts_with(outcome)))
        };
        guaranteed.is_some_and(|before| !is_denied(before) && of_outcome())
    })
}

/// The first name in `text` with a title, after a relation or in the caption of a case, that is neither the author's
/// nor in `own`.
fn stranger<'t>(text: &'t str, author: &str, own: &HashSet<Comparable>) -> Option<&'t str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let author: HashSet<Comparable> = name_words(author).collect();
    let known =
        |name: &str| name_words(name).all(|word| author.contains(&word) || own.contains(&word));
    for pair in tokens.windows(2) {
        let &[token, next] = pair else { continue };
        let bare = token.trim_end_matches([',', '.']).to_lowercase();
        let name = bare_name(next);
        let capital = name.chars().next().is_some_and(char::is_uppercase);
        if !capital || name.chars().count() < 2 || name.starts_with("I'") {
            continue;
        }
        let titled = listed(TITLES, bare.trim_start_matches(['(', '"', '“']));
        // "Talk to your son. We …" ends a sentence there.
        let related =
            listed(RELATIONS, &bare) && !token.ends_with('.') && precedes(&tokens, token, "your");
        let caption = matches!(token, "v." | "vs." | "vs");
        if (titled || related || caption) && !known(name) {
            return Some(name);
        }
    }
    None
}

/// The first number of a case in `text`.
fn case_number(text: &str) -> Option<&str> {
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
            if (marked && digits(number) >= 3) || (digits(number) >= 2 && number.contains('-')) {
                return Some(number);
            }
            break;
        }
    }
    None
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
fn matter(text: &str) -> Option<&str> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    for (at, token) in tokens.iter().enumerate() {
        if !matches!(token.to_lowercase().as_str(), "your" | "su") {
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
    words(name).map(|word| Comparable::new(&word.replace('’', "'")))
}

/// A name without what stands around it, nor a possessive ending.
fn bare_name(token: &str) -> &str {
    let name = token.trim_matches(|c: char| !c.is_alphanumeric());
    let name = name.strip_suffix("'s").or(name.strip_suffix("’s"));
    name.unwrap_or(token.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// The sentences of `text`, as roughly as a remark needs them.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        let mut before = ' ';
        for (at, c) in rest.char_indices() {
            if c == '\n' || (c.is_whitespace() && matches!(before, '.' | '!' | '?')) {
                end = at + c.len_utf8();
                break;
            }
            before = c;
        }
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
}

/// Whether `list`, words with blanks between them, holds `word`.
fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Whether `text` holds `phrase` as whole words.
fn holds_words(text: &str, phrase: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, found)| {
        !letter(text[..at].chars().next_back()) && !letter(text[at + found.len()..].chars().next())
    })
}

/// Whether `word` begins with the ASCII letters of `stem`, without regard to case.
fn starts_with(word: &str, stem: &str) -> bool {
    word.get(..stem.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(stem))
}

/// Whether `text` holds a currency sign beside a digit, or a number before the name of a currency.
fn names_money(text: &str) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let signed = text
        .char_indices()
        .filter(|(_, c)| matches!(c, '$' | '€' | '£'))
        .any(|(at, sign)| {
            let after = text[at + sign.len_utf8()..].trim_start().chars().next();
            let before = text[..at].trim_end().chars().next_back();
            digit(after) || digit(before)
        });
    signed || names_currency(text)
}

fn names_currency(text: &str) -> bool {
    let mut number = false;
    for word in text.split(|c: char| !c.is_alphanumeric() && c != ',' && c != '.') {
        let word = word.trim_matches([',', '.']);
        if number
            && CURRENCIES
                .split(' ')
                .any(|name| word.eq_ignore_ascii_case(name))
        {
            return true;
        }
        // "5 thousand dollars" and "5k dollars" are amounts as well.
        let scale = ["thousand", "million", "hundred"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(name));
        number = word.starts_with(|c: char| c.is_ascii_digit()) || (scale && number);
    }
    false
}
