//! The rows of a table in text, as RFC 4180 has it, with any delimiter and any ends of lines.
//!
//! A quotation mark that is out of place is no reason to guess where columns end: the row says so, and is refused. One
//! that is never closed ends the reading, as everything behind it would be one value. The `csv` crate forgives both,
//! and does not say on which line a value begins.

use std::io::BufRead;

use super::RECORD_BYTES_MAX;
use super::read::{ReadError, Reading, TOO_LONG};
use super::table::{Row, Rows};

/// What may separate columns, the most usual first: it wins where two are equally frequent.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A table that is read row by row.
pub(super) struct CsvRows<R> {
    source: R,
    delimiter: u8,
    /// The line of the next byte, from 1.
    line: u64,
    /// Whether the byte before was a carriage return: a line feed behind it ends no further line.
    after_return: bool,
}

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

/// Begins to read a table, and returns its delimiter too.
///
/// # Errors
/// As for a row.
pub(super) fn rows<R: BufRead>(
    source: R,
    reading: &Reading,
) -> Result<(CsvRows<R>, u8), ReadError> {
    let delimiter = reading.delimiter;
    let delimiter = delimiter.unwrap_or_else(|| find_delimiter(&reading.head));
    let mut rows = CsvRows {
        source,
        delimiter,
        line: 1,
        after_return: false,
    };
    // Excel's own line that names the delimiter.
    if separator_line(&reading.head).is_some() {
        rows.next(&mut Row::default())?;
    }
    Ok((rows, delimiter))
}

impl<R: BufRead> CsvRows<R> {
    /// Takes the next bytes that belong to a value as they are, and the one behind them, which may mean more; `None`
    /// at the end of the source.
    fn take(&mut self, state: State, value: &mut Vec<u8>) -> Result<Option<u8>, ReadError> {
        loop {
            let bytes = self.source.fill_buf();
            let bytes = bytes.map_err(|error| ReadError::of(error, self.line))?;
            let run = match state {
                State::Quoted => memchr::memchr3(b'"', b'\n', b'\r', bytes),
                State::Plain => memchr::memchr3(self.delimiter, b'\n', b'\r', bytes),
                State::Start | State::Closing => Some(0),
            };
            let run = run.unwrap_or(bytes.len());
            value.extend_from_slice(&bytes[..run]);
            let (byte, is_end) = (bytes.get(run).copied(), bytes.is_empty());
            let is_second = self.after_return && run == 0 && byte == Some(b'\n');
            self.after_return = byte == Some(b'\r');
            self.source.consume(run + usize::from(byte.is_some()));
            if matches!(byte, Some(b'\n' | b'\r')) && !is_second {
                self.line += 1;
            }
            if byte.is_some() || is_end || value.len() as u64 > RECORD_BYTES_MAX {
                return Ok(byte.filter(|_| !is_end));
            }
        }
    }
}

impl<R: BufRead> Rows for CsvRows<R> {
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        let (mut state, mut opened, mut value, mut bytes) = (State::Start, 0, Vec::new(), 0);
        *row = Row {
            line: self.line,
            ..Row::default()
        };
        loop {
            let byte = self.take(state, &mut value)?;
            if (bytes + value.len()) as u64 > RECORD_BYTES_MAX {
                return Err(ReadError::at(row.line, TOO_LONG));
            }
            let is_new = state == State::Start && row.cells.is_empty();
            let is_line_end = matches!(byte, None | Some(b'\n' | b'\r'));
            state = match (state, byte) {
                (State::Quoted, None) => {
                    let message = "a quotation mark opens here and is never closed";
                    return Err(ReadError::at(opened, message));
                }
                (State::Quoted, Some(b'"')) => State::Closing,
                (State::Quoted, Some(byte)) => {
                    value.push(byte);
                    State::Quoted
                }
                (State::Closing, Some(b'"')) => {
                    value.push(b'"');
                    State::Quoted
                }
                (State::Start, Some(b'"')) => {
                    opened = self.line;
                    State::Quoted
                }
                (_, None) if is_new => return Ok(false),
                // An empty line is no row.
                _ if is_line_end && is_new => {
                    row.line = self.line;
                    State::Start
                }
                (_, byte) if is_line_end || byte == Some(self.delimiter) => {
                    bytes += value.len() + 1;
                    row.cells.push(String::from_utf8_lossy(&value).into_owned());
                    value.clear();
                    if is_line_end {
                        return Ok(true);
                    }
                    State::Start
                }
                (before, byte) => {
                    if before == State::Closing {
                        row.misplaced.get_or_insert(opened);
                    }
                    value.extend(byte);
                    State::Plain
                }
            };
        }
    }
}

/// The delimiter that Excel's first line names: `sep=;`.
fn separator_line(head: &str) -> Option<u8> {
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
fn find_delimiter(head: &str) -> u8 {
    if let Some(delimiter) = separator_line(head) {
        return delimiter;
    }
    let mut is_quoted = false;
    let header: Vec<u8> = head
        .trim_start()
        .bytes()
        .take_while(|byte| {
            is_quoted ^= *byte == b'"';
            is_quoted || !matches!(byte, b'\n' | b'\r')
        })
        .collect();
    let mut is_quoted = false;
    let mut counts = [0usize; DELIMITERS.len()];
    for byte in header {
        is_quoted ^= byte == b'"';
        let at = DELIMITERS.iter().position(|known| *known == byte);
        if let Some(at) = at.filter(|_| !is_quoted) {
            counts[at] += 1;
        }
    }
    let most = (0..counts.len()).rev().max_by_key(|at| counts[*at]);
    DELIMITERS[most.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::{CsvRows, Row, Rows, find_delimiter, separator_line};
    use std::io::{BufReader, Read};

    /// The rows of a table, each with its line and that of a misplaced mark, read in chunks of `size` bytes.
    fn rows(table: &[u8], size: usize) -> Vec<(u64, Option<u64>, Vec<String>)> {
        let mut rows = CsvRows {
            source: BufReader::with_capacity(size, table.take(u64::MAX)),
            delimiter: b',',
            line: 1,
            after_return: false,
        };
        let (mut found, mut row) = (Vec::new(), Row::default());
        while rows.next(&mut row).unwrap() {
            found.push((row.line, row.misplaced, row.cells.clone()));
        }
        found
    }

    #[test]
    fn rows_are_the_same_however_the_bytes_are_cut() {
        let table =
            b"a,b\r\n\r\n\"x \"\"y\"\" z\",5\" wide\r1,\"two\r\nlines\" too\n\n,\n2,\"\"\n\"\",3";
        for size in [1, 2, 3, 7, 100] {
            let expected = [
                (1, None, vec!["a", "b"]),
                (3, None, vec!["x \"y\" z", "5\" wide"]),
                (4, Some(4), vec!["1", "two\r\nlines too"]),
                (7, None, vec!["", ""]),
                (8, None, vec!["2", ""]),
                (9, None, vec!["", "3"]),
            ];
            let found = rows(table, size);
            let found: Vec<(u64, Option<u64>, Vec<&str>)> = found
                .iter()
                .map(|(line, mark, cells)| {
                    (*line, *mark, cells.iter().map(String::as_str).collect())
                })
                .collect();
            assert_eq!(found, expected, "{size}");
        }
        assert!(rows(b"\n\r\n", 1).is_empty());
    }

    #[test]
    fn the_delimiter_is_that_of_the_header() {
        assert_eq!(find_delimiter("a,b,c\n1;2;3;4\n"), b',');
        assert_eq!(find_delimiter("\n\"a,x\";\"b,y\";c\r\n"), b';');
        assert_eq!(find_delimiter("a\tb\tc"), b'\t');
        assert_eq!(find_delimiter("a|b|c"), b'|');
        assert_eq!(find_delimiter("one"), b',');
        assert_eq!(find_delimiter("sep=;\na,b,c;d\n"), b';');
        assert_eq!(separator_line("sep=,\n"), Some(b','));
        assert_eq!(separator_line("separate=1\n"), None);
    }
}
