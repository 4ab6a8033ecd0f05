//! The rows of a workbook (.xlsx): the first sheet that has a cell, read with `calamine` cell by cell.
//!
//! Cells become the text that a CSV file would have: whole numbers without a fraction, days as YYYY-MM-DD. A workbook
//! is read whole, so its size is limited, and so is what its directory says that its parts unpack to.

use std::fmt;
use std::io::Cursor;
use std::mem::take;

use calamine::{DataRef, Reader, Xlsx, XlsxError};
use zip::ZipArchive;
use zip::result::ZipError;

use super::RECORD_BYTES_MAX;
use super::source::{ReadError, TOO_LONG};
use super::table::{COLUMNS_MAX, OnRow, Row};

/// A workbook has at most 32 MiB as a file; a larger one is refused.
pub(super) const WORKBOOK_BYTES_MAX: u64 = 32 << 20;

/// The parts of a workbook unpack to at most 512 MiB, by their sizes in its directory; a larger one is refused.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;

/// How a workbook, which is a ZIP archive, begins.
pub(super) const MAGIC: [u8; 4] = *b"PK\x03\x04";

/// Opens a workbook.
fn open(bytes: &[u8]) -> Result<Xlsx<Cursor<&[u8]>>, ReadError> {
    let unreadable = |error: &dyn fmt::Display| {
        ReadError::whole(format!(
            "is an archive, and no workbook (.xlsx) that can be read: {error}"
        ))
    };
    if unpacked_bytes(bytes).map_err(|error| unreadable(&error))? > UNPACKED_BYTES_MAX {
        return Err(ReadError::whole(format!(
            "is a workbook that unpacks to more than {UNPACKED_BYTES_MAX} bytes: save the sheet as CSV"
        )));
    }
    Xlsx::new(Cursor::new(bytes)).map_err(|error| unreadable(&error))
}

/// Returns the sum of the sizes that the directory of an archive states.
fn unpacked_bytes(bytes: &[u8]) -> Result<u64, ZipError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let mut sum = 0u64;
    for part in 0..archive.len() {
        sum = sum.saturating_add(archive.by_index_raw(part)?.size());
    }
    Ok(sum)
}

/// Hands on the rows of the first sheet that is not empty until `on` returns false.
///
/// # Errors
/// Where the workbook cannot be read, or has no such sheet.
pub(super) fn rows(bytes: &[u8], on: &mut OnRow<'_>) -> Result<(), ReadError> {
    let failed =
        |error: XlsxError| ReadError::whole(format!("is a workbook that cannot be read: {error}"));
    let mut book = open(bytes)?;
    for name in book.sheet_names() {
        let mut cells = match book.worksheet_cells_reader(&name) {
            Ok(cells) => cells,
            Err(_) => continue,
        };
        let Ok(Some(mut cell)) = cells.next_cell() else {
            continue;
        };
        let (mut row, mut bytes) = (Row::default(), 0);
        loop {
            let (at, column) = cell.get_position();
            let line = u64::from(at) + 1;
            if row.line != line {
                if row.line > 0 && !on(take(&mut row))? {
                    return Ok(());
                }
                (row.line, bytes) = (line, 0);
            }
            // One column too many is enough to refuse the table.
            if let Some(column) = usize::try_from(column)
                .ok()
                .filter(|column| *column <= COLUMNS_MAX)
            {
                row.cells
                    .resize(row.cells.len().max(column + 1), String::new());
                row.cells[column] = text(cell.get_value());
                bytes += row.cells[column].len() as u64;
            }
            if bytes > RECORD_BYTES_MAX {
                return Err(ReadError::at(line, TOO_LONG));
            }
            match cells.next_cell().map_err(failed)? {
                Some(next) => cell = next,
                None => return on(row).map(|_| ()),
            }
        }
    }
    Err(ReadError::whole("is a workbook without a filled sheet"))
}

/// A value as a CSV file would have it.
fn text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Empty | DataRef::Error(_) => String::new(),
        DataRef::Int(number) => number.to_string(),
        // The shortest form, so 4.0 becomes 4.
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTime(time) => {
            let (year, month, day, ..) = time.to_ymd_hms_milli();
            format!("{year:04}-{month:02}-{day:02}")
        }
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    /// Returns an archive with one part of so many bytes in its directory.
    fn archive(size: u64) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .start_file("part", SimpleFileOptions::default())
            .expect("a part");
        writer.write_all(b"text").expect("memory");
        let mut bytes = writer.finish().expect("an archive").into_inner();
        // The size stands 24 bytes behind the beginning of the entry in the directory (APPNOTE.TXT 4.3.12).
        let entry = memchr::memmem::rfind(&bytes, b"PK\x01\x02").expect("an entry");
        let size = u32::try_from(size).expect("a size of 32 bits");
        bytes[entry + 24..entry + 28].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn a_workbook_may_unpack_to_512_mib_and_no_byte_more() {
        for (size, message) in [
            (UNPACKED_BYTES_MAX, "no workbook (.xlsx) that can be read"),
            (
                UNPACKED_BYTES_MAX + 1,
                "unpacks to more than 536870912 bytes",
            ),
        ] {
            let error = open(&archive(size)).err().expect("no workbook").to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
