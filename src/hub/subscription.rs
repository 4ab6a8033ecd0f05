//! The life of one subscription: a state and an event in, the next state and what else happens out.
//!
//! | state | event | next state | also |
//! |---|---|---|---|
//! | none | verified subscribe | active | what the topic held when the request was accepted counts as delivered |
//! | none | verified unsubscribe | none | |
//! | active | verified subscribe | active | new secret and lease, failures 0, next attempt at once; the content owed stays owed |
//! | active, no attempt under way | verified unsubscribe | none | tombstone |
//! | active, an attempt under way | verified unsubscribe | leaving | nothing more is sent |
//! | leaving | verified subscribe | active | as for an active one; the attempt goes on |
//! | leaving | attempt ended | none | tombstone |
//! | active | attempt begun | active | digest stored, not acknowledged |
//! | active | attempt acknowledged | active | failures 0 |
//! | active | attempt failed, fewer than the limit | active | the next attempt waits |
//! | active | attempt failed, the limit reached | none | tombstone, denial |
//! | active | attempt answered 410 | none | tombstone, denial |
//! | active | lease checked after its end, no attempt under way | none | tombstone |
//! | active | topic withdrawn, or the operator's removal | none | tombstone, denial |
//!
//! An attempt under way cannot be called back, and whoever subscribes again must not get its content after a newer one.
//! So a subscription that its subscriber ends outlives its attempt, and with that the next one of the same pair waits.
//! The operator's word and a topic that is gone end it at once.
//!
//! Failed verifications are not events: they change nothing. What is owed follows from the state alone: a
//! subscription is due unless the digest of its last begun attempt is the topic's current one and was acknowledged.

use std::time::Duration;

use super::moment::Moment;
pub use super::policy::{Leases, Policy};
pub use super::removal::RemovalReason;
use super::request::{Mode, Secret};

/// An active subscription, without the pair of topic and callback that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Key of the signatures; without one nothing is signed.
    pub secret: Option<Secret>,
    /// Seconds granted with the last verification; 0 when that ended the subscription, which leaves when the attempt
    /// under way has ended.
    pub lease_s: u32,
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

/// The end of an attempt, as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it ended.
    pub at: Moment,
    /// What came of it.
    pub answer: Answer,
}

/// What came of an HTTP exchange with a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// An answer with this status.
    Status(u16),
    /// No answer.
    Failed(Failure),
}

/// Why there was no answer. The culprit is the subscriber or the network between, but for `Internal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The name did not resolve.
    Resolve,
    /// An address that the guard refuses.
    Blocked,
    /// No connection.
    Connect,
    /// No TLS: wrong certificate, wrong name, broken handshake.
    Tls,
    /// The deadline passed.
    Timeout,
    /// The connection broke, or what came was not HTTP.
    Protocol,
    /// A fault of ours.
    Internal,
}

/// How an attempt to deliver ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An answer, or none; any 2xx acknowledges, 410 removes, all else is a failure.
    Attempted {
        /// What came.
        answer: Answer,
        /// The subscriber's own wish for the next attempt (`Retry-After` on 429 and 503).
        retry_after: Option<Duration>,
    },
    /// Nothing was sent, for a reason of ours: not a failure, tried again after a second.
    Deferred,
}

/// What happens to a subscription.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The subscriber confirmed a request.
    Verified {
        /// Subscribe or unsubscribe.
        mode: Mode,
        /// The key that the request brought.
        secret: Option<&'a Secret>,
        /// Seconds granted.
        lease_s: u32,
        /// When the verification request went out: the lease counts from then (WebSub §5.3).
        asked_at: Moment,
        /// Digest of what the topic held when the request was accepted.
        accepted: [u8; 32],
    },
    /// An attempt to deliver the content with this digest is about to be sent.
    Begun {
        /// Digest of the content.
        digest: [u8; 32],
    },
    /// An attempt ended.
    Ended {
        /// Its number.
        attempt: u64,
        /// Its end.
        outcome: &'a Outcome,
        /// How long it took.
        elapsed: Duration,
        /// Randomness for the next delay, all values alike.
        jitter: u16,
    },
    /// The process that had begun an attempt is gone.
    Released,
    /// Time to look at the lease.
    LeaseChecked,
    /// The topic is no longer ours.
    TopicWithdrawn,
    /// The operator removes it.
    Removed,
    /// The operator wants what is owed sent now.
    Retried,
}

/// The state after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The subscription, if there is one now.
    pub state: Option<Subscription>,
    /// Why there is none any more, if there was one before.
    pub removal: Option<RemovalReason>,
}

impl Subscription {
    /// Tells whether the content with digest `current` is owed and may be sent at `now`.
    #[must_use]
    pub fn is_due(&self, current: &[u8; 32], now: Moment) -> bool {
        let owed = !(self.acknowledged && self.digest == *current);
        owed && !self.claimed && self.next_at <= now && now < self.lease_end
    }

    /// Tells whether deliveries belong in the slow lane: the last attempt failed or took long.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.failures > 0 || self.elapsed_ms >= SLOW_MS
    }

    /// Tells whether the subscriber has ended it, and only the end of an attempt is waited for.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.lease_s == 0
    }

    fn activate(
        secret: Option<&Secret>,
        lease_s: u32,
        asked_at: Moment,
        accepted: [u8; 32],
        now: Moment,
    ) -> Subscription {
        Subscription {
            secret: secret.cloned(),
            lease_s,
            lease_end: asked_at.plus(Duration::from_secs(u64::from(lease_s))),
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
        }
    }

    fn renew(&mut self, secret: Option<&Secret>, lease_s: u32, asked_at: Moment, now: Moment) {
        self.secret = secret.cloned();
        self.lease_s = lease_s;
        self.lease_end = asked_at.plus(Duration::from_secs(u64::from(lease_s)));
        self.verified_at = now;
        self.failures = 0;
        if !self.claimed {
            self.next_at = Moment::ZERO;
        }
    }

    /// Ends it as soon as the attempt under way has ended.
    fn leave(&mut self, now: Moment) {
        self.lease_s = 0;
        self.lease_end = now;
        self.verified_at = now;
    }

    /// Books the end of the attempt under way; `Some` when it was one too many.
    fn end(
        &mut self,
        outcome: &Outcome,
        jitter: u16,
        now: Moment,
        policy: &Policy,
    ) -> Option<RemovalReason> {
        self.claimed = false;
        let Outcome::Attempted {
            answer,
            retry_after,
        } = outcome
        else {
            self.next_at = now.plus(WITHHELD_DELAY);
            return None;
        };
        self.last = Some(Ended {
            at: now,
            answer: *answer,
        });
        match answer {
            Answer::Status(200..=299) => {
                self.acknowledged = true;
                self.failures = 0;
                self.next_at = Moment::ZERO;
                None
            }
            Answer::Status(410) => Some(RemovalReason::Gone),
            _ => {
                self.failures = self.failures.saturating_add(1);
                self.next_at = now.plus(policy.delay(self.failures, *retry_after, jitter));
                (self.failures >= policy.failures_max).then_some(RemovalReason::Failures)
            }
        }
    }
}

impl Step {
    fn keep(state: Subscription) -> Step {
        Step {
            state: Some(state),
            removal: None,
        }
    }

    fn remove(removal: RemovalReason) -> Step {
        Step {
            state: None,
            removal: Some(removal),
        }
    }
}

/// Returns what `event` makes of `state` at `now`. Pure: the same arguments give the same step.
#[must_use]
pub fn step(state: Option<Subscription>, event: &Event<'_>, now: Moment, policy: &Policy) -> Step {
    match (state, event) {
        (
            None,
            Event::Verified {
                mode: Mode::Subscribe,
                secret,
                lease_s,
                asked_at,
                accepted,
            },
        ) => Step::keep(Subscription::activate(
            *secret, *lease_s, *asked_at, *accepted, now,
        )),
        // What is not there cannot change; answers to attempts of a former life are stale.
        (None, _) => Step {
            state: None,
            removal: None,
        },
        (Some(state), event) => step_active(state, event, now, policy),
    }
}

fn step_active(mut state: Subscription, event: &Event<'_>, now: Moment, policy: &Policy) -> Step {
    match event {
        Event::Verified {
            mode: Mode::Subscribe,
            secret,
            lease_s,
            asked_at,
            ..
        } => {
            state.renew(*secret, *lease_s, *asked_at, now);
        }
        Event::Verified {
            mode: Mode::Unsubscribe,
            ..
        } if state.claimed => state.leave(now),
        Event::Verified {
            mode: Mode::Unsubscribe,
            ..
        } => return Step::remove(RemovalReason::Unsubscribed),
        Event::Begun { digest } => {
            state.digest = *digest;
            state.acknowledged = false;
            state.claimed = true;
            state.attempt += 1;
        }
        Event::Ended {
            attempt,
            outcome,
            elapsed,
            jitter,
        } => {
            if state.claimed && state.attempt == *attempt {
                state.elapsed_ms = u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX);
                let removal = state.end(outcome, *jitter, now, policy);
                if state.is_leaving() {
                    return Step::remove(RemovalReason::Unsubscribed);
                }
                if let Some(removal) = removal {
                    return Step::remove(removal);
                }
            }
        }
        Event::Released => {
            if state.claimed {
                state.claimed = false;
                state.next_at = Moment::ZERO;
            }
        }
        Event::LeaseChecked if now < state.lease_end || state.claimed => {}
        Event::LeaseChecked if state.is_leaving() => {
            return Step::remove(RemovalReason::Unsubscribed);
        }
        Event::LeaseChecked => return Step::remove(RemovalReason::LeaseEnded),
        // The subscriber has been told enough by its own word.
        Event::TopicWithdrawn | Event::Removed if state.is_leaving() => {
            return Step::remove(RemovalReason::Unsubscribed);
        }
        Event::TopicWithdrawn => return Step::remove(RemovalReason::TopicWithdrawn),
        Event::Removed => return Step::remove(RemovalReason::Operator),
        Event::Retried => {
            if !state.claimed {
                state.next_at = Moment::ZERO;
            }
        }
    }
    Step::keep(state)
}

/// An attempt that took this long sends the next one to the slow lane.
pub const SLOW_MS: u32 = 1000;

/// The wait after an attempt that was not sent for a reason of ours.
const WITHHELD_DELAY: Duration = Duration::from_secs(1);

#[cfg(test)]
#[path = "subscription/tests.rs"]
mod tests;
