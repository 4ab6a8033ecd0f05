//! The words of the pages in each language.
//!
//! A message file has the messages with their plural forms, the names of months, and the formats of dates and numbers
//! (after CLDR 46). To add a language, add a file to `messages/`, one to `notices/messages/`, and an entry to
//! [`FILES`]. Tests verify that each file has every message, every plural form of its language, and the placeholders of
//! the English file.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::site::Clientele;
use crate::wire::date::Date;
use crate::wire::text::fill_places;

/// The contents of the message files of a language.
#[derive(Clone, Copy)]
struct MessageFiles {
    /// The messages of the pages.
    pages: &'static str,
    /// The messages of the notices, which the module of the notices reads.
    notices: &'static str,
}

/// The message files of each language, those of the default language first.
const FILES: &[MessageFiles] = &[
    MessageFiles {
        pages: include_str!("messages/en.json"),
        notices: include_str!("../notices/messages/en.json"),
    },
    MessageFiles {
        pages: include_str!("messages/de.json"),
        notices: include_str!("../notices/messages/de.json"),
    },
    MessageFiles {
        pages: include_str!("messages/es.json"),
        notices: include_str!("../notices/messages/es.json"),
    },
    MessageFiles {
        pages: include_str!("messages/fr.json"),
        notices: include_str!("../notices/messages/fr.json"),
    },
    MessageFiles {
        pages: include_str!("messages/it.json"),
        notices: include_str!("../notices/messages/it.json"),
    },
    MessageFiles {
        pages: include_str!("messages/nl.json"),
        notices: include_str!("../notices/messages/nl.json"),
    },
    MessageFiles {
        pages: include_str!("messages/pl.json"),
        notices: include_str!("../notices/messages/pl.json"),
    },
    MessageFiles {
        pages: include_str!("messages/pt.json"),
        notices: include_str!("../notices/messages/pt.json"),
    },
    MessageFiles {
        pages: include_str!("messages/ja.json"),
        notices: include_str!("../notices/messages/ja.json"),
    },
    MessageFiles {
        pages: include_str!("messages/ar.json"),
        notices: include_str!("../notices/messages/ar.json"),
    },
];

static LANGUAGES: LazyLock<Vec<Messages>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for files in FILES {
        all.push(serde_json::from_str(files.pages).expect("a test reads every file"));
    }
    all
});

/// A language of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Language(u8);

impl Language {
    /// The language of pages when no other is chosen.
    pub(crate) const DEFAULT: Language = Language(0);

    /// Returns every language, in the order of the files.
    pub(crate) fn all() -> impl Iterator<Item = Language> {
        (0..FILES.len()).map(|number| Language(number as u8))
    }

    /// Returns the language of a tag such as `de` or `de-AT`, without regard to case; `None` without a message file.
    pub(crate) fn of_tag(tag: &[u8]) -> Option<Language> {
        let primary = tag.split(|byte| *byte == b'-').next()?;
        Language::all().find(|one| one.code().as_bytes().eq_ignore_ascii_case(primary))
    }

    /// Returns the position of its files, below 16.
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn code(self) -> &'static str {
        &self.messages().code
    }

    /// Returns the names of the plural forms that its messages have, sorted.
    #[cfg(test)]
    pub(crate) fn form_names(self) -> Vec<&'static str> {
        let forms = &self.messages().review_count;
        let mut names = vec!["other"];
        for (name, form) in [
            ("few", &forms.few),
            ("many", &forms.many),
            ("one", &forms.one),
            ("two", &forms.two),
            ("zero", &forms.zero),
        ] {
            if form.is_some() {
                names.push(name);
            }
        }
        names.sort_unstable();
        names
    }

    pub(crate) fn messages(self) -> &'static Messages {
        &LANGUAGES[usize::from(self.0)]
    }

    /// Returns the contents of the message file of the notices, which is JSON.
    pub(crate) fn notice_file(self) -> &'static str {
        FILES[usize::from(self.0)].notices
    }
}

/// A message with placeholders such as `{name}`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pattern(String);

impl Pattern {
    /// Returns the message with these values for its placeholders.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> String {
        fill_places(&self.0, values)
    }

    /// Returns the text before the only placeholder, for a template that puts a value with markup in its place.
    pub(crate) fn before(&self) -> &str {
        self.0.split('{').next().unwrap_or_default()
    }

    /// Returns the text after the only placeholder.
    pub(crate) fn after(&self) -> &str {
        self.0.rsplit('}').next().unwrap_or_default()
    }
}

/// A message that depends on a count.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forms {
    zero: Option<Pattern>,
    one: Option<Pattern>,
    two: Option<Pattern>,
    few: Option<Pattern>,
    many: Option<Pattern>,
    other: Pattern,
}

/// The plural categories of CLDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

/// How a language selects the form for a whole number (CLDR, "Language Plural Rules").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PluralRule {
    /// `other` for all numbers.
    Other,
    /// `one` for 1.
    OneOther,
    /// `one` for 1, `many` for whole millions.
    OneManyOther,
    /// `one` for 0 and 1, `many` for whole millions.
    ZeroOneManyOther,
    Arabic,
    Polish,
}

impl PluralRule {
    fn category(self, count: u64) -> Category {
        match self {
            PluralRule::Other => Category::Other,
            PluralRule::OneOther if count == 1 => Category::One,
            PluralRule::OneOther => Category::Other,
            PluralRule::OneManyOther if count == 1 => Category::One,
            PluralRule::ZeroOneManyOther if count <= 1 => Category::One,
            PluralRule::OneManyOther | PluralRule::ZeroOneManyOther => many_or_other(count),
            PluralRule::Arabic => arabic(count),
            PluralRule::Polish => polish(count),
        }
    }
}

fn many_or_other(count: u64) -> Category {
    if count > 0 && count.is_multiple_of(1_000_000) {
        return Category::Many;
    }
    Category::Other
}

fn arabic(count: u64) -> Category {
    match count {
        0 => Category::Zero,
        1 => Category::One,
        2 => Category::Two,
        _ => match count % 100 {
            3..=10 => Category::Few,
            11..=99 => Category::Many,
            _ => Category::Other,
        },
    }
}

fn polish(count: u64) -> Category {
    if count == 1 {
        return Category::One;
    }
    let is_teen = (12..=14).contains(&(count % 100));
    if (2..=4).contains(&(count % 10)) && !is_teen {
        return Category::Few;
    }
    Category::Many
}

impl Forms {
    fn get(&self, category: Category) -> Option<&Pattern> {
        match category {
            Category::Zero => self.zero.as_ref(),
            Category::One => self.one.as_ref(),
            Category::Two => self.two.as_ref(),
            Category::Few => self.few.as_ref(),
            Category::Many => self.many.as_ref(),
            Category::Other => Some(&self.other),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    Ltr,
    Rtl,
}

/// The words for the people whom a business serves, one for each value of `clientele`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClienteleNames {
    client: String,
    patient: String,
    guest: String,
    student: String,
    customer: String,
}

/// The words for the polarity of a mention.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToneNames {
    pub(crate) positive: String,
    pub(crate) neutral: String,
    pub(crate) negative: String,
}

/// The words for the values of the filter `verified_by`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerificationNames {
    pub(crate) business: String,
    pub(crate) platform: String,
    pub(crate) account: String,
}

/// One message file; the keys of the file are the field names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Messages {
    /// The language's own name.
    pub(crate) language: String,
    /// Its BCP 47 tag.
    pub(crate) code: String,
    pub(crate) direction: Direction,
    plural_rule: PluralRule,
    grouping: String,
    decimal: String,
    months: [String; 12],
    pub(crate) months_short: [String; 12],
    /// The days of the week from Monday.
    pub(crate) weekdays_short: [String; 7],
    /// The months without a day, if the language has other words for them.
    #[serde(default)]
    months_alone: Option<[String; 12]>,
    day: Pattern,
    day_long: Pattern,
    month_of_year: Pattern,
    pub(crate) reviews: String,
    pub(crate) reviews_of: Pattern,
    pub(crate) review_title: Pattern,
    pub(crate) skip: String,
    pub(crate) address: String,
    pub(crate) opening_hours: String,
    pub(crate) website: String,
    pub(crate) call: String,
    pub(crate) email: String,
    pub(crate) write_review: String,
    pub(crate) write_first: String,
    pub(crate) no_reviews: String,
    pub(crate) rating: String,
    pub(crate) sources: String,
    pub(crate) review_count: Forms,
    pub(crate) from_sources: Forms,
    pub(crate) from_source: Pattern,
    pub(crate) stars_of_5: Pattern,
    pub(crate) star_count: Forms,
    pub(crate) quote_open: String,
    pub(crate) quote_close: String,
    /// Between the entries of a list.
    pub(crate) comma: String,
    pub(crate) in_their_words: String,
    pub(crate) search: String,
    pub(crate) search_label: String,
    pub(crate) search_hint: String,
    pub(crate) order: String,
    pub(crate) newest: String,
    pub(crate) oldest: String,
    pub(crate) highest: String,
    pub(crate) lowest: String,
    pub(crate) stars: String,
    pub(crate) with_reply: String,
    pub(crate) without_reply: String,
    pub(crate) with_photos: String,
    pub(crate) without_photos: String,
    pub(crate) text_language: String,
    pub(crate) source: String,
    pub(crate) service: String,
    pub(crate) person: String,
    pub(crate) location: String,
    pub(crate) aspect: String,
    pub(crate) tone: String,
    pub(crate) verified: String,
    pub(crate) verified_values: VerificationNames,
    pub(crate) words: String,
    pub(crate) exact_text: String,
    pub(crate) since: String,
    pub(crate) until: String,
    pub(crate) stars_at_least: String,
    pub(crate) stars_at_most: String,
    pub(crate) filters: String,
    pub(crate) more_filters: String,
    pub(crate) remove_filter: Pattern,
    pub(crate) found: Forms,
    pub(crate) no_match: String,
    pub(crate) closest: String,
    pub(crate) without_filter: Forms,
    pub(crate) show_all: Pattern,
    pub(crate) show_more: String,
    pub(crate) shown_of: Pattern,
    pub(crate) first_page: String,
    pub(crate) page_not_found: String,
    pub(crate) invalid_search: String,
    pub(crate) correct_search: String,
    pub(crate) not_value: Pattern,
    pub(crate) pinned: String,
    pub(crate) read_more: String,
    pub(crate) read_less: String,
    pub(crate) rating_only: String,
    pub(crate) date_unknown: String,
    pub(crate) rated_at_source: Pattern,
    pub(crate) translation: String,
    pub(crate) reply_from: Pattern,
    pub(crate) mentions: String,
    clientele: ClienteleNames,
    pub(crate) verified_by: Pattern,
    pub(crate) as_published: Pattern,
    pub(crate) page_of_review: Pattern,
    pub(crate) photo_by: Pattern,
    pub(crate) enlarge: Pattern,
    pub(crate) attachment: Pattern,
    pub(crate) all_photos: Forms,
    pub(crate) close: String,
    pub(crate) own_website: String,
    pub(crate) aspects_title: String,
    pub(crate) aspects_note: String,
    pub(crate) more_aspects: String,
    pub(crate) mention_count: Forms,
    pub(crate) favorable: Pattern,
    pub(crate) neither: Pattern,
    pub(crate) critical: Pattern,
    pub(crate) tones: ToneNames,
    pub(crate) marked: Forms,
    pub(crate) marked_some: Pattern,
    pub(crate) chart_title: String,
    pub(crate) chart_month: String,
    pub(crate) chart_quarter: String,
    pub(crate) chart_year: String,
    pub(crate) chart_years: String,
    pub(crate) chart_running: Pattern,
    pub(crate) chart_range: Pattern,
    pub(crate) chart_table: String,
    pub(crate) time: String,
    pub(crate) questions_title: String,
    pub(crate) from_reviews: Forms,
    pub(crate) all_reviews: Forms,
    pub(crate) about_review: String,
    pub(crate) written: String,
    pub(crate) published_on: String,
    pub(crate) see_on: Pattern,
    pub(crate) verified_how: String,
    pub(crate) confirmed: Pattern,
    pub(crate) confirmed_by_method: Pattern,
    pub(crate) not_confirmed: Pattern,
    pub(crate) how_checked: String,
    pub(crate) it_is_about: String,
    pub(crate) share: String,
    pub(crate) link_to_review: String,
    pub(crate) copy_link: String,
    pub(crate) copied: String,
    pub(crate) neighbors: String,
    pub(crate) newer_review: String,
    pub(crate) older_review: String,
    pub(crate) also_on: Pattern,
    pub(crate) shown_whatever: String,
    pub(crate) held_back: Forms,
    pub(crate) checked_by: Forms,
    pub(crate) checked_by_others: Forms,
    pub(crate) published_with_account: Forms,
    pub(crate) last_updated: Pattern,
    pub(crate) languages: String,
    pub(crate) atom_feed: String,
    pub(crate) json_feed: String,
    pub(crate) all_as_json: String,
    pub(crate) for_developers: String,
    pub(crate) read_all: Forms,
    pub(crate) shown_here: Forms,
    pub(crate) shown_some: String,
    pub(crate) previous: String,
    pub(crate) next: String,
}

impl Messages {
    /// Returns the attribute `dir` of the page.
    pub(crate) fn dir(&self) -> &'static str {
        match self.direction {
            Direction::Ltr => "ltr",
            Direction::Rtl => "rtl",
        }
    }

    /// Returns the form of `forms` for `count`, with `{count}` filled in.
    pub(crate) fn counted(&self, forms: &Forms, count: u64) -> String {
        self.counted_with(forms, count, &[])
    }

    /// Returns the form of `forms` for `count`, with `{count}` and further values filled in.
    pub(crate) fn counted_with(
        &self,
        forms: &Forms,
        count: u64,
        further: &[(&str, &str)],
    ) -> String {
        let category = self.plural_rule.category(count);
        let pattern = forms.get(category).unwrap_or(&forms.other);
        let number = self.number(count);
        let mut values = vec![("count", number.as_str())];
        values.extend_from_slice(further);
        pattern.fill(&values)
    }

    /// Returns a whole number with the language's mark between groups of three digits.
    pub(crate) fn number(&self, number: u64) -> String {
        let digits = number.to_string();
        let mut text = String::with_capacity(digits.len() * 2);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push_str(&self.grouping);
            }
            text.push(digit);
        }
        text
    }

    /// Returns a number of tenths with one decimal: 41 as `4.1`.
    pub(crate) fn tenths(&self, tenths: u64) -> String {
        format!("{}{}{}", tenths / 10, self.decimal, tenths % 10)
    }

    /// Returns a number with the language's decimal mark, such as `8.3`.
    pub(crate) fn decimal_number(&self, number: &serde_json::Number) -> String {
        let text = number.to_string();
        let whole = text.strip_suffix(".0").unwrap_or(&text);
        whole.replace('.', &self.decimal)
    }

    /// Returns a day with the short name of its month.
    pub(crate) fn short_day(&self, date: Date) -> String {
        self.dated(&self.day, &self.months_short, date)
    }

    /// Returns a day with the full name of its month.
    pub(crate) fn long_day(&self, date: Date) -> String {
        self.dated(&self.day_long, &self.months, date)
    }

    /// Returns the month and the year of a date.
    pub(crate) fn month(&self, date: Date) -> String {
        let months = self.months_alone.as_ref().unwrap_or(&self.months);
        self.dated(&self.month_of_year, months, date)
    }

    fn dated(&self, pattern: &Pattern, months: &[String; 12], date: Date) -> String {
        let day = date.day().to_string();
        let year = date.year().to_string();
        let month = &months[usize::from(date.month()) - 1];
        pattern.fill(&[("day", &day), ("month", month), ("year", &year)])
    }

    /// Returns the word for the people whom the business serves.
    pub(crate) fn who(&self, clientele: Clientele) -> &str {
        match clientele {
            Clientele::Client => &self.clientele.client,
            Clientele::Patient => &self.clientele.patient,
            Clientele::Guest => &self.clientele.guest,
            Clientele::Student => &self.clientele.student,
            Clientele::Customer => &self.clientele.customer,
        }
    }
}

#[cfg(test)]
mod tests;
