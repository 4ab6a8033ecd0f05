//! Why the hub does not take a request: a kind for the status, a line for the person, and when to come back.

use std::fmt;

/// A request that the hub does not accept. Nothing has been created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// What kind of refusal it is; the HTTP layer chooses the status.
    pub kind: RefusalKind,
    /// One line of plain text, lower case, without a full stop, that names the field and its bound.
    pub reason: String,
    /// Seconds after which the same request may be accepted, for `Retry-After`.
    pub retry_after_s: Option<u32>,
}

/// Who has to do something about a [`Refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The body is not a form: the client sends another media type (415).
    MediaType,
    /// A field is missing, malformed or not permitted: the client corrects it (400).
    Field,
    /// This client or this callback host asks too much: the client waits (429).
    TooMany,
    /// The hub is full, stopping, or cannot write: the client waits (503).
    Unavailable,
}

impl Refusal {
    /// Refuses because of `field`: the reason reads `field: what`.
    pub(crate) fn field(field: &str, what: impl fmt::Display) -> Refusal {
        Refusal {
            kind: RefusalKind::Field,
            reason: format!("{field}: {what}"),
            retry_after_s: None,
        }
    }

    /// Refuses the body's media type or coding because of the header `field`.
    pub(crate) fn media_type(field: &str, what: impl fmt::Display) -> Refusal {
        Refusal {
            kind: RefusalKind::MediaType,
            ..Refusal::field(field, what)
        }
    }

    /// Refuses because of a limit for the callback's host.
    pub(crate) fn too_many(what: impl fmt::Display, retry_after_s: u32) -> Refusal {
        Refusal {
            kind: RefusalKind::TooMany,
            retry_after_s: Some(retry_after_s),
            ..Refusal::field("hub.callback", what)
        }
    }

    /// Refuses because the hub as a whole cannot take more, or cannot write.
    pub(crate) fn unavailable(reason: String, retry_after_s: u32) -> Refusal {
        Refusal {
            kind: RefusalKind::Unavailable,
            reason,
            retry_after_s: Some(retry_after_s),
        }
    }

    /// Refuses for a trouble that should soon be over.
    pub(crate) fn busy(what: &str) -> Refusal {
        Refusal::unavailable(what.to_owned(), BUSY_S)
    }

    /// Refuses because the hub ends.
    pub(crate) fn stopping() -> Refusal {
        Refusal::busy("the hub is stopping")
    }
}

/// When to come back to a busy hub.
const BUSY_S: u32 = 10;
