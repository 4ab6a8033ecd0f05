//! The places of a gram, which are sorted by the bytes that follow.

use crate::search::arena::END;

/// One place of a gram.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Eight bytes of the text from the depth at which keys were last read, the first byte on top.
    pub(super) key: u64,
    /// Where the gram begins in the arena.
    pub(super) position: u32,
    /// The review there.
    pub(super) row: u32,
}

/// How far into the text a node looks, and from where its places have their keys.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    pub(super) bytes: u32,
    pub(super) keys_from: u32,
}

/// Reads eight bytes of `arena` from `position`; past its end there is nothing but [`END`].
pub(super) fn key(arena: &[u8], position: usize) -> u64 {
    match arena.get(position..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => u64::MAX,
    }
}

/// Counts the reviews of `places`, which are in the order of the arena.
pub(super) fn count_rows(places: &[Place]) -> u32 {
    distinct(places).count() as u32
}

pub(super) fn distinct(places: &[Place]) -> impl Iterator<Item = u32> {
    let mut last = None;
    places
        .iter()
        .map(|place| place.row)
        .filter(move |row| last.replace(*row) != Some(*row))
}

/// Returns how many of the bytes that are left of the keys all `places` share, up to where a text ends.
pub(super) fn shared_bytes(places: &[Place], at: Depth) -> u32 {
    let used = at.bytes - at.keys_from;
    let Some(first) = places.first() else {
        return 0;
    };
    let end = first.key.to_be_bytes()[used as usize..]
        .iter()
        .position(|byte| *byte == END);
    let mut shared = end.map_or(8 - used, |end| end as u32);
    for place in places {
        let alike = ((place.key ^ first.key) << (8 * used)).leading_zeros() / 8;
        shared = shared.min(alike);
        if shared == 0 {
            break;
        }
    }
    shared
}

pub(super) fn label(place: &Place, at: Depth) -> usize {
    (place.key >> (56 - 8 * (at.bytes - at.keys_from)) & 0xff) as usize
}
