//! The filters of a list of reviews: a chip for each filter in use, which removes it, and menus of the others, as far
//! as they would find something.

use super::Pages;
use super::form::QueryParams;
use super::messages::{Language, Messages};
use super::review::source_name;
use super::text::service_label;
use crate::model::insights::{Aspect, Polarity};
use crate::snapshot::Tally;

/// Most services or people in a menu; the others are found by the mentions in the cards and by searching.
const NAMES_SHOWN: usize = 12;

/// Most menus beside the chips; if there are more, the last ones share one menu, so that a phone shows a review sooner.
const MENUS_SHOWN: usize = 5;

/// Languages that reviews are often written in and that have no message file: their tags and own names.
const OTHER_LANGUAGES: &[(&str, &str)] = &[
    ("cs", "Čeština"),
    ("da", "Dansk"),
    ("el", "Ελληνικά"),
    ("fa", "فارسی"),
    ("fi", "Suomi"),
    ("he", "עברית"),
    ("hi", "हिन्दी"),
    ("hu", "Magyar"),
    ("id", "Indonesia"),
    ("ko", "한국어"),
    ("nb", "Norsk"),
    ("no", "Norsk"),
    ("ro", "Română"),
    ("ru", "Русский"),
    ("sv", "Svenska"),
    ("th", "ไทย"),
    ("tr", "Türkçe"),
    ("uk", "Українська"),
    ("vi", "Tiếng Việt"),
    ("zh", "中文"),
];

/// A filter in use, or one that a click switches on.
pub(super) struct Chip {
    pub(super) label: String,
    pub(super) href: String,
    /// Whether the filter is in use, so that the link removes it.
    pub(super) is_used: bool,
    /// The label of the link that removes the filter; "" if it is not in use.
    pub(super) remove_label: String,
}

/// A filter with several values.
pub(super) struct Menu {
    pub(super) label: String,
    pub(super) entries: Vec<MenuEntry>,
}

/// All menus: those with a button of their own, and those that share one.
#[derive(Default)]
pub(super) struct Menus {
    pub(super) shown: Vec<Menu>,
    pub(super) further: Vec<Menu>,
}

impl Menus {
    /// Gives the first menus a button of their own.
    fn of(mut menus: Vec<Menu>) -> Menus {
        let mut further = Vec::new();
        if menus.len() > MENUS_SHOWN {
            further = menus.split_off(MENUS_SHOWN - 1);
        }
        Menus {
            shown: menus,
            further,
        }
    }
}

/// A value of a filter, and how many reviews have it.
pub(super) struct MenuEntry {
    pub(super) label: String,
    /// The language of the label, if it is not that of the page.
    pub(super) language: Option<&'static str>,
    pub(super) count: String,
    pub(super) href: String,
}

/// An order of the reviews.
pub(super) struct OrderEntry {
    pub(super) label: String,
    pub(super) href: String,
    pub(super) is_used: bool,
}

impl Pages {
    /// Returns the chips of the filters in use, then those of filters that a click switches on; `aspect` is that of the
    /// search.
    pub(super) fn chips(
        &self,
        t: &Messages,
        params: &QueryParams,
        aspect: Option<&Aspect>,
    ) -> Vec<Chip> {
        let mut chips = Vec::new();
        for (name, value) in params.iter() {
            if is_filter(name) {
                let label = self.used_label(t, name, value, aspect);
                chips.push(Chip {
                    remove_label: t.remove_filter.fill(&[("filter", &label)]),
                    label,
                    href: params.href(Some(name), None),
                    is_used: true,
                });
            }
        }
        let tallies = &self.snapshot.tallies;
        for (name, label, count) in [
            ("has_photos", &t.with_photos, tallies.with_photos),
            ("has_reply", &t.with_reply, tallies.with_reply),
        ] {
            let leaves_some_out = count > 0 && count < self.stats.count;
            if leaves_some_out && params.value(name).is_empty() {
                chips.push(Chip {
                    label: label.clone(),
                    href: params.href_with(name, "true"),
                    is_used: false,
                    remove_label: String::new(),
                });
            }
        }
        chips
    }

    /// Returns the label of a filter in use.
    pub(super) fn used_label(
        &self,
        t: &Messages,
        name: &str,
        value: &str,
        aspect: Option<&Aspect>,
    ) -> String {
        // Of a value that is not valid the chip shows what the visitor has asked for.
        let as_asked = format!("{}: {value}", parameter_label(t, name));
        match name {
            "rating" => match value.parse() {
                // A number with a sign is not valid.
                Ok(stars) if !value.starts_with('+') => t.counted(&t.star_count, stars),
                _ => as_asked,
            },
            "has_reply" if value.eq_ignore_ascii_case("true") => t.with_reply.clone(),
            "has_reply" if value.eq_ignore_ascii_case("false") => t.without_reply.clone(),
            "has_photos" if value.eq_ignore_ascii_case("true") => t.with_photos.clone(),
            "has_photos" if value.eq_ignore_ascii_case("false") => t.without_photos.clone(),
            "verified_by" => verification_label(t, value),
            "mentions_service" => service_label(&self.snapshot, value).to_owned(),
            "mentions_technician" => value.to_owned(),
            "aspect" => aspect.map_or(value, |aspect| &aspect.label).to_owned(),
            "polarity" => tone_label(t, value).to_owned(),
            "language" => language_name(value).to_owned(),
            "source" => source_name(value, t),
            "location" => self.location_label(value).to_owned(),
            _ => as_asked,
        }
    }

    /// Returns the label of a location of the business; the id of one that it does not list.
    fn location_label<'l>(&'l self, id: &'l str) -> &'l str {
        let mut locations = self.snapshot.business.locations.iter();
        match locations.find(|location| location.id == id) {
            Some(location) => &location.label,
            None => id,
        }
    }

    /// Returns the menus of the filters that are not in use and have at least two values.
    pub(super) fn menus(&self, t: &Messages, params: &QueryParams) -> Menus {
        let tallies = &self.snapshot.tallies;
        let all = [
            self.stars_menu(t),
            languages_menu(t, &tallies.languages),
            MenuDraft::of("source", &t.source, &tallies.sources, |source| {
                source_name(source, t)
            }),
            MenuDraft::of(
                "mentions_service",
                &t.service,
                first_names(&tallies.services),
                |id| service_label(&self.snapshot, id).to_owned(),
            ),
            MenuDraft::of("location", &t.location, &tallies.locations, |id| {
                self.location_label(id).to_owned()
            }),
            MenuDraft::of("verified_by", &t.verified, &tallies.verifications, |word| {
                verification_label(t, word)
            }),
            MenuDraft::of(
                "mentions_technician",
                &t.person,
                first_names(&tallies.people),
                str::to_owned,
            ),
        ];
        let mut menus = Vec::new();
        for draft in all {
            if draft.values.len() > 1 && params.value(draft.parameter).is_empty() {
                menus.push(draft.into_menu(t, params));
            }
        }
        Menus::of(menus)
    }

    /// The menu of the ratings that reviews have, five stars first.
    fn stars_menu<'t>(&self, t: &'t Messages) -> MenuDraft<'t> {
        let mut values = Vec::new();
        for (stars, count) in (1..).zip(self.stats.distribution) {
            if count > 0 {
                values.push(MenuValue {
                    value: stars.to_string(),
                    label: t.counted(&t.star_count, stars),
                    language: None,
                    count,
                });
            }
        }
        values.reverse();
        MenuDraft {
            parameter: "rating",
            label: &t.stars,
            values,
        }
    }
}

/// A menu before its links are made.
struct MenuDraft<'t> {
    parameter: &'static str,
    label: &'t str,
    values: Vec<MenuValue>,
}

/// A value of a parameter, and how many reviews have it.
struct MenuValue {
    value: String,
    label: String,
    /// The language of the label, if it is not that of the page.
    language: Option<&'static str>,
    count: u64,
}

impl<'t> MenuDraft<'t> {
    /// Returns the menu of the values that reviews have; `label_of` returns the label of each.
    fn of(
        parameter: &'static str,
        label: &'t str,
        tallies: &[Tally],
        label_of: impl Fn(&str) -> String,
    ) -> MenuDraft<'t> {
        let values = tallies.iter().map(|tally| MenuValue {
            value: tally.value.clone(),
            label: label_of(&tally.value),
            language: None,
            count: tally.count,
        });
        MenuDraft {
            parameter,
            label,
            values: values.collect(),
        }
    }

    /// Returns the menu whose entries add their value to the search of `params`.
    fn into_menu(self, t: &Messages, params: &QueryParams) -> Menu {
        let entries = self.values.into_iter().map(|one| MenuEntry {
            href: params.href_with(self.parameter, &one.value),
            label: one.label,
            language: one.language,
            count: t.number(one.count),
        });
        Menu {
            label: self.label.to_owned(),
            entries: entries.collect(),
        }
    }
}

/// The menu of the languages of the texts, each by its own name.
fn languages_menu<'t>(t: &'t Messages, tallies: &[Tally]) -> MenuDraft<'t> {
    let mut menu = MenuDraft::of("language", &t.text_language, tallies, |tag| {
        language_name(tag).to_owned()
    });
    for one in &mut menu.values {
        one.language = Language::of_tag(one.value.as_bytes()).map(Language::code);
    }
    menu
}

/// Returns the first services or people, as many as a menu shows.
fn first_names(tallies: &[Tally]) -> &[Tally] {
    &tallies[..tallies.len().min(NAMES_SHOWN)]
}

/// Returns whether a parameter decides which reviews are found; the others decide only how they are listed.
pub(super) fn is_filter(name: &str) -> bool {
    !matches!(name, "sort" | "limit" | "cursor" | "include")
}

/// Returns the orders, the one in use among them.
pub(super) fn orders(t: &Messages, params: &QueryParams) -> Vec<OrderEntry> {
    let used = match params.value("sort") {
        "" => "newest",
        sort => sort,
    };
    let orders = [
        ("newest", &t.newest),
        ("oldest", &t.oldest),
        ("highest", &t.highest),
        ("lowest", &t.lowest),
    ];
    let entries = orders.into_iter().map(|(sort, label)| OrderEntry {
        label: label.clone(),
        href: params.href_with("sort", sort),
        is_used: sort == used,
    });
    entries.collect()
}

/// Returns the labels of one or several words of the filter `verified_by`, which have commas between them.
fn verification_label(t: &Messages, words: &str) -> String {
    let mut labels = Vec::new();
    for word in words.split(',') {
        labels.push(match word.trim() {
            "business" => t.verified_values.business.as_str(),
            "platform" => t.verified_values.platform.as_str(),
            "account" => t.verified_values.account.as_str(),
            other => other,
        });
    }
    labels.join(&t.comma)
}

/// Returns the word of a message file for a polarity, or the polarity itself if it is none.
pub(super) fn tone_label<'t>(t: &'t Messages, tone: &'t str) -> &'t str {
    match Polarity::parse(tone) {
        Some(Polarity::Positive) => &t.tones.positive,
        Some(Polarity::Neutral) => &t.tones.neutral,
        Some(Polarity::Negative) => &t.tones.negative,
        None => tone,
    }
}

/// Returns the label of a parameter.
pub(super) fn parameter_label<'t>(t: &'t Messages, name: &'t str) -> &'t str {
    match name {
        "rating" => &t.stars,
        "min_rating" => &t.stars_at_least,
        "max_rating" => &t.stars_at_most,
        "since" => &t.since,
        "until" => &t.until,
        "query" => &t.exact_text,
        "words" => &t.words,
        "mentions_technician" => &t.person,
        "mentions_service" => &t.service,
        "sort" => &t.order,
        "aspect" => &t.aspect,
        "polarity" => &t.tone,
        "has_reply" => &t.with_reply,
        "has_photos" => &t.with_photos,
        "language" => &t.text_language,
        "location" => &t.location,
        "source" => &t.source,
        "verified_by" => &t.verified,
        other => other,
    }
}

/// Returns the name of a language in that language, or its tag.
fn language_name(tag: &str) -> &str {
    let primary = tag.split('-').next().unwrap_or(tag);
    if let Some(language) = Language::of_tag(primary.as_bytes()) {
        return &language.messages().language;
    }
    match OTHER_LANGUAGES.iter().find(|(code, _)| *code == primary) {
        Some((_, name)) => name,
        None => tag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Menus with these labels.
    fn menus(labels: &str) -> Vec<Menu> {
        let labels = labels.split(' ').map(str::to_owned);
        let menus = labels.map(|label| Menu {
            label,
            entries: Vec::new(),
        });
        menus.collect()
    }

    fn labels(menus: &[Menu]) -> Vec<&str> {
        menus.iter().map(|menu| &*menu.label).collect()
    }

    #[test]
    fn five_menus_have_buttons_of_their_own() {
        let menus = Menus::of(menus("a b c d e"));
        assert_eq!(labels(&menus.shown), ["a", "b", "c", "d", "e"]);
        assert!(menus.further.is_empty());
    }

    #[test]
    fn of_six_menus_the_last_two_share_one() {
        let menus = Menus::of(menus("a b c d e f"));
        assert_eq!(labels(&menus.shown), ["a", "b", "c", "d"]);
        assert_eq!(labels(&menus.further), ["e", "f"]);
    }
}
