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

/// The distinct values of a parameter with their labels.
type Entries = Vec<(String, String)>;

/// Largest number of entries in a list; others are left out. Our choice: a person can still read them, and the page stays
/// small.
const ENTRIES_MAX: usize = 200;

/// The values for the template of the form.
#[derive(Debug)]
pub(super) struct Form<'p> {
    pub(super) given: &'p QueryParams,
    pub(super) services: Vec<Choice<'p>>,
    pub(super) people: Vec<Choice<'p>>,
    pub(super) aspects: Vec<Choice<'p>>,
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

/// Keeps the first entry of each value.
fn entries<'s>(entries: impl Iterator<Item = (&'s str, &'s str)>) -> Entries {
    let mut known = HashSet::new();
    let distinct = entries.filter(|(value, _)| known.insert(*value));
    let distinct = distinct.map(|(value, label)| (value.to_owned(), label.to_owned()));
    distinct.take(ENTRIES_MAX).collect()
}

/// Returns the list with `given` selected, by value or label. A value that is not in the list is added to it, so that
/// submitting the form again repeats the same search.
fn choices<'p>(entries: &'p Entries, given: &'p str) -> Vec<Choice<'p>> {
    let by_value = entries.iter().position(|(value, _)| value == given);
    let is_label = |(_, label): &(String, String)| label.eq_ignore_ascii_case(given);
    let chosen = by_value.or_else(|| entries.iter().position(is_label));
    let entry = |(at, (value, label)): (usize, &'p (String, String))| Choice {
        value,
        label,
        is_chosen: chosen == Some(at),
    };
    let added = (chosen.is_none() && !given.is_empty()).then_some(Choice {
        value: given,
        label: given,
        is_chosen: true,
    });
    entries.iter().enumerate().map(entry).chain(added).collect()
}

impl<'p> Form<'p> {
    /// Fills the form with the given values; linear in the length of the lists, which are short.
    pub(super) fn new(lists: &'p Lists, given: &'p QueryParams) -> Form<'p> {
        Form {
            given,
            services: choices(&lists.services, given.value("mentions_service")),
            people: choices(&lists.people, given.value("mentions_technician")),
            aspects: choices(&lists.aspects, given.value("aspect")),
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
    fn the_given_value_is_chosen_by_value_or_label_or_added() {
        let known = entries([("a", "One"), ("b", "Two"), ("a", "Again")].into_iter());
        for (given, expected) in [("b", "b"), ("one", "a"), ("c", "c"), ("", "")] {
            let list = choices(&known, given);
            let mut chosen = list.iter().filter(|choice| choice.is_chosen);
            assert_eq!(chosen.next().map_or("", |choice| choice.value), expected);
            assert_eq!(list.len(), if given == "c" { 3 } else { 2 });
        }
    }

    #[test]
    fn a_list_has_at_most_200_entries() {
        let names: Vec<String> = (0..=ENTRIES_MAX).map(|name| name.to_string()).collect();
        for (count, kept) in [(200, 200), (201, 200)] {
            let names = names[..count].iter().map(|name| (&**name, &**name));
            assert_eq!(entries(names).len(), kept);
        }
    }
}
