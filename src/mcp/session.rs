//! Session ids, which the handshake of 2024-11-05 to 2025-11-25 hands out and clients send back.
//!
//! A session holds nothing and grants nothing, so there is no table and no key: an id says the revision that was
//! agreed on and is otherwise random. Every replica honours it, at any later time and after any restart, because many
//! clients fail for good when an id that they were given is refused.
//!
//! What has to be remembered is that a client has ended its session. The newest [`ENDED_MAX`] ends are, by this
//! process alone; an id of which the end was forgotten works again, which reveals and changes nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::protocol::Revision;

/// A session id: 46 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    text: [u8; TEXT_BYTES],
    revision: Revision,
}

impl SessionId {
    /// Makes an id for a session in `revision`; `None` where the system has no randomness to give.
    #[must_use]
    pub fn random(revision: Revision) -> Option<SessionId> {
        let mut raw = [0; RAW_BYTES];
        getrandom::fill(&mut raw).ok()?;
        raw[0] = LAYOUT;
        raw[1] = revision as u8;
        let mut text = [0; TEXT_BYTES];
        let written = URL_SAFE_NO_PAD.encode_slice(raw, &mut text);
        written.is_ok().then_some(SessionId { text, revision })
    }

    /// Reads an id that a client sent; `None` where it is not one that a reviewd hands out.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<SessionId> {
        let text: [u8; TEXT_BYTES] = text.try_into().ok()?;
        let raw = URL_SAFE_NO_PAD.decode(text).ok()?;
        let revision = match raw[..] {
            [LAYOUT, revision, ..] => Revision::of_handshake(revision)?,
            _ => return None,
        };
        Some(SessionId { text, revision })
    }

    /// Returns the text that the header carries.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).expect("base64 is ASCII")
    }

    /// Returns the revision that the handshake settled on.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

/// The sessions that clients have ended.
#[derive(Debug, Default)]
pub struct EndedSessions {
    ids: Mutex<VecDeque<[u8; TEXT_BYTES]>>,
    /// Set at the first end, so that requests take no lock until a client ends a session.
    is_used: AtomicBool,
}

impl EndedSessions {
    /// Remembers the end of a session; the oldest of [`ENDED_MAX`] is forgotten for it.
    pub fn insert(&self, id: &SessionId) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.len() == ENDED_MAX {
            ids.pop_front();
        }
        ids.push_back(id.text);
        self.is_used.store(true, Ordering::Release);
    }

    /// Tells whether a session is known to have ended: O([`ENDED_MAX`]), microseconds.
    #[must_use]
    pub fn contains(&self, id: &SessionId) -> bool {
        let ids = || self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_used.load(Ordering::Acquire) && ids().contains(&id.text)
    }
}

/// Ends that are remembered, 184 KiB in all.
pub const ENDED_MAX: usize = 4_096;
/// First byte of every id; another layout would get another.
const LAYOUT: u8 = 1;
/// Layout, revision, 32 random bytes.
const RAW_BYTES: usize = 34;
const TEXT_BYTES: usize = (RAW_BYTES * 4).div_ceil(3);

#[cfg(test)]
mod tests {
    use super::*;

    fn random(revision: Revision) -> SessionId {
        SessionId::random(revision).expect("randomness")
    }

    #[test]
    fn an_id_is_visible_ascii_unique_and_says_its_revision() {
        let id = random(Revision::R2025_06_18);
        assert_ne!(id, random(Revision::R2025_06_18));
        assert_eq!(id.as_str().len(), 46);
        assert!(id.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        // Earlier versions signed their ids: version, revision, time, nonce and signature.
        let signed = URL_SAFE_NO_PAD.encode([&[1, 3][..], &[0x5a; 32]].concat());
        for text in [id.as_str(), &signed] {
            let read = SessionId::parse(text.as_bytes());
            assert_eq!(read.map(|id| id.revision()), Some(Revision::R2025_06_18));
        }
    }

    #[test]
    fn what_is_not_well_formed_is_no_id() {
        let good = random(Revision::R2025_06_18).as_str().to_owned();
        let other_layout = URL_SAFE_NO_PAD.encode([2; 34]);
        let stateless = URL_SAFE_NO_PAD.encode([&[1, 5][..], &[0; 32]].concat());
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
        assert_eq!(SessionId::parse(&[0xff; 46]), None);
    }

    #[test]
    fn an_ended_id_is_known_and_the_oldest_end_is_forgotten_first() {
        let ended = EndedSessions::default();
        let (first, second) = (random(Revision::ASSUMED), random(Revision::ASSUMED));
        assert!(!ended.contains(&first));
        ended.insert(&first);
        assert!(ended.contains(&first) && !ended.contains(&second));
        ended.insert(&second);
        for _ in 2..ENDED_MAX {
            ended.insert(&random(Revision::ASSUMED));
        }
        assert!(ended.contains(&first));
        ended.insert(&random(Revision::ASSUMED));
        assert!(!ended.contains(&first) && ended.contains(&second));
    }
}
