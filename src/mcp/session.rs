//! Session ids, which the handshake of 2024-11-05 to 2025-11-25 issues and clients send back.
//!
//! A session has no state and no rights, so there is no table and no key: an id encodes the negotiated revision and is
//! otherwise random. Every replica accepts it, at any later time and after any restart, because many clients fail
//! permanently when their id is rejected.
//!
//! The only state is the list of sessions that clients have ended. Each process stores the newest [`ENDED_MAX`] of its
//! own; an older ended id works again, which reveals and changes nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::protocol::Revision;

/// Largest number of ends that are stored, about 300 KiB in total.
const ENDED_MAX: usize = 4_096;

/// First byte of every id; an id of another layout would have another one.
const LAYOUT: u8 = 1;

/// Layout, revision, 32 random bytes.
const RAW_BYTES: usize = 34;

/// A session id: 46 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionId {
    text: String,
    revision: Revision,
}

impl SessionId {
    /// Creates an id for a session in `revision`; `None` if the system provides no random bytes.
    pub(super) fn random(revision: Revision) -> Option<SessionId> {
        let mut raw = [0; RAW_BYTES];
        getrandom::fill(&mut raw).ok()?;
        raw[0] = LAYOUT;
        raw[1] = revision as u8;
        let text = URL_SAFE_NO_PAD.encode(raw);
        Some(SessionId { text, revision })
    }

    /// Parses an id that a client sent; `None` if it does not have the format of reviewd's ids.
    pub(super) fn parse(text: &[u8]) -> Option<SessionId> {
        let raw = URL_SAFE_NO_PAD.decode(text).ok()?;
        let revision = match raw[..] {
            [LAYOUT, revision, ..] if raw.len() == RAW_BYTES => Revision::of_handshake(revision)?,
            _ => return None,
        };
        let text = str::from_utf8(text).ok()?.to_owned();
        Some(SessionId { text, revision })
    }

    /// Returns the text for the header.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the revision that the handshake negotiated.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }
}

/// The sessions that clients have ended.
#[derive(Debug, Default)]
pub(super) struct EndedSessions(Mutex<VecDeque<String>>);

impl EndedSessions {
    /// Stores the end of a session; if the list is full, the oldest end is dropped.
    pub(super) fn insert(&self, id: SessionId) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() == ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back(id.text);
    }

    /// Tells whether a session is known to have ended: O([`ENDED_MAX`]), microseconds.
    pub(super) fn contains(&self, id: &SessionId) -> bool {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ended.contains(&id.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_46_characters_and_encodes_its_revision() {
        let random = || SessionId::random(Revision::R2025_06_18).expect("randomness");
        let id = random();
        let other = random();
        assert!(id != other);
        assert!(id.as_str().len() == 46);
        // Earlier versions signed their ids: version, revision, time, nonce and signature.
        let signed = URL_SAFE_NO_PAD.encode([&[1, 3][..], &[0x5a; 32]].concat());
        for text in [id.as_str(), &signed] {
            let read = SessionId::parse(text.as_bytes());
            assert_eq!(read.map(|id| id.revision), Some(Revision::R2025_06_18));
        }
        let other_layout = URL_SAFE_NO_PAD.encode([2; 34]);
        let stateless = URL_SAFE_NO_PAD.encode([&[1, 5][..], &[0; 32]].concat());
        let good = id.as_str();
        for text in [
            "",
            "x",
            &good[1..],
            &format!("{good}A"),
            &good.replacen(&good[5..6], "!", 1),
            &other_layout,
            &stateless,
        ] {
            assert_eq!(SessionId::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_oldest_of_4096_ends_is_dropped_first() {
        let ended = EndedSessions::default();
        let random = || SessionId::random(Revision::ASSUMED).expect("randomness");
        let first = random();
        ended.insert(first.clone());
        for _ in 1..ENDED_MAX {
            ended.insert(random());
        }
        assert!(ended.contains(&first));
        ended.insert(random());
        assert!(!ended.contains(&first));
    }
}
