//! Why a search has found nothing, and what to ask instead. A hint costs a search; there are as many as the request has
//! filters and words, so at most thirty.

use std::fmt;

use super::filter::{Filter, Query, RatingSet, Sort, Words};
use super::index::Index;
use super::names::NameMatch;
use super::query::Parameter;
use super::run::{Page, Scratch, run};
use crate::wire::json::{Array, Object, push_strings};
use crate::wire::text::cut;

/// One thing that helps to ask again; displayed as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The parameter that the hint is about; `rating` stands for both bounds as well.
    pub parameter: Parameter,
    /// Its folded value, or the word that the hint is about, at most 64 bytes; empty in [`Advice::Without`].
    pub value: String,
    /// What there is to know.
    pub advice: Advice,
}

/// What a hint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// How many reviews the same search finds without this parameter: 1 or more.
    Without(u32),
    /// How many reviews the word or phrase alone matches; in the place of `query`, the words of it in any order.
    Alone(u32),
    /// The value is a part of these names, so none is meant.
    Ambiguous(Vec<String>),
    /// The value is unknown; these names are spelt most like it.
    Unknown(Vec<String>),
}

/// Returns what helps after `query` has found nothing: names that are unknown or ambiguous, the filters without which it
/// finds something, and what each word alone finds. Costs at most thirty searches.
pub fn hints(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Vec<Hint> {
    let filter = query.filter;
    let mut hints = Vec::new();
    let hint = |parameter, value: &str, advice| Hint {
        parameter,
        value: cut(value).to_owned(),
        advice,
    };
    let mut count =
        |filter| -> u32 { run(index, &Query::new(filter, Sort::Newest, 1), scratch).matched };
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    let language = filter.language.map(|tag| (Parameter::Language, tag));
    let source = filter.source.map(|source| (Parameter::Source, source));
    for (parameter, name) in filter.names().chain(language).chain(source) {
        let advice = match index.resolve(parameter, name) {
            Some(NameMatch::Ambiguous(names)) => Advice::Ambiguous(owned(names)),
            Some(NameMatch::Unknown(names)) => Advice::Unknown(owned(names)),
            Some(NameMatch::Unique(_)) | None => continue,
        };
        hints.push(hint(parameter, name, advice));
    }
    for parameter in Parameter::all() {
        let rest = without(filter, parameter);
        let is_text = matches!(parameter, Parameter::Query | Parameter::Words);
        if rest == filter || (rest == Filter::default() && (is_text || !hints.is_empty())) {
            continue;
        }
        let found = count(rest);
        if found > 0 {
            hints.push(hint(parameter, "", Advice::Without(found)));
        }
    }
    let mut count_words = |words| {
        count(Filter {
            words: Some(words),
            ..Filter::default()
        })
    };
    let terms = filter.words.iter().flat_map(Words::terms);
    for term in terms.filter(|term| !term.is_excluded) {
        let found = Words::parse(term.as_written).map_or(0, &mut count_words);
        hints.push(hint(Parameter::Words, term.text, Advice::Alone(found)));
    }
    if let Some(text) = filter.text
        && let Some(words) = Words::parse(text)
        && words.terms().count() > 1
    {
        let found = count_words(words);
        if found > 0 {
            hints.push(hint(Parameter::Query, text, Advice::Alone(found)));
        }
    }
    hints
}

/// Returns words of `query`, which has found nothing, that occur together, and the first page of the reviews that have them.
///
/// The rarest word comes first; then each other word is added, from rare to common, if a review is left. Excluded words and
/// all other filters stay. `None` where no word occurs in at most a quarter of all reviews. Costs at most 33 searches.
pub fn closest(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Option<(String, Page)> {
    let asked = match query.filter.words {
        Some(words) => words,
        None => Words::parse(query.filter.text?)?,
    };
    let mut search = |words: &str, limit: u8| -> Option<Page> {
        let filter = Filter {
            text: query.filter.words.and(query.filter.text),
            words: Some(Words::parse(words)?),
            ..query.filter
        };
        let query = Query::new(filter, query.sort, limit);
        Some(run(index, &query, scratch)).filter(|page| page.matched > 0)
    };
    let (excluded, words): (Vec<_>, Vec<_>) = asked.terms().partition(|term| term.is_excluded);
    let excluded = excluded.iter().map(|term| format!("-{} ", term.as_written));
    // In front, as a phrase without its second quotation mark would take in what follows it.
    let excluded: String = excluded.collect();
    let found = words.iter().filter_map(|term| {
        let word = format!("{excluded}{}", term.as_written);
        Some((search(&word, 1)?.matched, word))
    });
    // What a quarter of all reviews have says nothing, such as "the".
    let mut found: Vec<(u32, String)> = found
        .filter(|(matched, _)| *matched <= index.len() / 4)
        .collect();
    found.sort_unstable();
    let (_, rarest) = found.first()?;
    let mut closest = rarest.clone();
    for (_, word) in &found[1..] {
        let longer = format!("{closest} {}", &word[excluded.len()..]);
        if search(&longer, 1).is_some() {
            closest = longer;
        }
    }
    let page = search(&closest, query.limit)?;
    Some((closest, page))
}

/// Returns `filter` without one of its parts; the bounds of the rating are one part.
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
        Parameter::Language => rest.language = None,
        Parameter::Source => rest.source = None,
        _ => {}
    }
    rest
}

impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = (self.parameter.name(), &self.value);
        let reviews = |count: u32| format!("{count} review{}", if count == 1 { "" } else { "s" });
        let sentence = match &self.advice {
            Advice::Without(count) => format!("without {name}, {} would match", reviews(*count)),
            Advice::Alone(count) if self.parameter == Parameter::Query => format!(
                "the words of {value:?} in any order, as the parameter words, match {}",
                reviews(*count)
            ),
            Advice::Alone(count) => format!("{value:?} alone matches {}", reviews(*count)),
            Advice::Ambiguous(names) => format!("{name} {value:?} may mean {}", names.join(" or ")),
            Advice::Unknown(names) if names.is_empty() => format!("{name} {value:?} is unknown"),
            Advice::Unknown(names) => {
                let names = names.join(", ");
                format!("{name} {value:?} is unknown; the nearest: {names}")
            }
        };
        formatter.write_str(&sentence)
    }
}

/// Appends the value of the key `hints`: an array of objects.
pub(super) fn push_hints(out: &mut Vec<u8>, hints: &[Hint]) {
    let mut array = Array::begin(out);
    for hint in hints {
        let mut object = Object::begin(array.item());
        object
            .string("parameter", hint.parameter.name())
            .string("message", &hint.to_string());
        match &hint.advice {
            Advice::Without(count) | Advice::Alone(count) => {
                object.u64("matched", u64::from(*count));
            }
            Advice::Ambiguous(names) | Advice::Unknown(names) => {
                push_strings(object.key("names"), names.iter().map(String::as_str));
            }
        }
        object.end();
    }
    array.end();
}
