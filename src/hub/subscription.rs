//! The life of one subscription: rules without I/O, `now` handed in.
//!
//! | phase | event | next phase | also |
//! |---|---|---|---|
//! | none | accepted request | pending | what the topic holds counts as delivered |
//! | pending | verification begun | pending | counts as an attempt; a crash does not take it back |
//! | pending | not sent for a reason of ours | pending | the attempt does not count |
//! | pending | callback not reached, fewer than three attempts | pending | the next one waits |
//! | pending | refused, not reached, or five attempts and a crash | none | nothing else changes |
//! | pending | confirmed subscribe | active | |
//! | active | confirmed subscribe | active | new secret and lease, failures 0, next attempt at once; the content owed stays owed |
//! | active, no attempt under way | confirmed unsubscribe | none | tombstone |
//! | active, an attempt under way | confirmed unsubscribe | unsubscribing | nothing more is sent |
//! | unsubscribing | confirmed subscribe | active | as for an active one; the attempt goes on |
//! | unsubscribing | attempt ended | none | tombstone |
//! | active | attempt begun | active | digest stored, not acknowledged |
//! | active | attempt acknowledged | active | failures 0 |
//! | active | attempt failed, fewer than the limit | active | the next attempt waits |
//! | active | attempt failed, the limit reached; or answered 410 | none | tombstone, denial |
//! | active | lease checked after its end, no attempt under way | none | tombstone |
//! | active | topic withdrawn, or the operator's removal | none | tombstone, denial |
//!
//! A pair of callback and topic may have an active subscription and pending requests to renew or to end it: what is asked
//! changes nothing until it is confirmed.
//!
//! An attempt under way cannot be called back, and a subscriber that subscribes again must not get its content after a
//! newer one. So a subscription that its subscriber ends outlives its attempt, and with that the next one of the same pair
//! waits. The operator's command and a withdrawn topic end it at once.
//!
//! What is owed follows from the state alone: a subscription is due unless the
//! digest of its last begun attempt is the topic's current one and was acknowledged.

use std::fmt;
use std::time::Duration;

use super::moment::Moment;
use super::request::Secret;

/// A subscription, without the pair of topic and callback that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Where it stands.
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
    pub attempt: u32,
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
    /// A request to subscribe or to unsubscribe that is not confirmed yet. Its attempts are verifications.
    Pending {
        /// Seconds of the lease that a confirmation begins.
        lease_s: u32,
    },
    /// It gets what changes.
    Active {
        /// Seconds granted with the last verification.
        lease_s: u32,
    },
    /// Its subscriber has ended it, and it goes with the attempt under way.
    Unsubscribing,
}

impl Subscription {
    /// Makes one that is asked for at `now`, while its topic holds `digest`.
    #[must_use]
    pub fn request(
        lease_s: u32,
        secret: Option<Secret>,
        digest: [u8; 32],
        now: Moment,
    ) -> Subscription {
        Subscription {
            phase: Phase::Pending { lease_s },
            secret,
            lease_end: now,
            digest,
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

    /// Begins a verification of a pending one.
    pub(super) fn begin_verification(&mut self) {
        self.claimed = true;
        self.attempt += 1;
    }

    /// Records that the callback was not reached. Without an answer nothing was sent, for a reason of our own: that counts
    /// as no attempt and is tried again after a second. `false` when it is not tried again.
    pub(super) fn put_off(&mut self, answer: Option<Answer>, delay: Duration, now: Moment) -> bool {
        self.claimed = false;
        let Some(answer) = answer else {
            self.attempt = self.attempt.saturating_sub(1);
            self.next_at = now.plus(DEFERRED_DELAY);
            return true;
        };
        self.next_at = now.plus(delay);
        self.last = Some(Ended { at: now, answer });
        self.attempt < UNREACHED_MAX
    }

    /// Makes a pending one active that was confirmed when it was asked at `asked_at`.
    pub(super) fn activate(self, asked_at: Moment, now: Moment) -> Subscription {
        let mut active = Subscription::request(0, None, self.digest, now);
        active.renew(self, asked_at, now);
        active
    }

    /// Takes secret and lease of a confirmed request. The lease counts from the verification (WebSub §5.3).
    pub(super) fn renew(&mut self, request: Subscription, asked_at: Moment, now: Moment) {
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

    /// Records the end of the attempt under way: any 2xx acknowledges, 410 removes, any other answer is a failure. Without
    /// an answer nothing arrived, for a reason of our own, which is no failure. `jitter` is random, all values alike.
    pub(super) fn end(
        &mut self,
        answer: Option<Answer>,
        retry_after: Option<Duration>,
        elapsed: Duration,
        jitter: u16,
        policy: &Policy,
        now: Moment,
    ) -> Option<RemovalReason> {
        self.claimed = false;
        self.elapsed_ms = u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX);
        let ended = answer.map(|answer| Ended { at: now, answer });
        self.last = ended.or(self.last.take());
        let mut removal = None;
        match answer {
            None => self.next_at = now.plus(retry_after.unwrap_or(DEFERRED_DELAY)),
            Some(Answer::Status(410)) => removal = Some(RemovalReason::Gone),
            Some(answer) if answer.is_success() => {
                (self.acknowledged, self.failures) = (true, 0);
                self.next_at = Moment::ZERO;
            }
            Some(_) => {
                self.failures = self.failures.saturating_add(1);
                self.next_at = now.plus(policy.delay(self.failures, retry_after, jitter));
                let is_last = self.failures >= policy.failures_max;
                removal = is_last.then_some(RemovalReason::Failures);
            }
        }
        match self.phase {
            Phase::Unsubscribing => Some(RemovalReason::Unsubscribed),
            Phase::Active { .. } | Phase::Pending { .. } => removal,
        }
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
            Phase::Active { .. } | Phase::Pending { .. } => removal,
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

/// Why there was no answer. The fault lies with the subscriber or the network between, but for `Internal`.
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

/// Why a subscription ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemovalReason {
    /// The subscriber asked for it and confirmed.
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
}

impl RemovalReason {
    /// Every reason with its name in the store, in metrics and in `reviewd hub`, and with the `hub.reason` that tells the
    /// subscriber; `None` where the subscriber knows: it has unsubscribed, or it has let its lease end.
    pub const ALL: [(RemovalReason, &str, Option<&str>); 6] = [
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
            Some("the callback answered 410 Gone"),
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
    ];

    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        RemovalReason::ALL[self as usize].1
    }

    pub(super) fn reason(self) -> Option<&'static str> {
        RemovalReason::ALL[self as usize].2
    }

    pub(super) fn from_name(name: &str) -> Option<RemovalReason> {
        let mut all = RemovalReason::ALL.into_iter();
        all.find(|known| known.1 == name).map(|known| known.0)
    }
}

impl Failure {
    /// Every failure with its name in the store, in the log, in metrics and in `reviewd hub`.
    pub const ALL: [(Failure, &str); 7] = [
        (Failure::Resolve, "resolve"),
        (Failure::Blocked, "blocked"),
        (Failure::Connect, "connect"),
        (Failure::Tls, "tls"),
        (Failure::Timeout, "timeout"),
        (Failure::Protocol, "protocol"),
        (Failure::Internal, "internal"),
    ];
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Failure::ALL[*self as usize].1)
    }
}

impl std::error::Error for Failure {}

impl Answer {
    /// Tells whether it is any 2xx.
    pub(crate) fn is_success(self) -> bool {
        matches!(self, Answer::Status(200..=299))
    }

    /// Tells whether a fault of the network kept the request from being answered, which may pass by itself.
    pub(crate) fn is_of_network(self) -> bool {
        use Failure::{Connect, Protocol, Resolve, Timeout};
        matches!(self, Answer::Failed(Resolve | Connect | Timeout | Protocol))
    }

    /// Parses what `Display` printed.
    pub(crate) fn from_name(name: &str) -> Option<Answer> {
        if let Ok(status) = name.parse() {
            return Some(Answer::Status(status));
        }
        let mut failures = Failure::ALL.into_iter();
        let known = failures.find(|known| known.1 == name)?;
        Some(Answer::Failed(known.0))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Status(status) => write!(f, "{status}"),
            Answer::Failed(failure) => failure.fmt(f),
        }
    }
}

/// How failures are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Consecutive failed deliveries that remove a subscription, 1 or more.
    pub failures_max: u32,
    /// Waits after the first failure, the second, and so on; the last one repeats. Never empty.
    pub retry_delays: Vec<Duration>,
    /// Bound of a subscriber's own wish to wait.
    pub retry_after_max: Duration,
}

/// Bounds of the leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leases {
    /// Shortest lease granted, in seconds.
    pub min_s: u32,
    /// Lease when none is asked for, in seconds.
    pub default_s: u32,
    /// Longest lease granted, in seconds.
    pub max_s: u32,
}

impl Leases {
    /// Returns the seconds granted: what was asked, clamped; else the default, shortened by up to 5 % so that leases
    /// granted together do not end together. `jitter` is random, all values alike.
    pub(super) fn grant(&self, asked_s: Option<u64>, jitter: u16) -> u32 {
        let default_s = u64::from(self.default_s);
        let most = default_s * LEASE_JITTER_PCT / 100;
        let less = most * u64::from(jitter) / u64::from(u16::MAX);
        let lease_s = asked_s.unwrap_or(default_s - less);
        let lease_s = u32::try_from(lease_s).unwrap_or(u32::MAX);
        lease_s.clamp(self.min_s, self.max_s)
    }
}

impl Policy {
    /// Returns the wait after the `failures`-th failure in a row: its delay lengthened by up to a quarter, or the
    /// subscriber's own wish within its bound if that is longer.
    pub(crate) fn delay(
        &self,
        failures: u32,
        retry_after: Option<Duration>,
        jitter: u16,
    ) -> Duration {
        let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        let delays = &self.retry_delays;
        let delay = delays.get(index).or(delays.last()).copied();
        let delay = delay.unwrap_or(Duration::ZERO);
        let delay = delay
            .saturating_add(delay.saturating_mul(u32::from(jitter)) / (4 * u32::from(u16::MAX)));
        let wish = retry_after.unwrap_or_default().min(self.retry_after_max);
        delay.max(wish)
    }
}

/// Attempts to verify one request: one, and one more for each crash of ours that cut it short. Whether that one had been
/// sent is not known, so a low bound would drop requests that were never asked for confirmation; without any, a request
/// that crashes us would do so for ever.
pub const VERIFICATIONS_MAX: u32 = 5;

/// Attempts to verify one request whose callback host is not reached.
pub const UNREACHED_MAX: u32 = 3;

/// How much a default lease may be shortened.
const LEASE_JITTER_PCT: u64 = 5;

/// An attempt that took this long sends the next one to the slow lane.
const SLOW_MS: u32 = 1000;

/// The wait after an attempt that was not sent for a reason of ours, unless its report names one.
const DEFERRED_DELAY: Duration = Duration::from_secs(1);

#[cfg(test)]
#[path = "subscription/tests.rs"]
mod tests;
