//! Tables: the first row names the columns, every further one is a review.

use std::io::{self, BufRead, Read};

use ::csv::{ErrorKind, ReaderBuilder, StringRecord};

use super::columns::Columns;
use super::read::{Counted, Progress, ReadError, Reading, Shape};
use super::record::{Field, Found, Record, Sink};
use super::text::quote;

mod quotes;

use quotes::Quotes;

/// What may separate columns, the most usual first: it wins where two are equally frequent.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How far the parser reads ahead: its own buffer.
const AHEAD_BYTES: usize = 64 << 10;

/// More columns than this are no table of reviews.
const COLUMNS_MAX: usize = 1_000;

/// Reads a table.
pub(super) fn read(
    source: impl BufRead,
    reading: &Reading,
    sink: &mut Sink<'_>,
) -> Result<Shape, ReadError> {
    let delimiter = reading
        .delimiter
        .unwrap_or_else(|| delimiter(&reading.head));
    let progress = Progress::new();
    let quotes = Quotes::new(delimiter);
    let mut table = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .buffer_capacity(AHEAD_BYTES)
        .from_reader(LineFeeds::new(
            Counted::new(source, &progress, AHEAD_BYTES as u64),
            &quotes,
        ));
    let mut row = StringRecord::new();
    // Whether there was another row, the line after it, and that of a quotation mark in it that is out of place.
    let mut next = |row: &mut StringRecord| -> Result<Option<(u64, Option<u64>)>, ReadError> {
        progress.end_record();
        let outcome = table.read_record(row);
        let is_there = outcome.map_err(|error| failed(error, progress.line(), &quotes))?;
        let end = table.position();
        Ok(is_there.then(|| (end.line(), quotes.misplaced(end.byte()))))
    };
    let mut after_header = next(&mut row)?;
    // Excel's own line that names the delimiter.
    if after_header.is_some() && separator_line(&reading.head).is_some() {
        after_header = next(&mut row)?;
    }
    let Some((_, misplaced)) = after_header else {
        let message = "is empty: a table begins with a row that names its columns";
        return Err(ReadError::at(0, message));
    };
    if let Some(opened) = misplaced {
        return Err(ReadError::at(opened, MISPLACED));
    }
    let header = row.clone();
    let columns = find(&header, reading)?;
    while let Some((after, misplaced)) = next(&mut row)? {
        // A spreadsheet's empty rows are no reviews.
        if row.iter().all(|value| value.trim().is_empty()) {
            continue;
        }
        // The parser's own position of a row is before the empty lines that it skips.
        let feeds = row.iter().map(|value| value.matches('\n').count() as u64);
        let line = after.saturating_sub(1 + feeds.sum::<u64>()).max(1);
        let found = match misplaced {
            None => found(&row, header.len(), &columns, line),
            Some(opened) if opened == line => refused(line, MISPLACED),
            Some(opened) => refused(line, format!("line {opened}: {MISPLACED}")),
        };
        sink(found).map_err(ReadError::Full)?;
    }
    let name = |at: usize| header.get(at).unwrap_or_default().trim().to_owned();
    Ok(Shape {
        delimiter: Some(delimiter),
        used: columns
            .used
            .iter()
            .map(|(field, at)| (field.to_string(), name(*at)))
            .collect(),
        unused: columns.unused.iter().map(|at| name(*at)).collect(),
    })
}

/// Why a row is refused, or the table: where a mark is missing, columns and rows have run together.
const MISPLACED: &str = "a quotation mark opens here that closes in the middle of a column; is one missing, or not doubled?";

fn refused(line: u64, reason: impl Into<String>) -> Found {
    let reason = reason.into();
    Found::Refused { line, reason }
}

/// Bytes on their way to the parser: every line ends in a line feed, the last one too, so that lines can be counted.
struct LineFeeds<R> {
    source: R,
    quotes: Quotes,
    /// The byte before, as it was read.
    before: u8,
    is_done: bool,
}

impl<R: Read> LineFeeds<R> {
    fn new(source: R, quotes: &Quotes) -> LineFeeds<R> {
        LineFeeds {
            source,
            quotes: quotes.clone(),
            before: b'\n',
            is_done: false,
        }
    }

    /// Reads some bytes; none at the end alone.
    fn feed(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !buffer.is_empty() {
            let read = self.source.read(buffer)?;
            if read == 0 {
                self.is_done = true;
                if matches!(self.before, b'\n' | b'\r') {
                    break;
                }
                buffer[0] = b'\n';
                return Ok(1);
            }
            // Most tables hold no carriage return at all, and then a look costs less than a loop.
            if self.before != b'\r' && !buffer[..read].contains(&b'\r') {
                self.before = buffer[read - 1];
                return Ok(read);
            }
            let mut kept = 0;
            for at in 0..read {
                let byte = buffer[at];
                let is_second = byte == b'\n' && self.before == b'\r';
                self.before = byte;
                if !is_second {
                    buffer[kept] = if byte == b'\r' { b'\n' } else { byte };
                    kept += 1;
                }
            }
            if kept > 0 {
                return Ok(kept);
            }
        }
        Ok(0)
    }
}

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.feed(buffer)?;
        self.quotes.follow(&buffer[..read]);
        if self.is_done && read == 0 && self.quotes.open().is_some() {
            let message = "a quotation mark opens here and is never closed";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        Ok(read)
    }
}

/// Finds the columns, and refuses a table that cannot hold reviews.
fn find(header: &StringRecord, reading: &Reading) -> Result<Columns, ReadError> {
    if header.len() > COLUMNS_MAX {
        return Err(ReadError::at(
            1,
            format!("has {} columns, more than {COLUMNS_MAX}", header.len()),
        ));
    }
    let columns = Columns::find(header.iter(), &reading.mapping)
        .map_err(|message| ReadError::at(1, message))?;
    let missing = [Field::Author, Field::Rating, Field::Date]
        .into_iter()
        .find(|field| !columns.has(*field));
    if let Some(field) = missing {
        let names: Vec<String> = header.iter().take(30).map(quote).collect();
        let message = format!(
            "no column is known to hold the {field}: name it with --map {field}=COLUMN; the columns are {}",
            names.join(", ")
        );
        return Err(ReadError::at(1, message));
    }
    Ok(columns)
}

/// Makes a record of a row.
fn found(row: &StringRecord, width: usize, columns: &Columns, line: u64) -> Found {
    // Rows may end early where the last columns are empty; more columns mean that a quotation mark is missing.
    let extra = row.iter().skip(width).any(|value| !value.trim().is_empty());
    if extra {
        let reason = format!("has {} columns, and the header {width}", row.len());
        return refused(line, reason);
    }
    let mut record = Record::at(line);
    for (field, at) in &columns.used {
        record.set(*field, row.get(*at).unwrap_or_default());
    }
    Found::Record(record)
}

fn failed(error: ::csv::Error, line: u64, quotes: &Quotes) -> ReadError {
    let message = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            ReadError::at(quotes.open().unwrap_or(line), error.to_string())
        }
        ErrorKind::Io(error) => ReadError::of(error, line),
        // The source is UTF-8 and rows may be of any length, so nothing else is left.
        _ => ReadError::at(line, message),
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
fn delimiter(head: &str) -> u8 {
    if let Some(delimiter) = separator_line(head) {
        return delimiter;
    }
    let mut counts = [0usize; DELIMITERS.len()];
    let mut is_quoted = false;
    for byte in head.trim_start().bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted => break,
            _ if is_quoted => {}
            _ => {
                if let Some(at) = DELIMITERS.iter().position(|known| *known == byte) {
                    counts[at] += 1;
                }
            }
        }
    }
    let most = counts.iter().max().copied().unwrap_or_default();
    let at = counts
        .iter()
        .position(|count| *count == most)
        .unwrap_or_default();
    DELIMITERS[at]
}

#[cfg(test)]
mod tests {
    use super::{LineFeeds, Quotes, delimiter, separator_line};
    use std::io::Read;

    #[test]
    fn line_ends_of_every_kind_become_line_feeds() {
        for chunk in [1, 2, 3, 64] {
            let mut reader = LineFeeds::new(&b"a\r\nb\rc\n\r\nd"[..], &Quotes::new(b','));
            let (mut text, mut buffer) = (Vec::new(), vec![0; chunk]);
            loop {
                match reader.read(&mut buffer).unwrap() {
                    0 => break,
                    read => text.extend_from_slice(&buffer[..read]),
                }
            }
            assert_eq!(text, b"a\nb\nc\n\nd\n", "{chunk}");
        }
    }

    #[test]
    fn the_delimiter_is_that_of_the_header() {
        assert_eq!(delimiter("a,b,c\n1;2;3;4\n"), b',');
        assert_eq!(delimiter("\n\"a,x\";\"b,y\";c\r\n"), b';');
        assert_eq!(delimiter("a\tb\tc"), b'\t');
        assert_eq!(delimiter("a|b|c"), b'|');
        assert_eq!(delimiter("one"), b',');
        assert_eq!(delimiter("sep=;\na,b,c;d\n"), b';');
        assert_eq!(separator_line("sep=,\n"), Some(b','));
        assert_eq!(separator_line("separate=1\n"), None);
    }
}
