//! The search form, with the values that were given.

use super::Pages;
use super::given::{ASPECT, Given, POLARITY};
use super::text::{people, services};
use crate::wire::date::parse_date;

/// What the template of the form needs.
#[derive(Debug)]
pub(super) struct Form<'p> {
    pub(super) query: &'p str,
    pub(super) since: &'p str,
    pub(super) until: &'p str,
    pub(super) ratings: Vec<Choice<'p>>,
    pub(super) services: Vec<Choice<'p>>,
    pub(super) people: Vec<Choice<'p>>,
    pub(super) aspects: Vec<Choice<'p>>,
    pub(super) polarities: Vec<Choice<'p>>,
    pub(super) sorts: Vec<Choice<'p>>,
    /// Parameters that the form has no field for, kept as they came.
    pub(super) hidden: Vec<(&'static str, &'p str)>,
    /// Whether a field is used that is folded away otherwise.
    pub(super) is_open: bool,
    pub(super) is_empty: bool,
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
    ASPECT,
    POLARITY,
];

impl<'p> Form<'p> {
    /// Fills the form with what was given.
    pub(super) fn of(pages: &'p Pages, given: &'p Given) -> Form<'p> {
        Form::new(&pages.snapshot, pages.insights.as_ref(), given)
    }

    /// As [`Form::of`], from the parts.
    pub(super) fn new(
        snapshot: &'p crate::snapshot::Snapshot,
        insights: Option<&'p super::insights::Insights>,
        given: &'p Given,
    ) -> Form<'p> {
        let aspects = insights.into_iter().flat_map(|insights| &insights.aspects);
        let names = people(snapshot).map(|name| (name, name));
        Form {
            query: given.value("query"),
            since: day(given.value("since")),
            until: day(given.value("until")),
            ratings: choices(RATINGS.into_iter(), given.value("rating")),
            services: choices(services(snapshot), given.value("mentions_service")),
            people: choices(names, given.value("mentions_technician")),
            aspects: choices(
                aspects.map(|aspect| (aspect.id.as_str(), aspect.label.as_str())),
                given.value(ASPECT),
            ),
            polarities: choices(POLARITIES.into_iter(), given.value(POLARITY)),
            sorts: choices(SORTS.into_iter(), given.value("sort")),
            hidden: given
                .iter()
                .filter(|(name, _)| matches!(*name, "min_rating" | "limit"))
                .collect(),
            is_open: FOLDED.iter().any(|name| !given.value(name).is_empty()),
            is_empty: given.is_empty(),
        }
    }
}

/// A value that a field for days can hold: browsers complain of any other.
fn day(value: &str) -> &str {
    match parse_date(value.as_bytes()) {
        Ok(_) => value,
        Err(_) => "",
    }
}

/// Makes a list of distinct entries; a value that is given and not in it becomes an entry of its own, so that sending the form again asks the same.
fn choices<'p>(
    entries: impl Iterator<Item = (&'p str, &'p str)>,
    given: &'p str,
) -> Vec<Choice<'p>> {
    let mut list: Vec<Choice<'p>> = Vec::new();
    for (value, label) in entries {
        if list.iter().any(|known| known.value == value) {
            continue;
        }
        list.push(Choice {
            value,
            label,
            is_chosen: false,
        });
    }
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
        let chosen = |given: &'static str| -> Vec<&str> {
            let list = choices(
                [("a", "One"), ("b", "Two"), ("a", "Again")].into_iter(),
                given,
            );
            list.iter()
                .filter(|choice| choice.is_chosen)
                .map(|choice| choice.value)
                .collect()
        };
        assert_eq!(chosen("b"), ["b"]);
        assert_eq!(chosen("one"), ["a"]);
        assert_eq!(chosen("c"), ["c"]);
        assert!(chosen("").is_empty());
    }
}
