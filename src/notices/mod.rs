//! Notices: messages to the operator's own targets about new, changed and removed reviews.
//!
//! [`read`] turns `notices.json` into checked settings. [`ReviewNotices`] describes the reviews of a snapshot to the
//! hub, which knows what the targets were told last. For each change and each target whose filter accepts it, it
//! composes a message; more than [`SINGLE_MAX`] at once become one summary. The hub stores the messages, sends them,
//! and repeats those that failed.
//!
//! `message` makes a message in the owner's language, with the words of `words`. `chat` gives it the form of a chat,
//! and `webhook` makes data of a change for any other target.

mod chat;
mod facts;
mod message;
mod webhook;
mod words;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::dataset::{NoticeValues, Problems, read_notices};
use crate::hub::Callback;
use crate::hub::notice::{
    DaysBegun, NewNotice, NoticeChanges, NoticeItem, NoticeSource, NoticeTarget, WebhookSecret,
};
use crate::model::notices::{NoticeEvent, NoticeKind, NoticeSetting};
use crate::model::site::Site;
use crate::model::{Dataset, Row};
use crate::pages::Language;
use crate::snapshot::{Snapshot, StoredReview};
use crate::wire::date::{Date, Timestamp};

use facts::ReviewFacts;
use message::NoticeMessage;

/// Most changes of one reload that are sent as one notice each; if there are more, one summary is sent. Our choice: a
/// person does not read more messages at once.
pub const SINGLE_MAX: usize = 10;

/// The first key of the record of changes, which is the last part of a review's JSON.
const RECORD_KEY: &[u8] = b",\"added_at\":";

/// Reads `notices.json`; without one there are no settings.
///
/// # Errors
/// Every problem of the file.
pub fn read(bytes: &Option<Vec<u8>>) -> Result<Vec<NoticeSetting>, Problems> {
    let values = NoticeValues {
        is_url: |text| Callback::parse(text).is_ok(),
        is_secret: |text| WebhookSecret::parse(text).is_some(),
    };
    read_notices(bytes, values)
}

/// Returns where the notices of a setting go; `None` unless [`read`] has accepted it.
#[must_use]
pub fn target(setting: &NoticeSetting) -> Option<NoticeTarget> {
    let secret = setting.secret.as_ref();
    Some(NoticeTarget {
        id: setting.id.clone(),
        callback: Callback::parse(setting.url.reveal()).ok()?,
        secret: secret.and_then(|secret| WebhookSecret::parse(secret.reveal())),
    })
}

/// The reviews of a snapshot, and who is told of their changes.
pub struct ReviewNotices {
    snapshot: Arc<Snapshot>,
    settings: Arc<[NoticeSetting]>,
    targets: Vec<NoticeTarget>,
}

impl ReviewNotices {
    /// Creates the source of notices about the reviews of `snapshot`.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>, settings: Arc<[NoticeSetting]>) -> ReviewNotices {
        ReviewNotices {
            targets: settings.iter().filter_map(target).collect(),
            snapshot,
            settings,
        }
    }

    /// Returns the change of a review that is published.
    fn change(&self, event: ChangeKind, row: Row) -> ToldChange<'_> {
        let json = self.snapshot.review_json(row);
        let review = StoredReview::parse(json);
        ToldChange {
            event,
            id: review.id.to_owned(),
            facts: ReviewFacts::of(&review),
            published: Some(PublishedReview { json, review }),
        }
    }

    /// Returns the changes that `setting` accepts, in the order in which they are told: removed and changed reviews,
    /// then new ones, oldest first, then those that have had no reply for too long.
    fn accepted<'s>(
        &'s self,
        setting: &NoticeSetting,
        changes: &NoticeChanges,
    ) -> Vec<ToldChange<'s>> {
        let mut all = Vec::new();
        for item in &changes.removed {
            all.push(ToldChange {
                event: ChangeKind::Removed,
                id: item.name.clone(),
                facts: ReviewFacts::parse(&item.facts),
                published: None,
            });
        }
        for (event, ids) in [
            (ChangeKind::Changed, &changes.changed),
            (ChangeKind::New, &changes.added),
        ] {
            let rows = ids
                .iter()
                .rev()
                .filter_map(|id| self.snapshot.index.row_of_id(id));
            all.extend(rows.map(|row| self.change(event, row)));
        }
        all.retain(|change| accepts(setting, change));
        if let Some(days) = setting.filter.unanswered_days
            && let Some(begun) = changes.days
        {
            all.extend(self.unanswered(setting, days, begun));
        }
        all
    }

    /// Returns the reviews that have had no reply for `days` days since one of the days of `begun`, oldest first.
    fn unanswered<'s>(
        &'s self,
        setting: &NoticeSetting,
        days: u16,
        begun: DaysBegun,
    ) -> Vec<ToldChange<'s>> {
        // The days on which these reviews were written.
        let Some(first) = day_before(begun.after, days).and_then(day_after) else {
            return Vec::new();
        };
        let Some(last) = day_before(begun.until, days) else {
            return Vec::new();
        };
        // Rows are sorted by date, newest first.
        let newer_count = day_after(last).map_or(0, |day| self.snapshot.since(day).matched);
        let end = self.snapshot.since(first).matched;
        let mut all = Vec::new();
        for row in (newer_count..end).rev() {
            let change = self.change(ChangeKind::Unanswered, Row(row));
            if !change.has_reply() && accepts(setting, &change) {
                all.push(change);
            }
        }
        all
    }

    /// Returns the notices to the target of `setting`: one for each change that it accepts, or one summary of many.
    fn compose_for(&self, setting: &NoticeSetting, changes: &NoticeChanges) -> Vec<NewNotice> {
        let accepted = self.accepted(setting, changes);
        let snapshot = &*self.snapshot;
        if accepted.len() > SINGLE_MAX {
            return vec![NewNotice {
                target: setting.id.clone(),
                item: String::new(),
                body: summary_body(snapshot, setting, &accepted),
            }];
        }
        let mut notices = Vec::with_capacity(accepted.len());
        for change in accepted {
            notices.push(NewNotice {
                target: setting.id.clone(),
                body: single_body(snapshot, setting, &change),
                item: change.id,
            });
        }
        notices
    }
}

impl fmt::Debug for ReviewNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReviewNotices")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl NoticeSource for ReviewNotices {
    fn dated(&self) -> Timestamp {
        self.snapshot.updated_at
    }

    fn targets(&self) -> &[NoticeTarget] {
        &self.targets
    }

    fn items(&self) -> Vec<NoticeItem> {
        let mut items = Vec::new();
        for row in (0..self.snapshot.len()).map(Row) {
            let json = self.snapshot.review_json(row);
            let review = StoredReview::parse(json);
            items.push(NoticeItem {
                digest: content_digest(json),
                facts: ReviewFacts::of(&review).render(),
                name: review.id.to_owned(),
            });
        }
        items
    }

    fn compose(&self, changes: &NoticeChanges) -> Vec<NewNotice> {
        let settings = self.settings.iter();
        settings
            .flat_map(|setting| self.compose_for(setting, changes))
            .collect()
    }
}

/// What happened to a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    New,
    Changed,
    Removed,
    /// It has had no reply for the days of the filter.
    Unanswered,
}

impl ChangeKind {
    /// Returns the type of its notices to webhooks.
    pub(crate) const fn event_type(self) -> &'static str {
        match self {
            ChangeKind::New => "review.new",
            ChangeKind::Changed => "review.changed",
            ChangeKind::Removed => "review.removed",
            ChangeKind::Unanswered => "review.unanswered",
        }
    }

    /// Returns the event that a filter may name; `None` for reminders, which have a setting of their own.
    fn filtered_as(self) -> Option<NoticeEvent> {
        match self {
            ChangeKind::New => Some(NoticeEvent::New),
            ChangeKind::Changed => Some(NoticeEvent::Changed),
            ChangeKind::Removed => Some(NoticeEvent::Removed),
            ChangeKind::Unanswered => None,
        }
    }
}

/// A change of a review.
#[derive(Debug)]
pub(crate) struct ToldChange<'s> {
    pub(crate) event: ChangeKind,
    pub(crate) id: String,
    pub(crate) facts: ReviewFacts,
    /// `None` for a removed review: its words are not kept.
    pub(crate) published: Option<PublishedReview<'s>>,
}

impl ToldChange<'_> {
    fn has_reply(&self) -> bool {
        let published = self.published.as_ref();
        published.is_some_and(|published| published.review.owner_reply.is_some())
    }
}

/// A review as it is published.
#[derive(Debug)]
pub(crate) struct PublishedReview<'s> {
    pub(crate) json: &'s [u8],
    pub(crate) review: StoredReview<'s>,
}

/// Returns the body of a message that shows that notices arrive at the target of `setting`.
#[must_use]
pub fn test_body(setting: &NoticeSetting, dataset: &Dataset, base_url: &str) -> String {
    let site = NoticeSite::of(dataset, base_url);
    match chat_body(setting, &NoticeMessage::test(&site)) {
        Some(body) => body.to_string(),
        None => webhook::test(&site),
    }
}

/// Returns the body of a notice of one change.
fn single_body(snapshot: &Snapshot, setting: &NoticeSetting, change: &ToldChange<'_>) -> String {
    let site = NoticeSite::of_snapshot(snapshot);
    match chat_body(setting, &NoticeMessage::single(&site, setting, change)) {
        Some(body) => body.to_string(),
        None => webhook::single(&site, change),
    }
}

/// Returns the body of a notice of many changes.
fn summary_body(
    snapshot: &Snapshot,
    setting: &NoticeSetting,
    changes: &[ToldChange<'_>],
) -> String {
    let site = NoticeSite::of_snapshot(snapshot);
    match chat_body(setting, &NoticeMessage::summary(&site, changes)) {
        Some(body) => body.to_string(),
        None => webhook::summary(&site, changes),
    }
}

/// Returns a message in the form of a chat; `None` for a webhook, which gets data instead.
fn chat_body(setting: &NoticeSetting, message: &NoticeMessage) -> Option<Value> {
    match setting.kind {
        NoticeKind::Webhook => None,
        NoticeKind::Slack => Some(chat::slack(message)),
        NoticeKind::Discord => Some(chat::discord(message)),
        NoticeKind::Teams => Some(chat::teams(message)),
        NoticeKind::Telegram => Some(chat::telegram(message, setting.chat_id.as_deref())),
        NoticeKind::GoogleChat => Some(chat::google_chat(message)),
    }
}

/// The site that notices are about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoticeSite<'s> {
    /// The public address without a trailing slash.
    pub(crate) base_url: &'s str,
    /// The name of the business.
    pub(crate) business: &'s str,
    /// The language of the owner: that of the pages, else the default.
    pub(crate) language: Language,
    /// When the content last changed.
    pub(crate) updated_at: Timestamp,
}

impl<'s> NoticeSite<'s> {
    fn of_snapshot(snapshot: &'s Snapshot) -> NoticeSite<'s> {
        NoticeSite {
            base_url: &snapshot.base_url,
            business: &snapshot.business.name,
            language: owner_language(&snapshot.site),
            updated_at: snapshot.updated_at,
        }
    }

    fn of(dataset: &'s Dataset, base_url: &'s str) -> NoticeSite<'s> {
        NoticeSite {
            base_url,
            business: &dataset.business.name,
            language: owner_language(&dataset.site),
            updated_at: dataset.updated_at,
        }
    }
}

/// Returns the language that the owner has set for the pages, or the default.
fn owner_language(site: &Site) -> Language {
    let tag = site.language.as_deref().unwrap_or_default();
    Language::of_tag(tag.as_bytes()).unwrap_or(Language::DEFAULT)
}

/// Tells whether the filter of a setting accepts a change.
fn accepts(setting: &NoticeSetting, change: &ToldChange<'_>) -> bool {
    let filter = &setting.filter;
    if let Some(event) = change.event.filtered_as()
        && let Some(events) = &filter.events
        && !events.contains(&event)
    {
        return false;
    }
    change.facts.match_filter(filter)
}

/// Returns the digest of a review without the record of its changes, as a new record is no change of the review.
fn content_digest(json: &[u8]) -> [u8; 32] {
    // Quotation marks in texts are escaped, so only the key is found.
    let end = memchr::memmem::rfind(json, RECORD_KEY).unwrap_or(json.len());
    Sha256::digest(&json[..end]).into()
}

/// Returns the day `days` before `date`.
fn day_before(date: Date, days: u16) -> Option<Date> {
    Date::from_days(date.days().checked_sub(days.into())?)
}

fn day_after(date: Date) -> Option<Date> {
    Date::from_days(date.days().checked_add(1)?)
}

#[cfg(test)]
mod tests;
