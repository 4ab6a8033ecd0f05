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
    fn new(kind: RefusalKind, reason: String, retry_after_s: Option<u32>) -> Refusal {
        Refusal {
            kind,
            reason,
            retry_after_s,
        }
    }

    /// Refuses because of `field`: the reason reads `field: what`.
    pub(crate) fn field(field: &str, what: impl fmt::Display) -> Refusal {
        Refusal::new(RefusalKind::Field, format!("{field}: {what}"), None)
    }

    /// Refuses the body's media type.
    pub(crate) fn media_type(what: impl fmt::Display) -> Refusal {
        Refusal::new(
            RefusalKind::MediaType,
            format!("content-type: {what}"),
            None,
        )
    }

    /// Refuses a body in a content coding.
    pub(crate) fn content_coding() -> Refusal {
        let reason = "content-encoding: the form must be sent without one";
        Refusal::new(RefusalKind::MediaType, reason.to_owned(), None)
    }

    /// Refuses because a limit of this client or callback host is reached.
    pub(crate) fn too_many(reason: String, retry_after_s: u32) -> Refusal {
        Refusal::new(RefusalKind::TooMany, reason, Some(retry_after_s))
    }

    /// Refuses because the hub as a whole cannot take more, or cannot write.
    pub(crate) fn unavailable(reason: String, retry_after_s: u32) -> Refusal {
        Refusal::new(RefusalKind::Unavailable, reason, Some(retry_after_s))
    }
}
