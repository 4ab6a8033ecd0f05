//! Notices: messages about changed items to targets that the operator has chosen, such as a webhook or a chat.
//!
//! The server describes its items and targets by a [`NoticeSource`]. The hub compares the items with those that it told
//! of last, has the source compose a notice of each change, and stores both in one transaction; then it sends each
//! notice until its target acknowledges it. Notices about one item to one target go in order. A notice is sent again only
//! after a failure, or after a crash during an attempt, with the same name in `webhook-id`.
//!
//! The headers are those of Standard Webhooks (<https://github.com/standard-webhooks/standard-webhooks>). Targets are
//! never stored or printed: an address is often a capability, and the store knows only the target's id.

#![warn(clippy::indexing_slicing)]

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use reviewd_wire::date::{Date, Timestamp};
use sha2::Sha256;

use crate::subscription::{AttemptResult, DeliveryResult, FailurePolicy};
use crate::{Callback, UnixMillis};

/// The beginning of a secret of Standard Webhooks; the key follows in base64.
const SECRET_PREFIX: &str = "whsec_";

/// Bytes of a key of Standard Webhooks: 24 to 64.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// How long a notice is sent again and again before it is given up. Our choice: a receiver that fails over a weekend
/// gets all notices.
pub const NOTICE_AGE_MAX: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// A notice is given up after this many failed attempts, if the target has answered that it cannot accept it: it will not
/// accept it later either.
pub const NOTICE_REFUSALS_MAX: u32 = 3;

/// Notices that may wait for one target; beyond it the oldest are given up. Our choice: a day of a busy business.
pub const NOTICES_WAITING_MAX: usize = 1_000;

/// The delay after an attempt that was not sent, for a reason on our side.
const UNSENT_DELAY: Duration = Duration::from_secs(1);

/// Where notices go.
#[derive(Clone, Debug)]
pub struct NoticeTarget {
    /// Its name in the store and in logs.
    pub id: String,
    /// Its address.
    pub callback: Callback,
    /// The key of its signatures, if it checks them.
    pub secret: Option<WebhookSecret>,
}

/// An item about which notices are sent, such as a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeItem {
    /// Its unique name; not empty.
    pub name: String,
    /// Differs after each change that targets are to be told of.
    pub digest: [u8; 32],
    /// What the source wants to know of the item after it was removed; stored until then.
    pub facts: String,
}

/// What has changed since the targets were last told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeChanges {
    /// Items that were not there before, in the order of the source.
    pub added: Vec<String>,
    /// Items with another digest, in the order of the source.
    pub changed: Vec<String>,
    /// Items that are no longer there, by name, with their last facts.
    pub removed: Vec<NoticeItem>,
    /// The days that have begun, after the first and up to the second; `None` on the same day.
    pub days: Option<DaysBegun>,
}

/// Days that have begun since the targets were last told, in UTC: after `after`, up to `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaysBegun {
    /// The last day that targets were told of.
    pub after: Date,
    /// Today.
    pub until: Date,
}

/// A notice to store and send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNotice {
    /// The id of its target.
    pub target: String,
    /// The item that it is about; empty if it is about several, and then it waits for earlier notices to its target, and
    /// later ones wait for it.
    pub item: String,
    /// The body, JSON.
    pub body: String,
}

/// What the server tells its operator's targets of.
pub trait NoticeSource: Send + Sync {
    /// Returns when the content last changed, by which the sources of replicas are ordered.
    fn dated(&self) -> Timestamp;

    /// Returns the targets; without any, the hub forgets what it told.
    fn targets(&self) -> &[NoticeTarget];

    /// Returns all items.
    fn items(&self) -> Vec<NoticeItem>;

    /// Returns the notices of these changes, in the order in which they are sent.
    fn compose(&self, changes: &NoticeChanges) -> Vec<NewNotice>;
}

/// The key by which a target verifies that a notice is from this server: 24 to 64 bytes, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Parses `whsec_` and a key in base64; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<WebhookSecret> {
        let key = BASE64_STANDARD
            .decode(text.strip_prefix(SECRET_PREFIX)?)
            .ok()?;
        if !KEY_BYTES.contains(&key.len()) {
            return None;
        }
        Some(WebhookSecret(key))
    }

    /// Returns `webhook-signature` of a notice: `v1,` and the HMAC of its name, time and body in base64.
    #[must_use]
    pub fn sign(&self, name: &str, unix_s: i64, body: &str) -> String {
        let key = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = key.expect("HMAC takes keys of any length");
        mac.update(format!("{name}.{unix_s}.{body}").as_bytes());
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// A stored notice with an attempt in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunNotice {
    /// Its id in the store.
    pub id: i64,
    /// The id of its target.
    pub target: String,
    /// Its name, which the receiver can use to ignore repetitions.
    pub name: String,
    /// The body, JSON.
    pub body: String,
    /// The number of the attempt.
    pub attempt: u32,
}

/// The attempts of a waiting notice so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeAttempts {
    /// Failed attempts.
    pub failures: u32,
    /// When the notice was stored.
    pub created_at: UnixMillis,
}

/// What becomes of a notice after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// Its target has acknowledged it.
    Told,
    /// It is sent again at this time.
    Waits {
        /// Failed attempts, with this one if it counts.
        failures: u32,
        /// The earliest time of the next attempt.
        next_at: UnixMillis,
    },
    /// It is not sent again.
    GivenUp,
}

impl NoticeAttempts {
    /// Returns what follows from the result of an attempt that ended at `now`. A 2xx acknowledges. After any other result
    /// the notice is sent again for [`NOTICE_AGE_MAX`]; but from the failure number [`NOTICE_REFUSALS_MAX`] on, an answer
    /// that it is malformed, too large or not processable (400, 413, 422) ends it.
    #[must_use]
    pub fn end(
        self,
        result: &DeliveryResult,
        policy: &FailurePolicy,
        now: UnixMillis,
    ) -> NoticeOutcome {
        let Some(ended) = result.result else {
            return NoticeOutcome::Waits {
                failures: self.failures,
                next_at: now.plus(result.retry_after.unwrap_or(UNSENT_DELAY)),
            };
        };
        if ended.is_success() {
            return NoticeOutcome::Told;
        }
        let failures = self.failures.saturating_add(1);
        let is_refusal = matches!(ended, AttemptResult::Status(400 | 413 | 422));
        let is_refused = is_refusal && failures >= NOTICE_REFUSALS_MAX;
        if is_refused || self.created_at.plus(NOTICE_AGE_MAX) <= now {
            return NoticeOutcome::GivenUp;
        }
        let delay = policy.delay(failures, result.retry_after, result.jitter);
        NoticeOutcome::Waits {
            failures,
            next_at: now.plus(delay),
        }
    }
}

#[cfg(test)]
#[path = "notice/tests.rs"]
mod tests;
