//! Reads the rows of a CSV table (RFC 4180) with the `csv` crate, with any delimiter and any line ends.
//!
//! The crate accepts quotation marks in any place. A row in which one closes in the middle of a value is refused, because
//! the ends of its columns are ambiguous; a mark that is never closed ends the reading, because the rest of the text
//! would be one value. Both are found in the bytes of the record.

use ::csv::{Position, ReaderBuilder, StringRecord, Terminator};

use super::record::ReadError;

/// The possible delimiters, the most common first: of two that are equally frequent the first wins.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct TableRow {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
    /// The line of a quotation mark that closes in the middle of a value.
    pub(super) misplaced: Option<u64>,
}

/// A table: the text below a line such as `sep=;`, which Excel reads, and the delimiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct CsvTable<'t> {
    text: &'t str,
    pub(super) delimiter: u8,
    first_line: u64,
}

/// The marks of one record.
#[derive(Clone, Copy, Default)]
struct QuotationMarks {
    /// The offset of a mark that opens a value which does not end after the closing mark.
    misplaced: Option<usize>,
    /// The offset of a mark that is never closed.
    unclosed: Option<usize>,
}

impl<'t> CsvTable<'t> {
    /// Finds the delimiter of a table.
    pub(super) fn new(text: &'t str) -> CsvTable<'t> {
        let first = text.lines().next().unwrap_or_default();
        let stated = first.trim().to_ascii_lowercase();
        if let Some([delimiter]) = stated.strip_prefix("sep=").map(str::as_bytes) {
            return CsvTable {
                text: text[first.len()..].trim_start_matches(['\r', '\n']),
                delimiter: *delimiter,
                first_line: 2,
            };
        }
        CsvTable {
            text,
            delimiter: find_delimiter(text),
            first_line: 1,
        }
    }

    /// Returns the rows; the last one is an error if a quotation mark is never closed. Empty lines are skipped.
    pub(super) fn rows(self) -> impl Iterator<Item = Result<TableRow, ReadError>> + use<'t> {
        let text = self.text.as_bytes();
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::CRLF)
            .from_reader(text);
        // The line of the last record, and where that record began.
        let mut line = self.first_line;
        let mut record_start = 0;
        let mut is_over = false;
        std::iter::from_fn(move || {
            let mut record = StringRecord::new();
            let read_from = offset(reader.position(), text);
            if is_over {
                return None;
            }
            let has_record = reader.read_record(&mut record).ok()?;
            if !has_record {
                return None;
            }
            let end = offset(reader.position(), text);
            let start = read_from + blank_bytes(&text[read_from..end]);
            line += line_ends(&text[record_start..start]);
            record_start = start;
            let bytes = &text[start..end];
            let marks = marks(bytes, self.delimiter);
            if let Some(opened) = marks.unclosed {
                is_over = true;
                let opened_line = line + line_ends(&bytes[..opened]);
                let message = "a quotation mark opens here and is never closed";
                return Some(Err(ReadError::at(opened_line, message)));
            }
            let misplaced = marks
                .misplaced
                .map(|offset| line + line_ends(&bytes[..offset]));
            Some(Ok(TableRow {
                line,
                cells: record.iter().map(str::to_owned).collect(),
                misplaced,
            }))
        })
    }
}

/// The byte of `text` that the reader reads next.
fn offset(position: &Position, text: &[u8]) -> usize {
    let offset = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    offset.min(text.len())
}

/// Counts the bytes of the empty lines before a record, which the reader skips.
fn blank_bytes(bytes: &[u8]) -> usize {
    let blank = bytes
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'));
    blank.count()
}

/// Counts the line ends: `\n`, `\r\n` and `\r`.
fn line_ends(bytes: &[u8]) -> u64 {
    let mut count = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let is_end = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        count += u64::from(is_end);
    }
    count
}

/// Finds quotation marks in the wrong place in the bytes of a record.
fn marks(bytes: &[u8], delimiter: u8) -> QuotationMarks {
    let mut marks = QuotationMarks::default();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at = after_value(bytes, at, delimiter);
            continue;
        }
        let opened = at;
        at += 1;
        // Two marks within a quoted value stand for one.
        loop {
            match bytes.get(at) {
                None => {
                    marks.unclosed = Some(opened);
                    return marks;
                }
                Some(b'"') if bytes.get(at + 1) == Some(&b'"') => at += 2,
                Some(b'"') => break,
                Some(_) => at += 1,
            }
        }
        at += 1;
        let is_end = bytes
            .get(at)
            .is_none_or(|byte| *byte == delimiter || matches!(byte, b'\r' | b'\n'));
        if !is_end {
            marks.misplaced = marks.misplaced.or(Some(opened));
        }
        at = after_value(bytes, at, delimiter);
    }
    marks
}

/// Returns where the value after the next delimiter from `at` on begins; the end if there is no other.
fn after_value(bytes: &[u8], at: usize, delimiter: u8) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.iter().position(|byte| *byte == delimiter) {
        Some(length) => at + length + 1,
        None => bytes.len(),
    }
}

/// Detects the delimiter: the most frequent candidate in the header, outside quotation marks.
fn find_delimiter(text: &str) -> u8 {
    let mut is_quoted = false;
    let mut counts = [0; DELIMITERS.len()];
    for byte in text.trim_start().bytes() {
        if byte == b'"' {
            is_quoted = !is_quoted;
        }
        if is_quoted {
            continue;
        }
        if matches!(byte, b'\n' | b'\r') {
            break;
        }
        if let Some(at) = DELIMITERS.iter().position(|delimiter| *delimiter == byte) {
            counts[at] += 1;
        }
    }
    let most = (0..counts.len()).rev().max_by_key(|at| counts[*at]);
    DELIMITERS[most.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let read: Vec<_> = CsvTable::new(table).rows().map(Result::unwrap).collect();
        assert_eq!(read.len(), expected.len());
        for (row, (line, misplaced, cells)) in read.iter().zip(expected) {
            assert_eq!((row.line, row.misplaced), (line, misplaced));
            assert_eq!(row.cells, cells);
        }
    }

    #[test]
    fn the_delimiter_is_that_of_the_header_or_of_the_line_before_it() {
        for (head, delimiter) in [
            ("a,b,c\n1;2;3;4\n", b','),
            ("\n\"a,x\";\"b,y\";c\r\n", b';'),
            ("a\tb\tc", b'\t'),
            ("a|b|c", b'|'),
            ("one", b','),
            ("sep=;\r\na,b;c", b';'),
        ] {
            assert_eq!(CsvTable::new(head).delimiter, delimiter, "{head}");
        }
        let mut rows = CsvTable::new("sep=;\r\na;b\r\n").rows();
        let first = rows.next().expect("a row").expect("readable");
        assert_eq!(
            (first.line, first.cells),
            (2, vec!["a".to_owned(), "b".to_owned()])
        );
    }
}
