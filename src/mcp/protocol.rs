//! The revisions of the protocol, and its two eras: with a handshake, and stateless.

/// Every supported revision, with its date as sent in messages; all but the last have a handshake.
const DATES: [(Revision, &str); 5] = [
    (Revision::R2024_11_05, "2024-11-05"),
    (Revision::R2025_03_26, "2025-03-26"),
    (Revision::R2025_06_18, "2025-06-18"),
    (Revision::R2025_11_25, "2025-11-25"),
    (Revision::R2026_07_28, "2026-07-28"),
];

/// A revision of the Model Context Protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    R2024_11_05 = 1,
    R2025_03_26 = 2,
    R2025_06_18 = 3,
    R2025_11_25 = 4,
    R2026_07_28 = 5,
}

impl Revision {
    /// What `initialize` selects if the client requests an unknown revision, or 2026-07-28, which has no handshake.
    const HANDSHAKE_LATEST: Revision = Revision::R2025_11_25;

    /// The revision assumed for a handshake-era request without a version, as the page "Transports" of 2025-06-18 says.
    pub(crate) const ASSUMED: Revision = Revision::R2025_03_26;

    /// Returns the dates of all revisions, oldest first.
    pub(super) fn dates() -> [&'static str; 5] {
        DATES.map(|(_, date)| date)
    }

    /// Returns the date, as it is sent in messages.
    pub(super) fn as_str(self) -> &'static str {
        DATES[self as usize - 1].1
    }

    /// Returns the revision of this exact date.
    pub(super) fn parse(text: &[u8]) -> Option<Revision> {
        let mut revisions = DATES.iter();
        let (revision, _) = revisions.find(|(_, date)| date.as_bytes() == text)?;
        Some(*revision)
    }

    /// Returns the revision with this number, if it has a handshake.
    pub(super) fn of_handshake(number: u8) -> Option<Revision> {
        let (revision, _) = DATES.get(usize::from(number).checked_sub(1)?)?;
        if revision.has_handshake() {
            Some(*revision)
        } else {
            None
        }
    }

    /// Returns the revision that `initialize` selects when the client requests `requested`.
    pub(super) fn negotiate(requested: &str) -> Revision {
        match Revision::parse(requested.as_bytes()) {
            Some(revision) if revision.has_handshake() => revision,
            _ => Revision::HANDSHAKE_LATEST,
        }
    }

    fn has_handshake(self) -> bool {
        self <= Revision::HANDSHAKE_LATEST
    }
}

/// The two variants of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// 2024-11-05 to 2025-11-25: `initialize`, then requests that depend on it.
    Handshake,
    /// 2026-07-28: every request is self-contained.
    Stateless,
}

/// Whether an `MCP-Protocol-Version` belongs to the stateless era: a date from 2026-07-28 on, supported or not.
pub(super) fn is_stateless_version(text: &[u8]) -> bool {
    looks_like_date(text) && text >= Revision::R2026_07_28.as_str().as_bytes()
}

/// Tells whether `text` is written as `0000-00-00`, with any digits.
fn looks_like_date(text: &[u8]) -> bool {
    let mut bytes = text.iter().enumerate();
    text.len() == 10
        && bytes.all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
