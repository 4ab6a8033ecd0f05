//! Advertising rules of law practices: results in money, promises of an outcome, and replies that tell of a client's
//! matter, in reviews, replies and the practice's own texts.
//!
//! [`RULES`] is the table of the rules, and their patterns are regular expressions. They compare words, so they report
//! some harmless sentences and miss some harmful ones. They are warnings for a person to judge; each can be suppressed
//! with a reason. None of them removes a review.

use std::collections::HashSet;
use std::iter::once;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::mentions::Comparable;
use super::reviews::in_runs;
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
    cases: &'static [Case],
}

/// What a sentence, or a reply, is found by: all patterns match, and that of what clears it does not. A group `name` in the
/// first pattern counts unless it is the author's name or one of the practice.
type Case = (&'static [&'static str], Option<&'static str>);

/// All rules, in the order of their warnings.
pub(super) static RULES: [Rule; 5] = [
    Rule {
        code: "money",
        says: "an amount of money as a result, which readers may take for what they can expect",
        of_replies: false,
        // A complaint about a sum promises none.
        stars_min: 3,
        cases: &[
            (&[AMOUNT, RESULT], Some(PENSION)),
            (&[AMOUNT, GAIN], Some(EXPENSE)),
        ],
    },
    Rule {
        code: "promise",
        says: "a promise of an outcome, which bar rules forbid in advertising, in a client's words too",
        of_replies: false,
        stars_min: 1,
        cases: &[
            (&[PROMISE], Some(DENIED_PROMISE)),
            (&[GUARANTEE, OUTCOME], Some(DENIED_GUARANTEE)),
        ],
    },
    Rule {
        code: "reply_name",
        says: "a reply that names a person other than its reader and those of the practice",
        of_replies: true,
        stars_min: 1,
        cases: &[(&[PERSON], None)],
    },
    Rule {
        code: "reply_case_number",
        says: "a reply with what looks like the number of a case",
        of_replies: true,
        stars_min: 1,
        cases: &[(&[CASE_NUMBER], None)],
    },
    Rule {
        code: "reply_matter",
        says: "a reply that tells what the matter was, which is confidential even where the review tells it",
        of_replies: true,
        stars_min: 1,
        cases: &[(&[MATTER], Some(HEARING_AID))],
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

/// A name after a title or a relation of the reader, or in the caption of a case.
const PERSON: &str = r"\b((mr|mrs|ms|miss|mx|dr|judge|justice|officer|detective|sr|sra|srta|señora)\.? | v\. | vs\.?
| your\ (husband|wife|ex|ex-husband|ex-wife|spouse|partner|son|daughter|child|brother|sister|mother|father|mom|mum|dad|uncle|aunt
|cousin|grandmother|grandfather|neighbou?r|landlord|tenant|employer|boss),?)
\ (?<name>(?-i:(\p{Lu}\p{L}|[DO]['’]\p{Lu})[\p{L}'’-]*))";

/// `2021-CV-00123` or `3:21-cr-0045`, "case no. 12345" or "matter 345/21"; "case 24/7" and "case 24-48" are hours.
const CASE_NUMBER: &str = r"\b\d+[-:][a-z]{2,3}[-:]\d{3}
| \b(case|docket|file|claim|matter|cause|expediente|caso)[\ :]+
((((no|nr|num|number|id|número|núm)\b[.:]?\ ?)+\#? | \#\ ?)\d([/-]?\d){2,} | \d{3,}[/-]\d+ | \d+[/-]\d{3,})";

/// What a client may have come for.
const MATTER: &str = r"\b(your|su|tu)\ ([\w'’-]+\ )?(divorce|custody|arrest|conviction|dui|dwi|bankruptcy|settlement|lawsuit|verdict
|injury|injuries|accident|diagnosis|immigration|visa|deportation|asylum|probation|eviction|foreclosure|inheritance|adoption|felony
|misdemeanor|hearing|trial|probate|paternity|alimony|guardianship|estate|divorcio|custodia|accidente|arresto)\b";

const HEARING_AID: &str = r"hearing\ aid";

/// The cases of each rule with their patterns compiled.
static COMPILED: LazyLock<Vec<Vec<CompiledCase>>> = LazyLock::new(|| {
    let patterns = |all: &[&str]| all.iter().map(|pattern| compile(pattern)).collect();
    let case = |(all, unless): &Case| (patterns(all), unless.map(compile));
    let cases = |rule: &Rule| rule.cases.iter().map(case).collect();
    RULES.iter().map(cases).collect()
});

type CompiledCase = (Vec<Regex>, Option<Regex>);

fn compile(pattern: &str) -> Regex {
    // Where words end by Unicode's rules, a text with accents would be searched ten times as slowly.
    let mut builder = RegexBuilder::new(&pattern.replace(r"\b", r"(?-u:\b)"));
    builder.case_insensitive(true).ignore_whitespace(true);
    builder
        .build()
        .expect("the patterns of the table are valid")
}

/// What a text belongs to.
struct Context<'c> {
    /// Of the review; 5 for the practice's own words.
    stars: u8,
    /// The words of the author's name.
    author: HashSet<Comparable>,
    /// The words of the names of the practice and its people.
    known: &'c HashSet<Comparable>,
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
    is_type(
        kind,
        &["LocalBusiness", "ProfessionalService", "Organization"],
    )
}

/// Whether `kind` is one of `types`, without regard to case, by its name or its address.
fn is_type(kind: &str, types: &[&str]) -> bool {
    let kind = kind.trim().to_ascii_lowercase();
    let prefixes = ["https://schema.org/", "http://schema.org/"];
    let name = prefixes.iter().find_map(|prefix| kind.strip_prefix(prefix));
    let name = name.unwrap_or(&kind);
    types.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Looks through reviews, replies and the editorial of a practice, by as many threads as given; nothing for other kinds
/// of business.
pub(super) fn findings(dataset: &Dataset, threads: NonZeroUsize) -> Vec<Finding<'_>> {
    if !is_type(
        &dataset.business.kind,
        &["LegalService", "Attorney", "Notary"],
    ) {
        return Vec::new();
    }
    let people = dataset.taxonomy.technicians.iter();
    let names = people.flat_map(|person| once(&person.name).chain(&person.aliases));
    let staff = dataset.business.technicians.iter();
    let names = names.chain(staff.map(|person| &person.name));
    let known = names.chain(once(&dataset.business.name));
    let known = &known.flat_map(|name| name_words(name)).collect();
    let parts = in_runs(&dataset.reviews, threads.get(), |run| {
        let findings = run.iter().flat_map(|review| in_review(review, known));
        findings.collect::<Vec<_>>()
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
        let path = format!("faq[{at}].answer");
        (path, &question.answer, &question.review_ids[..])
    });
    let context = Context {
        stars: 5,
        author: HashSet::new(),
        known,
    };
    for (path, text, review_ids) in words.chain(answers) {
        findings.extend(find(text, false, &context).map(|finding| Finding {
            path: path.clone(),
            review_ids,
            ..finding
        }));
    }
    findings
}

fn in_review<'d>(review: &'d Review, known: &HashSet<Comparable>) -> Vec<Finding<'d>> {
    let mut context = Context {
        stars: review.rating.stars(),
        author: HashSet::new(),
        known,
    };
    let mut findings: Vec<_> = find(&review.text, false, &context).collect();
    if let Some(reply) = &review.owner_reply {
        context.stars = 5;
        context.author = name_words(&review.author).collect();
        findings.extend(find(&reply.text, true, &context));
    }
    for finding in &mut findings {
        finding.review = Some(review);
    }
    findings
}

/// Applies the rules to a text: what each finds first.
fn find<'d>(
    text: &str,
    is_reply: bool,
    context: &Context<'_>,
) -> impl Iterator<Item = Finding<'d>> {
    let rules = RULES.iter().zip(COMPILED.iter());
    let rules = rules
        .filter(move |(rule, _)| (is_reply || !rule.of_replies) && context.stars >= rule.stars_min);
    rules.filter_map(move |(rule, cases)| {
        // Most texts hold nothing of the kind, and are looked through once.
        let mut cases = cases.iter().filter(|(all, _)| all[0].is_match(text));
        // A title and the number of a case have full stops in them.
        let words = cases.find_map(|case| match rule.of_replies {
            true => matched(case, text, context),
            false => sentences(text).find(|sentence| matched(case, sentence, context).is_some()),
        })?;
        Some(Finding {
            rule,
            review: None,
            words: quote(words.trim()),
            path: String::new(),
            review_ids: &[],
        })
    })
}

/// The words of `text` that the first pattern of a case matches, if the case is one.
fn matched<'t>(
    (all, unless): &CompiledCase,
    text: &'t str,
    context: &Context<'_>,
) -> Option<&'t str> {
    let is_known = |name: &str| {
        name_words(name).all(|word| context.author.contains(&word) || context.known.contains(&word))
    };
    let mut found = all[0].captures_iter(text);
    let found = found.find(|found| match found.name("name") {
        Some(name) => !is_known(name.as_str()),
        None => true,
    })?;
    let is_case = all[1..].iter().all(|pattern| pattern.is_match(text));
    let is_cleared = unless
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text));
    (is_case && !is_cleared).then(|| found.get_match().as_str())
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

/// The words of a name, to compare; a double name is two, and a possessive ending is none.
fn name_words(name: &str) -> impl Iterator<Item = Comparable> {
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    let words = words.map(|word| {
        let owner = word.strip_suffix("'s").or(word.strip_suffix("’s"));
        owner.unwrap_or(word)
    });
    words.filter(|word| !word.is_empty()).map(Comparable::new)
}

#[cfg(test)]
mod tests;
