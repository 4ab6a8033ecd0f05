//! `sync.json`: the last try, success and error of each source. `reviewd sync` writes it; the service shows it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use reviewd_wire::date::{Timestamp, parse_timestamp};
use reviewd_wire::text::{cut, truncate};

/// The file in the data directory.
pub const SYNC_FILE: &str = "sync.json";

/// Size of the file above which it is not read: 1 MiB, many times what 100 sources take.
pub const SYNC_BYTES_MAX: u64 = 1 << 20;

/// Most bytes of the error of a source, which is stored and shown.
pub const SOURCE_ERROR_BYTES_MAX: usize = 512;

/// Most bytes of a reason in a message: serde quotes the value that it did not expect, and that can be as long as the file.
const REASON_BYTES_MAX: usize = 256;

/// Most bytes of the id of a source, as in `sources.json`.
const SOURCE_ID_BYTES_MAX: usize = 64;

/// The state of all sources, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncState {
    /// At most 100, as in `sources.json`.
    pub sources: BTreeMap<String, SourceState>,
}

/// The state of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceState {
    /// When it was first tried.
    #[serde(deserialize_with = "read_time")]
    pub began_at: Option<Timestamp>,
    /// When it was tried last.
    #[serde(deserialize_with = "read_time")]
    pub tried_at: Option<Timestamp>,
    /// When it was last read completely.
    #[serde(deserialize_with = "read_time")]
    pub succeeded_at: Option<Timestamp>,
    /// When it last had something new.
    #[serde(deserialize_with = "read_time")]
    pub changed_at: Option<Timestamp>,
    /// Before which it asks not to be tried again.
    #[serde(deserialize_with = "read_time")]
    pub retry_at: Option<Timestamp>,
    /// Why the last try failed, in at most 512 bytes; `None` after a success.
    pub error: Option<String>,
    /// How often it has failed since its last success.
    pub failures: u64,
    /// Reviews that it has added so far.
    pub added: u64,
    /// Stored reviews that it has changed so far.
    pub changed: u64,
    /// The entity-tag of its document, as the server sent it.
    pub etag: Option<String>,
    /// The date of the document, as its server sent it.
    pub last_modified: Option<String>,
    /// The digest of its entry in `sources.json`; if the entry has changed since, `etag` and `last_modified` are ignored.
    pub entry: String,
}

/// Why the file is damaged.
#[derive(Debug)]
pub enum SyncStateError {
    /// It is not JSON, or has no sources.
    Json(serde_json::Error),
    /// Sources or their fields have values that they cannot have.
    Fields {
        /// The first of them, and its reason.
        first: String,
        /// The number of the others.
        more: usize,
    },
}

impl fmt::Display for SyncStateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncStateError::Json(error) => formatter.write_str(&short(error)),
            SyncStateError::Fields { first, more: 0 } => formatter.write_str(first),
            SyncStateError::Fields { first, more } => write!(formatter, "{first}; and {more} more"),
        }
    }
}

impl std::error::Error for SyncStateError {}

/// The file before the states of its sources are read.
#[derive(Deserialize)]
struct SyncDocument {
    sources: BTreeMap<String, Value>,
}

impl SyncState {
    /// Parses the file. Its texts are shown and logged, so a longer error is cut, and a longer id is refused.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn parse(json: &[u8]) -> Result<SyncState, SyncStateError> {
        let document: SyncDocument = serde_json::from_slice(json).map_err(SyncStateError::Json)?;
        let mut state = SyncState::default();
        let mut problems = Vec::new();
        for (id, entry) in document.sources {
            if id.len() > SOURCE_ID_BYTES_MAX {
                problems.push(problem(&id, "", &"has an id of more than 64 bytes"));
                continue;
            }
            let Value::Object(fields) = entry else {
                problems.push(problem(&id, "", &"is not an object"));
                continue;
            };
            let of_fields = field_problems(&id, &fields);
            match SourceState::deserialize(Value::Object(fields)) {
                Ok(source) => {
                    state.sources.insert(id, source.with_short_error());
                }
                Err(error) if of_fields.is_empty() => problems.push(problem(&id, "", &error)),
                Err(_) => problems.extend(of_fields),
            }
        }
        let more = problems.len().saturating_sub(1);
        match problems.into_iter().next() {
            None => Ok(state),
            Some(first) => Err(SyncStateError::Fields { first, more }),
        }
    }

    /// Renders the file.
    #[must_use]
    pub fn render(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("texts and numbers are JSON") + "\n"
    }
}

impl SourceState {
    fn with_short_error(mut self) -> SourceState {
        if let Some(error) = &mut self.error {
            error.truncate(truncate(error, SOURCE_ERROR_BYTES_MAX).len());
        }
        self
    }

    /// Returns the seconds since the source was last read completely, or since it was first tried; `None` for one that
    /// was never tried.
    #[must_use]
    pub fn age_s(&self, now: Timestamp) -> Option<u64> {
        let since = self.succeeded_at.or(self.began_at)?;
        Some(u64::try_from(now.unix() - since.unix()).unwrap_or(0))
    }
}

/// Returns each field of a source that cannot be read, with the reason.
fn field_problems(id: &str, fields: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, value) in fields {
        // Every field may be missing, so each can be read alone.
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        if let Err(error) = SourceState::deserialize(Value::Object(alone)) {
            problems.push(problem(id, &format!(".{name}"), &error));
        }
    }
    problems
}

/// Returns one line about a source, or its `.field`: the file can be of any length, and the line is logged.
fn problem(id: &str, field: &str, reason: &dyn fmt::Display) -> String {
    let id = cut(id);
    format!("sources.{id}{field}: {}", short(reason))
}

/// Returns at most the first 256 bytes of a reason.
fn short(reason: &dyn fmt::Display) -> String {
    truncate(&reason.to_string(), REASON_BYTES_MAX).to_owned()
}

fn read_time<'d, D: serde::Deserializer<'d>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    let Some(text) = text else {
        return Ok(None);
    };
    let time = parse_timestamp(text.as_bytes());
    time.map(Some)
        .ok_or_else(|| serde::de::Error::custom("is not a time such as 2026-11-21T09:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let source = SourceState {
            tried_at: Some(Timestamp::from_unix(1_900_000_000)),
            error: Some("was answered with status 500".to_owned()),
            failures: 2,
            ..SourceState::default()
        };
        let mut state = SyncState::default();
        state.sources.insert("google".to_owned(), source);
        assert_eq!(SyncState::parse(state.render().as_bytes()).unwrap(), state);
    }

    #[test]
    fn every_damaged_field_is_counted_and_the_first_is_named_with_its_reason() {
        let time = "sources.a.tried_at: is not a time such as 2026-11-21T09:00:00Z";
        for (json, expected) in [
            (r#"{"sources":{"a":{"tried_at":"soon"}}}"#, time.to_owned()),
            (
                r#"{"sources":{"a":{"tried_at":"soon","added":-1},"b":{"error":7,"failures":2}}}"#,
                format!("{time}; and 2 more"),
            ),
            (
                r#"{"sources":{"a":[]}}"#,
                "sources.a: is not an object".to_owned(),
            ),
            (
                "{}",
                "missing field `sources` at line 1 column 2".to_owned(),
            ),
        ] {
            let error = SyncState::parse(json.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), expected, "{json}");
        }
    }

    /// Returns the message of the error of a file.
    fn message(json: &str) -> String {
        SyncState::parse(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn an_id_has_at_most_64_bytes_and_a_message_quotes_no_more() {
        let longest = "i".repeat(64);
        let file = |id: &str| format!(r#"{{"sources":{{"{id}":{{}}}}}}"#);
        let state = SyncState::parse(file(&longest).as_bytes()).unwrap();
        assert!(state.sources.contains_key(&longest));
        let reason = "has an id of more than 64 bytes";
        let longer = format!("{longest}i");
        assert_eq!(
            message(&file(&longer)),
            format!("sources.{longest}: {reason}")
        );
        // The 64th byte is the first half of the last character.
        let split = format!("{}é", "i".repeat(63));
        let shown = "i".repeat(63);
        assert_eq!(message(&file(&split)), format!("sources.{shown}: {reason}"));
    }

    #[test]
    fn the_reason_of_a_damaged_field_has_at_most_256_bytes() {
        let reason = |text: &str| {
            let damaged = message(&format!(r#"{{"sources":{{"a":{{"added":"{text}"}}}}}}"#));
            let reason = damaged.strip_prefix("sources.a.added: ");
            reason.expect("the field is named").to_owned()
        };
        let around = reason("").len();
        let whole = reason(&"x".repeat(256 - around));
        assert_eq!(whole.len(), 256);
        assert!(whole.ends_with("expected u64"), "{whole}");
        let cut = reason(&"x".repeat(257 - around));
        assert_eq!(cut.len(), 256);
        assert!(cut.ends_with("expected u6"), "{cut}");
        // The 256th byte is the first half of a character.
        let head = "invalid type: string \"".len();
        let split = reason(&format!("{}é", "x".repeat(255 - head)));
        assert_eq!(split.len(), 255);
    }

    #[test]
    fn a_file_of_one_long_text_has_a_short_message() {
        let long = "x".repeat(SYNC_BYTES_MAX as usize / 2);
        let said = message(&format!(r#"{{"sources":"{long}"}}"#));
        assert!(said.starts_with("invalid type: string \"xxx"), "{said}");
        assert_eq!(said.len(), 256);
    }

    #[test]
    fn a_longer_error_is_cut_at_512_bytes_between_characters() {
        let read = |error: &str| {
            let json = format!(r#"{{"sources":{{"a":{{"error":"{error}"}}}}}}"#);
            let state = SyncState::parse(json.as_bytes()).unwrap();
            state.sources["a"].error.clone().unwrap()
        };
        let longest = "x".repeat(512);
        assert_eq!(read(&longest), longest);
        assert_eq!(read(&format!("{longest}x")), longest);
        assert_eq!(read(&format!("x{}", "é".repeat(256))).len(), 511);
    }

    #[test]
    fn the_age_counts_from_the_last_success() {
        let at = |seconds| Some(Timestamp::from_unix(seconds));
        let mut state = SourceState::default();
        assert_eq!(state.age_s(Timestamp::from_unix(100)), None);
        state.began_at = at(10);
        assert_eq!(state.age_s(Timestamp::from_unix(100)), Some(90));
        state.succeeded_at = at(60);
        assert_eq!(state.age_s(Timestamp::from_unix(100)), Some(40));
        assert_eq!(state.age_s(Timestamp::from_unix(50)), Some(0));
    }
}
