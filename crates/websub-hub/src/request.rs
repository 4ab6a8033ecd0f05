//! Parses the hub's form into a [`HubRequest`], or a [`RequestRefusal`] with one line of text.
//!
//! Unknown fields are ignored, repeated or not (older clients send `hub.verify`, some of them twice); a field that the
//! hub uses must not be repeated. Every check of the form is here. Whether the topic is served, the callback's host is
//! permitted, and a quota is exceeded is checked elsewhere.

#![warn(clippy::indexing_slicing)]

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::callback::{Callback, normalize};
use reviewd_wire::form;
use reviewd_wire::text::{hex, quote};

/// Seconds after which a client may retry at a busy hub.
const BUSY_S: u32 = 10;

/// The fields that the hub uses.
const CALLBACK: &str = "hub.callback";
const MODE: &str = "hub.mode";
const TOPIC: &str = "hub.topic";
const LEASE: &str = "hub.lease_seconds";
const SECRET: &str = "hub.secret";

/// The only media type of a hub request (WebSub §5.1).
const FORM: &str = "application/x-www-form-urlencoded";

/// A secret must be shorter than this many bytes (WebSub §5.1).
const SECRET_BYTES: usize = 200;

/// The action that a subscriber requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Start or renew a subscription.
    Subscribe,
    /// End a subscription.
    Unsubscribe,
}

impl Mode {
    /// Returns the value of `hub.mode`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Subscribe => "subscribe",
            Mode::Unsubscribe => "unsubscribe",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Mode> {
        let mut modes = [Mode::Subscribe, Mode::Unsubscribe].into_iter();
        modes.find(|mode| mode.as_str() == name)
    }
}

/// A well-formed request to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRequest {
    /// Subscribe or unsubscribe.
    pub mode: Mode,
    /// The topic's URL with escaped unreserved characters decoded, for comparisons.
    pub topic: String,
    /// The topic's URL as given, which the verification request repeats (WebSub §5.3).
    pub topic_given: String,
    /// The URL for verification and content.
    pub callback: Callback,
    /// The requested lease in seconds, 1 or more; `None` if absent, and for every unsubscription.
    pub lease_asked_s: Option<u64>,
    /// The key for signatures; `None` for every unsubscription.
    pub secret: Option<Secret>,
}

/// The key that a subscriber gave for signatures: 1 to 199 bytes, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Accepts a key of 1 to 199 bytes (WebSub §5.1: "less than 200 bytes").
    #[must_use]
    pub fn new(text: String) -> Option<Secret> {
        if !(1..SECRET_BYTES).contains(&text.len()) {
            return None;
        }
        Some(Secret(text))
    }

    /// Returns the key, for the store only.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns `X-Hub-Signature` of `body`: `sha256=` and 64 hexadecimal digits (WebSub §7.1). It proves to the
    /// subscriber that the content comes from a hub that has this key.
    #[must_use]
    pub fn sign(&self, body: &[u8]) -> String {
        let key = Hmac::<Sha256>::new_from_slice(self.0.as_bytes());
        let mut mac = key.expect("HMAC takes keys of any length");
        mac.update(body);
        format!("sha256={}", hex(&mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Parses a hub request: the value of its Content-Type field and its body.
///
/// # Errors
/// [`RefusalKind::MediaType`] unless the type is `application/x-www-form-urlencoded`
/// (in UTF-8, if it names a charset); [`RefusalKind::Field`] for the first field that is
/// missing, empty, repeated, too long, undecodable or not permitted.
pub fn parse(content_type: Option<&[u8]>, body: &[u8]) -> Result<HubRequest, RequestRefusal> {
    check_media_type(content_type)?;
    let mode = parse_mode(&required(body, MODE)?)?;
    let callback = Callback::parse(&required(body, CALLBACK)?)
        .map_err(|what| RequestRefusal::field(CALLBACK, what))?;
    let topic_given = required(body, TOPIC)?;
    let topic = normalize(&topic_given).map_err(|what| RequestRefusal::field(TOPIC, what))?;
    let (lease_asked_s, secret) = match mode {
        Mode::Subscribe => (parse_lease(body)?, parse_secret(body)?),
        // The lease MUST be ignored on unsubscription (WebSub §5.1); a secret has no meaning there.
        Mode::Unsubscribe => (None, None),
    };
    Ok(HubRequest {
        mode,
        topic,
        topic_given,
        callback,
        lease_asked_s,
        secret,
    })
}

/// A request that the hub does not accept. Nothing has been created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RequestRefusal {
    /// The kind of refusal, by which the HTTP layer chooses the status.
    pub kind: RefusalKind,
    /// One line of plain text in lower case, without a full stop, that names the field and its limit.
    pub reason: String,
    /// Seconds after which the same request may be accepted, for `Retry-After`.
    pub retry_after_s: Option<u32>,
}

/// The kind of a [`RequestRefusal`], and the client's remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The body is not a form: send another media type (415).
    MediaType,
    /// A field is missing, malformed or not permitted: correct it (400).
    Field,
    /// Too many requests or subscriptions of this callback host: the client waits (429).
    TooMany,
    /// The hub is full, stopping, or cannot write: wait (503).
    Unavailable,
}

impl RequestRefusal {
    /// Refuses because of `field`: the reason reads `field: what`.
    pub(crate) fn field(field: &str, what: impl fmt::Display) -> RequestRefusal {
        RequestRefusal {
            kind: RefusalKind::Field,
            reason: format!("{field}: {what}"),
            retry_after_s: None,
        }
    }

    /// Refuses the body's media type or coding because of the header `field`.
    pub fn media_type(field: &str, what: impl fmt::Display) -> RequestRefusal {
        RequestRefusal {
            kind: RefusalKind::MediaType,
            ..RequestRefusal::field(field, what)
        }
    }

    /// Refuses because of a limit for the callback's host.
    pub(crate) fn too_many(what: impl fmt::Display, retry_after_s: u32) -> RequestRefusal {
        RequestRefusal {
            kind: RefusalKind::TooMany,
            retry_after_s: Some(retry_after_s),
            ..RequestRefusal::field("hub.callback", what)
        }
    }

    /// Refuses because the hub as a whole is full or cannot write.
    pub fn unavailable(reason: String, retry_after_s: u32) -> RequestRefusal {
        RequestRefusal {
            kind: RefusalKind::Unavailable,
            reason,
            retry_after_s: Some(retry_after_s),
        }
    }

    /// Refuses because of a problem that should end soon.
    pub(crate) fn busy(what: &str) -> RequestRefusal {
        RequestRefusal::unavailable(what.to_owned(), BUSY_S)
    }
}

/// Returns the encoded values of a field. A field whose name cannot be decoded is unknown, and unknown fields are
/// ignored (WebSub §5.1).
fn raw_values<'a>(body: &'a [u8], field: &str) -> impl Iterator<Item = &'a [u8]> {
    form::pairs(body)
        .filter(move |pair| {
            let mut name = String::new();
            form::decode_into(pair.name, &mut name).is_ok() && name == field
        })
        .map(|pair| pair.value)
}

/// Returns the decoded value of a field that is given once; `None` if it is absent.
fn optional(body: &[u8], field: &str) -> Result<Option<String>, RequestRefusal> {
    let mut values = raw_values(body, field);
    let Some(raw) = values.next() else {
        return Ok(None);
    };
    let count = 1 + values.count();
    if count > 1 {
        let what = format!("must be given once, not {count} times");
        return Err(RequestRefusal::field(field, what));
    }
    let mut value = String::new();
    if form::decode_into(raw, &mut value).is_err() {
        let what = "has an invalid percent-encoding or is not UTF-8";
        return Err(RequestRefusal::field(field, what));
    }
    if value.is_empty() {
        return Err(RequestRefusal::field(field, "must not be empty"));
    }
    Ok(Some(value))
}

fn required(body: &[u8], field: &str) -> Result<String, RequestRefusal> {
    optional(body, field)?.ok_or_else(|| RequestRefusal::field(field, "is missing"))
}

/// Checks the value of a Content-Type field.
///
/// # Errors
/// [`RefusalKind::MediaType`], as for [`parse`].
pub fn check_media_type(content_type: Option<&[u8]>) -> Result<(), RequestRefusal> {
    let Some(value) = content_type else {
        return Err(wrong_media_type(format!("must be given once, as {FORM}")));
    };
    let value = String::from_utf8_lossy(value);
    let mut parts = value.split(';');
    let essence = parts.next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(FORM) {
        let what = format!("must be {FORM}, not {}", quote(essence));
        return Err(wrong_media_type(what));
    }
    for parameter in parts {
        let (name, charset) = parameter.split_once('=').unwrap_or((parameter, ""));
        let charset = charset.trim().trim_matches('"');
        if name.trim().eq_ignore_ascii_case("charset") && !charset.eq_ignore_ascii_case("utf-8") {
            let what = format!("charset must be utf-8, not {}", quote(charset));
            return Err(wrong_media_type(what));
        }
    }
    Ok(())
}

fn wrong_media_type(what: String) -> RequestRefusal {
    RequestRefusal::media_type("content-type", what)
}

fn parse_mode(value: &str) -> Result<Mode, RequestRefusal> {
    Mode::from_name(value).ok_or_else(|| {
        let what = format!("must be subscribe or unsubscribe, not {}", quote(value));
        RequestRefusal::field(MODE, what)
    })
}

/// Parses decimal digits with a value of 1 or more. A value beyond `u64` counts as its maximum, since the lease policy
/// clamps it anyway. An empty one counts as none.
fn parse_lease(body: &[u8]) -> Result<Option<u64>, RequestRefusal> {
    if is_empty(body, LEASE) {
        return Ok(None);
    }
    let Some(value) = optional(body, LEASE)? else {
        return Ok(None);
    };
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let lease_s = value.parse().unwrap_or(u64::MAX);
    if !is_number || lease_s == 0 {
        let value = quote(&value);
        let what = format!("must be a whole number of seconds, at least 1, not {value}");
        return Err(RequestRefusal::field(LEASE, what));
    }
    Ok(Some(lease_s))
}

/// Parses the secret. An empty one counts as none.
fn parse_secret(body: &[u8]) -> Result<Option<Secret>, RequestRefusal> {
    if is_empty(body, SECRET) {
        return Ok(None);
    }
    let Some(value) = optional(body, SECRET)? else {
        return Ok(None);
    };
    let bytes = value.len();
    let what = format!("must be less than {SECRET_BYTES} bytes, not {bytes}");
    let secret = Secret::new(value);
    secret
        .map(Some)
        .ok_or_else(|| RequestRefusal::field(SECRET, what))
}

/// Tells whether a field is given once and empty: HTML forms send fields that were left empty.
fn is_empty(body: &[u8], field: &str) -> bool {
    raw_values(body, field).eq([b""])
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
