//! Hints for a search without results: unknown names, and what similar searches would find. Each filter and word of the
//! request costs a search, and each word that no review has up to four more, as long as work is left.

use super::filter::{Filter, Query, RatingSet, Sort, Term, VerificationSet, Words};
use super::index::Index;
use super::query::Parameter;
use super::rank::telling_terms;
use super::run::{Scratch, run_within};
use super::work::Work;
use crate::wire::json::{Array, Object, push_strings};
use crate::wire::text::cut;

/// One suggestion for another search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint<'i> {
    /// The parameter that the hint is about; `rating` stands for the three parameters that limit the rating.
    pub parameter: Parameter,
    /// The suggestion: a sentence without a full stop, which quotes at most 64 bytes of a value.
    pub message: String,
    /// How many reviews the suggested search finds; `None` if the hint is about a name.
    pub matched: Option<u32>,
    /// The names that are similar to an unknown name, or else the first that are known; or those that contain an ambiguous
    /// one. `message` says which.
    pub names: Vec<&'i str>,
}

/// Returns hints for `query`, which found nothing:
///
/// - names that are unknown or ambiguous;
/// - filters that no review passes;
/// - how many reviews the query finds without one of its filters;
/// - how many reviews each word alone finds, or its beginning if the word finds none;
/// - how many reviews have the words of a text in any order.
///
/// When no `work` is left, further searches are not tried, and their hints are missing.
pub fn hints<'i>(
    index: &'i Index,
    query: &Query<'_>,
    scratch: &mut Scratch,
    work: &mut Work,
) -> Vec<Hint<'i>> {
    let filter = query.filter;
    let mut hints = Vec::new();
    let language = filter.language.map(|tag| (Parameter::Language, tag));
    let source = filter.source.map(|source| (Parameter::Source, source));
    let location = filter.location.map(|name| (Parameter::Location, name));
    let others = [language, source, location].into_iter().flatten();
    for (parameter, name) in filter.names().chain(others) {
        if let Some(Err(wrong)) = index.resolve(parameter, name, work) {
            let message = format!("{} {:?} {}", parameter.name(), cut(name), wrong.problem);
            hints.push(Hint {
                parameter,
                message,
                matched: None,
                names: wrong.names,
            });
        }
    }
    let has_wrong_name = !hints.is_empty();
    if let Some(since) = filter.since
        && let Some(until) = filter.until
        && since > until
    {
        hints.push(Hint {
            parameter: Parameter::Since,
            message: format!("since={since} is later than until={until}, so no review can match"),
            matched: Some(0),
            names: Vec::new(),
        });
    }
    if filter.ratings == RatingSet::EMPTY {
        let message =
            "rating, min_rating and max_rating together allow no rating, so no review can match";
        hints.push(Hint {
            parameter: Parameter::Rating,
            message: message.to_owned(),
            matched: Some(0),
            names: Vec::new(),
        });
    }
    let mut searches = HintSearches {
        index,
        scratch,
        work,
        hints,
    };
    for parameter in Parameter::all() {
        let rest = without(filter, parameter);
        let is_text = matches!(parameter, Parameter::Query | Parameter::Words);
        if rest == filter || (rest == Filter::default() && (is_text || has_wrong_name)) {
            continue;
        }
        let before = match parameter {
            Parameter::Rating => "without a rating filter,".to_owned(),
            _ => format!("without {},", parameter.name()),
        };
        searches.suggest(parameter, rest, &before, " would match");
    }
    let (wanted, excluded) = terms(filter.words.or_else(|| Words::parse(filter.text?)));
    let all = join_terms(&wanted);
    if filter.words.is_some()
        && !excluded.is_empty()
        && let Some(words) = Words::parse(&all)
    {
        let rest = Filter {
            words: Some(words),
            ..filter
        };
        let before = format!("without {},", cut(&join_terms(&excluded)));
        searches.suggest(Parameter::Words, rest, &before, " would match");
    }
    for term in telling_terms(wanted) {
        for spelling in spellings(term) {
            let text = spelling.to_string();
            let Some(matched) = searches.count(only_words(&text)) else {
                continue;
            };
            // That the whole word finds nothing is told, too.
            if matched > 0 || spelling == term {
                let before = format!("{:?} alone matches", cut(spelling.text));
                searches.push(Parameter::Words, matched, &before, "");
            }
            if matched > 0 {
                break;
            }
        }
    }
    if let Some(text) = filter.text
        && Words::parse(text).is_some_and(|words| words.terms().count() > 1)
    {
        let text_quoted = cut(text);
        let before = format!("the words of {text_quoted:?} in any order (parameter words) match");
        searches.suggest(Parameter::Query, only_words(text), &before, "");
    }
    searches.hints
}

/// Runs the searches that hints suggest.
struct HintSearches<'s, 'i> {
    index: &'i Index,
    scratch: &'s mut Scratch,
    work: &'s mut Work,
    hints: Vec<Hint<'i>>,
}

impl HintSearches<'_, '_> {
    /// Adds a hint with the number of reviews that `filter` selects, if there are any: `before`, the number, and `after`.
    fn suggest(&mut self, parameter: Parameter, filter: Filter<'_>, before: &str, after: &str) {
        let matched = self.count(filter).unwrap_or_default();
        if matched > 0 {
            self.push(parameter, matched, before, after);
        }
    }

    /// Returns how many reviews `filter` selects; `None` if no work is left.
    fn count(&mut self, filter: Filter<'_>) -> Option<u32> {
        let query = Query::new(filter, Sort::Newest, 1);
        let page = run_within(self.index, &query, self.scratch, self.work)?;
        Some(page.matched)
    }

    fn push(&mut self, parameter: Parameter, matched: u32, before: &str, after: &str) {
        let reviews = if matched == 1 { "review" } else { "reviews" };
        self.hints.push(Hint {
            parameter,
            message: format!("{before} {matched} {reviews}{after}"),
            matched: Some(matched),
            names: Vec::new(),
        });
    }
}

/// Returns the filter for reviews that contain `words`, or for all if there are too many words.
fn only_words(words: &str) -> Filter<'_> {
    Filter {
        words: Words::parse(words),
        ..Filter::default()
    }
}

/// Returns `term` and, unless it is quoted, `term` without its last one to four letters, as long as two thirds of it
/// and at least four bytes are left. So "deadlines" leads to "deadline", but "disabled" not to "disa".
fn spellings(term: Term<'_>) -> impl Iterator<Item = Term<'_>> {
    let ends = term.text.char_indices().rev().take(4).map(|(end, _)| end);
    let length = term.text.len();
    let ends = ends.filter(move |end| !term.is_quoted && *end >= 4.max(length * 2 / 3));
    let ends = [length].into_iter().chain(ends);
    ends.map(move |end| Term {
        text: &term.text[..end],
        ..term
    })
}

/// Returns the terms that must occur, and those that must not.
fn terms(words: Option<Words<'_>>) -> (Vec<Term<'_>>, Vec<Term<'_>>) {
    let terms = words.iter().flat_map(Words::terms);
    terms.partition(|term| !term.is_excluded)
}

fn join_terms(terms: &[Term<'_>]) -> String {
    let terms: Vec<String> = terms.iter().map(Term::to_string).collect();
    terms.join(" ")
}

/// Returns `filter` without one of its parts; the rating bounds count as one part.
fn without(filter: Filter<'_>, parameter: Parameter) -> Filter<'_> {
    let mut rest = filter;
    match parameter {
        Parameter::Rating => rest.ratings = RatingSet::ALL,
        Parameter::Since => rest.since = None,
        Parameter::Until => rest.until = None,
        Parameter::Query => rest.text = None,
        Parameter::Words => rest.words = None,
        Parameter::MentionsTechnician => rest.technician = None,
        Parameter::MentionsService => rest.service = None,
        Parameter::Aspect => rest.aspect = None,
        Parameter::Polarity => rest.polarity = None,
        Parameter::HasReply => rest.has_reply = None,
        Parameter::HasPhotos => rest.has_photos = None,
        Parameter::Language => rest.language = None,
        Parameter::Source => rest.source = None,
        Parameter::Location => rest.location = None,
        Parameter::VerifiedBy => rest.verified_by = VerificationSet::ALL,
        _ => {}
    }
    rest
}

/// Appends the value of the key `hints`: an array of objects.
pub(super) fn push_hints(out: &mut Vec<u8>, hints: &[Hint<'_>]) {
    let mut array = Array::begin(out);
    for hint in hints {
        let mut object = Object::begin(array.item());
        object
            .string("parameter", hint.parameter.name())
            .string("message", &hint.message);
        match hint.matched {
            Some(count) => _ = object.u64("matched", u64::from(count)),
            None => push_strings(object.key("names"), hint.names.iter().copied()),
        }
        object.end();
    }
    array.end();
}
