//! What bar rules ask a law practice to mind in its reviews, its replies and its own words: results in money, promises
//! of an outcome, and replies that tell of a client's matter.
//!
//! Words and shapes decide, so some of what is found is harmless and some of what is not is missed: these are
//! remarks for a person to judge, each of which can be silenced with a reason. None of them removes a review.

mod lists;
mod money;
mod promises;
mod replies;

use std::num::NonZeroUsize;
use std::thread;

use aho_corasick::AhoCorasick;

use super::problem::quote;
use crate::model::{Dataset, Review};
use lists::{HINTS, LAW_TYPES, OPEN_TYPES};
use money::result_with_money;
use promises::promise;
use replies::{Known, case_number, matter, stranger};

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
    /// The reviews that an answer rests on.
    pub(super) review_ids: &'d [String],
}

/// Whether a business of this type may be a law practice that has not said so, so that nothing was looked through.
pub(super) fn is_open(kind: &str) -> bool {
    is_type(kind, &OPEN_TYPES)
}

/// Whether `kind` is one of `types`, without regard to case, by its name or its address.
fn is_type(kind: &str, types: &[&str]) -> bool {
    let kind = kind.trim();
    let bare = ["https://schema.org/", "http://schema.org/"]
        .iter()
        .find_map(|prefix| {
            let start = kind.get(..prefix.len())?;
            let fits = start.eq_ignore_ascii_case(prefix);
            fits.then(|| &kind[prefix.len()..])
        });
    let name = bare.unwrap_or(kind);
    types.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Looks through reviews, replies and the editorial of a practice, by as many threads as given; nothing for other kinds
/// of business.
pub(super) fn findings(dataset: &Dataset, threads: NonZeroUsize) -> Vec<Finding<'_>> {
    if !is_type(&dataset.business.kind, &LAW_TYPES) {
        return Vec::new();
    }
    // Most texts hold none of these, and one pass of an automaton says so at the speed of memory.
    let hints = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(HINTS.split(' '))
        .ok();
    let known = Known::of(dataset);
    let mut findings = in_reviews(&dataset.reviews, threads, |review, found| {
        in_review(review, hints.as_ref(), &known, found);
    });
    for (place, text, review_ids) in editorial(dataset) {
        for (rule, words) in [(MONEY, result_with_money(text)), (PROMISE, promise(text))] {
            findings.extend(words.map(|words| Finding {
                rule,
                review: None,
                words: quote(words.trim()),
                place: place.clone(),
                review_ids,
            }));
        }
    }
    findings
}

/// Returns what `look` adds for each of `reviews`, in their order, each thread having a run of them.
fn in_reviews<'d>(
    reviews: &'d [Review],
    threads: NonZeroUsize,
    look: impl Fn(&'d Review, &mut Vec<Finding<'d>>) + Sync,
) -> Vec<Finding<'d>> {
    let in_run = |run: &'d [Review]| {
        let mut found = Vec::new();
        run.iter().for_each(|review| look(review, &mut found));
        found
    };
    let run = reviews.len().div_ceil(threads.get()).max(1);
    thread::scope(|scope| {
        let mut runs = reviews.chunks(run);
        let first = runs.next().unwrap_or_default();
        let others: Vec<_> = runs
            .map(|run| {
                let spawned = thread::Builder::new().spawn_scoped(scope, || in_run(run));
                spawned.map_err(|_refused| run)
            })
            .collect();
        let mut found = in_run(first);
        for other in others {
            found.extend(match other {
                Ok(thread) => thread.join().expect("looking has no panic"),
                Err(run) => in_run(run),
            });
        }
        found
    })
}

fn in_review<'d>(
    review: &'d Review,
    hints: Option<&AhoCorasick>,
    known: &Known,
    found: &mut Vec<Finding<'d>>,
) {
    let mut add = |rule, words: Option<&str>| {
        found.extend(words.map(|words| Finding {
            rule,
            review: Some(review),
            words: quote(words.trim()),
            place: String::new(),
            review_ids: &[],
        }));
    };
    if hints.is_none_or(|hints| hints.is_match(&review.text)) {
        // A complaint about a sum makes nobody expect it.
        if review.rating.stars() >= 3 {
            add(MONEY, result_with_money(&review.text));
        }
        add(PROMISE, promise(&review.text));
    }
    let Some(reply) = &review.owner_reply else {
        return;
    };
    add(MONEY, result_with_money(&reply.text));
    add(PROMISE, promise(&reply.text));
    add(REPLY_NAME, stranger(&reply.text, &review.author, known));
    add(REPLY_CASE_NUMBER, case_number(&reply.text));
    add(REPLY_MATTER, matter(&reply.text));
}

/// The practice's own words, by their place, and the reviews that they rest on.
fn editorial(dataset: &Dataset) -> Vec<(String, &str, &[String])> {
    let editorial = &dataset.editorial;
    let mut texts: Vec<(String, &str, &[String])> = Vec::new();
    for (place, text) in [
        ("summary", &editorial.summary),
        ("pull_quote", &editorial.pull_quote),
    ] {
        texts.extend(
            text.as_deref()
                .map(|text| (place.to_owned(), text, &[][..])),
        );
    }
    for (at, question) in editorial.faq.iter().enumerate() {
        let place = format!("faq[{at}].answer");
        texts.push((place, question.answer.as_str(), &question.review_ids));
    }
    texts
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

fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
}

/// Whether `list`, words with blanks between them, holds `word`.
fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}
