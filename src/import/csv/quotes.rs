//! Quotation marks of a table, followed beside the parser, which forgives every one that is out of place.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A quotation mark that closes in the middle of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Misplaced {
    /// How many bytes stand before what follows it.
    at: u64,
    /// The line of the mark that it closes.
    opened: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Outside,
    Inside,
    /// After a mark inside: it closes, or is the first of two.
    Closing,
}

/// The way through the marks of the bytes so far; it runs ahead of the parser by what that has buffered.
#[derive(Clone, Debug)]
pub(super) struct Quotes(Rc<RefCell<Follower>>);

#[derive(Debug)]
struct Follower {
    delimiter: u8,
    state: State,
    before: u8,
    bytes: u64,
    /// The line of the next byte, from 1.
    line: u64,
    opened: u64,
    misplaced: VecDeque<Misplaced>,
}

impl Quotes {
    /// At the beginning of a table.
    pub(super) fn new(delimiter: u8) -> Quotes {
        Quotes(Rc::new(RefCell::new(Follower {
            delimiter,
            state: State::Outside,
            before: b'\n',
            bytes: 0,
            line: 1,
            opened: 1,
            misplaced: VecDeque::new(),
        })))
    }

    /// Follows further bytes, whose lines end in line feeds.
    pub(super) fn follow(&self, bytes: &[u8]) {
        self.0.borrow_mut().follow(bytes);
    }

    /// The line of the mark that is open at the end of the bytes so far.
    pub(super) fn open(&self) -> Option<u64> {
        let follower = self.0.borrow();
        (follower.state == State::Inside).then_some(follower.opened)
    }

    /// The line of the first mark that opens before `end` and closes in the middle of a column; all such are forgotten.
    pub(super) fn misplaced(&self, end: u64) -> Option<u64> {
        let misplaced = &mut self.0.borrow_mut().misplaced;
        let mut first = None;
        while let Some(mark) = misplaced.front().filter(|mark| mark.at < end) {
            first = first.or(Some(mark.opened));
            misplaced.pop_front();
        }
        first
    }
}

impl Follower {
    fn follow(&mut self, bytes: &[u8]) {
        let mut at = 0;
        let mut counted = 0;
        while let Some(byte) = bytes.get(at) {
            if self.state == State::Closing {
                self.close(*byte, self.bytes + at as u64);
                at += 1;
                continue;
            }
            let Some(found) = memchr::memchr(b'"', &bytes[at..]) else {
                break;
            };
            at += found;
            if self.state == State::Inside {
                self.state = State::Closing;
            } else {
                let before = at.checked_sub(1).and_then(|at| bytes.get(at));
                let before = *before.unwrap_or(&self.before);
                // The parser takes a mark elsewhere for a letter.
                if before == b'\n' || before == self.delimiter {
                    let feeds = memchr::memchr_iter(b'\n', &bytes[counted..at]).count();
                    counted = at;
                    self.line += feeds as u64;
                    self.opened = self.line;
                    self.state = State::Inside;
                }
            }
            at += 1;
        }
        self.line += memchr::memchr_iter(b'\n', &bytes[counted..]).count() as u64;
        self.bytes += bytes.len() as u64;
        self.before = bytes.last().copied().unwrap_or(self.before);
    }

    /// Takes the byte that follows a mark inside.
    fn close(&mut self, byte: u8, at: u64) {
        self.state = match byte {
            b'"' => State::Inside,
            _ => State::Outside,
        };
        if byte != b'"' && byte != b'\n' && byte != self.delimiter {
            let opened = self.opened;
            self.misplaced.push_back(Misplaced { at, opened });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quotes;

    #[test]
    fn marks_are_followed_however_the_bytes_are_cut() {
        let table =
            b"a,b\n\"x \"\"y\"\" z\",5\" wide\n1,\"two\nlines\" too\n2,\"\"\n3,\"open\n4,5\n";
        for size in [1, 2, 3, 7, 100] {
            let quotes = Quotes::new(b',');
            table.chunks(size).for_each(|part| quotes.follow(part));
            assert_eq!(quotes.open(), Some(6), "{size}");
            assert_eq!(quotes.misplaced(20), None);
            assert_eq!(quotes.misplaced(50), Some(3), "{size}");
            assert_eq!(quotes.misplaced(u64::MAX), None);
        }
    }
}
