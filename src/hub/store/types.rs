//! What goes into a store and comes out of it.
//!
//! A `topic` is its URL, `id` that of the subscription unless it says otherwise, `digest` the SHA-256 of a content.

#![expect(missing_docs, reason = "fields that say what they are have no line")]

use std::collections::HashMap;
use std::time::Duration;

use crate::hub::request::{HubRequest, Mode};
use crate::hub::subscription::{Answer, Ended, RemovalReason, Subscription};
use crate::hub::{Callback, Moment};
use crate::wire::date::Timestamp;

/// What a topic holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicVersion {
    pub url: String,
    pub digest: [u8; 32],
    /// The dataset's `updated_at`: of two versions the later one is the newer.
    pub dated: Timestamp,
}

/// A request to keep, with the lease granted to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    pub request: HubRequest,
    pub lease_s: u32,
}

/// Bounds of what is kept; at each of them a request is refused and nothing else is given up for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    pub requests: u32,
    /// Requests waiting for verification, for one callback host.
    pub requests_per_host: u32,
    /// Subscriptions in all, those asked for included.
    pub subscriptions: u32,
    /// Subscriptions of one callback host, those asked for included.
    pub subscriptions_per_host: u32,
}

impl Quotas {
    /// Returns the quotas for so many subscriptions, of which a hundredth may wait for verification. Our choice: few wait at
    /// a time, each takes a row, and the limits grow together.
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

/// Which of the [`Quotas`] left no room, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaExceeded {
    #[error("{0} requests wait for verification, which is the most")]
    Requests(u32),
    #[error("{0} requests for its host wait for verification, which is the most")]
    RequestsOfHost(u32),
    #[error("{0} subscriptions are active, which is the most")]
    Subscriptions(u32),
    #[error("{0} subscriptions of its host are active, which is the most")]
    SubscriptionsOfHost(u32),
}

/// How much to claim.
#[derive(Clone, Debug)]
pub struct Claim {
    pub limit: usize,
    /// Exchanges with one callback host at the same time.
    pub per_host: usize,
    /// Exchanges under way that count, by callback host.
    pub busy: HashMap<String, usize>,
}

/// What an exchange is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// A delivery to a subscriber whose last one was quick and acknowledged.
    Fast,
    /// A delivery to a subscriber whose last one failed or took long, or that has had none yet.
    Slow,
    /// A verification or a denial.
    Ask,
}

/// A denial to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenialNotice {
    /// Its id, which is not that of a subscription.
    pub id: i64,
    pub topic: String,
    pub callback: Callback,
    pub removal: RemovalReason,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A verification was answered, or not.
    Verified {
        id: i64,
        asked_at: Moment,
        confirmed: bool,
    },
    /// A verification did not come about: the request waits for another attempt. After a network fault it does so only
    /// while it had fewer than [`UNREACHED_MAX`](crate::hub::subscription::UNREACHED_MAX) attempts.
    Unreached {
        id: i64,
        /// `None` when nothing was sent, for a reason of ours.
        answer: Option<Answer>,
        delay: Duration,
    },
    /// An attempt to deliver ended.
    Delivered {
        id: i64,
        attempt: u32,
        /// `None` when nothing arrived, for a reason of ours.
        answer: Option<Answer>,
        /// The subscriber's own wish for the next attempt (`Retry-After` on 429 and 503), without an answer our own.
        retry_after: Option<Duration>,
        elapsed: Duration,
        jitter: u16,
    },
}

/// What a report changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing: the request or attempt is not there any more.
    Stale,
    /// A subscription became active.
    Activated,
    /// An active subscription was renewed.
    Renewed,
    /// An active subscription goes when the attempt under way has ended.
    Leaving,
    /// A verification failed; nothing else changed.
    Rejected,
    /// The request waits again.
    Waiting,
    /// The subscription stays.
    Kept,
    /// The subscription is gone.
    Removed(RemovalReason),
}

/// What [`Store::publish`](super::Store::publish) changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// URLs of topics whose digest is new.
    pub changed: Vec<String>,
    /// URLs of topics that hold something that is at least as new as what was to be published.
    pub older: Vec<String>,
    /// Subscriptions removed because their topic is no longer one.
    pub withdrawn: usize,
}

/// What [`Store::copy_from`](super::Store::copy_from) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Subscriptions that were not there, or in an earlier state.
    pub copied: u64,
    /// Subscriptions that were there in this state or a later one.
    pub known: u64,
    pub requests: u64,
}

/// How much is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub subscriptions: u64,
    pub requests: u64,
    /// Subscriptions that are owed content, due or waiting for a retry.
    pub owed: u64,
    /// Those of them whose next attempt could begin now, or is under way.
    pub due: u64,
    /// The earliest moment for which one of those was set; [`Moment::ZERO`] where it was due at once.
    pub due_since: Option<Moment>,
}

/// A subscription with the pair that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub id: i64,
    pub topic: String,
    pub callback: Callback,
    /// Digest of what the topic holds.
    pub current: [u8; 32],
    /// Whether that is still to be delivered.
    pub owed: bool,
    pub state: Subscription,
}

/// A request that waits for its verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// Its id, which is not that of a subscription.
    pub id: i64,
    pub mode: Mode,
    pub topic: String,
    /// The topic's URL as the subscriber gave it.
    pub topic_given: String,
    pub callback: Callback,
    pub lease_s: u32,
    /// Pending: its attempts are verifications.
    pub state: Subscription,
}

/// A subscription that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    pub id: i64,
    pub topic: String,
    pub host: String,
    pub removal: RemovalReason,
    pub at: Moment,
    pub last: Option<Ended>,
    pub created_at: Moment,
}

/// What an operator can tell the hub about a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// Remove it, with a denial.
    Remove,
    /// Send what is owed now.
    Retry,
}
