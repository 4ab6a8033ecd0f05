//! Advertising rules of law practices: results in money, promises of an outcome, and replies that tell
//! of a client's matter, in reviews, replies and the practice's own texts.
//!
//! [`RULES`] is the table of the rules, `advertising.txt` has the words that they go by. The rules compare words, so
//! they report some harmless sentences and miss some harmful ones. They are warnings for a person to judge; each can be
//! suppressed with a reason. None of them removes a review.

mod money;
mod promises;
mod replies;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::reviews::in_runs;
use crate::model::{Dataset, Review};
use crate::wire::text::quote;
use replies::KnownNames;

/// A rule of advertising.
pub(super) struct Rule {
    /// The code of its warnings.
    pub(super) code: &'static str,
    /// What a warning says of what was found.
    pub(super) says: &'static str,
    /// Whether it is for replies alone.
    of_replies: bool,
    /// Returns the first words of a text that it is about.
    find: for<'t> fn(&'t str, &Context<'_>) -> Option<&'t str>,
}

/// All rules, in the order of their warnings.
pub(super) static RULES: [Rule; 5] = [
    Rule {
        code: "money",
        says: "an amount of money as a result, which readers may take for what they can expect",
        of_replies: false,
        // A complaint about a sum promises none.
        find: |text, context| (context.stars >= 3).then(|| money::result(text))?,
    },
    Rule {
        code: "promise",
        says: "a promise of an outcome, which bar rules forbid in advertising, in a client's words too",
        of_replies: false,
        find: |text, _| promises::promise(text),
    },
    Rule {
        code: "reply_name",
        says: "a reply that names a person other than its reader and those of the practice",
        of_replies: true,
        find: |text, context| replies::other_person(text, context.author, context.known),
    },
    Rule {
        code: "reply_case_number",
        says: "a reply with what looks like the number of a case",
        of_replies: true,
        find: |text, _| replies::case_number(text),
    },
    Rule {
        code: "reply_matter",
        says: "a reply that tells what the matter was, which is confidential even where the review tells it",
        of_replies: true,
        find: |text, _| replies::matter(text),
    },
];

/// What a text belongs to.
struct Context<'c> {
    /// Of the review; 5 for the practice's own words.
    stars: u8,
    author: &'c str,
    known: &'c KnownNames,
}

/// Something that a rule found.
pub(super) struct Finding<'d> {
    pub(super) rule: &'static Rule,
    /// The review that it is in, or belongs to; `None` for the practice's own words.
    pub(super) review: Option<&'d Review>,
    /// The words in question, quoted.
    pub(super) words: String,
    /// The path in `editorial.json`, "" for a review.
    pub(super) path: String,
    /// The reviews that an answer rests on.
    pub(super) review_ids: &'d [String],
}

/// Whether a business of this type may be a law practice that has not said so, so that nothing was looked through.
pub(super) fn may_be_law(kind: &str) -> bool {
    is_type(kind, "open_types")
}

/// Whether `kind` is one of a list of types, without regard to case, by its name or its address.
fn is_type(kind: &str, types: &str) -> bool {
    let kind = kind.trim().to_ascii_lowercase();
    let prefixes = ["https://schema.org/", "http://schema.org/"];
    let name = prefixes.iter().find_map(|prefix| kind.strip_prefix(prefix));
    listed(types, name.unwrap_or(&kind))
}

/// Looks through reviews, replies and the editorial of a practice, by as many threads as given; nothing for other kinds
/// of business.
pub(super) fn findings(dataset: &Dataset, threads: NonZeroUsize) -> Vec<Finding<'_>> {
    if !is_type(&dataset.business.kind, "law_types") {
        return Vec::new();
    }
    let known = KnownNames::of(dataset);
    // Most texts hold none of these, and one pass of an automaton says so at the speed of memory.
    let mut hints = AhoCorasick::builder();
    let hints = hints.ascii_case_insensitive(true).build(list("hints")).ok();
    let parts = in_runs(&dataset.reviews, threads.get(), |run| {
        let mut findings = Vec::new();
        for review in run {
            in_review(review, hints.as_ref(), &known, &mut findings);
        }
        findings
    });
    let mut findings: Vec<Finding<'_>> = parts.into_iter().flatten().collect();
    let editorial = &dataset.editorial;
    let words = [
        ("summary", &editorial.summary),
        ("pull_quote", &editorial.pull_quote),
    ];
    let words = words
        .into_iter()
        .filter_map(|(path, text)| Some((path.to_owned(), text.as_ref()?, &[][..])));
    let answers = editorial.faq.iter().enumerate().map(|(at, question)| {
        (
            format!("faq[{at}].answer"),
            &question.answer,
            &question.review_ids[..],
        )
    });
    let context = Context {
        stars: 5,
        author: "",
        known: &known,
    };
    for (path, text, review_ids) in words.chain(answers) {
        find(text, false, &context, |finding| {
            findings.push(Finding {
                path: path.clone(),
                review_ids,
                ..finding
            });
        });
    }
    findings
}

fn in_review<'d>(
    review: &'d Review,
    hints: Option<&AhoCorasick>,
    known: &KnownNames,
    findings: &mut Vec<Finding<'d>>,
) {
    let mut add = |finding: Finding<'d>| {
        findings.push(Finding {
            review: Some(review),
            ..finding
        })
    };
    let (author, stars) = (review.author.as_str(), review.rating.stars());
    if hints.is_none_or(|hints| hints.is_match(&review.text)) {
        find(
            &review.text,
            false,
            &Context {
                stars,
                author,
                known,
            },
            &mut add,
        );
    }
    if let Some(reply) = &review.owner_reply {
        find(
            &reply.text,
            true,
            &Context {
                stars: 5,
                author,
                known,
            },
            &mut add,
        );
    }
}

/// Applies the rules to a text.
fn find<'d>(text: &str, is_reply: bool, context: &Context<'_>, mut add: impl FnMut(Finding<'d>)) {
    for rule in RULES.iter().filter(|rule| is_reply || !rule.of_replies) {
        if let Some(words) = (rule.find)(text, context) {
            add(Finding {
                rule,
                review: None,
                words: quote(words.trim()),
                path: String::new(),
                review_ids: &[],
            });
        }
    }
}

/// The sentences of `text`, as roughly as a warning needs them.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    text.split_inclusive(move |c: char| {
        let ends = c == '\n' || (c.is_whitespace() && matches!(before, '.' | '!' | '?'));
        before = c;
        ends
    })
}

/// The words of `text`; apostrophes are part of them.
fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
}

/// The words that the rules go by, by the names of their lists.
static LISTS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lines = include_str!("advertising.txt").lines();
    let lists = lines.filter_map(|line| line.split_once(" = "));
    lists
        .map(|(name, words)| (name, words.split(", ").collect()))
        .collect()
});

fn list(name: &str) -> &'static [&'static str] {
    &LISTS[name]
}

/// Whether a list holds `word`.
fn listed(name: &str, word: &str) -> bool {
    list(name).contains(&word)
}

#[cfg(test)]
mod tests;
