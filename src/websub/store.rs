//! What the hub keeps, and what of it must be atomic.
//!
//! One method of [`Store`] is one transaction: when it returns `Ok`, all of it is on disk and survives the loss of
//! power; on an error nothing of it has happened. Methods take batches, so that one write to the disk serves many.
//! The transitions themselves are [`step`](super::subscription::step): a store loads the state, steps, and saves.
//!
//! Several processes may have a store open (`reviewd hub` reads and removes while the service runs). Of a state
//! directory one of them delivers; of a database all do, and what a replica has claimed returns to the others when the
//! claim's deadline passes. Ids are never used twice.

mod error;
mod recorded;
mod view;

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

pub use error::{SCHEMA_VERSION, StoreError};
pub use recorded::{Recorded, Report};
pub use view::{AdminCommand, Counts, Listed, Tombstone, WaitingRequest};

use super::callback::Callback;
use super::moment::Moment;
use super::request::{HubRequest, Mode, Secret};
use super::subscription::{Policy, RemovalReason};
use super::transfer::{ExportedSubscription, ImportDecision};
use crate::wire::date::Timestamp;

/// A blocking store of the hub's state.
pub trait Store: Send {
    /// Makes `editions` what the topics of the hub hold. What follows from a changed digest needs no writing;
    /// subscriptions and requests for other topics are removed, the former with a denial. Where replicas share the
    /// store, an edition that is no newer than the topic's is passed over, and the topic stays as it is: of two with one
    /// date the first wins, so that no content is ever announced again without a later date.
    ///
    /// # Errors
    /// Those of every method: see [`StoreError`].
    fn publish(
        &mut self,
        versions: &[TopicVersion],
        policy: &Policy,
        now: Moment,
    ) -> Result<Published, StoreError>;

    /// Returns the body with that digest, if the store keeps bodies and this one: a replica that serves another edition
    /// sends the same bytes.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn body(&mut self, digest: &[u8; 32]) -> Result<Option<Bytes>, StoreError>;

    /// Keeps each request that `caps` leave room for; one that repeats a waiting one to the letter joins it. The
    /// answers are in the order of the requests.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError>;

    /// Tells what there may be to do, where looking costs less than claiming in vain; otherwise everything.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn pending_work(&mut self, _now: Moment) -> Result<PendingWork, StoreError> {
        Ok(PendingWork {
            requests: true,
            fast: true,
            slow: true,
            notices: true,
        })
    }

    /// Claims requests to be verified, those of active subscriptions first and then the oldest, at most one at a time for
    /// each pair of callback and topic. A claim counts as an attempt; a request has [`VERIFICATIONS_MAX`] in its life, all
    /// but the first [`UNREACHED_MAX`] after a crash.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn claim_requests(
        &mut self,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Verification>, StoreError>;

    /// Claims subscriptions that are due in the lane and begins an attempt for each: the topic's current digest is
    /// stored as begun before anything is sent.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// Takes denials that are to be sent at `now`, oldest first, out of the store.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn take_notices(&mut self, limit: usize, now: Moment) -> Result<Vec<DenialNotice>, StoreError>;

    /// Keeps a denial that could not be sent until [`DenialNotice::retry_at`]; `false` where that is over, or its pair has
    /// subscribed again.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn defer_notice(&mut self, notice: &DenialNotice, now: Moment) -> Result<bool, StoreError>;

    /// Books how verifications and attempts ended; the results are in the order of the reports.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Result<Vec<Recorded>, StoreError>;

    /// Ends leases that are over (unless a renewal is being verified), and drops tombstones older than `tombstone_age`.
    /// At most 1,000 leases at a time.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn sweep(
        &mut self,
        policy: &Policy,
        tombstone_age: Duration,
        now: Moment,
    ) -> Result<SweepReport, StoreError>;

    /// Takes over from a process that is gone: its claims return, requests that had all their attempts are dropped.
    /// If the clock stands before the last moment that was stored, every stored moment moves back with it.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn recover(&mut self, policy: &Policy, now: Moment) -> Result<(), StoreError>;

    /// Moves every stored moment by `by_ms`, because the clock jumped: leases neither end early nor late by it.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn shift(&mut self, by_ms: i64) -> Result<(), StoreError>;

    /// Notes for [`Store::is_paused`] that deliveries pause for `lasts` or until the next call, or that they go on.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn set_paused(&mut self, _lasts: Option<Duration>, _now: Moment) -> Result<(), StoreError> {
        Ok(())
    }

    /// Tells whether a process that delivers from this store has paused its deliveries.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn is_paused(&mut self, _now: Moment) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Counts what is there, and what of it is due.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn counts(&mut self, now: Moment) -> Result<Counts, StoreError>;

    /// Lists at most `limit` subscriptions with ids above `after`, by id.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn list(&mut self, after: i64, limit: usize, now: Moment) -> Result<Vec<Listed>, StoreError>;

    /// Lists at most `limit` tombstones, newest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn tombstones(&mut self, limit: usize) -> Result<Vec<Tombstone>, StoreError>;

    /// Lists at most `limit` requests that wait for their verification, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn requests(&mut self, _limit: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        Ok(Vec::new())
    }

    /// Applies the operator's word to a subscription; `false` when there is none with that id.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn apply_admin(
        &mut self,
        id: i64,
        order: AdminCommand,
        policy: &Policy,
        now: Moment,
    ) -> Result<bool, StoreError>;

    /// Takes over subscriptions of another store, each as [`adopt`](super::transfer::adopt) decides; the answers are in
    /// the order of the lines. [`Quotas`] do not bind the operator. A topic that is not here is taken along while no
    /// topic was ever published here, under a digest that is no content's.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn adopt(
        &mut self,
        moved: &[ExportedSubscription],
        now: Moment,
    ) -> Result<Vec<ImportDecision>, StoreError>;
}

/// What a topic holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicVersion {
    /// The topic's URL.
    pub url: String,
    /// SHA-256 of `body`.
    pub digest: [u8; 32],
    /// The dataset's `updated_at`: of two editions the later one is the newer.
    pub dated: Timestamp,
    /// The content.
    pub body: Bytes,
}

/// A request to keep, with the lease granted to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// What was asked.
    pub request: HubRequest,
    /// Seconds granted.
    pub lease_s: u32,
}

/// Bounds of what is kept; at each of them a request is refused and nothing else is given up for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Requests waiting for verification, in all.
    pub requests: u32,
    /// Requests waiting for verification, for one callback host.
    pub requests_per_host: u32,
    /// Subscriptions in all, those asked for included.
    pub subscriptions: u32,
    /// Subscriptions of one callback host, those asked for included.
    pub subscriptions_per_host: u32,
}

/// Which bound left no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaExceeded {
    /// [`Quotas::requests`].
    Requests,
    /// [`Quotas::requests_per_host`].
    RequestsOfHost,
    /// [`Quotas::subscriptions`].
    Subscriptions,
    /// [`Quotas::subscriptions_per_host`].
    SubscriptionsOfHost,
}

/// What there may be to do. What is `false` need not be asked for; what is `true` may be gone when it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// [`Store::claim_requests`] may find some.
    pub requests: bool,
    /// [`Store::claim_deliveries`] may find some in the fast lane.
    pub fast: bool,
    /// And some in the slow one.
    pub slow: bool,
    /// [`Store::take_notices`] may find some.
    pub notices: bool,
}

/// How much to claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// At most this many.
    pub limit: usize,
    /// Exchanges with one callback host at the same time.
    pub per_host: usize,
    /// Exchanges under way, by callback host.
    pub busy: &'a HashMap<String, usize>,
    /// When a claimed attempt counts as lost.
    pub until: Moment,
}

/// Which subscriptions to claim: those whose last attempt was quick and well, or the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The last attempt was quick and acknowledged.
    Fast,
    /// The last attempt failed or was slow.
    Slow,
}

/// A request to be verified now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The request's id.
    pub id: i64,
    /// What is to be confirmed.
    pub mode: Mode,
    /// The topic's URL as the subscriber gave it.
    pub topic_given: String,
    /// Whom to ask.
    pub callback: Callback,
    /// Seconds granted.
    pub lease_s: u32,
}

/// An attempt that has begun in the store and is now to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The subscription's id.
    pub id: i64,
    /// The attempt's number.
    pub attempt: u64,
    /// The topic's URL.
    pub topic: String,
    /// Digest of the content to send.
    pub digest: [u8; 32],
    /// Where to.
    pub callback: Callback,
    /// Key of the signature.
    pub secret: Option<Secret>,
}

/// A denial to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenialNotice {
    /// The topic's URL.
    pub topic: String,
    /// Whom to tell.
    pub callback: Callback,
    /// Why.
    pub removal: RemovalReason,
    /// When the subscription ended.
    pub since: Moment,
    /// How often it could not be sent.
    pub attempts: u32,
}

impl DenialNotice {
    /// Returns when a denial that could not be sent at `now` is sent again: after 1, 4, 16 and then 60 minutes, `None` a
    /// day after the subscription ended. Our choice: a host that is down for a night still hears of it.
    #[must_use]
    pub fn retry_at(&self, now: Moment) -> Option<Moment> {
        let delay = NOTICE_DELAY * 4_u32.saturating_pow(self.attempts.min(3));
        let is_over = now.since(self.since) >= NOTICE_TIME;
        (!is_over).then(|| now.plus(delay.min(NOTICE_DELAY_MAX)))
    }
}

/// What [`Store::publish`] changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// URLs of topics whose digest is new.
    pub changed: Vec<String>,
    /// URLs of topics that hold something newer: whoever has published this is behind.
    pub older: Vec<String>,
    /// URLs of topics that hold something else of the same date: the first that was published stays.
    pub rivals: Vec<String>,
    /// Subscriptions removed because their topic is no longer one.
    pub withdrawn: usize,
}

/// What [`Store::sweep`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Leases that ended.
    pub expired: usize,
    /// Subscriptions that their subscribers had ended, and whose attempt counts as lost.
    pub left: usize,
    /// Tombstones dropped.
    pub tombstones: usize,
}

/// Attempts to verify one request: one, and one more for each crash of ours that cut it short. Nobody knows whether the
/// one that was cut short had been sent, so a low bound would drop requests that were never asked for confirmation;
/// without any, a request that crashes us would do so for ever.
pub const VERIFICATIONS_MAX: u32 = 5;

/// Attempts to verify one request whose callback host is not reached.
pub const UNREACHED_MAX: u32 = 3;

/// The digest of a topic that was never published: it came with a subscription of another store.
pub const UNPUBLISHED: [u8; 32] = [0; 32];

/// The first and the longest wait before a denial is sent again, and for how long that goes on.
const NOTICE_DELAY: Duration = Duration::from_secs(60);
const NOTICE_DELAY_MAX: Duration = Duration::from_secs(3_600);
const NOTICE_TIME: Duration = Duration::from_secs(86_400);

/// Tombstones and denials kept, each; beyond it the oldest go. Our choice: a few megabytes at most.
pub const TOMBSTONES_MAX: usize = 10_000;

/// Leases ended by one sweep, so that no transaction grows without bound.
pub const SWEEP_MAX: usize = 1_000;
