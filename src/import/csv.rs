//! The rows of a table in text (RFC 4180), with any delimiter and any ends of lines.
//!
//! A quotation mark that is out of place is no reason to guess where columns end: the row says so, and is refused. One
//! that is never closed ends the reading, as everything behind it would be one value. The `csv` crate accepts both,
//! and does not say on which line a value begins.

use std::io::BufRead;
use std::mem::take;

use super::RECORD_BYTES_MAX;
use super::source::{ReadError, TOO_LONG};
use super::table::{OnRow, Row};

/// What may separate columns, the most usual first: it wins where two are equally frequent.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Where in a value the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before its first byte.
    Start,
    /// In one without quotation marks, or behind those of one.
    Plain,
    /// Between quotation marks.
    Quoted,
    /// Behind a mark that closes the value, or is the first of two.
    Closing,
}

/// Hands on the rows of a table until `on` returns false.
///
/// # Errors
/// When the source cannot be read, a quotation mark is never closed, or a row is longer than [`RECORD_BYTES_MAX`].
pub(super) fn rows(
    mut source: impl BufRead,
    delimiter: u8,
    on: &mut OnRow<'_>,
) -> Result<(), ReadError> {
    let mut state = State::Start;
    let (mut line, mut opened, mut bytes) = (1, 0, 0);
    let mut after_return = false;
    let (mut row, mut value) = (Row::at(1), Vec::new());
    loop {
        let chunk = source.fill_buf();
        let chunk = chunk.map_err(|error| ReadError::of(error, line))?;
        if chunk.is_empty() {
            break;
        }
        for &byte in chunk {
            let is_break = matches!(byte, b'\n' | b'\r');
            // The second half of a line end.
            let is_second = after_return && byte == b'\n';
            after_return = byte == b'\r';
            match state {
                State::Quoted if byte == b'"' => state = State::Closing,
                State::Quoted => value.push(byte),
                State::Closing if byte == b'"' => {
                    value.push(byte);
                    state = State::Quoted;
                }
                State::Start if byte == b'"' => (state, opened) = (State::Quoted, line),
                // An empty line is no row.
                State::Start if is_second || is_break && row.cells.is_empty() => {}
                _ if is_break || byte == delimiter => {
                    row.cells.push(text(&mut value));
                    state = State::Start;
                    if is_break && !on(take(&mut row))? {
                        return Ok(());
                    }
                }
                _ => {
                    if state == State::Closing {
                        row.misplaced.get_or_insert(opened);
                    }
                    value.push(byte);
                    state = State::Plain;
                }
            }
            line += u64::from(is_break && !is_second);
            bytes += 1;
            if state == State::Start && row.cells.is_empty() {
                (row.line, bytes) = (line, 0);
            }
            if bytes > RECORD_BYTES_MAX {
                return Err(ReadError::at(row.line, TOO_LONG));
            }
        }
        let length = chunk.len();
        source.consume(length);
    }
    if state == State::Quoted {
        return Err(ReadError::at(
            opened,
            "a quotation mark opens here and is never closed",
        ));
    }
    if state != State::Start || !row.cells.is_empty() {
        row.cells.push(text(&mut value));
        on(row)?;
    }
    Ok(())
}

/// The value that has been read; the source is UTF-8 by now.
fn text(value: &mut Vec<u8>) -> String {
    let text = String::from_utf8_lossy(value).into_owned();
    value.clear();
    text
}

/// The delimiter that Excel's first line names: `sep=;`.
pub(super) fn separator_line(head: &str) -> Option<u8> {
    let line = head.lines().next()?.trim_matches('"');
    let (key, value) = line.split_once('=')?;
    match value.trim_end_matches([',', ';']).as_bytes() {
        _ if !key.eq_ignore_ascii_case("sep") => None,
        [] => value.bytes().next(),
        [delimiter] => Some(*delimiter),
        _ => None,
    }
}

/// Finds what separates the columns: the most frequent candidate of the header, outside of quotation marks.
pub(super) fn find_delimiter(head: &str) -> u8 {
    if let Some(delimiter) = separator_line(head) {
        return delimiter;
    }
    let mut is_quoted = false;
    let mut counts = [0; DELIMITERS.len()];
    for byte in head.trim_start().bytes() {
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
    use super::{find_delimiter, rows, separator_line};
    use std::io::BufReader;

    #[test]
    fn rows_are_the_same_however_the_bytes_are_cut() {
        let table =
            b"a,b\r\n\r\n\"x \"\"y\"\" z\",5\" wide\r1,\"two\r\nlines\" too\n\n,\n2,\"\"\n\"\",3";
        let expected = [
            (1, None, vec!["a", "b"]),
            (3, None, vec!["x \"y\" z", "5\" wide"]),
            (4, Some(4), vec!["1", "two\r\nlines too"]),
            (7, None, vec!["", ""]),
            (8, None, vec!["2", ""]),
            (9, None, vec!["", "3"]),
        ];
        for size in [1, 2, 3, 7, 100] {
            let mut at = 0;
            let source = BufReader::with_capacity(size, &table[..]);
            let read = rows(source, b',', &mut |row| {
                let (line, misplaced, cells) = &expected[at];
                assert_eq!((row.line, row.misplaced), (*line, *misplaced), "{size}");
                assert_eq!(row.cells, *cells, "{size}");
                at += 1;
                Ok(true)
            });
            assert!(read.is_ok() && at == expected.len(), "{size}");
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
            ("sep=;\na,b,c;d\n", b';'),
        ] {
            assert_eq!(find_delimiter(head), delimiter, "{head}");
        }
        assert_eq!(separator_line("sep=,\n"), Some(b','));
        assert_eq!(separator_line("separate=1\n"), None);
    }
}
