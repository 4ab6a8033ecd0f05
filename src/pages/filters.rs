//! The filters of a list of reviews: chips of those in use, which remove them, and menus of those that would find
//! something.

use super::Pages;
use super::form::QueryParams;
use super::messages::{Language, Messages};
use super::review::source_name;
use super::text::service_label;
use crate::model::insights::{Aspect, Polarity};
use crate::snapshot::Tally;

/// Services and people in a menu; the others are found by the mentions in the cards and by searching.
const SERVICES_SHOWN: usize = 12;

/// Menus beside the chips; if there are more, the last ones share one menu, so that a phone shows a review sooner.
const MENUS_SHOWN: usize = 5;

/// Own names of languages that reviews are often written in, without a message file.
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
    /// In use: the link removes it.
    pub(super) is_used: bool,
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
    /// Returns the chips of the filters in use, and the switches; `aspect` is that of the search.
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
            let is_dividing = count > 0 && count < self.stats.count;
            if is_dividing && params.value(name).is_empty() {
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

    /// Returns the words of a filter in use.
    pub(super) fn used_label(
        &self,
        t: &Messages,
        name: &str,
        value: &str,
        aspect: Option<&Aspect>,
    ) -> String {
        match (name, value) {
            ("rating", stars) => t.counted(&t.star_count, stars.parse().unwrap_or(0)),
            ("has_reply", "true") => t.with_reply.clone(),
            ("has_reply", _) => t.without_reply.clone(),
            ("has_photos", "true") => t.with_photos.clone(),
            ("has_photos", _) => t.without_photos.clone(),
            ("verified_by", words) => verification_label(t, words),
            ("mentions_service", id) => service_label(&self.snapshot, id).to_owned(),
            ("mentions_technician", person) => person.to_owned(),
            ("aspect", id) => aspect.map_or(id, |aspect| &aspect.label).to_owned(),
            ("polarity", tone) => tone_label(t, tone).to_owned(),
            ("language", tag) => language_name(tag).to_owned(),
            ("source", source) => source_name(source, t),
            ("location", location) => self.location_label(location).to_owned(),
            _ => format!("{}: {value}", parameter_label(t, name)),
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
        let mut menus = Vec::new();
        let mut stars = Vec::new();
        for (at, count) in self.stats.distribution.iter().enumerate().rev() {
            if *count > 0 {
                let value = (at + 1).to_string();
                let label = t.counted(&t.star_count, at as u64 + 1);
                stars.push(entry(t, params, "rating", &value, label, *count));
            }
        }
        push_menu(&mut menus, params, "rating", &t.stars, stars);
        let mut languages = Vec::new();
        for tally in &tallies.languages {
            let label = language_name(&tally.value).to_owned();
            let mut entry = tally_entry(t, params, "language", tally, label);
            entry.language = Language::of_tag(tally.value.as_bytes()).map(Language::code);
            languages.push(entry);
        }
        push_menu(&mut menus, params, "language", &t.text_language, languages);
        let mut sources = Vec::new();
        for tally in &tallies.sources {
            let label = source_name(&tally.value, t);
            sources.push(tally_entry(t, params, "source", tally, label));
        }
        push_menu(&mut menus, params, "source", &t.source, sources);
        let mut services = Vec::new();
        for tally in tallies.services.iter().take(SERVICES_SHOWN) {
            let label = service_label(&self.snapshot, &tally.value).to_owned();
            services.push(tally_entry(t, params, "mentions_service", tally, label));
        }
        push_menu(&mut menus, params, "mentions_service", &t.service, services);
        let mut locations = Vec::new();
        for tally in &tallies.locations {
            let label = self.location_label(&tally.value).to_owned();
            locations.push(tally_entry(t, params, "location", tally, label));
        }
        push_menu(&mut menus, params, "location", &t.location, locations);
        let mut verifications = Vec::new();
        for tally in &tallies.verifications {
            let label = verification_label(t, &tally.value);
            verifications.push(tally_entry(t, params, "verified_by", tally, label));
        }
        push_menu(
            &mut menus,
            params,
            "verified_by",
            &t.verified,
            verifications,
        );
        let mut people = Vec::new();
        for tally in tallies.people.iter().take(SERVICES_SHOWN) {
            let label = tally.value.clone();
            people.push(tally_entry(t, params, "mentions_technician", tally, label));
        }
        push_menu(&mut menus, params, "mentions_technician", &t.person, people);
        Menus::of(menus)
    }
}

/// Tells whether a parameter decides what is found; the others only order and divide it.
pub(super) fn is_filter(name: &str) -> bool {
    !matches!(name, "sort" | "limit" | "cursor" | "include")
}

fn push_menu(
    menus: &mut Vec<Menu>,
    params: &QueryParams,
    name: &str,
    label: &str,
    entries: Vec<MenuEntry>,
) {
    if entries.len() > 1 && params.value(name).is_empty() {
        menus.push(Menu {
            label: label.to_owned(),
            entries,
        });
    }
}

/// Returns the entry of a value that reviews have.
fn tally_entry(
    t: &Messages,
    params: &QueryParams,
    name: &str,
    tally: &Tally,
    label: String,
) -> MenuEntry {
    entry(t, params, name, &tally.value, label, tally.count)
}

fn entry(
    t: &Messages,
    params: &QueryParams,
    name: &str,
    value: &str,
    label: String,
    count: u64,
) -> MenuEntry {
    MenuEntry {
        label,
        language: None,
        count: t.number(count),
        href: params.href_with(name, value),
    }
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

/// Returns how reviews were verified, for one of the words of the filter `verified_by` or several.
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
    labels.join(", ")
}

/// Returns a tone as a word for readers.
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

/// Returns the own name of a language of texts, or its tag.
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
