//! Leaves' lists in bits: gaps in Rice codes, among all rows or among the rows of another list.
//!
//! All reviews of "attorn" hold "ttorn" and "torn", too. So a list may name the one of a gram that follows its first
//! code point, its base, and tell only which of the base's rows it has: one to three bits a row instead of seven.

use super::Tree;

/// The longest chain of bases: more would save little, and each is decoded before the list itself.
pub(super) const BASES_MAX: u32 = 3;

/// A list has a base where the rows of all its bases are at most so many for each of its own.
pub(super) const BASE_ROWS_MAX: u32 = 8;

/// Largest number of low bits of a Rice code; rows are of 32.
const LOW_BITS_MAX: u32 = 31;

/// A code takes fewer bits on the average: at most 31 low ones, the one that ends the high ones, and six of those.
const CODE_BITS_MAX: u64 = 38;

/// One list: its base and count as varints, the number of low bits of its code, and the codes, unless it is all of its base.
#[derive(Clone, Copy, Debug, PartialEq)]
struct List<'t> {
    /// The leaf whose rows its ranks count; `None` where they are rows.
    base: Option<u32>,
    /// How many rows it has.
    count: u32,
    low_bits: u32,
    codes: &'t [u8],
    /// It has all rows of its base, and no codes.
    is_all: bool,
}

impl<'t> List<'t> {
    /// Takes apart a list; any bytes are one.
    fn parse(bytes: &'t [u8]) -> List<'t> {
        let (base, rest) = varint(bytes);
        let (count, rest) = varint(rest);
        let (low_bits, codes) = rest.split_first().unwrap_or((&0, &[]));
        List {
            base: base.checked_sub(1),
            count,
            low_bits: u32::from(*low_bits) & LOW_BITS_MAX,
            codes,
            is_all: base > 0 && rest.is_empty(),
        }
    }

    /// Calls `each` with the ranks of the list, ascending and below `universe`, until it returns `false`.
    fn each_rank(&self, universe: u32, mut each: impl FnMut(u32) -> bool) {
        if self.is_all {
            (0..universe.min(self.count)).all(each);
            return;
        }
        let mut codes = Codes::new(self.codes);
        let mut lowest = 0_u32;
        for _ in 0..self.count {
            let Some(gap) = codes.next(self.low_bits) else {
                return;
            };
            let rank = u64::from(lowest).saturating_add(gap);
            if rank >= u64::from(universe) || !each(rank as u32) {
                return;
            }
            lowest = rank as u32 + 1;
        }
    }

    /// Tells whether it has as many codes as rows could have: a bit for each at least, and at most what [`low_bits`]
    /// leads to. One that has all rows of a base of `universe` has none.
    fn is_sound(&self, universe: Option<u32>) -> bool {
        let (bits, count) = (self.codes.len() as u64 * 8, u64::from(self.count));
        match universe.is_some_and(|universe| self.count >= universe) {
            true => self.is_all,
            false => !self.is_all && bits >= count && bits <= count * CODE_BITS_MAX + 7,
        }
    }
}

/// Appends the list of ascending `ranks`, all below `universe`, with the number of its base.
pub(super) fn pack_ranks(ranks: &[u32], universe: u32, base: Option<u32>, out: &mut Vec<u8>) {
    let count = ranks.len() as u32;
    put_varint(base.map_or(0, |base| base + 1), out);
    put_varint(count, out);
    if base.is_some() && count >= universe {
        return;
    }
    let low_bits = low_bits(ranks, universe);
    out.push(low_bits as u8);
    let mut bits = Bits {
        out,
        word: 0,
        filled: 0,
    };
    let mut lowest = 0;
    for rank in ranks {
        let gap = rank - lowest;
        lowest = rank + 1;
        bits.put_code(gap, low_bits);
    }
    bits.end();
}

/// Returns the number of low bits with which `ranks` take fewest bits, out of the three around what even gaps suggest.
fn low_bits(ranks: &[u32], universe: u32) -> u32 {
    let mean = u64::from(universe) / (ranks.len() as u64).max(1);
    // A Rice code is best where 2^low_bits is about 0.69 of the mean gap.
    let guess = (mean * 11 / 16).max(1).ilog2().min(LOW_BITS_MAX - 1);
    let from = guess.saturating_sub(1);
    let mut high = [0_u64; 3];
    let mut lowest = 0;
    for rank in ranks {
        let gap = rank - lowest;
        lowest = rank + 1;
        for (high, low_bits) in high.iter_mut().zip(from..) {
            *high += u64::from(gap >> low_bits);
        }
    }
    let bits = |(low_bits, high): (u32, u64)| high + ranks.len() as u64 * u64::from(low_bits);
    let choices = (from..).zip(high);
    choices
        .min_by_key(|choice| bits(*choice))
        .map_or(guess, |(low_bits, _)| low_bits)
}

impl Tree {
    /// Calls `each` with the rows of leaf `leaf`, whose list is tight, ascending and below `end`, until it returns `false`; uses
    /// `spare` for the rows of its bases. Whatever bytes decode to such rows.
    pub(super) fn each_tight(
        &self,
        leaf: u32,
        end: u32,
        spare: &mut Vec<u32>,
        mut each: impl FnMut(u32) -> bool,
    ) {
        let list = List::parse(self.leaf(leaf));
        match list.base {
            None => list.each_rank(end, each),
            Some(base) => {
                self.fill(base, end, spare, BASES_MAX - 1);
                list.each_rank(spare.len() as u32, |rank| each(spare[rank as usize]));
            }
        }
    }

    /// Tells whether all tight lists have few enough bases with few enough rows, none of them more than all `rows`, and
    /// together no more than a text of `bytes` bytes has places, so that reading takes bounded memory and a bounded number of steps.
    pub(in crate::search) fn has_sound_lists(&self, bytes: u64, rows: u32) -> bool {
        let mut left = bytes;
        self.nodes.iter().all(|node| {
            (node.leaves..node.leaves + u32::from(node.leaf_len)).all(|leaf| {
                let count = u64::from(List::parse(self.leaf(leaf)).count);
                let is_within = count <= left;
                left = left.saturating_sub(count);
                is_within && self.is_sound_list(leaf, rows)
            })
        })
    }

    fn is_sound_list(&self, leaf: u32, rows: u32) -> bool {
        let mut list = List::parse(self.leaf(leaf));
        if list.count > rows {
            return false;
        }
        let mut rows_left = u64::from(list.count) * u64::from(BASE_ROWS_MAX);
        for _ in 0..=BASES_MAX {
            let Some(base) = list.base else {
                return list.is_sound(None);
            };
            let base = List::parse(self.leaf(base));
            let Some(left) = rows_left.checked_sub(u64::from(base.count)) else {
                return false;
            };
            if !(list.count..=rows).contains(&base.count) || !list.is_sound(Some(base.count)) {
                return false;
            }
            (list, rows_left) = (base, left);
        }
        false
    }

    /// Leaves the rows of leaf `leaf` in `rows`; a list with more than `bases_max` bases is empty.
    fn fill(&self, leaf: u32, end: u32, rows: &mut Vec<u32>, bases_max: u32) {
        rows.clear();
        let list = List::parse(self.leaf(leaf));
        match (list.base, bases_max) {
            (None, _) => list.each_rank(end, |row| {
                rows.push(row);
                true
            }),
            (Some(_), 0) => {}
            (Some(base), _) => {
                self.fill(base, end, rows, bases_max - 1);
                let mut kept = 0;
                // A rank is never below its own place, so nothing is overwritten that is still to be read.
                list.each_rank(rows.len() as u32, |rank| {
                    rows[kept] = rows[rank as usize];
                    kept += 1;
                    true
                });
                rows.truncate(kept);
            }
        }
    }
}

/// Reads Rice codes from the lowest bit of the first byte on: as many zeros as the high bits say, a one, the low bits.
struct Codes<'t> {
    bytes: &'t [u8],
    /// Bits read so far.
    at: usize,
    /// The bits that follow, the next one lowest.
    word: u64,
    /// How many of them `word` has.
    left: u32,
}

impl<'t> Codes<'t> {
    fn new(bytes: &'t [u8]) -> Codes<'t> {
        Codes {
            bytes,
            at: 0,
            word: 0,
            left: 0,
        }
    }

    /// Returns the next number; `None` where the bytes end.
    fn next(&mut self, low_bits: u32) -> Option<u64> {
        let mut zeros = self.word.trailing_zeros();
        if zeros + low_bits >= self.left {
            self.refill();
            zeros = self.word.trailing_zeros();
            if zeros + low_bits >= self.left {
                return self.next_long(low_bits);
            }
        }
        Some(self.take(zeros, low_bits))
    }

    /// Takes `zeros` zeros, the one behind them, and the low bits, all of which `word` has.
    fn take(&mut self, zeros: u32, low_bits: u32) -> u64 {
        let low = self.word >> zeros >> 1 & ((1 << low_bits) - 1);
        let used = zeros + 1 + low_bits;
        self.word = self.word >> zeros >> 1 >> low_bits;
        self.left -= used;
        self.at += used as usize;
        u64::from(zeros) << low_bits | low
    }

    /// Reads a number whose code may be longer than a word.
    fn next_long(&mut self, low_bits: u32) -> Option<u64> {
        let mut high = 0;
        loop {
            let zeros = self.word.trailing_zeros();
            if zeros < self.left {
                self.word >>= zeros;
                self.left -= zeros;
                self.at += zeros as usize;
                high += u64::from(zeros);
                break;
            }
            high += u64::from(self.left);
            self.at += self.left as usize;
            self.left = 0;
            if self.at >= self.bytes.len() * 8 {
                return None;
            }
            self.refill();
        }
        if self.left <= low_bits {
            self.refill();
        }
        Some((high << low_bits) + self.take(0, low_bits))
    }

    /// Fills `word` from where reading stands: at least 57 bits, zeros where the bytes have ended.
    fn refill(&mut self) {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let bytes = match rest.first_chunk() {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                bytes
            }
        };
        let used = self.at as u32 % 8;
        self.word = u64::from_le_bytes(bytes) >> used;
        self.left = 64 - used;
    }
}

/// Writes what [`Codes`] reads.
struct Bits<'o> {
    out: &'o mut Vec<u8>,
    word: u64,
    filled: u32,
}

impl Bits<'_> {
    fn put_code(&mut self, number: u32, low_bits: u32) {
        let mut zeros = number >> low_bits;
        while zeros >= 32 {
            self.put(0, 32);
            zeros -= 32;
        }
        self.put(1 << zeros, zeros + 1);
        self.put(u64::from(number) & ((1 << low_bits) - 1), low_bits);
    }

    /// Appends the lowest `length` bits of `bits`, at most 32; those above are 0.
    fn put(&mut self, bits: u64, length: u32) {
        self.word |= bits << self.filled;
        self.filled += length;
        while self.filled >= 8 {
            self.out.push(self.word as u8);
            self.word >>= 8;
            self.filled -= 8;
        }
    }

    fn end(self) {
        if self.filled > 0 {
            self.out.push(self.word as u8);
        }
    }
}

fn put_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Splits off a number; what is missing of one counts as zeros.
fn varint(bytes: &[u8]) -> (u32, &[u8]) {
    let mut number = 0_u32;
    let mut rest = bytes;
    for shift in [0, 7, 14, 21, 28] {
        let Some((byte, after)) = rest.split_first() else {
            break;
        };
        number |= u32::from(byte & 0x7f) << shift;
        rest = after;
        if *byte < 0x80 {
            break;
        }
    }
    (number, rest)
}

#[cfg(test)]
mod tests;
