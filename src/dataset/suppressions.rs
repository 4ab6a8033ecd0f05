//! `check.json`: warnings that the operator has looked at and does not want to see again, each with its reason.

use super::json::{Item, LIST_MAX, Text, is_id};
use super::lints::{RULES, Scope, rules};

/// The suppressed warnings.
#[derive(Debug, Default)]
pub(super) struct Suppressions(Vec<Suppression>);

#[derive(Debug)]
struct Suppression {
    rule: String,
    review_ids: Vec<String>,
    /// Paths in `editorial.json`.
    places: Vec<String>,
}

impl Suppressions {
    /// Whether the rule is suppressed altogether.
    pub(super) fn covers_all(&self, rule: &str) -> bool {
        let is_whole = |one: &&Suppression| one.review_ids.is_empty() && one.places.is_empty();
        self.of(rule).any(|one| is_whole(&one))
    }

    /// Whether the rule is suppressed for the review `id`.
    pub(super) fn covers_review(&self, rule: &str, id: &str) -> bool {
        let names_it = |one: &Suppression| one.review_ids.iter().any(|review_id| review_id == id);
        self.covers_all(rule) || self.of(rule).any(names_it)
    }

    /// Whether the rule is suppressed for `path` in `editorial.json`, by itself or by one of the reviews it rests on.
    pub(super) fn covers_path(&self, rule: &str, path: &str, review_ids: &[String]) -> bool {
        let rests_on = |place: &str| review_ids.iter().any(|id| review_of(place) == Some(id));
        let names_it = |place: &String| place == path || rests_on(place);
        self.covers_all(rule) || self.of(rule).any(|one| one.places.iter().any(names_it))
    }

    fn of(&self, rule: &str) -> impl Iterator<Item = &Suppression> {
        self.0.iter().filter(move |one| one.rule == rule)
    }
}

/// Reads the file. An id or a place may be of what is gone: that needs no warning.
pub(super) fn suppressions(item: Item<'_>) -> Suppressions {
    item.object(|keys| Suppressions(keys.key("allow").each(LIST_MAX, suppression)))
}

fn suppression(item: Item<'_>) -> Suppression {
    item.object(|keys| {
        let wanted = format!("one of {}", rules().collect::<Vec<_>>().join(", "));
        let rule = keys
            .key("rule")
            .string_of(&wanted, |rule| rules().any(|known| known == rule));
        let reviews = keys.key("review_ids");
        let places = keys.optional_key("places");
        keys.key("reason").string(Text::Prose);
        let scope = RULES.iter().find(|(known, _)| *known == rule);
        let scope = scope.map(|(_, scope)| *scope);
        let review_ids = reviews.each(LIST_MAX, |item| item.review_id());
        if scope == Some(Scope::Dataset) && !review_ids.is_empty() {
            let message = format_args!("has to be [], as {rule} is not about single reviews");
            reviews.refuse_unquoted(message);
        }
        let listed = places
            .map(|item| item.each(LIST_MAX, place))
            .unwrap_or_default();
        if let (Some(item), Some(Scope::Dataset | Scope::Reviews)) = (places, scope)
            && !listed.is_empty()
        {
            let message = format_args!("has to be [], as {rule} is not about editorial.json");
            item.refuse_unquoted(message);
        }
        Suppression {
            rule,
            review_ids,
            places: listed,
        }
    })
}

fn place(item: Item<'_>) -> String {
    let wanted = "summary, pull_quote or, by position from 0 or the id of a review, faq[0].answer";
    let is_number = |text: &str| text.parse::<u32>().is_ok_and(|at| at.to_string() == text);
    item.string_of(wanted, |place| {
        let is_position = || answer(place).is_some_and(is_number);
        matches!(place, "summary" | "pull_quote") || is_position() || review_of(place).is_some()
    })
}

/// What is in the brackets of `faq[0].answer`.
fn answer(place: &str) -> Option<&str> {
    place.strip_prefix("faq[")?.strip_suffix("].answer")
}

/// The review that names an answer by what it rests on, and stays right when questions move; digits alone are a
/// position.
fn review_of(place: &str) -> Option<&str> {
    let id = answer(place)?;
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    (!is_number && is_id(id)).then_some(id)
}
