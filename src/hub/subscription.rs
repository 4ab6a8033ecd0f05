//! The life of one subscription: rules without I/O, `now` handed in.
//!
//! A request waits for its verification in a row of its own (pending); what follows is this table.
//!
//! | phase | event | next phase | also |
//! |---|---|---|---|
//! | none | verified subscribe | active | what the topic held when the request was accepted counts as delivered |
//! | none | verified unsubscribe | none | |
//! | active | verified subscribe | active | new secret and lease, failures 0, next attempt at once; the content owed stays owed |
//! | active, no attempt under way | verified unsubscribe | none | tombstone |
//! | active, an attempt under way | verified unsubscribe | unsubscribing | nothing more is sent |
//! | unsubscribing | verified subscribe | active | as for an active one; the attempt goes on |
//! | unsubscribing | attempt ended | none | tombstone |
//! | active | attempt begun | active | digest stored, not acknowledged |
//! | active | attempt acknowledged | active | failures 0 |
//! | active | attempt failed, fewer than the limit | active | the next attempt waits |
//! | active | attempt failed, the limit reached; or answered 410 | none | tombstone, denial |
//! | active | lease checked after its end, no attempt under way | none | tombstone |
//! | active | topic withdrawn, or the operator's removal | none | tombstone, denial |
//!
//! An attempt under way cannot be called back, and a subscriber that subscribes again must not get its content after a
//! newer one. So a subscription that its subscriber ends outlives its attempt, and with that the next one of the same pair
//! waits. The operator's command and a withdrawn topic end it at once.
//!
//! Failed verifications change nothing. What is owed follows from the state alone: a subscription is due unless the
//! digest of its last begun attempt is the topic's current one and was acknowledged.

use std::time::Duration;

use super::moment::Moment;
pub use super::outcome::{Answer, Ended, Failure, Outcome, RemovalReason};
pub use super::policy::{Leases, Policy};
use super::request::Secret;

/// A subscription, without the pair of topic and callback that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Whether it is active, or only waits for the end of an attempt.
    pub phase: Phase,
    /// Key of the signatures; without one nothing is signed.
    pub secret: Option<Secret>,
    /// When the lease ends; nothing is delivered from then on.
    pub lease_end: Moment,
    /// Digest of the last begun attempt, or of what the topic held when the request was accepted.
    pub digest: [u8; 32],
    /// Whether that attempt got a 2xx.
    pub acknowledged: bool,
    /// Consecutive failed deliveries.
    pub failures: u32,
    /// No attempt before this moment.
    pub next_at: Moment,
    /// Whether an attempt is under way.
    pub claimed: bool,
    /// Number of the last begun attempt: an answer to any other is stale.
    pub attempt: u64,
    /// How long the last attempt took.
    pub elapsed_ms: u32,
    /// When the subscription became active.
    pub created_at: Moment,
    /// When it was last verified.
    pub verified_at: Moment,
    /// How the last attempt ended, and when.
    pub last: Option<Ended>,
}

/// Where a subscription stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It gets what changes.
    Active {
        /// Seconds granted with the last verification.
        lease_s: u32,
    },
    /// Its subscriber has ended it, and it goes with the attempt under way.
    Unsubscribing,
}

/// What a verified request to subscribe brings.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) secret: Option<Secret>,
    pub(super) lease_s: u32,
    /// When the verification request went out: the lease counts from then (WebSub §5.3).
    pub(super) asked_at: Moment,
}

impl Subscription {
    /// Begins one that counts the content `accepted` as delivered.
    pub(super) fn activate(grant: Grant, accepted: [u8; 32], now: Moment) -> Subscription {
        let mut subscription = Subscription {
            phase: Phase::Unsubscribing,
            secret: None,
            lease_end: now,
            digest: accepted,
            acknowledged: true,
            failures: 0,
            next_at: Moment::ZERO,
            claimed: false,
            attempt: 0,
            elapsed_ms: 0,
            created_at: now,
            verified_at: now,
            last: None,
        };
        subscription.renew(grant, now);
        subscription
    }

    /// Takes secret and lease of a verified request.
    pub(super) fn renew(&mut self, grant: Grant, now: Moment) {
        let lease = Duration::from_secs(grant.lease_s.into());
        self.phase = Phase::Active {
            lease_s: grant.lease_s,
        };
        self.secret = grant.secret;
        self.lease_end = grant.asked_at.plus(lease);
        self.verified_at = now;
        self.failures = 0;
        self.retry();
    }

    /// Ends it by the subscriber's verified word: now, or as soon as the attempt under way has ended.
    pub(super) fn unsubscribe(&mut self, now: Moment) -> Option<RemovalReason> {
        if !self.claimed {
            return Some(RemovalReason::Unsubscribed);
        }
        self.phase = Phase::Unsubscribing;
        self.lease_end = now;
        self.verified_at = now;
        None
    }

    /// Begins an attempt to deliver the content with this digest, before it is sent.
    pub(super) fn begin(&mut self, digest: [u8; 32]) {
        self.digest = digest;
        self.acknowledged = false;
        self.claimed = true;
        self.attempt += 1;
    }

    /// Books the end of the attempt under way. `jitter` is random, all values alike.
    pub(super) fn end(
        &mut self,
        outcome: &Outcome,
        elapsed: Duration,
        jitter: u16,
        policy: &Policy,
        now: Moment,
    ) -> Option<RemovalReason> {
        self.claimed = false;
        self.elapsed_ms = u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX);
        let removal = match *outcome {
            Outcome::Deferred => {
                self.next_at = now.plus(DEFERRED_DELAY);
                None
            }
            Outcome::Attempted {
                answer,
                retry_after,
            } => {
                self.last = Some(Ended { at: now, answer });
                self.book(answer, retry_after, jitter, policy, now)
            }
        };
        match self.phase {
            Phase::Unsubscribing => Some(RemovalReason::Unsubscribed),
            Phase::Active { .. } => removal,
        }
    }

    fn book(
        &mut self,
        answer: Answer,
        retry_after: Option<Duration>,
        jitter: u16,
        policy: &Policy,
        now: Moment,
    ) -> Option<RemovalReason> {
        if answer.is_success() {
            self.acknowledged = true;
            self.failures = 0;
            self.next_at = Moment::ZERO;
            return None;
        }
        if answer == Answer::Status(410) {
            return Some(RemovalReason::Gone);
        }
        self.failures = self.failures.saturating_add(1);
        self.next_at = now.plus(policy.delay(self.failures, retry_after, jitter));
        (self.failures >= policy.failures_max).then_some(RemovalReason::Failures)
    }

    /// Gives up an attempt whose process is gone: what it had begun is due again.
    pub(super) fn release(&mut self) {
        self.claimed = false;
        self.next_at = Moment::ZERO;
    }

    /// Brings the next attempt forward, unless one is under way.
    pub(super) fn retry(&mut self) {
        if !self.claimed {
            self.next_at = Moment::ZERO;
        }
    }

    /// Tells why it ends now, if its lease is over and no attempt under way.
    pub(super) fn check_lease(&self, now: Moment) -> Option<RemovalReason> {
        let is_over = now >= self.lease_end && !self.claimed;
        is_over.then(|| self.removed(RemovalReason::LeaseEnded))
    }

    /// Returns why it ends by a decision here: a subscriber that has ended it itself needs no other reason.
    pub(super) fn removed(&self, removal: RemovalReason) -> RemovalReason {
        match self.phase {
            Phase::Unsubscribing => RemovalReason::Unsubscribed,
            Phase::Active { .. } => removal,
        }
    }

    /// Tells whether the content with digest `current` is owed and may be sent at `now`.
    #[must_use]
    pub fn is_due(&self, current: &[u8; 32], now: Moment) -> bool {
        self.is_owed(current) && !self.claimed && self.next_at <= now && now < self.lease_end
    }

    /// Tells whether the content with digest `current` is still to be delivered.
    pub(super) fn is_owed(&self, current: &[u8; 32]) -> bool {
        !(self.acknowledged && self.digest == *current)
    }

    /// Tells whether deliveries belong in the slow lane: there was none yet, or the last attempt failed or took long.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.attempt == 0 || self.failures > 0 || self.elapsed_ms >= SLOW_MS
    }
}

/// An attempt that took this long sends the next one to the slow lane.
const SLOW_MS: u32 = 1000;

/// The wait after an attempt that was not sent for a reason of ours.
const DEFERRED_DELAY: Duration = Duration::from_secs(1);

#[cfg(test)]
#[path = "subscription/tests.rs"]
mod tests;
