//! Building the tree: texts are cut into units by their first two bytes, and threads grow unit after unit.

use super::assemble::assemble;
use super::grow::{GRAM_BYTES_MAX, Grower};
use super::place::{Depth, Place, count_rows, key};
use super::shelf::Shelf;
use super::{Node, Set, Tree, Tuning};
use crate::search::arena::{Arena, END};
use crate::search::rows::pack;
use memchr::{memchr_iter, memchr2_iter, memchr3_iter};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A short gram whose part of the tree is grown alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) first: u8,
    /// `None` where the first byte alone occurs in so few reviews that it is a leaf.
    pub(super) second: Option<u8>,
    places: u64,
}

/// What grew out of a unit.
pub(super) struct Grown {
    pub(super) unit: Unit,
    /// Node 0 is the unit's own gram; without nodes it is a leaf, and `lists` its rows.
    pub(super) tree: Tree,
}

/// Places that one thread holds at a time, 16 bytes each: 256 MiB.
const BATCH_PLACES_MAX: u64 = 1 << 24;

/// Grows the tree of `arena` on up to `threads` threads; `None` where it would take more than `bytes_max` bytes, the
/// arena is larger than its 32-bit positions can tell, or it was `cancelled`, which is asked for each short gram. The same tree comes of any number of threads.
///
/// Each thread holds at most [`BATCH_PLACES_MAX`] places or one unit, and reads the arena once for each batch.
pub(in crate::search) fn grow_tree(
    arena: &Arena,
    tuning: Tuning,
    threads: NonZeroUsize,
    bytes_max: u64,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Tree> {
    let shelf = Shelf::new(bytes_max, cancelled);
    grow_on(&shelf, arena, tuning, threads).filter(|tree| tree.memory() <= bytes_max)
}

fn grow_on(
    shelf: &Shelf<'_>,
    arena: &Arena,
    tuning: Tuning,
    threads: NonZeroUsize,
) -> Option<Tree> {
    if arena.len() > u64::from(u32::MAX) - u64::from(GRAM_BYTES_MAX) {
        return None;
    }
    let units = plan(arena, tuning);
    let total: u64 = units.iter().map(|unit| unit.places).sum();
    let batch_max = (total / (threads.get() as u64 * 4)).clamp(1 << 16, BATCH_PLACES_MAX);
    let batches = cut(&units, batch_max, tuning.unit_places_max);
    let next = AtomicUsize::new(0);
    let grown: Vec<Mutex<Vec<Grown>>> = batches.iter().map(|_| Mutex::default()).collect();
    let work = || {
        let mut memory = Memory::default();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = grow_batch(arena, &units[batch.clone()], tuning, shelf, &mut memory);
            let slot = batches.partition_point(|known| known.start < batch.start);
            *grown[slot].lock().unwrap_or_else(PoisonError::into_inner) = done;
            if shelf.is_over() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(batches.len()) {
            // Where the system gives no thread, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if shelf.is_over() {
        return None;
    }
    let grown = grown
        .into_iter()
        .flat_map(|batch| batch.into_inner().unwrap_or_else(PoisonError::into_inner));
    assemble(arena, grown.collect(), tuning, shelf)
}

/// Counts places and reviews of all grams of two bytes, and makes units of them, ascending.
fn plan(arena: &Arena, tuning: Tuning) -> Vec<Unit> {
    let mut places = vec![0_u64; 1 << 16];
    let mut rows = [0_u32; 256];
    let mut last = [u32::MAX; 256];
    for row in 0..arena.rows() {
        each_gram(arena, row, |_, gram| {
            places[usize::from(gram)] += 1;
            let first = usize::from(gram >> 8);
            rows[first] += u32::from(last[first] != row);
            last[first] = row;
        });
    }
    let mut units = Vec::new();
    for first in 0..=u8::MAX {
        let seconds = &places[usize::from(first) << 8..][..256];
        if rows[usize::from(first)] <= tuning.leaf_rows_max {
            let places = seconds.iter().sum();
            units.extend((places > 0).then_some(Unit {
                first,
                second: None,
                places,
            }));
        } else {
            let unit = |second: u8| Unit {
                first,
                second: Some(second),
                places: seconds[usize::from(second)],
            };
            units.extend((0..=u8::MAX).map(unit).filter(|unit| unit.places > 0));
        }
    }
    units
}

/// Cuts `units` into runs of at most `places_max` places, or of one unit; one of more than `unit_places_max` is alone.
fn cut(units: &[Unit], places_max: u64, unit_places_max: u64) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut held = u64::MAX;
    for (number, unit) in units.iter().enumerate() {
        held = held.saturating_add(unit.places);
        match batches.last_mut() {
            Some(batch) if held <= places_max => batch.end = number + 1,
            _ => {
                batches.push(number..number + 1);
                held = if unit.places > unit_places_max {
                    u64::MAX
                } else {
                    unit.places
                };
            }
        }
    }
    batches
}

/// Memory that a thread uses again for each batch.
#[derive(Default)]
struct Memory {
    places: Vec<Place>,
    spare: Vec<Place>,
}

fn grow_batch(
    arena: &Arena,
    units: &[Unit],
    tuning: Tuning,
    shelf: &Shelf<'_>,
    memory: &mut Memory,
) -> Vec<Grown> {
    let mut grower = Grower::new(arena.bytes(), arena.rows(), tuning, shelf);
    if let [unit] = units
        && unit.places > tuning.unit_places_max
    {
        grow_stump(arena, *unit, tuning, &mut grower);
        let tree = grower.take();
        shelf.book(tree.memory());
        return vec![Grown { unit: *unit, tree }];
    }
    let ends = collect(arena, units, &mut memory.places);
    let mut start = 0;
    let mut grown = Vec::with_capacity(units.len());
    for (unit, end) in units.iter().zip(ends) {
        if shelf.is_over() {
            break;
        }
        let places = &mut memory.places[start..end];
        start = end;
        let count = count_rows(places);
        if unit.second.is_none_or(|second| second == END) || count <= tuning.leaf_rows_max {
            grower.list(places);
        } else {
            if memory.spare.len() < places.len() {
                memory.spare.resize(places.len(), Place::default());
            }
            grower.tree.nodes.push(Node::EMPTY);
            let depth = Depth {
                bytes: 2,
                keys_from: 2,
            };
            grower.grow(
                0,
                places,
                &mut memory.spare[..places.len()],
                depth,
                count,
                (Set::Below, 0),
            );
        }
        let tree = grower.take();
        shelf.book(tree.memory());
        grown.push(Grown { unit: *unit, tree });
    }
    grown
}

/// Grows a unit of too many places to hold: its reviews are known, and nothing below it.
fn grow_stump(arena: &Arena, unit: Unit, tuning: Tuning, grower: &mut Grower<'_>) {
    let gram = [unit.first, unit.second.unwrap_or(END)];
    let gram = if unit.second.is_some() {
        &gram[..]
    } else {
        &gram[..1]
    };
    let finder = memchr::memmem::Finder::new(gram);
    let bytes = |row: u32| &arena.bytes()[arena.start(row) as usize..arena.start(row + 1) as usize];
    let rows: Vec<u32> = (0..arena.rows())
        .filter(|row| finder.find(bytes(*row)).is_some())
        .collect();
    let is_leaf = unit.second.is_none_or(|second| second == END)
        || rows.len() <= tuning.leaf_rows_max as usize;
    if is_leaf {
        pack(rows.iter().copied(), &mut grower.tree.lists);
    } else {
        grower.tree.nodes.push(Node::EMPTY);
        grower.stump(0, &rows);
    }
}

/// Collects the places of `units`, unit after unit, each in the order of the arena; returns where each unit ends.
///
/// All batches together read the arena dozens of times, so what is not of these units is passed by as fast as bytes
/// can be compared. `places` never becomes shorter, since new memory costs more than old.
fn collect(arena: &Arena, units: &[Unit], places: &mut Vec<Place>) -> Vec<usize> {
    const OTHER: u16 = u16::MAX;
    let mut unit_of = vec![OTHER; 1 << 16];
    let mut next = Vec::with_capacity(units.len());
    let mut total = 0;
    for (number, unit) in units.iter().enumerate() {
        let first = usize::from(unit.first) << 8;
        match unit.second {
            Some(second) => unit_of[first | usize::from(second)] = number as u16,
            None => unit_of[first..first + 256].fill(number as u16),
        }
        next.push(total);
        total += unit.places as usize;
    }
    if places.len() < total {
        places.resize(total, Place::default());
    }
    let firsts = Firsts::of(units);
    let bytes = arena.bytes();
    for row in 0..arena.rows() {
        let (start, end) = (arena.start(row) as usize, arena.start(row + 1) as usize);
        firsts.each(&bytes[start..end], |place| {
            // Every text is closed, so another byte follows.
            let gram =
                usize::from(bytes[start + place]) << 8 | usize::from(bytes[start + place + 1]);
            let unit = unit_of[gram];
            if unit != OTHER {
                let next = &mut next[usize::from(unit)];
                let position = (start + place) as u32;
                let key = key(bytes, start + place + 2);
                places[*next] = Place { key, position, row };
                *next += 1;
            }
        });
    }
    next
}

/// The first bytes of some units.
enum Firsts {
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    Many(Box<[bool; 256]>),
}

impl Firsts {
    fn of(units: &[Unit]) -> Firsts {
        let mut firsts: Vec<u8> = units.iter().map(|unit| unit.first).collect();
        firsts.dedup();
        match firsts[..] {
            [one] => Firsts::One(one),
            [one, two] => Firsts::Two(one, two),
            [one, two, three] => Firsts::Three(one, two, three),
            _ => {
                let mut many = Box::new([false; 256]);
                firsts
                    .into_iter()
                    .for_each(|first| many[usize::from(first)] = true);
                Firsts::Many(many)
            }
        }
    }

    /// Calls `each` with the places of these bytes in `text`, ascending. None of them continues a code point or closes
    /// a text.
    fn each(&self, text: &[u8], each: impl FnMut(usize)) {
        match *self {
            Firsts::One(one) => memchr_iter(one, text).for_each(each),
            Firsts::Two(one, two) => memchr2_iter(one, two, text).for_each(each),
            Firsts::Three(one, two, three) => memchr3_iter(one, two, three, text).for_each(each),
            Firsts::Many(ref many) => {
                let places = text.iter().enumerate();
                let here = places.filter(|(_, byte)| many[usize::from(**byte)]);
                here.map(|(place, _)| place).for_each(each);
            }
        }
    }
}

/// Calls `each` for every code point of `row`, with its position and its first two bytes, or its only byte and [`END`].
fn each_gram(arena: &Arena, row: u32, mut each: impl FnMut(u32, u16)) {
    let (start, end) = (arena.start(row), arena.start(row + 1));
    let bytes = &arena.bytes()[start as usize..end as usize];
    for (place, pair) in bytes.windows(2).enumerate() {
        let is_continuation = pair[0] & 0xc0 == 0x80;
        if !is_continuation {
            each(
                start as u32 + place as u32,
                u16::from_be_bytes([pair[0], pair[1]]),
            );
        }
    }
}

#[cfg(test)]
mod tests;
