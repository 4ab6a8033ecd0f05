//! Subscriptions on their way from one store to another: a line of JSON each, and the rule by which a store takes
//! them over.
//!
//! A line holds all that decides what its subscriber is owed, so that nobody is told twice and nobody missed: the
//! digest of the last attempt and whether it was acknowledged. An attempt under way has no acknowledgement yet, and
//! so its content is owed where the line arrives, as after a crash.

use std::fmt;

use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::callback::{Callback, normalize};
use super::moment::Moment;
use super::refusal::quote;
use super::request::Secret;
use super::store::Listed;
use super::subscription::{Answer, Ended, Subscription};
use crate::wire::json::{Object, push_i64, push_null};

/// A subscription as its line tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedSubscription {
    /// The topic's URL.
    pub topic: String,
    /// The callback.
    pub callback: Callback,
    /// Whether the subscriber gave a secret, which the line may have left out.
    pub signed: bool,
    /// The rest; no attempt is under way.
    pub state: Subscription,
}

/// What a store did with a [`ExportedSubscription`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportDecision {
    /// It was not here.
    Added,
    /// It was here in an earlier state.
    Updated,
    /// It was here in this state or a later one.
    Known,
    /// Its lease is over.
    Expired,
    /// Its topic is none of this store's.
    UnknownTopic,
}

/// Why a line is refused: the field, and what is wrong with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// The field; empty for the line as a whole.
    pub field: &'static str,
    /// What it must be, and what it is; never a secret.
    pub reason: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            "" => f.write_str(&self.reason),
            field => write!(f, "{field} {}", self.reason),
        }
    }
}

/// Decides what becomes of `moved` beside what is `here` under the same callback and topic. Of two states the one that
/// was verified last counts, and of two with the same verification the one with more attempts.
#[must_use]
pub fn adopt(
    here: Option<Subscription>,
    moved: &ExportedSubscription,
    now: Moment,
) -> (Option<Subscription>, ImportDecision) {
    let mut next = moved.state.clone();
    if next.lease_end <= now {
        return (None, ImportDecision::Expired);
    }
    let Some(here) = here else {
        return (Some(next), ImportDecision::Added);
    };
    if age(&next) <= age(&here) {
        return (None, ImportDecision::Known);
    }
    if moved.signed && next.secret.is_none() && here.verified_at == next.verified_at {
        next.secret = here.secret.clone();
    }
    next.created_at = here.created_at;
    if here.claimed {
        // What is on its way cannot be called back; its end is booked on this state.
        next = Subscription {
            secret: next.secret,
            lease_s: next.lease_s,
            lease_end: next.lease_end,
            verified_at: next.verified_at,
            ..here
        };
    } else {
        // An answer to an attempt of the state that was here must not fit one of the new state.
        next.attempt = next.attempt.max(here.attempt);
    }
    (Some(next), ImportDecision::Updated)
}

/// Orders the states of one subscription, the latest last.
fn age(state: &Subscription) -> (Moment, u64, Option<Moment>) {
    let last = state.last.as_ref().map(|last| last.at);
    (state.verified_at, state.attempt, last)
}

/// Appends the line of `listed`, its end included; the secret only `with_secret`.
pub fn render_line(out: &mut Vec<u8>, listed: &Listed, with_secret: bool) {
    let state = &listed.state;
    let secret = state.secret.as_ref();
    let mut object = Object::begin(out);
    object
        .string("topic", &listed.topic)
        .string("callback", listed.callback.uri())
        .bool("signed", secret.is_some());
    if let Some(secret) = secret.filter(|_| with_secret) {
        object.string("secret", secret.reveal());
    }
    let next_at = if state.claimed {
        Moment::ZERO
    } else {
        state.next_at
    };
    object
        .u64("lease_seconds", state.lease_s.into())
        .i64("lease_end_ms", state.lease_end.unix_ms())
        .string("digest", &render_hex(&state.digest))
        .bool("acknowledged", state.acknowledged)
        .u64("failures", state.failures.into())
        .i64("next_at_ms", next_at.unix_ms())
        .u64("attempt", state.attempt)
        .u64("elapsed_ms", state.elapsed_ms.into())
        .i64("created_at_ms", state.created_at.unix_ms())
        .i64("verified_at_ms", state.verified_at.unix_ms());
    match &state.last {
        Some(last) => push_i64(object.key("last_at_ms"), last.at.unix_ms()),
        None => push_null(object.key("last_at_ms")),
    }
    let answer = state.last.as_ref().map(|last| last.answer.to_string());
    object.opt_string("last_status", answer.as_deref());
    object.end();
    out.push(b'\n');
}

/// Parses a line, without its end.
///
/// # Errors
/// The first field that is missing, unknown, repeated or wrong.
pub fn parse_line(line: &[u8]) -> Result<ExportedSubscription, LineError> {
    let Members(members) = serde_json::from_slice(line)
        .map_err(|error| whole(format!("is not a JSON object: {error}")))?;
    let mut fields = Fields::of(members)?;
    let topic = fields.text("topic")?;
    let topic = normalize(&topic).map_err(|what| wrong("topic", what))?;
    let callback = fields.text("callback")?;
    let callback = Callback::parse(&callback).map_err(|what| {
        // What follows the path is often a capability.
        let shown = callback.split('?').next().unwrap_or_default();
        wrong("callback", format!("{what}, is {}", quote(shown)))
    })?;
    let signed = fields.flag("signed")?;
    let secret = fields.secret(signed)?;
    let state = Subscription {
        secret,
        lease_s: fields.number("lease_seconds", 1, u32::MAX)?,
        lease_end: fields.moment("lease_end_ms")?,
        digest: fields.digest("digest")?,
        acknowledged: fields.flag("acknowledged")?,
        failures: fields.number("failures", 0, 1_000_000)?,
        next_at: fields.moment("next_at_ms")?,
        claimed: false,
        attempt: fields.number("attempt", 0, i64::MAX.unsigned_abs())?,
        elapsed_ms: fields.number("elapsed_ms", 0, u32::MAX)?,
        created_at: fields.moment("created_at_ms")?,
        verified_at: fields.moment("verified_at_ms")?,
        last: fields.last()?,
    };
    Ok(ExportedSubscription {
        topic,
        callback,
        signed,
        state,
    })
}

/// The members of an object in their order, repeated ones included.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The values of a line by their fields, each taken once.
struct Fields([Option<Value>; NAMES.len()]);

impl Fields {
    fn of(members: Vec<(String, Value)>) -> Result<Fields, LineError> {
        let mut fields = Fields(Default::default());
        for (name, value) in members {
            let known = NAMES
                .iter()
                .zip(&mut fields.0)
                .find(|(known, _)| **known == name);
            let Some((known, place)) = known else {
                return Err(whole(format!("has an unknown field {}", quote(&name))));
            };
            if place.replace(value).is_some() {
                return Err(wrong(known, "comes twice".to_owned()));
            }
        }
        Ok(fields)
    }

    /// Takes a value that may be left out or `null`.
    fn find(&mut self, field: &'static str) -> Option<Value> {
        let found = NAMES
            .iter()
            .zip(&mut self.0)
            .find(|(name, _)| **name == field);
        let value = found.and_then(|(_, place)| place.take());
        value.filter(|value| !value.is_null())
    }

    fn take(&mut self, field: &'static str) -> Result<Value, LineError> {
        self.find(field)
            .ok_or_else(|| wrong(field, "is missing".to_owned()))
    }

    fn text(&mut self, field: &'static str) -> Result<String, LineError> {
        match self.take(field)? {
            Value::String(text) => Ok(text),
            other => Err(unlike(field, "a string", &other)),
        }
    }

    fn flag(&mut self, field: &'static str) -> Result<bool, LineError> {
        let value = self.take(field)?;
        value
            .as_bool()
            .ok_or_else(|| unlike(field, "true or false", &value))
    }

    fn number<N>(&mut self, field: &'static str, min: N, max: N) -> Result<N, LineError>
    where
        N: TryFrom<u64> + Into<u64> + PartialOrd + Copy,
    {
        let value = self.take(field)?;
        let number = value.as_u64().and_then(|number| N::try_from(number).ok());
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| {
                let range = format!("a whole number from {} to {}", min.into(), max.into());
                unlike(field, &range, &value)
            })
    }

    fn moment(&mut self, field: &'static str) -> Result<Moment, LineError> {
        let value = self.take(field)?;
        read_moment(field, &value)
    }

    fn digest(&mut self, field: &'static str) -> Result<[u8; 32], LineError> {
        let value = self.take(field)?;
        let digest = value.as_str().and_then(parse_hex);
        digest.ok_or_else(|| unlike(field, "64 hexadecimal digits in lower case", &value))
    }

    fn secret(&mut self, signed: bool) -> Result<Option<Secret>, LineError> {
        let field = "secret";
        let Some(value) = self.find(field) else {
            return Ok(None);
        };
        // A wrong one is not repeated, either: it may be the right one with a slip.
        let Value::String(text) = value else {
            return Err(wrong(field, "must be a string".to_owned()));
        };
        if !signed {
            return Err(wrong(field, "is given, but signed is false".to_owned()));
        }
        let length = text.len();
        let secret = Secret::new(text);
        secret
            .map(Some)
            .ok_or_else(|| wrong(field, format!("must be 1 to 199 bytes, has {length}")))
    }

    fn last(&mut self) -> Result<Option<Ended>, LineError> {
        match (self.find("last_at_ms"), self.find("last_status")) {
            (None, None) => Ok(None),
            (Some(at), Some(answer)) => Ok(Some(Ended {
                at: read_moment("last_at_ms", &at)?,
                answer: answer.as_str().and_then(Answer::from_name).ok_or_else(|| {
                    unlike("last_status", "a status or the name of a failure", &answer)
                })?,
            })),
            (Some(_), None) => Err(wrong("last_status", "is missing".to_owned())),
            (None, Some(_)) => Err(wrong("last_at_ms", "is missing".to_owned())),
        }
    }
}

fn read_moment(field: &'static str, value: &Value) -> Result<Moment, LineError> {
    let ms = value.as_i64().filter(|ms| (0..=MOMENT_MS_MAX).contains(ms));
    ms.map(Moment::from_unix_ms).ok_or_else(|| {
        let range = format!("milliseconds since 1970, from 0 to {MOMENT_MS_MAX}");
        unlike(field, &range, value)
    })
}

fn whole(reason: String) -> LineError {
    LineError { field: "", reason }
}

fn wrong(field: &'static str, reason: String) -> LineError {
    LineError { field, reason }
}

fn unlike(field: &'static str, what: &str, value: &Value) -> LineError {
    let shown = match value {
        Value::String(text) => quote(text),
        other => quote(&other.to_string()),
    };
    wrong(field, format!("must be {what}, is {shown}"))
}

fn render_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut digest = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != digest.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(digest)
}

/// Every field of a line.
const NAMES: [&str; 16] = [
    "topic",
    "callback",
    "signed",
    "secret",
    "lease_seconds",
    "lease_end_ms",
    "digest",
    "acknowledged",
    "failures",
    "next_at_ms",
    "attempt",
    "elapsed_ms",
    "created_at_ms",
    "verified_at_ms",
    "last_at_ms",
    "last_status",
];

/// The last moment that a line may name: the end of the year 9999.
const MOMENT_MS_MAX: i64 = 253_402_300_799_999;

/// Bytes of a line at most, its end not counted. The longest that we write is about 18,000: callback and topic of 2,048
/// bytes, and a secret of 199 that is escaped to six times its length.
pub const LINE_BYTES: usize = 32 * 1024;

#[cfg(test)]
#[path = "transfer/tests.rs"]
mod tests;
