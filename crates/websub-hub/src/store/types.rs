//! The input and output types of a store.
//!
//! `topic` is a URL, `id` the id of a subscription unless documented otherwise, `digest` the SHA-256 of content.

#![expect(missing_docs, reason = "fields with clear names have no doc line")]

use std::time::Duration;

use crate::request::{HubRequest, Mode};
use crate::subscription::{
    AttemptResult, DeliveryResult, LastAttempt, RemovalReason, Subscription,
};
use crate::{Callback, UnixMillis};
use reviewd_wire::date::Timestamp;

/// The content of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicVersion {
    /// The URL of the topic.
    pub url: String,
    /// The SHA-256 of its content.
    pub digest: [u8; 32],
    /// The dataset's `updated_at`, by which versions are ordered.
    pub dated: Timestamp,
}

/// A request to store, with the granted lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The request, parsed and permitted.
    pub request: HubRequest,
    /// The granted lease in seconds.
    pub lease_s: u32,
    /// Stands for the address that the request came from; equal for equal addresses.
    pub asker: i64,
}

/// Limits of the store. A request beyond a limit is refused; nothing stored is evicted for it. Requests for active
/// subscriptions do not count, and are always stored: one for each mode waits, and the newest replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Requests waiting for verification. If more than half of it or of `requests_per_host` is in use, a verification
    /// that has failed for a reason of the network is not tried again. One address that asks may have as many waiting as
    /// are free.
    pub requests: u32,
    /// Requests waiting for verification, for one callback host and port.
    pub requests_per_host: u32,
    /// All subscriptions, including pending ones.
    pub subscriptions: u32,
    /// Subscriptions of one callback host and port, including pending ones.
    pub subscriptions_per_host: u32,
}

impl Quotas {
    /// Returns the quotas for these numbers of subscriptions; 1/100 of each may wait for verification. Our choice: few
    /// wait at a time, each takes a row, and the limits grow together.
    #[must_use]
    pub fn new(subscriptions: u32, subscriptions_per_host: u32) -> Quotas {
        Quotas {
            requests: (subscriptions / 100).max(1),
            requests_per_host: (subscriptions_per_host / 100).max(1),
            subscriptions,
            subscriptions_per_host,
        }
    }
}

/// The quota of [`Quotas`] that was exceeded, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaExceeded {
    #[error("too many pending verifications (limit {0})")]
    Requests(u32),
    #[error("too many pending verifications for the callback's host (limit {0})")]
    RequestsOfHost(u32),
    #[error("too many pending verifications for requests of your address (limit {0})")]
    RequestsOfAddress(u32),
    #[error("too many subscriptions (limit {0})")]
    Subscriptions(u32),
    #[error("too many subscriptions for the callback's host (limit {0})")]
    SubscriptionsOfHost(u32),
}

/// A denial to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenialNotice {
    /// The id of the denial, not of a subscription.
    pub id: i64,
    /// The URL of the topic.
    pub topic: String,
    /// Where the denial is sent.
    pub callback: Callback,
    /// Why the subscription ended.
    pub removal: RemovalReason,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptReport {
    /// A verification ended, confirmed or not.
    Verified {
        /// The id of the request, not of a subscription.
        id: i64,
        asked_at: UnixMillis,
        confirmed: bool,
        result: AttemptResult,
    },
    /// A verification did not reach its callback. It is tried again; after a network failure only if it had fewer than
    /// [`UNREACHED_MAX`](crate::subscription::UNREACHED_MAX) attempts, and the quotas permit it.
    Unreached {
        /// The id of the request, not of a subscription.
        id: i64,
        /// `None` if nothing was sent, for a reason on our side.
        result: Option<AttemptResult>,
        delay: Duration,
    },
    /// An attempt to deliver ended.
    Delivered { id: i64, result: DeliveryResult },
    /// An attempt to send the notice with this id ended.
    Notified { id: i64, result: DeliveryResult },
}

/// The effect of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportEffect {
    /// No effect: the request or attempt no longer exists.
    Stale,
    /// A subscription became active.
    Activated,
    /// An active subscription was renewed.
    Renewed,
    /// An active subscription will be removed when its running attempt has ended.
    Leaving,
    /// A verification failed; nothing else changed.
    Rejected,
    /// The request or the notice waits for another attempt.
    Waiting,
    /// The target has acknowledged the notice.
    Told,
    /// The notice is not sent again.
    GivenUp,
    /// The subscription stays.
    Kept,
    /// The subscription was removed.
    Removed(RemovalReason),
}

/// The result of [`Store::publish`](super::Store::publish).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishResult {
    /// URLs of topics with a new digest.
    pub changed: Vec<String>,
    /// URLs of topics that were not changed because their stored content is at least as new.
    pub older: Vec<String>,
    /// Number of subscriptions removed because their topic is no longer served.
    pub withdrawn: usize,
}

/// The result of [`Store::copy_from`](super::Store::copy_from).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Subscriptions that did not exist in the target, or existed there in an earlier state.
    pub copied: u64,
    /// Subscriptions that existed in the target in this state or a later one.
    pub known: u64,
    /// Pending requests that were copied.
    pub requests: u64,
}

/// The numbers of subscriptions and requests in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// All subscriptions.
    pub subscriptions: u64,
    /// Requests that wait for their verification.
    pub requests: u64,
    /// Subscriptions with undelivered content, due now or waiting for a retry.
    pub undelivered: u64,
    /// Those of them whose next attempt is due or in progress.
    pub due: u64,
    /// The earliest time at which one of those was due; [`UnixMillis::ZERO`] if it was due at once.
    pub due_since: Option<UnixMillis>,
}

/// A subscription with its topic and callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSubscription {
    /// The id of the subscription.
    pub id: i64,
    /// The URL of the topic.
    pub topic: String,
    /// Where content is delivered.
    pub callback: Callback,
    /// Digest of the topic's current content.
    pub current: [u8; 32],
    /// Whether that content is not delivered yet.
    pub is_undelivered: bool,
    /// Its lease, and what was delivered.
    pub state: Subscription,
}

/// A request that waits for its verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// The id of the request, not of a subscription.
    pub id: i64,
    /// Whether it subscribes or unsubscribes.
    pub mode: Mode,
    /// The URL of the topic, normalized.
    pub topic: String,
    /// The topic's URL as the subscriber gave it.
    pub topic_given: String,
    /// Where the verification is sent.
    pub callback: Callback,
    /// The granted lease in seconds.
    pub lease_s: u32,
    /// Whether it is for an active subscription.
    pub is_renewal: bool,
    /// Pending: its attempts are verifications.
    pub state: Subscription,
}

/// A subscription that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The id that the subscription had.
    pub id: i64,
    /// The URL of the topic.
    pub topic: String,
    /// The host of the callback; the URL itself is not stored any more.
    pub host: String,
    /// Why it ended.
    pub removal: RemovalReason,
    /// When it ended.
    pub at: UnixMillis,
    /// The last attempt to deliver; `None` if there was none.
    pub last: Option<LastAttempt>,
    /// When the subscription was created.
    pub created_at: UnixMillis,
}

/// A command of the operator for a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// Remove it, and send a denial.
    Remove,
    /// Deliver undelivered content now.
    Retry,
}

/// A request that ended without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The id of the rejection, not of a request.
    pub id: i64,
    /// Whether it subscribes or unsubscribes.
    pub mode: Mode,
    /// The URL of the topic.
    pub topic: String,
    /// The host of the callback; the URL itself is not stored any more.
    pub host: String,
    /// Why it ended.
    pub reason: RejectionReason,
    /// When it ended.
    pub at: UnixMillis,
    /// How often a verification was tried.
    pub attempts: u32,
    /// The last of these attempts; `None` if there was none.
    pub last: Option<LastAttempt>,
    /// When the request arrived.
    pub accepted_at: UnixMillis,
}

/// Why a request ended without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// A quota was exceeded, so the client got an error.
    Quota,
    /// The callback did not confirm it.
    NotConfirmed,
    /// The callback was not reached.
    Unreached,
    /// The operator removed it.
    Operator,
}

impl RejectionReason {
    const ALL: [(RejectionReason, &str); 4] = [
        (RejectionReason::Quota, "quota"),
        (RejectionReason::NotConfirmed, "not_confirmed"),
        (RejectionReason::Unreached, "unreached"),
        (RejectionReason::Operator, "operator"),
    ];

    /// Returns its name in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        RejectionReason::ALL[self as usize].1
    }

    pub(super) fn from_name(name: &str) -> Option<RejectionReason> {
        let mut all = RejectionReason::ALL.into_iter();
        all.find(|entry| entry.1 == name).map(|entry| entry.0)
    }
}
