//! Where notices of changed reviews go: `notices.json`. Addresses and keys are secrets, which `Debug` does not show.

use std::fmt;

use super::Rating;

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct HiddenText(String);

impl HiddenText {
    #[must_use]
    pub fn new(text: String) -> HiddenText {
        HiddenText(text)
    }

    /// Returns the text, for requests and files of mode 0600 only.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HiddenText(…)")
    }
}

/// An address that gets notices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeSetting {
    /// Names it in logs and commands.
    pub id: String,
    pub kind: NoticeKind,
    /// An absolute https URL.
    pub url: HiddenText,
    /// The key of signatures: `whsec_` and base64.
    pub secret: Option<HiddenText>,
    /// The chat of a Telegram bot; `None` if the address names it.
    pub chat_id: Option<String>,
    pub filter: NoticeFilter,
}

/// What understands the notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Anything, by the payload of Standard Webhooks.
    Webhook,
    Slack,
    Discord,
    /// A workflow of Microsoft Teams.
    Teams,
    Telegram,
    GoogleChat,
}

impl NoticeKind {
    pub const ALL: [NoticeKind; 6] = [
        NoticeKind::Webhook,
        NoticeKind::Slack,
        NoticeKind::Discord,
        NoticeKind::Teams,
        NoticeKind::Telegram,
        NoticeKind::GoogleChat,
    ];

    /// Returns the word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        [
            "webhook",
            "slack",
            "discord",
            "teams",
            "telegram",
            "google_chat",
        ][self as usize]
    }
}

/// Which notices are sent; without values, those of every change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeFilter {
    pub min_rating: Option<Rating>,
    pub max_rating: Option<Rating>,
    /// The language of the review, a BCP 47 tag; `de` is also `de-AT`.
    pub language: Option<String>,
    /// The id of a location.
    pub location: Option<String>,
    /// Also send a notice when a review has had no reply for this number of days.
    pub unanswered_days: Option<u16>,
    /// The changes; `None` for all.
    pub events: Option<Vec<NoticeEvent>>,
}

/// A change of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeEvent {
    New,
    Changed,
    Removed,
}

impl NoticeEvent {
    pub const ALL: [NoticeEvent; 3] =
        [NoticeEvent::New, NoticeEvent::Changed, NoticeEvent::Removed];

    /// Returns the word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        ["new", "changed", "removed"][self as usize]
    }
}
