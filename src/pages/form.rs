//! The search form, with the values that were given.

use std::collections::HashSet;

use super::insights::Insights;
use super::query_params::QueryParams;
use super::text::{people, services};
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;

/// What the lists of the form offer: made once for each snapshot, as only what is chosen depends on a request.
#[derive(Debug)]
pub(super) struct Lists {
    services: Entries,
    people: Entries,
    aspects: Entries,
}

/// Values of a parameter, each once, with their labels.
#[derive(Debug)]
enum Entries {
    /// At most [`ENTRIES_MAX`].
    Few(Vec<(String, String)>),
    /// More; the form has a field to write in instead.
    Many,
}

/// Entries of a list that a person still looks through; with more there is none, so that a page stays small.
const ENTRIES_MAX: usize = 200;

/// What the template of the form needs.
#[derive(Debug)]
pub(super) struct Form<'p> {
    pub(super) words: &'p str,
    pub(super) since: &'p str,
    pub(super) until: &'p str,
    pub(super) ratings: Vec<Choice<'p>>,
    pub(super) services: Field<'p>,
    pub(super) people: Field<'p>,
    pub(super) aspects: Field<'p>,
    pub(super) polarities: Vec<Choice<'p>>,
    pub(super) sorts: Vec<Choice<'p>>,
    /// Parameters that the form has no field for, kept as they came.
    pub(super) hidden: Vec<(&'static str, &'p str)>,
    /// Whether a field is used that is folded away otherwise.
    pub(super) is_open: bool,
    pub(super) is_empty: bool,
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

const RATINGS: [(&str, &str); 5] = [
    ("5", "5 stars"),
    ("4", "4 stars"),
    ("3", "3 stars"),
    ("2", "2 stars"),
    ("1", "1 star"),
];

const SORTS: [(&str, &str); 4] = [
    ("newest", "Newest"),
    ("oldest", "Oldest"),
    ("highest", "Highest rating"),
    ("lowest", "Lowest rating"),
];

const POLARITIES: [(&str, &str); 3] = [
    ("positive", "Favorable"),
    ("neutral", "Neutral"),
    ("negative", "Critical"),
];

/// Fields that are folded away until they are used.
const FOLDED: [&str; 6] = [
    "mentions_technician",
    "mentions_service",
    "since",
    "until",
    "aspect",
    "polarity",
];

/// Parameters of the interface without a field.
const HIDDEN: [&str; 7] = [
    "query",
    "min_rating",
    "max_rating",
    "has_reply",
    "language",
    "source",
    "limit",
];

impl Lists {
    /// Reads what `snapshot` and the insights offer.
    pub(super) fn new(snapshot: &Snapshot, insights: Option<&Insights>) -> Lists {
        let aspects = insights.into_iter().flat_map(|insights| &insights.aspects);
        Lists {
            services: Entries::new(services(snapshot)),
            people: Entries::new(people(snapshot).map(|name| (name, name))),
            aspects: Entries::new(aspects.map(|aspect| (&*aspect.id, &*aspect.label))),
        }
    }
}

impl Entries {
    /// Keeps the first entry of each value.
    fn new<'s>(entries: impl Iterator<Item = (&'s str, &'s str)>) -> Entries {
        let mut known = HashSet::new();
        let distinct = entries.filter(|(value, _)| known.insert(*value));
        let kept: Vec<_> = distinct
            .take(ENTRIES_MAX + 1)
            .map(|(value, label)| (value.to_owned(), label.to_owned()))
            .collect();
        if kept.len() > ENTRIES_MAX {
            Entries::Many
        } else {
            Entries::Few(kept)
        }
    }

    /// Makes the field in which `given` is chosen.
    fn field<'p>(&'p self, given: &'p str) -> Field<'p> {
        match self {
            Entries::Few(list) => {
                let entries = list
                    .iter()
                    .map(|(value, label)| (value.as_str(), label.as_str()));
                Field::Select(choices(entries, given))
            }
            Entries::Many => Field::Text(given),
        }
    }
}

impl<'p> Form<'p> {
    /// Fills the form with what was given; linear in the length of the lists, which are short.
    pub(super) fn new(lists: &'p Lists, given: &'p QueryParams) -> Form<'p> {
        Form {
            words: given.value("words"),
            since: day(given.value("since")),
            until: day(given.value("until")),
            ratings: choices(RATINGS.into_iter(), given.value("rating")),
            services: lists.services.field(given.value("mentions_service")),
            people: lists.people.field(given.value("mentions_technician")),
            aspects: lists.aspects.field(given.value("aspect")),
            polarities: choices(POLARITIES.into_iter(), given.value("polarity")),
            sorts: choices(SORTS.into_iter(), given.value("sort")),
            hidden: given
                .iter()
                .filter(|(name, _)| HIDDEN.contains(name))
                .collect(),
            is_open: FOLDED.iter().any(|name| !given.value(name).is_empty()),
            is_empty: given.is_empty(),
        }
    }
}

impl Field<'_> {
    /// Tells whether there is anything to choose.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self, Field::Select(list) if list.is_empty())
    }
}

/// A value that a field for days can hold: browsers complain of any other.
fn day(value: &str) -> &str {
    match parse_date(value.as_bytes()) {
        Ok(_) => value,
        Err(_) => "",
    }
}

/// Makes a list of entries, which are distinct; a value that is given and not in it becomes an entry of its own, so
/// that sending the form again asks the same.
fn choices<'p>(
    entries: impl Iterator<Item = (&'p str, &'p str)>,
    given: &'p str,
) -> Vec<Choice<'p>> {
    let entry = |(value, label)| Choice {
        value,
        label,
        is_chosen: false,
    };
    let mut list: Vec<Choice<'p>> = entries.map(entry).collect();
    let place = list
        .iter()
        .position(|choice| choice.value == given)
        .or_else(|| {
            list.iter()
                .position(|choice| choice.label.eq_ignore_ascii_case(given))
        });
    match place {
        Some(place) => list[place].is_chosen = true,
        None if given.is_empty() => {}
        None => list.push(Choice {
            value: given,
            label: given,
            is_chosen: true,
        }),
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_chosen_by_value_or_label_or_added() {
        let entries = Entries::new([("a", "One"), ("b", "Two"), ("a", "Again")].into_iter());
        let chosen = |given: &'static str| -> Vec<String> {
            let Field::Select(list) = entries.field(given) else {
                return Vec::new();
            };
            list.iter()
                .filter(|choice| choice.is_chosen)
                .map(|choice| choice.value.to_owned())
                .collect()
        };
        assert_eq!(chosen("b"), ["b"]);
        assert_eq!(chosen("one"), ["a"]);
        assert_eq!(chosen("c"), ["c"]);
        assert!(chosen("").is_empty());
    }

    #[test]
    fn a_list_longer_than_people_look_through_is_a_text() {
        let names: Vec<String> = (0..=ENTRIES_MAX).map(|name| format!("n{name}")).collect();
        let entries = |count: usize| {
            // Each comes twice, and counts once.
            let twice = names[..count].iter().chain(&names[..count]);
            Entries::new(twice.map(|name| (name.as_str(), name.as_str())))
        };
        let at_the_bound = entries(ENTRIES_MAX);
        assert!(
            matches!(at_the_bound.field("n1"), Field::Select(list) if list.len() == ENTRIES_MAX)
        );
        assert!(
            matches!(at_the_bound.field("x"), Field::Select(list) if list.len() == ENTRIES_MAX + 1)
        );
        let beyond = entries(ENTRIES_MAX + 1);
        assert!(matches!(beyond.field("x"), Field::Text("x")));
    }
}
