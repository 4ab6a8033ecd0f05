//! How exchanges and subscriptions end, and what that is called in the store, on the wire and for the operator.

use std::fmt;
use std::time::Duration;

use super::moment::Moment;

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

impl fmt::Display for RemovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_stand_in_the_order_of_their_variants() {
        for (place, (removal, name, _)) in RemovalReason::ALL.into_iter().enumerate() {
            assert_eq!((removal as usize, removal.as_str()), (place, name));
            assert_eq!(RemovalReason::from_name(name), Some(removal));
        }
        for (place, (failure, name)) in Failure::ALL.into_iter().enumerate() {
            assert_eq!(
                (failure as usize, failure.to_string().as_str()),
                (place, name)
            );
            assert_eq!(Answer::from_name(name), Some(Answer::Failed(failure)));
        }
        assert_eq!(Answer::from_name("599"), Some(Answer::Status(599)));
        assert_eq!(RemovalReason::from_name("no"), None);
        assert_eq!(Answer::from_name("no"), None);
    }
}
