//! The rows of a workbook (.xlsx): the first sheet that has a cell, read with `calamine` cell by cell.
//!
//! Cells become the text that a CSV file would have: whole numbers without a fraction, days as YYYY-MM-DD. A workbook
//! is read whole, so its size is limited, and so is what its directory says that its parts unpack to.

use std::fmt;
use std::io::Cursor;

use calamine::{Cell, DataRef, Reader, Xlsx, XlsxCellReader, XlsxError};
use zip::ZipArchive;
use zip::result::ZipError;

use super::RECORD_BYTES_MAX;
use super::read::{ReadError, TOO_LONG};
use super::table::{Row, Rows};

/// A workbook has at most 32 MiB as it lies on disk; a larger one is refused.
pub const WORKBOOK_BYTES_MAX: u64 = 32 << 20;

/// The parts of a workbook unpack to at most 512 MiB, by their sizes in its directory; a larger one is refused.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;

/// Columns beyond this are not read: a table of reviews has no such.
const COLUMNS_MAX: u32 = 1_001;

/// How a workbook, which is a ZIP archive, begins.
pub const MAGIC: [u8; 4] = *b"PK\x03\x04";

/// Opens a workbook.
///
/// # Errors
/// Where it is none, or unpacks to too much.
pub(super) fn open(bytes: &[u8]) -> Result<Xlsx<Cursor<&[u8]>>, ReadError> {
    let unreadable = |error: &dyn fmt::Display| {
        let message = format!("is an archive, and no workbook (.xlsx) that can be read: {error}");
        ReadError::at(0, message)
    };
    if unpacked_bytes(bytes).map_err(|error| unreadable(&error))? > UNPACKED_BYTES_MAX {
        let message = format!(
            "is a workbook that unpacks to more than {UNPACKED_BYTES_MAX} bytes: save the sheet as CSV"
        );
        return Err(ReadError::at(0, message));
    }
    Xlsx::new(Cursor::new(bytes)).map_err(|error| unreadable(&error))
}

/// Returns the sum of the sizes that the directory of an archive states.
fn unpacked_bytes(bytes: &[u8]) -> Result<u64, ZipError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let sizes = (0..archive.len()).map(|part| Ok(archive.by_index_raw(part)?.size()));
    sizes
        .collect::<Result<Vec<_>, ZipError>>()
        .map(|sizes| sizes.iter().fold(0, |sum, size| size.saturating_add(sum)))
}

/// The rows of one sheet.
pub(super) struct SheetRows<'w> {
    cells: XlsxCellReader<'w, Cursor<&'w [u8]>>,
    /// The first cell of the next row.
    ahead: Option<Cell<DataRef<'w>>>,
}

/// Returns the rows of the first sheet that is not empty.
///
/// # Errors
/// Where there is no such sheet, or it cannot be read.
pub(super) fn rows<'w>(book: &'w mut Xlsx<Cursor<&'w [u8]>>) -> Result<SheetRows<'w>, ReadError> {
    let sheets = book.sheet_names();
    let filled = sheets.iter().find(|name| {
        let cells = book.worksheet_cells_reader(name);
        cells.is_ok_and(|mut cells| matches!(cells.next_cell(), Ok(Some(_))))
    });
    let name = filled.ok_or_else(|| ReadError::at(0, "is a workbook without a filled sheet"))?;
    let mut cells = book.worksheet_cells_reader(name).map_err(failed)?;
    let ahead = cells.next_cell().map_err(failed)?;
    Ok(SheetRows { cells, ahead })
}

impl Rows for SheetRows<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        *row = Row::default();
        let Some(first) = self.ahead.take() else {
            return Ok(false);
        };
        let number = first.get_position().0;
        row.line = u64::from(number) + 1;
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(cell) = next {
            let (at, column) = cell.get_position();
            if at != number {
                self.ahead = Some(cell);
                break;
            }
            if column < COLUMNS_MAX {
                let column = column as usize;
                row.cells
                    .resize(row.cells.len().max(column + 1), String::new());
                row.cells[column] = text(cell.get_value());
                bytes += row.cells[column].len() as u64;
            }
            if bytes > RECORD_BYTES_MAX {
                return Err(ReadError::at(row.line, TOO_LONG));
            }
            next = self.cells.next_cell().map_err(failed)?;
        }
        Ok(true)
    }
}

fn failed(error: XlsxError) -> ReadError {
    ReadError::at(0, format!("is a workbook that cannot be read: {error}"))
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
