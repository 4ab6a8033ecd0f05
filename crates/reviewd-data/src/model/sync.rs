//! `sync.json`: the last try, success and error of each source. `reviewd sync` writes it; the service shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use reviewd_wire::date::{Timestamp, parse_timestamp};

/// The file in the data directory.
pub const SYNC_FILE: &str = "sync.json";

/// Size of the file above which it is not read: 1 MiB, many times what 100 sources take.
pub const SYNC_BYTES_MAX: u64 = 1 << 20;

/// The state of all sources, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Why the last try failed; `None` after a success.
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

impl SyncState {
    /// Parses the file.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn parse(json: &[u8]) -> Result<SyncState, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// Renders the file.
    #[must_use]
    pub fn render(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("texts and numbers are JSON") + "\n"
    }
}

impl SourceState {
    /// Returns the seconds since the source was last read completely, or since it was first tried; `None` for one that
    /// was never tried.
    #[must_use]
    pub fn age_s(&self, now: Timestamp) -> Option<u64> {
        let since = self.succeeded_at.or(self.began_at)?;
        Some(u64::try_from(now.unix() - since.unix()).unwrap_or(0))
    }
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
