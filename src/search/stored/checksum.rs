//! The sum that tells a damaged index from a whole one.
//!
//! Against damage, not against forgers: what it lets through is checked all the same, and whoever can write the file
//! can write its sum. SHA-256 would take a second for the index of a million reviews, this a tenth.

/// Bytes of a sum.
pub(crate) const SUM_BYTES: usize = 32;

/// Bytes that are mixed in together.
const BLOCK: usize = 32;

/// Words of a block, each summed up in a lane of its own.
const LANES: usize = 4;

/// Odd, so that multiplying loses nothing.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Sums bytes up, wherever one call ends and the next begins.
#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    lanes: [u64; LANES],
    length: u64,
    /// The beginning of a block, as far as `length` tells.
    block: [u8; BLOCK],
}

impl Checksum {
    /// Has seen nothing.
    pub(crate) fn new() -> Checksum {
        Checksum {
            lanes: [1, 2, 3, 4],
            length: 0,
            block: [0; BLOCK],
        }
    }

    /// Adds `bytes`.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let filled = (self.length % BLOCK as u64) as usize;
        self.length += bytes.len() as u64;
        if filled > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(BLOCK - filled));
            self.block[filled..filled + first.len()].copy_from_slice(first);
            if filled + first.len() < BLOCK {
                return;
            }
            let block = self.block;
            mix(&mut self.lanes, &block);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks();
        let mut lanes = self.lanes;
        blocks.iter().for_each(|block| mix(&mut lanes, block));
        self.lanes = lanes;
        self.block[..rest.len()].copy_from_slice(rest);
    }

    /// Returns the sum of all bytes added.
    pub(crate) fn finish(mut self) -> [u8; SUM_BYTES] {
        let filled = (self.length % BLOCK as u64) as usize;
        self.block[filled..].fill(0);
        let block = self.block;
        mix(&mut self.lanes, &block);
        // Each lane comes to depend on all, and on the length.
        for round in 0..LANES as u64 {
            let all = self.lanes.iter().fold(self.length ^ round, |all, lane| {
                (all ^ lane).wrapping_mul(FACTOR).rotate_left(31)
            });
            for lane in &mut self.lanes {
                *lane = (*lane ^ all).wrapping_mul(FACTOR).rotate_left(31);
            }
        }
        let mut sum = [0; SUM_BYTES];
        for (place, lane) in sum.as_chunks_mut().0.iter_mut().zip(self.lanes) {
            *place = lane.to_le_bytes();
        }
        sum
    }
}

/// Mixes in a block. Of two blocks that differ in a lane, that lane comes out different; the lanes wait for nothing of
/// each other, so that memory is what limits.
fn mix(lanes: &mut [u64; LANES], block: &[u8; BLOCK]) {
    for (lane, word) in lanes.iter_mut().zip(block.as_chunks().0) {
        let mixed = *lane ^ u64::from_le_bytes(*word);
        // Multiplying spreads each bit upwards alone, so that the highest are brought down first.
        *lane = (mixed ^ (mixed >> 32)).wrapping_mul(FACTOR).rotate_left(29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn sum(parts: &[&[u8]]) -> [u8; SUM_BYTES] {
        let mut sum = Checksum::new();
        parts.iter().for_each(|part| sum.update(part));
        sum.finish()
    }

    #[test]
    fn where_parts_end_makes_no_difference() {
        let bytes: Vec<u8> = (0..200).collect();
        for first in 0..=bytes.len() {
            for second in [first, (first + 5).min(200), (first + 70).min(200), 200] {
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(sum(&parts), sum(&[&bytes]));
            }
        }
    }

    #[test]
    fn every_changed_bit_every_length_and_every_swap_changes_the_sum() {
        let bytes: Vec<u8> = (1..=100_u8).map(|byte| byte.wrapping_mul(151)).collect();
        let mut sums = HashSet::new();
        for place in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[place / 8] ^= 1 << (place % 8);
            assert!(sums.insert(sum(&[&changed])));
        }
        for length in 0..100 {
            assert!(sums.insert(sum(&[&bytes[..length]])));
            assert!(sums.insert(sum(&[&vec![0; length + 1]])));
        }
        for block in [8, 16, 32] {
            let mut swapped = bytes.clone();
            swapped[..2 * block].rotate_left(block);
            assert!(sums.insert(sum(&[&swapped])));
        }
        assert!(sums.insert(sum(&[&bytes])));
    }
}
