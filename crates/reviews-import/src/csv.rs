//! Reads the rows of a CSV table (RFC 4180), with any delimiter and any line ends.
//!
//! A row with a misplaced quotation mark is refused, because the ends of its columns are ambiguous. A mark that is
//! never closed ends the reading, because the rest of the text would be one value. The `csv` crate accepts both, and
//! does not report the line on which a value begins.

use std::iter::{Peekable, from_fn};
use std::mem::take;
use std::str::Chars;

use super::columns::Row;
use super::record::ReadError;

/// The possible delimiters, the most common first: of two that are equally frequent the first wins.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The position of the reader in a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first character.
    Start,
    /// Outside quotation marks.
    Plain,
    /// Inside quotation marks.
    Quoted,
    /// After a mark that closes the value, or is the first of two.
    Closing,
}

/// Returns the rows of a table; the last one is an error if a quotation mark is never closed.
pub(super) fn rows(text: &str, delimiter: u8) -> impl Iterator<Item = Result<Row, ReadError>> {
    let mut letters = text.chars().peekable();
    let mut line = 1;
    from_fn(move || next_row(&mut letters, delimiter.into(), &mut line))
}

fn next_row(
    letters: &mut Peekable<Chars<'_>>,
    delimiter: char,
    line: &mut u64,
) -> Option<Result<Row, ReadError>> {
    let (mut state, mut row, mut value) = (State::Start, Row::default(), String::new());
    let mut opened = 0;
    row.line = *line;
    while let Some(letter) = letters.next() {
        let is_break = matches!(letter, '\n' | '\r');
        *line += u64::from(letter == '\n' || is_break && letters.peek() != Some(&'\n'));
        match state {
            State::Quoted if letter == '"' => state = State::Closing,
            State::Quoted => value.push(letter),
            State::Closing if letter == '"' => {
                value.push(letter);
                state = State::Quoted;
            }
            State::Start if letter == '"' => (state, opened) = (State::Quoted, *line),
            // Empty lines are skipped.
            State::Start if is_break && row.cells.is_empty() => row.line = *line,
            _ if letter == delimiter => {
                row.cells.push(take(&mut value));
                state = State::Start;
            }
            _ if is_break => {
                if letter == '\r' && letters.next_if_eq(&'\n').is_some() {
                    *line += 1;
                }
                row.cells.push(value);
                return Some(Ok(row));
            }
            _ => {
                if state == State::Closing {
                    row.misplaced.get_or_insert(opened);
                }
                value.push(letter);
                state = State::Plain;
            }
        }
    }
    if state == State::Quoted {
        let message = "a quotation mark opens here and is never closed";
        return Some(Err(ReadError::at(opened, message)));
    }
    if state == State::Start && row.cells.is_empty() {
        return None;
    }
    row.cells.push(value);
    Some(Ok(row))
}

/// Detects the delimiter: the most frequent candidate in the header, outside quotation marks.
pub(super) fn find_delimiter(text: &str) -> u8 {
    let mut is_quoted = false;
    let mut counts = [0; DELIMITERS.len()];
    for byte in text.trim_start().bytes() {
        is_quoted ^= byte == b'"';
        match DELIMITERS.iter().position(|known| *known == byte) {
            _ if is_quoted => {}
            Some(at) => counts[at] += 1,
            None if matches!(byte, b'\n' | b'\r') => break,
            None => {}
        }
    }
    let most = (0..counts.len()).rev().max_by_key(|at| counts[*at]);
    DELIMITERS[most.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::{find_delimiter, rows};

    #[test]
    fn rows_have_their_lines_and_values() {
        let table =
            "a,b\r\n\r\n\"x \"\"y\"\" z\",5\" wide\r1,\"two\r\nlines\" too\n\n,\n2,\"\"\n\"\",3";
        let expected = [
            (1, None, vec!["a", "b"]),
            (3, None, vec!["x \"y\" z", "5\" wide"]),
            (4, Some(4), vec!["1", "two\r\nlines too"]),
            (7, None, vec!["", ""]),
            (8, None, vec!["2", ""]),
            (9, None, vec!["", "3"]),
        ];
        let read: Vec<_> = rows(table, b',').map(Result::unwrap).collect();
        assert_eq!(read.len(), expected.len());
        for (row, (line, misplaced, cells)) in read.iter().zip(expected) {
            assert_eq!((row.line, row.misplaced), (line, misplaced));
            assert_eq!(row.cells, cells);
        }
    }

    #[test]
    fn the_delimiter_is_that_of_the_header() {
        for (head, delimiter) in [
            ("a,b,c\n1;2;3;4\n", b','),
            ("\n\"a,x\";\"b,y\";c\r\n", b';'),
            ("a\tb\tc", b'\t'),
            ("a|b|c", b'|'),
            ("one", b','),
        ] {
            assert_eq!(find_delimiter(head), delimiter, "{head}");
        }
    }
}
