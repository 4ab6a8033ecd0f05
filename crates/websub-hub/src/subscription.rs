//! The state machine of one subscription: rules without I/O; callers pass `now`.
//!
//! | phase | event | next phase | also |
//! |---|---|---|---|
//! | none | accepted request | pending | the topic's current content counts as delivered |
//! | pending | verification begun | pending | counts as an attempt, even after a crash |
//! | pending | not sent, for a reason on our side | pending | the attempt does not count |
//! | pending | callback not reached, fewer than three attempts | pending | the next attempt is delayed |
//! | pending | refused, not reached in three attempts, or five attempts and a crash | none | nothing else changes |
//! | pending | confirmed subscribe | active | |
//! | active | confirmed subscribe | active | new secret and lease, failures 0; undelivered content is sent at once |
//! | active, no attempt in progress | confirmed unsubscribe | none | tombstone |
//! | active, an attempt in progress | confirmed unsubscribe | unsubscribing | no more attempts |
//! | unsubscribing | confirmed subscribe | active | as for an active one; the attempt continues |
//! | unsubscribing | attempt ended | none | tombstone |
//! | active | attempt begun | active | digest stored, not acknowledged |
//! | active | attempt acknowledged | active | failures 0 |
//! | active | attempt failed, fewer than the limit | active | the next attempt is delayed |
//! | active | attempt failed, the limit reached; or answered 410 | none | tombstone, denial |
//! | active | lease checked after its end, no attempt in progress | none | tombstone |
//! | active | no attempt acknowledged, three days after the first began | none | tombstone, denial |
//! | active | topic withdrawn, or removed by the operator | none | tombstone, denial |
//!
//! A pair of callback and topic may have an active subscription and pending requests to renew or to end it: a request
//! changes nothing until it is confirmed.
//!
//! An attempt in progress cannot be cancelled, and a subscriber that subscribes again must not get its content after
//! newer content. So a subscription that its subscriber ends stays until the attempt ends, and delays the next attempt
//! of the same pair. The operator's command and a withdrawn topic end it at once.
//!
//! Pending content follows from the state alone: a subscription is due unless its last begun attempt was acknowledged
//! and had the topic's current digest.

use std::fmt;
use std::time::Duration;

use super::request::Secret;
use super::scheduler::Rank;
use super::unix_millis::UnixMillis;

/// Attempts to verify one request: one, and one more for each crash of the program during an attempt. It is unknown whether
/// an interrupted attempt was sent, so a low limit would drop requests that were never verified; without a limit, a
/// request that crashes the program would do so forever.
pub const VERIFICATIONS_MAX: u32 = 5;

/// Largest number of attempts to verify one request whose callback host is not reached.
pub const UNREACHED_MAX: u32 = 3;

/// Largest reduction of a default lease, in percent.
const LEASE_JITTER_PCT: u64 = 5;

/// How long a subscription that never acknowledged a delivery may owe one, and how long an acknowledgement is evidence
/// that a host can be reached. Our choice: a subscriber that fails over a weekend keeps its subscription.
pub const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The delay after an attempt that was not sent, for a reason on our side, unless its report has a delay.
const DEFERRED_DELAY: Duration = Duration::from_secs(1);

/// A subscription, without the pair of topic and callback that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The phase.
    pub phase: Phase,
    /// Key of the signatures; without it content is not signed.
    pub secret: Option<Secret>,
    /// When the lease ends; nothing is delivered from then on.
    pub lease_end: UnixMillis,
    /// Digest of the last begun attempt, or of the topic's content when the request was accepted.
    pub digest: [u8; 32],
    /// Whether that attempt got a 2xx; true before the first attempt.
    pub acknowledged: bool,
    /// Consecutive failed deliveries.
    pub failures: u32,
    /// The earliest time of the next attempt.
    pub next_at: UnixMillis,
    /// Whether an attempt is in progress.
    pub claimed: bool,
    /// Number of the last begun attempt; the result of any other is stale.
    pub attempt: u32,
    /// When a delivery was last acknowledged.
    pub acknowledged_at: Option<UnixMillis>,
    /// When the first attempt after `acknowledged_at` began; `None` if there was none.
    pub owed_since: Option<UnixMillis>,
    /// How long the last attempt took.
    pub elapsed_ms: u32,
    /// When the subscription became active.
    pub created_at: UnixMillis,
    /// When it was last verified.
    pub verified_at: UnixMillis,
    /// The result of the last attempt.
    pub last: Option<LastAttempt>,
}

/// The phase of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A request to subscribe or to unsubscribe that is not confirmed yet. Its attempts are verifications.
    Pending {
        /// Lease that begins with a confirmation, in seconds.
        lease_s: u32,
    },
    /// New content is delivered.
    Active {
        /// Lease granted at the last verification, in seconds.
        lease_s: u32,
    },
    /// The subscriber has ended it; it is removed when the attempt in progress ends.
    Unsubscribing,
}

impl Subscription {
    /// Creates a pending one, requested at `now`, while its topic's content has `digest`.
    #[must_use]
    pub fn request(
        lease_s: u32,
        secret: Option<Secret>,
        digest: [u8; 32],
        now: UnixMillis,
    ) -> Subscription {
        Subscription {
            phase: Phase::Pending { lease_s },
            secret,
            lease_end: now,
            digest,
            acknowledged: true,
            failures: 0,
            next_at: UnixMillis::ZERO,
            claimed: false,
            attempt: 0,
            acknowledged_at: None,
            owed_since: None,
            elapsed_ms: 0,
            created_at: now,
            verified_at: now,
            last: None,
        }
    }

    /// Begins a verification of a pending subscription.
    pub(super) fn begin_verification(&mut self) {
        self.claimed = true;
        self.attempt += 1;
    }

    /// Records that the callback was not reached. No `result` means that nothing was sent, for a reason on our side:
    /// that does not count as an attempt, and is retried after a second. Returns false if there is no retry.
    pub(super) fn defer(
        &mut self,
        result: Option<AttemptResult>,
        delay: Duration,
        now: UnixMillis,
    ) -> bool {
        self.claimed = false;
        let Some(result) = result else {
            self.attempt = self.attempt.saturating_sub(1);
            self.next_at = now.plus(DEFERRED_DELAY);
            return true;
        };
        self.next_at = now.plus(delay);
        self.last = Some(LastAttempt { at: now, result });
        self.attempt < UNREACHED_MAX
    }

    /// Makes a pending subscription active after a confirmed verification, which was sent at `asked_at`.
    pub(super) fn activate(self, asked_at: UnixMillis, now: UnixMillis) -> Subscription {
        let mut active = Subscription::request(0, None, self.digest, now);
        active.renew(self, asked_at, now);
        active
    }

    /// Copies secret and lease of a confirmed request. The lease counts from the verification (WebSub §5.3).
    pub(super) fn renew(&mut self, request: Subscription, asked_at: UnixMillis, now: UnixMillis) {
        let (Phase::Pending { lease_s } | Phase::Active { lease_s }) = request.phase else {
            return;
        };
        self.phase = Phase::Active { lease_s };
        self.secret = request.secret;
        self.lease_end = asked_at.plus(Duration::from_secs(lease_s.into()));
        self.verified_at = now;
        self.failures = 0;
        self.retry();
    }

    /// Ends it after a confirmed unsubscription: now, or as soon as the attempt in progress has ended.
    pub(super) fn unsubscribe(&mut self, now: UnixMillis) -> Option<RemovalReason> {
        if !self.claimed {
            return Some(RemovalReason::Unsubscribed);
        }
        self.phase = Phase::Unsubscribing;
        self.lease_end = now;
        self.verified_at = now;
        None
    }

    /// Begins an attempt to deliver the content with this digest, before it is sent.
    pub(super) fn begin(&mut self, digest: [u8; 32], now: UnixMillis) {
        self.digest = digest;
        self.acknowledged = false;
        self.owed_since = self.owed_since.or(Some(now));
        self.claimed = true;
        self.attempt += 1;
    }

    /// Records the result of the attempt: 2xx acknowledges, 410 removes, any other status is a failure.
    pub(super) fn end(
        &mut self,
        delivery: &DeliveryResult,
        policy: &FailurePolicy,
        now: UnixMillis,
    ) -> Option<RemovalReason> {
        self.claimed = false;
        self.elapsed_ms = u32::try_from(delivery.elapsed.as_millis()).unwrap_or(u32::MAX);
        if let Some(result) = delivery.result {
            self.last = Some(LastAttempt { at: now, result });
        }
        let mut removal = None;
        match delivery.result {
            None => self.next_at = now.plus(delivery.retry_after.unwrap_or(DEFERRED_DELAY)),
            Some(AttemptResult::Status(410)) => removal = Some(RemovalReason::Gone),
            Some(result) if result.is_success() => {
                self.acknowledged = true;
                self.acknowledged_at = Some(now);
                self.owed_since = None;
                self.failures = 0;
                self.next_at = UnixMillis::ZERO;
            }
            Some(_) => {
                self.failures = self.failures.saturating_add(1);
                let delay = policy.delay(self.failures, delivery.retry_after, delivery.jitter);
                self.next_at = now.plus(delay);
                if self.failures >= policy.failures_max {
                    removal = Some(RemovalReason::Failures);
                }
            }
        }
        match self.phase {
            Phase::Unsubscribing => Some(RemovalReason::Unsubscribed),
            Phase::Active { .. } | Phase::Pending { .. } => removal,
        }
    }

    /// Brings the next attempt forward, unless one is in progress.
    pub(super) fn retry(&mut self) {
        if !self.claimed {
            self.next_at = UnixMillis::ZERO;
        }
    }

    /// Returns why it ends now, unless an attempt is in progress: its lease is over, or it has owed an acknowledgement
    /// for [`UNACKNOWLEDGED_MAX`] and has never sent one.
    pub(super) fn check_end(&self, now: UnixMillis) -> Option<RemovalReason> {
        if self.claimed {
            return None;
        }
        if now >= self.lease_end {
            return Some(self.removal_by_us(RemovalReason::LeaseEnded));
        }
        let owed_since = self.owed_since?;
        if self.acknowledged_at.is_none() && owed_since.plus(UNACKNOWLEDGED_MAX) <= now {
            return Some(self.removal_by_us(RemovalReason::NeverAcknowledged));
        }
        None
    }

    /// Returns the reason of a removal on our side: `removal`, unless the subscriber has already ended it.
    pub(super) fn removal_by_us(&self, removal: RemovalReason) -> RemovalReason {
        match self.phase {
            Phase::Unsubscribing => RemovalReason::Unsubscribed,
            Phase::Active { .. } | Phase::Pending { .. } => removal,
        }
    }

    /// Tells whether the content with digest `current` is undelivered and may be sent at `now`.
    #[must_use]
    pub fn is_due(&self, current: &[u8; 32], now: UnixMillis) -> bool {
        self.is_undelivered(current) && !self.claimed && self.next_at <= now && now < self.lease_end
    }

    /// Tells whether the content with digest `current` is undelivered.
    pub(super) fn is_undelivered(&self, current: &[u8; 32]) -> bool {
        !(self.acknowledged && self.digest == *current)
    }

    /// Returns the precedence of the next delivery.
    #[must_use]
    pub fn rank(&self) -> Rank {
        Rank::of(self.acknowledged_at.is_some(), !self.acknowledged)
    }

    /// Tells whether a delivery was acknowledged so lately that a failure to reach the host is evidence of a failure of
    /// our own network.
    pub(super) fn is_evidence(&self, now: UnixMillis) -> bool {
        self.acknowledged_at
            .is_some_and(|at| now <= at.plus(UNACKNOWLEDGED_MAX))
    }
}

/// How an attempt to deliver ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryResult {
    /// The number of the attempt.
    pub attempt: u32,
    /// `None` if nothing arrived, for a reason on our side, which is no failure.
    pub result: Option<AttemptResult>,
    /// Delay of the next attempt: `Retry-After` of a 429 or 503, or our own delay if there is no result.
    pub retry_after: Option<Duration>,
    /// How long the attempt took.
    pub elapsed: Duration,
    /// A uniformly random number, for the delay of the next attempt.
    pub jitter: u16,
}

/// The result of an attempt, as shown to the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastAttempt {
    /// When it ended.
    pub at: UnixMillis,
    /// The result.
    pub result: AttemptResult,
}

/// The result of an attempt: of one HTTP request to a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptResult {
    /// A response with this status.
    Status(u16),
    /// No response.
    Failed(AttemptFailure),
}

/// Why there was no response. The cause is the subscriber or the network in between, except for `Internal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptFailure {
    /// The name did not resolve.
    Resolve,
    /// The guard refuses an address of the host.
    Blocked,
    /// The connection was not established.
    Connect,
    /// The TLS handshake failed: wrong certificate, wrong name, protocol error.
    Tls,
    /// The deadline passed.
    Timeout,
    /// The connection broke, or the response was not HTTP.
    Protocol,
    /// A failure of this program.
    Internal,
}

/// Why a subscription ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemovalReason {
    /// The subscriber unsubscribed and confirmed it.
    Unsubscribed,
    /// The lease ended without a renewal.
    LeaseEnded,
    /// Too many consecutive failed deliveries.
    Failures,
    /// The callback answered 410.
    Gone,
    /// The topic is no longer served.
    TopicWithdrawn,
    /// The operator removed it.
    Operator,
    /// It was owed a delivery for three days, and has never acknowledged one.
    NeverAcknowledged,
}

impl RemovalReason {
    /// Every reason with its name in the store and in metrics, and with the `hub.reason` of the denial. There is no
    /// denial if the subscriber knows the reason: it has unsubscribed, or has let its lease end.
    pub const ALL: [(RemovalReason, &str, Option<&str>); 7] = [
        (RemovalReason::Unsubscribed, "unsubscribed", None),
        (RemovalReason::LeaseEnded, "lease_ended", None),
        (
            RemovalReason::Failures,
            "failures",
            Some("too many consecutive deliveries failed"),
        ),
        (
            RemovalReason::Gone,
            "gone",
            Some("the callback responded with 410 Gone"),
        ),
        (
            RemovalReason::TopicWithdrawn,
            "topic_withdrawn",
            Some("the topic is no longer served here"),
        ),
        (
            RemovalReason::Operator,
            "operator",
            Some("the operator removed the subscription"),
        ),
        (
            RemovalReason::NeverAcknowledged,
            "never_acknowledged",
            Some("no delivery was acknowledged for three days"),
        ),
    ];

    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        RemovalReason::ALL[self as usize].1
    }

    /// Returns the `hub.reason` of the denial; `None` if no denial is sent.
    pub(super) fn denial_text(self) -> Option<&'static str> {
        RemovalReason::ALL[self as usize].2
    }

    pub(super) fn from_name(name: &str) -> Option<RemovalReason> {
        let mut all = RemovalReason::ALL.into_iter();
        all.find(|entry| entry.1 == name).map(|entry| entry.0)
    }
}

impl AttemptFailure {
    /// Every failure with its name in the store, in the log and in metrics.
    pub const ALL: [(AttemptFailure, &str); 7] = [
        (AttemptFailure::Resolve, "resolve"),
        (AttemptFailure::Blocked, "blocked"),
        (AttemptFailure::Connect, "connect"),
        (AttemptFailure::Tls, "tls"),
        (AttemptFailure::Timeout, "timeout"),
        (AttemptFailure::Protocol, "protocol"),
        (AttemptFailure::Internal, "internal"),
    ];
}

impl fmt::Display for AttemptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(AttemptFailure::ALL[*self as usize].1)
    }
}

impl std::error::Error for AttemptFailure {}

impl AttemptResult {
    /// Tells whether it is any 2xx.
    pub(crate) fn is_success(self) -> bool {
        matches!(self, AttemptResult::Status(200..=299))
    }

    /// Tells whether the network prevented a response, which may be temporary.
    pub(crate) fn is_of_network(self) -> bool {
        use AttemptFailure::{Connect, Protocol, Resolve, Timeout};
        matches!(
            self,
            AttemptResult::Failed(Resolve | Connect | Timeout | Protocol)
        )
    }

    /// Parses the output of `Display`.
    pub(crate) fn from_name(name: &str) -> Option<AttemptResult> {
        if let Ok(status) = name.parse() {
            return Some(AttemptResult::Status(status));
        }
        let mut failures = AttemptFailure::ALL.into_iter();
        let entry = failures.find(|entry| entry.1 == name)?;
        Some(AttemptResult::Failed(entry.0))
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttemptResult::Status(status) => write!(f, "{status}"),
            AttemptResult::Failed(failure) => failure.fmt(f),
        }
    }
}

/// When a failed delivery is retried, and how many failures remove a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailurePolicy {
    /// Consecutive failed deliveries that remove a subscription, 1 or more.
    pub failures_max: u32,
    /// Delays after the first failure, the second, and so on; the last one repeats. Never empty.
    pub retry_delays: Vec<Duration>,
    /// Largest `Retry-After` of a subscriber that is honored.
    pub retry_after_max: Duration,
}

/// Limits and default of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leases {
    /// Shortest lease granted, in seconds.
    pub min_s: u32,
    /// Lease if none is requested, in seconds.
    pub default_s: u32,
    /// Longest lease granted, in seconds.
    pub max_s: u32,
}

impl Leases {
    /// Returns the granted seconds: the requested lease, clamped; without one the default, shortened by up to 5 % so
    /// that leases granted together do not end together. `jitter` is uniformly random.
    pub(super) fn grant(&self, asked_s: Option<u64>, jitter: u16) -> u32 {
        let default_s = u64::from(self.default_s);
        let most = default_s * LEASE_JITTER_PCT / 100;
        let less = most * u64::from(jitter) / u64::from(u16::MAX);
        let lease_s = asked_s.unwrap_or(default_s - less);
        u32::try_from(lease_s)
            .unwrap_or(u32::MAX)
            .clamp(self.min_s, self.max_s)
    }
}

impl FailurePolicy {
    /// Returns the delay after the `failures`-th failure in a row: the configured one plus up to a quarter, or
    /// `retry_after` within its limit if that is longer.
    pub(crate) fn delay(
        &self,
        failures: u32,
        retry_after: Option<Duration>,
        jitter: u16,
    ) -> Duration {
        let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        let delays = &self.retry_delays;
        let configured = delays
            .get(index)
            .or(delays.last())
            .copied()
            .unwrap_or(Duration::ZERO);
        let extra = configured.saturating_mul(u32::from(jitter)) / (4 * u32::from(u16::MAX));
        let wish = retry_after.unwrap_or_default().min(self.retry_after_max);
        configured.saturating_add(extra).max(wish)
    }
}

#[cfg(test)]
#[path = "subscription/tests.rs"]
mod tests;
