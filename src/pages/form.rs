//! The search form, and the query parameters of a page, kept as given so that the form, the filter labels and the links
//! can repeat them.

use std::collections::HashSet;

use super::mentioned;
use super::text::{encoded, people, services};
use crate::model::insights::Insights;
use crate::search::query::{PAIRS_MAX, Parameter, TEXT_BYTES_MAX};
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;
use crate::wire::form::{decode_into, pairs};

/// The entries of the form's lists, built once per snapshot, because only the selection depends on a request.
#[derive(Debug)]
pub(super) struct Lists {
    services: Entries,
    people: Entries,
    aspects: Entries,
}

/// The distinct values of a parameter with their labels; `None` if there are more than [`ENTRIES_MAX`]: then the form
/// has a text field instead.
type Entries = Option<Vec<(String, String)>>;

/// Largest number of entries in a list. Our choice: a person can still read them, and the page stays small.
const ENTRIES_MAX: usize = 200;

/// The values for the template of the form.
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
    /// A list; if it is empty, the form has no such field.
    Select(Vec<Choice<'p>>),
    /// A text field with the given value.
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
    /// Collects the entries of `snapshot` and the insights.
    pub(super) fn new(snapshot: &Snapshot, insights: Option<&Insights>) -> Lists {
        let aspects = mentioned(insights).into_iter();
        Lists {
            services: entries(services(snapshot)),
            people: entries(people(snapshot).map(|name| (name, name))),
            aspects: entries(aspects.map(|aspect| (&*aspect.id, &*aspect.label))),
        }
    }
}

/// Keeps the first entry of each value; `None` if there are too many.
fn entries<'s>(entries: impl Iterator<Item = (&'s str, &'s str)>) -> Entries {
    let mut known = HashSet::new();
    let distinct = entries.filter(|(value, _)| known.insert(*value));
    let distinct = distinct.map(|(value, label)| (value.to_owned(), label.to_owned()));
    let kept: Vec<_> = distinct.take(ENTRIES_MAX + 1).collect();
    (kept.len() <= ENTRIES_MAX).then_some(kept)
}

/// Creates the field with `given` selected, by value or label. A value that is not in the list is added to it, so that
/// submitting the form again repeats the same search.
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
    /// Fills the form with the given values; linear in the length of the lists, which are short.
    pub(super) fn new(lists: &'p Lists, given: &'p QueryParams) -> Form<'p> {
        Form {
            given,
            services: field(&lists.services, given.value("mentions_service")),
            people: field(&lists.people, given.value("mentions_technician")),
            aspects: field(&lists.aspects, given.value("aspect")),
        }
    }

    /// Tells whether `value` is the given value of `name`.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.given.value(name) == value
    }

    /// Returns the given date, or "" if it is invalid, because browsers reject other values in a date field.
    pub(super) fn day(&self, name: &str) -> &str {
        let value = self.given.value(name);
        parse_date(value.as_bytes()).map_or("", |_| value)
    }

    /// Tells whether a field is used that is otherwise collapsed.
    pub(super) fn is_open(&self) -> bool {
        self.given.iter().any(|(name, _)| is_among(FOLDED, name))
    }

    /// Returns the parameters that the form has no field for.
    pub(super) fn hidden(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.given.iter().filter(|(name, _)| is_among(HIDDEN, name))
    }
}

/// Parameters whose fields are collapsed unless one is used.
const FOLDED: &str = "mentions_technician mentions_service since until aspect polarity";

/// Parameters without a field.
const HIDDEN: &str = "min_rating max_rating query has_reply language source limit";

/// Tells whether `name` is one of the `names`, which are separated by spaces.
fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

impl Field<'_> {
    /// Tells whether the form has this field.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self, Field::Select(list) if list.is_empty())
    }
}

/// Names and decoded values of known parameters: the first of each name, without empty values.
#[derive(Debug, Default)]
pub(super) struct QueryParams {
    values: Vec<(&'static str, String)>,
}

impl QueryParams {
    /// Parses the query string; leaves out values that cannot be decoded or are too long.
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

    /// Returns the value of a parameter, or "".
    pub(super) fn value(&self, name: &str) -> &str {
        let found = self.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Tells whether no parameter was given that changes the page.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the parameters in the order of the query.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let values = self.values.iter();
        values.map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns the URL of the same search without the parameter `left_out`: of its first page, or of the page after
    /// `cursor`.
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
            // Each value occurs twice, and counts once.
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
