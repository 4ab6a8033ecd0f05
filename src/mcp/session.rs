//! Sessions without a table: an id is a signed token, so every replica and every restart honours it.
//!
//! A session holds nothing and grants nothing; the id exists because the handshake of 2025 hands one out and
//! clients send it back. What does need memory is its end: ids that a client has deleted are remembered in a small
//! bounded list of this process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::protocol::Revision;
use crate::wire::date::Timestamp;

/// Makes, verifies and ends sessions.
#[derive(Debug)]
pub struct Sessions {
    key: Key,
    ended: Mutex<VecDeque<[u8; MAC_BYTES]>>,
    /// How many `ended` holds, so that the lock is left alone while nobody has ended anything.
    ended_count: AtomicUsize,
}

/// The secret that signs session ids: 32 bytes, the same on every replica; and the one before it, whose sessions are
/// honoured until they expire.
#[derive(Clone)]
pub struct Key {
    signing: [u8; KEY_BYTES],
    former: Option<[u8; KEY_BYTES]>,
}

impl Key {
    /// Takes a key.
    #[must_use]
    pub fn new(key: [u8; KEY_BYTES]) -> Key {
        Key {
            signing: key,
            former: None,
        }
    }

    /// Takes a key that signs and one that is honoured besides: before a rotation the key that comes, after it the key
    /// that goes.
    #[must_use]
    pub fn with_other(key: [u8; KEY_BYTES], other: [u8; KEY_BYTES]) -> Key {
        Key {
            signing: key,
            former: Some(other),
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(…)")
    }
}

/// The text of a session id: 46 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token([u8; TOKEN_CHARS]);

impl Token {
    /// Returns the text as the header carries it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("base64 is ASCII")
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// What a session id says, once it has been verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The revision that the handshake settled on.
    pub revision: Revision,
    mac: [u8; MAC_BYTES],
}

/// Why a session id is refused; the client has to begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// Not one of ours, or changed on the way.
    Unknown,
    /// Older than a day.
    Expired,
    /// The client has ended it.
    Ended,
}

impl Sessions {
    /// Begins with nothing ended.
    #[must_use]
    pub fn new(key: Key) -> Sessions {
        Sessions {
            key,
            ended: Mutex::new(VecDeque::new()),
            ended_count: AtomicUsize::new(0),
        }
    }

    /// Returns a new id for a session in `revision`; `nonce` must be random, so that ids are unique and unguessable.
    #[must_use]
    pub fn mint(&self, revision: Revision, now: Timestamp, nonce: [u8; NONCE_BYTES]) -> Token {
        let mut raw = [0u8; TOKEN_BYTES];
        raw[0] = VERSION;
        raw[1] = revision as u8;
        // Seconds fit 32 bits until 2106, and the server refuses to start with a clock before 1970.
        let issued = u32::try_from(now.unix()).unwrap_or(0);
        raw[2..6].copy_from_slice(&issued.to_be_bytes());
        raw[6..SIGNED_BYTES].copy_from_slice(&nonce);
        let mac = sign(&self.key.signing, &raw[..SIGNED_BYTES]);
        raw[SIGNED_BYTES..].copy_from_slice(&mac);
        let mut text = [0u8; TOKEN_CHARS];
        URL_SAFE_NO_PAD
            .encode_slice(raw, &mut text)
            .expect("the buffer is as long as the token in base64");
        Token(text)
    }

    /// Verifies the id of a request.
    ///
    /// # Errors
    /// `Unknown`, `Expired` or `Ended`; the signature is compared in constant time and before anything is believed.
    pub fn verify(&self, text: &[u8], now: Timestamp) -> Result<Session, SessionError> {
        if text.len() != TOKEN_CHARS {
            return Err(SessionError::Unknown);
        }
        // The decoder asks for room in whole groups of three bytes.
        let mut raw = [0u8; TOKEN_BYTES + 3];
        let len = URL_SAFE_NO_PAD
            .decode_slice(text, &mut raw)
            .map_err(|_| SessionError::Unknown)?;
        if len != TOKEN_BYTES {
            return Err(SessionError::Unknown);
        }
        let (signed, mac) = raw[..TOKEN_BYTES].split_at(SIGNED_BYTES);
        let keys = [Some(&self.key.signing), self.key.former.as_ref()];
        let mut signatures = keys.into_iter().flatten().map(|key| sign(key, signed));
        let expected = signatures.find(|expected| bool::from(expected.as_slice().ct_eq(mac)));
        let Some(expected) = expected.filter(|_| signed[0] == VERSION) else {
            return Err(SessionError::Unknown);
        };
        let revision = Revision::HANDSHAKE
            .into_iter()
            .find(|revision| *revision as u8 == signed[1])
            .ok_or(SessionError::Unknown)?;
        let issued = u32::from_be_bytes([signed[2], signed[3], signed[4], signed[5]]);
        let age_s = now.unix() - i64::from(issued);
        if !(-SKEW_S..=LIFE_S).contains(&age_s) {
            return Err(SessionError::Expired);
        }
        if self.is_ended(&expected) {
            return Err(SessionError::Ended);
        }
        Ok(Session {
            revision,
            mac: expected,
        })
    }

    /// Ends a session. The newest 4,096 ends are remembered; an older one is forgotten, and its id works again
    /// until it expires, which harms nobody.
    pub fn end(&self, session: Session) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() == ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back(session.mac);
        self.ended_count.store(ended.len(), Ordering::Release);
    }

    fn is_ended(&self, mac: &[u8; MAC_BYTES]) -> bool {
        if self.ended_count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.contains(mac)
    }
}

fn sign(key: &[u8; KEY_BYTES], signed: &[u8]) -> [u8; MAC_BYTES] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(b"reviewd mcp session");
    mac.update(signed);
    let full = mac.finalize().into_bytes();
    let mut cut = [0u8; MAC_BYTES];
    cut.copy_from_slice(&full[..MAC_BYTES]);
    cut
}

/// Length of the key in bytes.
pub const KEY_BYTES: usize = 32;
/// Length of the random part in bytes.
pub const NONCE_BYTES: usize = 12;
/// How long a session lasts, one day; a client whose id is older gets 404 and begins anew.
const LIFE_S: i64 = 86_400;
/// How far another replica's clock may be ahead of ours, in seconds.
const SKEW_S: i64 = 300;
/// Ends that are remembered, 64 KiB in all.
const ENDED_MAX: usize = 4_096;
/// First byte of every token; a later layout gets another.
const VERSION: u8 = 1;
/// HMAC-SHA256 cut to 128 bits, the least that RFC 2104 §5 advises.
const MAC_BYTES: usize = 16;
/// Version, revision, four bytes of time, nonce.
const SIGNED_BYTES: usize = 6 + NONCE_BYTES;
const TOKEN_BYTES: usize = SIGNED_BYTES + MAC_BYTES;
const TOKEN_CHARS: usize = (TOKEN_BYTES * 4).div_ceil(3);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::MIN;

    fn at(unix: i64) -> Timestamp {
        Timestamp::from_unix(unix)
    }

    fn sessions(byte: u8) -> Sessions {
        Sessions::new(Key::new([byte; KEY_BYTES]))
    }

    #[test]
    fn an_id_is_visible_ascii_and_honoured_by_every_replica_with_the_key() {
        let token = sessions(1).mint(Revision::R2025_06_18, at(1_000_000), [7; NONCE_BYTES]);
        assert_eq!(token.as_str().len(), 46);
        assert!(token.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        let session = sessions(1).verify(token.as_str().as_bytes(), at(1_000_001));
        assert_eq!(
            session.map(|session| session.revision),
            Ok(Revision::R2025_06_18)
        );
        let other = sessions(2).verify(token.as_str().as_bytes(), at(1_000_001));
        assert_eq!(other, Err(SessionError::Unknown));
    }

    #[test]
    fn a_rotation_of_the_key_over_all_replicas_ends_no_session() {
        let (old, new) = ([1; KEY_BYTES], [2; KEY_BYTES]);
        // First every replica honours the new key, then every one signs with it, then the old one goes.
        let steps = [
            Key::new(old),
            Key::with_other(old, new),
            Key::with_other(new, old),
            Key::new(new),
        ];
        let verify = |minting: &Key, verifying: &Key| {
            let token = Sessions::new(minting.clone());
            let token = token.mint(Revision::R2025_06_18, at(1_000_000), [7; NONCE_BYTES]);
            let sessions = Sessions::new(verifying.clone());
            sessions.verify(token.as_str().as_bytes(), at(1_000_001))
        };
        for pair in steps.windows(2) {
            assert!(verify(&pair[0], &pair[1]).is_ok() && verify(&pair[1], &pair[0]).is_ok());
        }
        assert_eq!(verify(&steps[0], &steps[3]), Err(SessionError::Unknown));
    }

    #[test]
    fn an_id_lasts_a_day_and_bears_clocks_five_minutes_apart() {
        let sessions = sessions(1);
        let token = sessions.mint(Revision::R2025_11_25, at(1_000_000), [7; NONCE_BYTES]);
        let verify = |unix| {
            sessions
                .verify(token.as_str().as_bytes(), at(unix))
                .map(|_| ())
        };
        assert_eq!(verify(1_000_000 + 86_400), Ok(()));
        assert_eq!(verify(1_000_000 + 86_401), Err(SessionError::Expired));
        assert_eq!(verify(1_000_000 - 300), Ok(()));
        assert_eq!(verify(1_000_000 - 301), Err(SessionError::Expired));
    }

    #[test]
    fn a_changed_id_is_unknown_whichever_character_changed() {
        let sessions = sessions(1);
        let token = sessions.mint(Revision::R2025_06_18, at(1_000_000), [7; NONCE_BYTES]);
        for place in 0..46 {
            let mut text = token.as_str().as_bytes().to_vec();
            text[place] = if text[place] == b'A' { b'B' } else { b'A' };
            let verdict = sessions.verify(&text, at(1_000_000));
            assert_eq!(verdict, Err(SessionError::Unknown), "{place}");
        }
        for text in [b"".as_slice(), b"x", &[b'A'; 46], &[b'A'; 47], &[0xff; 46]] {
            assert_eq!(sessions.verify(text, NOW), Err(SessionError::Unknown));
        }
    }

    #[test]
    fn an_ended_id_is_refused_and_the_oldest_end_is_forgotten_first() {
        let sessions = sessions(1);
        let mint = |number: u32| {
            let mut nonce = [0; NONCE_BYTES];
            nonce[..4].copy_from_slice(&number.to_be_bytes());
            sessions.mint(Revision::R2025_06_18, at(1_000_000), nonce)
        };
        let verify = |token: Token| sessions.verify(token.as_str().as_bytes(), at(1_000_000));
        let (first, second) = (mint(0), mint(1));
        sessions.end(verify(first).expect("alive"));
        assert_eq!(verify(first), Err(SessionError::Ended));
        assert!(verify(second).is_ok());
        for number in 1..ENDED_MAX as u32 {
            sessions.end(verify(mint(number)).expect("alive"));
        }
        assert_eq!(verify(first), Err(SessionError::Ended));
        sessions.end(verify(mint(ENDED_MAX as u32)).expect("alive"));
        assert!(verify(first).is_ok());
        assert_eq!(verify(second), Err(SessionError::Ended));
    }

    #[test]
    fn neither_key_nor_token_is_ever_printed() {
        let sessions = sessions(65);
        let token = sessions.mint(Revision::R2025_06_18, at(1), [7; NONCE_BYTES]);
        assert!(!format!("{sessions:?}").contains("65"));
        assert!(!format!("{token:?}").contains(token.as_str()));
    }
}
