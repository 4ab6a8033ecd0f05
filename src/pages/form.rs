//! The search form, and the parameters of a request for a page, kept as given so that the form, the filter labels and the
//! links repeat them.

use std::collections::HashSet;

use super::mentioned;
use super::text::{encoded, people, services};
use crate::model::insights::Insights;
use crate::search::query::{PAIRS_MAX, Parameter, TEXT_BYTES_MAX};
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;
use crate::wire::form::{decode_into, pairs};

/// What the lists of the form offer: made once for each snapshot, as only what is chosen depends on a request.
#[derive(Debug)]
pub(super) struct Lists {
    services: Entries,
    people: Entries,
    aspects: Entries,
}

/// Values of a parameter, each once, with their labels; `None` where there are more than [`ENTRIES_MAX`], for which the
/// form has a field to write in instead.
type Entries = Option<Vec<(String, String)>>;

/// Entries of a list that a person still looks through; with more there is none, so that a page stays small.
const ENTRIES_MAX: usize = 200;

/// What the template of the form needs.
#[derive(Debug)]
pub(super) struct Form<'p> {
    pub(super) given: &'p QueryParams,
    pub(super) services: Field<'p>,
    pub(super) people: Field<'p>,
    pub(super) aspects: Field<'p>,
}

/// A field for one of many values.
#[derive(Debug)]
pub(super) enum Field<'p> {
    /// A list; no field where it is empty.
    Select(Vec<Choice<'p>>),
    /// A text, and what was given.
    Text(&'p str),
}

/// One entry of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'p> {
    pub(super) value: &'p str,
    pub(super) label: &'p str,
    pub(super) is_chosen: bool,
}

impl Lists {
    /// Reads what `snapshot` and the insights offer.
    pub(super) fn new(snapshot: &Snapshot, insights: Option<&Insights>) -> Lists {
        let aspects = mentioned(insights).into_iter();
        Lists {
            services: entries(services(snapshot)),
            people: entries(people(snapshot).map(|name| (name, name))),
            aspects: entries(aspects.map(|aspect| (&*aspect.id, &*aspect.label))),
        }
    }
}

/// Keeps the first entry of each value.
fn entries<'s>(entries: impl Iterator<Item = (&'s str, &'s str)>) -> Entries {
    let mut known = HashSet::new();
    let distinct = entries.filter(|(value, _)| known.insert(*value));
    let distinct = distinct.map(|(value, label)| (value.to_owned(), label.to_owned()));
    let kept: Vec<_> = distinct.take(ENTRIES_MAX + 1).collect();
    (kept.len() <= ENTRIES_MAX).then_some(kept)
}

/// Makes the field in which `given` is chosen, by value or label. What is not in the list becomes an entry of its own, so
/// that sending the form again asks the same.
fn field<'p>(entries: &'p Entries, given: &'p str) -> Field<'p> {
    let Some(entries) = entries else {
        return Field::Text(given);
    };
    let entry = |(value, label): &'p (String, String)| Choice {
        value,
        label,
        is_chosen: false,
    };
    let mut list: Vec<Choice<'p>> = entries.iter().map(entry).collect();
    let by_value = list.iter().position(|choice| choice.value == given);
    let is_label = |choice: &Choice<'_>| choice.label.eq_ignore_ascii_case(given);
    match by_value.or_else(|| list.iter().position(is_label)) {
        Some(at) => list[at].is_chosen = true,
        None if given.is_empty() => {}
        None => list.push(Choice {
            value: given,
            label: given,
            is_chosen: true,
        }),
    }
    Field::Select(list)
}

impl<'p> Form<'p> {
    /// Fills the form with what was given; linear in the length of the lists, which are short.
    pub(super) fn new(lists: &'p Lists, given: &'p QueryParams) -> Form<'p> {
        Form {
            given,
            services: field(&lists.services, given.value("mentions_service")),
            people: field(&lists.people, given.value("mentions_technician")),
            aspects: field(&lists.aspects, given.value("aspect")),
        }
    }

    /// Tells whether `value` is the one that was given.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.given.value(name) == value
    }

    /// Returns the day that was given; browsers complain of anything else in a field for days.
    pub(super) fn day(&self, name: &str) -> &str {
        let value = self.given.value(name);
        parse_date(value.as_bytes()).map_or("", |_| value)
    }

    /// Tells whether a field is used that is folded away otherwise.
    pub(super) fn is_open(&self) -> bool {
        self.given.iter().any(|(name, _)| is_among(FOLDED, name))
    }

    /// Returns the parameters that the form has no field for.
    pub(super) fn hidden(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.given.iter().filter(|(name, _)| is_among(HIDDEN, name))
    }
}

/// Parameters whose fields are folded away unless one is used.
const FOLDED: &str = "mentions_technician mentions_service since until aspect polarity";

/// Parameters without a field.
const HIDDEN: &str = "min_rating max_rating query has_reply language source limit";

/// Tells whether `name` is one of the `names`, which have blanks between them.
fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

impl Field<'_> {
    /// Tells whether there is anything to choose.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self, Field::Select(list) if list.is_empty())
    }
}

/// Names and decoded values of the parameters that a page knows; the first of each, empty ones left out.
#[derive(Debug, Default)]
pub(super) struct QueryParams {
    values: Vec<(&'static str, String)>,
}

impl QueryParams {
    /// Reads the query string; what cannot be decoded, or is too long to be repeated, is left out.
    pub(super) fn read(raw: &[u8]) -> QueryParams {
        let mut given = QueryParams::default();
        let mut text = String::new();
        for pair in pairs(raw).take(PAIRS_MAX) {
            text.clear();
            if decode_into(pair.name, &mut text).is_err() {
                continue;
            }
            let Some(name) = Parameter::named(&text).map(Parameter::name) else {
                continue;
            };
            text.clear();
            let is_read = decode_into(pair.value, &mut text).is_ok();
            let fits = !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
            if is_read && fits && given.value(name).is_empty() {
                given.values.push((name, text.clone()));
            }
        }
        given
    }

    /// Returns the value of a parameter, or nothing.
    pub(super) fn value(&self, name: &str) -> &str {
        let found = self.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Tells whether nothing was given that changes what is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the parameters in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let values = self.values.iter();
        values.map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns the address of the same search without the parameter `left_out`: of its first page, or of the one that
    /// begins after `cursor`.
    pub(super) fn href(&self, left_out: Option<&str>, cursor: Option<&str>) -> String {
        let pairs = self.iter().filter(|(name, _)| *name != "cursor");
        let kept = pairs.filter(|(name, _)| left_out != Some(*name));
        let all = kept.chain(cursor.map(|cursor| ("cursor", cursor)));
        let pairs = all.map(|(name, value)| encoded(&format!("{name}="), value));
        let pairs: Vec<String> = pairs.collect();
        match pairs.is_empty() {
            true => "/".to_owned(),
            false => format!("/?{}", pairs.join("&")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_chosen_by_value_or_label_or_added() {
        let known = entries([("a", "One"), ("b", "Two"), ("a", "Again")].into_iter());
        let chosen = |given: &'static str| -> Vec<String> {
            let Field::Select(list) = field(&known, given) else {
                return Vec::new();
            };
            let chosen = list.iter().filter(|choice| choice.is_chosen);
            chosen.map(|choice| choice.value.to_owned()).collect()
        };
        assert_eq!(chosen("b"), ["b"]);
        assert_eq!(chosen("one"), ["a"]);
        assert_eq!(chosen("c"), ["c"]);
        assert!(chosen("").is_empty());
    }

    #[test]
    fn a_list_longer_than_people_look_through_is_a_text() {
        let names: Vec<String> = (0..=ENTRIES_MAX).map(|name| format!("n{name}")).collect();
        let made = |count: usize| {
            // Each comes twice, and counts once.
            let twice = names[..count].iter().chain(&names[..count]);
            entries(twice.map(|name| (name.as_str(), name.as_str())))
        };
        let at_the_bound = made(ENTRIES_MAX);
        for (given, more) in [("n1", 0), ("x", 1)] {
            let field = field(&at_the_bound, given);
            assert!(matches!(field, Field::Select(list) if list.len() == ENTRIES_MAX + more));
        }
        let beyond = made(ENTRIES_MAX + 1);
        assert!(matches!(field(&beyond, "x"), Field::Text("x")));
    }
}
