//! Advertising rules of law practices: results in money, promises of an outcome, and replies that tell of a client's
//! matter, in reviews, replies and the practice's own texts.
//!
//! [`RULES`] is the table of the rules, and their patterns are regular expressions. They compare words, so they report
//! some harmless sentences and miss some harmful ones. They are warnings for a person to judge; each can be suppressed
//! with a reason. None of them removes a review.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::reviews::in_runs;
use super::trades;
use crate::model::{Dataset, Review};
use crate::wire::text::quote;

/// A rule of advertising.
pub(super) struct Rule {
    /// The code of its warnings.
    pub(super) code: &'static str,
    /// What a warning says of what was found.
    pub(super) says: &'static str,
    /// Whether it is for replies alone, and quotes the words that match; others quote the sentence.
    of_replies: bool,
    /// Reviews of fewer stars are not held to it.
    stars_min: u8,
    /// Compiled when they are first needed.
    cases: LazyLock<Vec<Case>>,
}

/// What a sentence, or a reply, is found by: all patterns match, and that of what clears it does not.
type Case = (Vec<Regex>, Option<Regex>);

/// All rules, in the order of their warnings.
pub(super) static RULES: [Rule; 4] = [
    Rule {
        code: "money",
        says: "an amount of money as a result, which readers may take for what they can expect",
        of_replies: false,
        // A complaint about a sum promises none.
        stars_min: 3,
        cases: LazyLock::new(|| {
            vec![
                case(&[AMOUNT, RESULT], Some(PENSION)),
                case(&[AMOUNT, GAIN], Some(EXPENSE)),
            ]
        }),
    },
    Rule {
        code: "promise",
        says: "a promise of an outcome, which bar rules forbid in advertising, in a client's words too",
        of_replies: false,
        stars_min: 1,
        cases: LazyLock::new(|| {
            vec![
                case(&[PROMISE], Some(DENIED_PROMISE)),
                case(&[GUARANTEE, OUTCOME], Some(DENIED_GUARANTEE)),
            ]
        }),
    },
    Rule {
        code: "reply_case_number",
        says: "a reply with what looks like the number of a case",
        of_replies: true,
        stars_min: 1,
        cases: LazyLock::new(|| vec![case(&[CASE_NUMBER], None)]),
    },
    Rule {
        code: "reply_matter",
        says: "a reply that tells what the matter was, which is confidential even where the review tells it",
        of_replies: true,
        stars_min: 1,
        cases: LazyLock::new(|| vec![case(&[MATTER], Some(HEARING_AID))]),
    },
];

/// A currency sign or code beside a number, the name of a currency after one, `30k`, or a number of figures.
const AMOUNT: &str = r"[$€£¥]\ ?\d | \d\ ?[$€£¥] | \b(usd|eur|gbp|chf|cad|aud|jpy)\ ?\d | \b\d[\d.,]*[km]\b
| \b\d[\d.,']*(\ (hundred|thousand|million))?\ (dollars?|euros?|pounds|bucks|grand|yen|francs|usd|eur|gbp|chf|cad|aud|jpy)\b
| \b([4-9]|four|five|six|seven|eight|nine)[\ -]figures?\b";

/// A word that makes a result of an amount.
const RESULT: &str = r"\b(settle|recover|awarded|verdict|judge?ment|compensat|damages|payout|insurer)\w{0,4}\b
| \b(paid\ out|pays\ out|were\ paid)\b";

/// A word that makes a result of an amount, unless the sentence speaks of what was paid ([`EXPENSE`]).
const GAIN: &str = r"\b(win|award|offer|got|receiv|refund|obtain|secure|securing|result|outcome|negotiat|walked|saved|reduc|insurance)
\w{0,4}\b | \bwon\b";

const PENSION: &str = r"\b401k\b";

/// A word for what was paid, or something else than money that was won, as in "won me over".
const EXPENSE: &str = r"\b(bill|invoice|fee|charg|cost|price|retainer|paid|pay|hour|quote|estimat)\w{0,4}\b
| \bwon\ (\w+\ ){1,3}over\b | \b401k\b";

const PROMISE: &str = r"\b(always\ wins?\b | never\ (lose|loses|lost)\ a\ case | (can['’]t|cannot)\ lose | will\ win\ (you|every|the\ case)
| wins?\ every\ case | (sure|certain)\ to\ win | 100\ ?%\ (success|win) | wins?\ 99% | 99%\ success
| you(\ will|['’]ll|\ are\ going\ to|['’]re\ going\ to)\ win\b | (assured|promised)\ (me\ |us\ )?(i|we)(\ would|['’]d)\ win
| promised?\ (you\ )?a\ win\b)";

const GUARANTEE: &str = r"\b(guarant|garantiz)";

/// How a matter ends.
const OUTCOME: &str = r"\b(win|won|result|outcome|success|victor|settlement|verdict|approv|dismiss|acquit|compensation|éxito|ganar
|(your|the|my|our|every|each)\ case)";

/// A denial at most six words before a guarantee, as in "we cannot guarantee a result", which bars want to read.
const DENIED_GUARANTEE: &str = r"(\b(not|no|never|cannot|nobody|without|nothing|neither|nunca|sin|nadie)|n['’]t)
(\ [\w'’]+){0,6}\ (guarant|garantiz)";

/// A denial at most six words before a promise.
const DENIED_PROMISE: &str = r"(\b(not|no|cannot|nobody|without|nothing|neither)|n['’]t)
(\ [\w'’]+){0,6}\ (always|will|wins?|sure|certain|you|assured|promised?)\b";

/// `2021-CV-00123` or `3:21-cr-0045`, "case no. 12345" or "matter 345/21"; "case 24/7" and "case 24-48" are hours.
const CASE_NUMBER: &str = r"\b\d+[-:][a-z]{2,3}[-:]\d{3}
| \b(case|docket|file|claim|matter|cause|expediente|caso)[\ :]+
((((no|nr|num|number|id|número|núm)\b[.:]?\ ?)+\#? | \#\ ?)\d([/-]?\d){2,} | \d{3,}[/-]\d+ | \d+[/-]\d{3,})";

/// What a client may have come for.
const MATTER: &str = r"\b(your|su|tu)\ ([\w'’-]+\ )?(divorce|custody|arrest|conviction|dui|dwi|bankruptcy|settlement|lawsuit|verdict
|injury|injuries|accident|diagnosis|immigration|visa|deportation|asylum|probation|eviction|foreclosure|inheritance|adoption|felony
|misdemeanor|hearing|trial|probate|paternity|alimony|guardianship|estate|divorcio|custodia|accidente|arresto)\b";

const HEARING_AID: &str = r"hearing\ aid";

fn case(patterns: &[&str], unless: Option<&str>) -> Case {
    let compile = |pattern: &str| {
        // Where words end by Unicode's rules, a text with accents would be searched ten times as slowly.
        let mut builder = RegexBuilder::new(&pattern.replace(r"\b", r"(?-u:\b)"));
        builder.case_insensitive(true).ignore_whitespace(true);
        builder
            .build()
            .expect("the patterns of the table are valid")
    };
    let patterns = patterns.iter().map(|pattern| compile(pattern));
    (patterns.collect(), unless.map(compile))
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
}

/// Looks through reviews, replies and the editorial of a practice, by as many threads as given; nothing for other kinds
/// of business.
pub(super) fn findings(dataset: &Dataset, threads: NonZeroUsize) -> Vec<Finding<'_>> {
    if trades::of_type(&dataset.business.kind) != "legal" {
        return Vec::new();
    }
    let parts = in_runs(&dataset.reviews, threads.get(), |run| {
        run.iter().flat_map(in_review).collect::<Vec<_>>()
    });
    let mut findings: Vec<Finding<'_>> = parts.into_iter().flatten().collect();
    let mut add = |path: String, text: &str| {
        findings.extend(find(text, 5, false).map(|(rule, words)| Finding {
            rule,
            review: None,
            words,
            path: path.clone(),
        }));
    };
    let editorial = &dataset.editorial;
    for (path, text) in [
        ("summary", &editorial.summary),
        ("pull_quote", &editorial.pull_quote),
    ] {
        add(path.to_owned(), text.as_deref().unwrap_or_default());
    }
    for (at, question) in editorial.faq.iter().enumerate() {
        add(format!("faq[{at}].answer"), &question.answer);
    }
    findings
}

fn in_review(review: &Review) -> impl Iterator<Item = Finding<'_>> {
    let reply = review.owner_reply.iter();
    let in_reply = reply.flat_map(|reply| find(&reply.text, 5, true));
    let found = find(&review.text, review.rating.stars(), false).chain(in_reply);
    found.map(move |(rule, words)| Finding {
        rule,
        review: Some(review),
        words,
        path: String::new(),
    })
}

/// Applies the rules to a text with this number of stars (5 for the practice's own words), and quotes the first match of each.
fn find(text: &str, stars: u8, is_reply: bool) -> impl Iterator<Item = (&'static Rule, String)> {
    let rules = RULES.iter();
    let rules = rules.filter(move |rule| (is_reply || !rule.of_replies) && stars >= rule.stars_min);
    rules.filter_map(move |rule| {
        // Most texts hold nothing of the kind, and are looked through once.
        let mut cases = rule.cases.iter().filter(|(all, _)| all[0].is_match(text));
        // The number of a case has full stops in it.
        let words = cases.find_map(|case| match rule.of_replies {
            true => matched(case, text),
            false => sentences(text).find(|sentence| matched(case, sentence).is_some()),
        })?;
        Some((rule, quote(words.trim())))
    })
}

/// The words of `text` that the first pattern of a case matches, if the case is one.
fn matched<'t>((all, unless): &Case, text: &'t str) -> Option<&'t str> {
    let found = all[0].find(text)?;
    let is_case = all[1..].iter().all(|pattern| pattern.is_match(text));
    let is_cleared = unless
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text));
    (is_case && !is_cleared).then(|| found.as_str())
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

#[cfg(test)]
mod tests;
