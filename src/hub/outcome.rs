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
    /// Every reason.
    pub const ALL: [RemovalReason; 6] = [
        RemovalReason::Unsubscribed,
        RemovalReason::LeaseEnded,
        RemovalReason::Failures,
        RemovalReason::Gone,
        RemovalReason::TopicWithdrawn,
        RemovalReason::Operator,
    ];

    /// Returns its name in the store and in `reviewd hub --format json`, and the `hub.reason` that tells the subscriber;
    /// `None` where the subscriber knows: it has unsubscribed, or it has let its lease end.
    const fn texts(self) -> (&'static str, Option<&'static str>) {
        match self {
            RemovalReason::Unsubscribed => ("unsubscribed", None),
            RemovalReason::LeaseEnded => ("lease_ended", None),
            RemovalReason::Failures => ("failures", Some("too many consecutive deliveries failed")),
            RemovalReason::Gone => ("gone", Some("the callback answered 410 Gone")),
            RemovalReason::TopicWithdrawn => (
                "topic_withdrawn",
                Some("the topic is no longer served here"),
            ),
            RemovalReason::Operator => ("operator", Some("the operator removed the subscription")),
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.texts().0
    }

    pub(super) fn reason(self) -> Option<&'static str> {
        self.texts().1
    }

    pub(super) fn from_name(name: &str) -> Option<RemovalReason> {
        let mut all = RemovalReason::ALL.into_iter();
        all.find(|removal| removal.as_str() == name)
    }
}

impl fmt::Display for RemovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Failure {
    /// Every failure.
    pub const ALL: [Failure; 7] = [
        Failure::Resolve,
        Failure::Blocked,
        Failure::Connect,
        Failure::Tls,
        Failure::Timeout,
        Failure::Protocol,
        Failure::Internal,
    ];

    /// Returns the name that the store, the log and the operator's commands use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Failure::Resolve => "resolve",
            Failure::Blocked => "blocked",
            Failure::Connect => "connect",
            Failure::Tls => "tls",
            Failure::Timeout => "timeout",
            Failure::Protocol => "protocol",
            Failure::Internal => "internal",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
        let failure = failures.find(|failure| failure.as_str() == name)?;
        Some(Answer::Failed(failure))
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
    fn names_are_read_back() {
        for removal in RemovalReason::ALL {
            assert_eq!(RemovalReason::from_name(removal.as_str()), Some(removal));
        }
        let failures = Failure::ALL.map(Answer::Failed).into_iter();
        for answer in failures.chain([Answer::Status(200), Answer::Status(599)]) {
            assert_eq!(Answer::from_name(&answer.to_string()), Some(answer));
        }
        assert_eq!(RemovalReason::from_name("no"), None);
        assert_eq!(Answer::from_name("no"), None);
    }

    #[test]
    fn removals_that_the_subscriber_knows_of_are_not_told() {
        use RemovalReason::{LeaseEnded, Unsubscribed};
        for removal in RemovalReason::ALL {
            let is_known = matches!(removal, Unsubscribed | LeaseEnded);
            assert_eq!(removal.reason().is_none(), is_known, "{removal}");
        }
    }
}
