//! Why subscriptions end, and how that is named: in the store, on the wire and to the operator.

use std::fmt;

use super::subscription::{Answer, Failure};

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
    /// Every reason, for those who read them back.
    pub const ALL: [RemovalReason; 6] = [
        RemovalReason::Unsubscribed,
        RemovalReason::LeaseEnded,
        RemovalReason::Failures,
        RemovalReason::Gone,
        RemovalReason::TopicWithdrawn,
        RemovalReason::Operator,
    ];

    /// Returns the name that the store and `reviewd hub --format json` use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RemovalReason::Unsubscribed => "unsubscribed",
            RemovalReason::LeaseEnded => "lease_ended",
            RemovalReason::Failures => "failures",
            RemovalReason::Gone => "gone",
            RemovalReason::TopicWithdrawn => "topic_withdrawn",
            RemovalReason::Operator => "operator",
        }
    }

    /// Returns the reason with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<RemovalReason> {
        RemovalReason::ALL
            .into_iter()
            .find(|removal| removal.as_str() == name)
    }

    /// Returns the `hub.reason` that tells the subscriber, `None` where it knows already: it asked for the end, or it
    /// let its lease pass.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            RemovalReason::Unsubscribed | RemovalReason::LeaseEnded => None,
            RemovalReason::Failures => Some("too many consecutive deliveries failed"),
            RemovalReason::Gone => Some("the callback answered 410 Gone"),
            RemovalReason::TopicWithdrawn => Some("the topic is no longer served here"),
            RemovalReason::Operator => Some("the operator removed the subscription"),
        }
    }
}

impl fmt::Display for RemovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Failure {
    /// Every failure, for those who read them back.
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

impl Answer {
    /// Tells whether a fault of the network kept the request from being answered, which may pass by itself.
    #[must_use]
    pub fn is_of_network(self) -> bool {
        let Answer::Failed(failure) = self else {
            return false;
        };
        matches!(
            failure,
            Failure::Resolve | Failure::Connect | Failure::Timeout | Failure::Protocol
        )
    }

    /// Parses what `Display` printed.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Answer> {
        match name.parse::<u16>() {
            Ok(status) => Some(Answer::Status(status)),
            Err(_) => Failure::ALL
                .into_iter()
                .find(|failure| failure.as_str() == name)
                .map(Answer::Failed),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Status(status) => write!(f, "{status}"),
            Answer::Failed(failure) => f.write_str(failure.as_str()),
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
        for answer in Failure::ALL
            .map(Answer::Failed)
            .into_iter()
            .chain([Answer::Status(200), Answer::Status(599)])
        {
            assert_eq!(Answer::from_name(&answer.to_string()), Some(answer));
        }
        assert_eq!(
            (RemovalReason::from_name("no"), Answer::from_name("no")),
            (None, None)
        );
    }
}
