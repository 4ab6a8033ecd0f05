//! A notice as people read it, before it gets the form of a chat: title, stars, the beginning of the text, a link.

use crate::model::notices::NoticeSetting;
use crate::pages::Messages;

use super::words::{NoticeWords, words};
use super::{ChangeKind, NoticeSite, ToldChange};

/// Most characters of a title. Our choice: Discord permits 256, and an escaped character takes two of these.
pub(super) const TITLE_CHARS_MAX: usize = 120;

/// Most characters of a review's text. Our choice: what a person reads at a glance; every chat permits four times as
/// many.
pub(super) const EXCERPT_CHARS_MAX: usize = 500;

/// A message in the owner's language. Nothing in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoticeMessage {
    pub(super) title: String,
    /// From 1 to 5; `None` for a message about several reviews.
    pub(super) stars: Option<u8>,
    pub(super) text: String,
    pub(super) link: String,
    pub(super) link_label: String,
    /// The name of the business.
    pub(super) business: String,
}

impl NoticeMessage {
    /// Returns the message about one change.
    pub(super) fn single(
        site: &NoticeSite<'_>,
        setting: &NoticeSetting,
        change: &ToldChange<'_>,
    ) -> NoticeMessage {
        let own = words(site.language);
        let pages = site.language.messages();
        let days = setting.filter.unanswered_days.unwrap_or_default();
        let Some(published) = &change.published else {
            return NoticeMessage {
                stars: Some(change.facts.rating),
                text: removed_text(change, own, pages),
                ..NoticeMessage::about_all(site, own, own.removed.clone())
            };
        };
        let review = &published.review;
        let author = shorten(&review.author.decode(), TITLE_CHARS_MAX / 2);
        let values: &[(&str, &str)] = &[("author", &author)];
        let title = match change.event {
            // A removed review is not published.
            ChangeKind::New | ChangeKind::Removed => own.new.fill(values),
            ChangeKind::Changed => own.changed.fill(values),
            ChangeKind::Unanswered => pages.counted_with(&own.unanswered, days.into(), values),
        };
        let whole_text = review.text.decode();
        let text = if whole_text.trim().is_empty() {
            pages.rating_only.clone()
        } else {
            shorten(&whole_text, EXCERPT_CHARS_MAX)
        };
        NoticeMessage {
            title: shorten(&title, TITLE_CHARS_MAX),
            stars: Some(review.rating),
            text,
            link: format!("{}/reviews/{}", site.base_url, change.id),
            link_label: own.read.clone(),
            business: shorten(site.business, TITLE_CHARS_MAX),
        }
    }

    /// Returns the message about many changes, which says how many of each kind there are.
    pub(super) fn summary(site: &NoticeSite<'_>, changes: &[ToldChange<'_>]) -> NoticeMessage {
        let own = words(site.language);
        let pages = site.language.messages();
        let mut lines = Vec::new();
        for (event, forms) in [
            (ChangeKind::New, &own.count_new),
            (ChangeKind::Changed, &own.count_changed),
            (ChangeKind::Removed, &own.count_removed),
            (ChangeKind::Unanswered, &own.count_unanswered),
        ] {
            let count = changes
                .iter()
                .filter(|change| change.event == event)
                .count();
            if count > 0 {
                lines.push(pages.counted(forms, count as u64));
            }
        }
        let title = pages.counted(&own.summary, changes.len() as u64);
        NoticeMessage {
            text: lines.join("\n"),
            ..NoticeMessage::about_all(site, own, title)
        }
    }

    /// Returns a message about no review, which shows that messages arrive.
    pub(super) fn test(site: &NoticeSite<'_>) -> NoticeMessage {
        let own = words(site.language);
        let business = shorten(site.business, TITLE_CHARS_MAX);
        let text = own.test.fill(&[("business", &business)]);
        NoticeMessage {
            text,
            ..NoticeMessage::about_all(site, own, business.clone())
        }
    }

    /// Returns a message without text whose link leads to all reviews.
    fn about_all(site: &NoticeSite<'_>, own: &NoticeWords, title: String) -> NoticeMessage {
        NoticeMessage {
            title,
            stars: None,
            text: String::new(),
            link: format!("{}/", site.base_url),
            link_label: own.read_all.clone(),
            business: shorten(site.business, TITLE_CHARS_MAX),
        }
    }

    /// Returns the stars as five characters, `★★☆☆☆`; empty without stars.
    pub(super) fn star_line(&self) -> String {
        let Some(stars) = self.stars.map(usize::from) else {
            return String::new();
        };
        let full = stars.min(5);
        format!("{}{}", "★".repeat(full), "☆".repeat(5 - full))
    }
}

/// Says which review was removed, without its words.
fn removed_text(change: &ToldChange<'_>, own: &NoticeWords, pages: &Messages) -> String {
    let rating = change.facts.rating.to_string();
    let stars = pages.stars_of_5.fill(&[("stars", &rating)]);
    let date = match change.facts.day() {
        Some(day) => pages.short_day(day),
        None => pages.date_unknown.clone(),
    };
    own.removed_review
        .fill(&[("stars", &stars), ("date", &date)])
}

/// Returns a text of at most `chars_max` characters: the whole, or its beginning and `…`.
pub(super) fn shorten(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(chars_max - 1).collect();
    format!("{}…", beginning.trim_end())
}
