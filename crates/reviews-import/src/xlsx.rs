//! Reads the rows of a workbook (.xlsx): those of the first sheet that has a cell, cell by cell with `calamine`.
//!
//! Cells become the text that a CSV file would have: whole numbers without a fraction, days as YYYY-MM-DD. The size of
//! a workbook is limited, and so is its unpacked size, by the sizes in the archive's directory and by the cells read.

use std::fmt;
use std::io::Cursor;

use calamine::{DataRef, Reader, Xlsx, XlsxError};
use zip::ZipArchive;

use super::csv::TableRow;
use super::record::ReadError;
use super::shape::COLUMNS_MAX;

/// Largest unpacked size of a workbook, 512 MiB, by the sizes in the archive's directory; a larger one is refused.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;

/// Opens a workbook.
fn open(bytes: &[u8]) -> Result<Xlsx<Cursor<&[u8]>>, ReadError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
    let mut unpacked_bytes = 0u64;
    for part in 0..archive.len() {
        let size = archive.by_index_raw(part).map_err(unreadable)?.size();
        unpacked_bytes = unpacked_bytes.saturating_add(size);
    }
    if unpacked_bytes > UNPACKED_BYTES_MAX {
        return Err(too_large());
    }
    Xlsx::new(Cursor::new(bytes)).map_err(unreadable)
}

fn unreadable(error: impl fmt::Display) -> ReadError {
    let what = "is an archive, but not a readable workbook (.xlsx)";
    ReadError::whole(format!("{what}: {error}"))
}

/// Returns the rows of the first sheet that is not empty.
pub(super) fn rows(bytes: &[u8]) -> Result<Vec<TableRow>, ReadError> {
    let mut book = open(bytes)?;
    for name in book.sheet_names() {
        let Ok(mut cells) = book.worksheet_cells_reader(&name) else {
            continue;
        };
        let mut rows: Vec<TableRow> = Vec::new();
        let mut left = UNPACKED_BYTES_MAX;
        while let Some(cell) = cells.next_cell().map_err(broken)? {
            let (line, column) = cell.get_position();
            let line = u64::from(line) + 1;
            if rows.last().is_none_or(|row| row.line != line) {
                let row = TableRow::default();
                rows.push(TableRow { line, ..row });
            }
            // One column beyond the limit is enough to refuse the table.
            let column = usize::try_from(column).unwrap_or(COLUMNS_MAX);
            if column <= COLUMNS_MAX
                && let Some(row) = rows.last_mut()
            {
                let value = text(cell.get_value());
                let more = (column + 1).saturating_sub(row.cells.len());
                // Cells missing in a row also need memory.
                let bytes = more * size_of::<String>() + value.len();
                left = left.checked_sub(bytes as u64).ok_or_else(too_large)?;
                row.cells.resize(row.cells.len() + more, String::new());
                row.cells[column] = value;
            }
        }
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    Err(ReadError::whole("is a workbook without data"))
}

fn broken(error: XlsxError) -> ReadError {
    ReadError::whole(format!("is a workbook that cannot be read: {error}"))
}

fn too_large() -> ReadError {
    ReadError::whole(format!(
        "is a workbook that unpacks to more than {UNPACKED_BYTES_MAX} bytes: save the sheet as CSV"
    ))
}

/// Renders a value as in a CSV file.
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

    /// Returns an archive with one part, whose unpacked size in the directory is `size`.
    fn archive(size: u64) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .start_file("part", SimpleFileOptions::default())
            .expect("a part");
        writer.write_all(b"text").expect("memory");
        let mut bytes = writer.finish().expect("an archive").into_inner();
        // The size is 24 bytes after the start of the entry in the directory (APPNOTE.TXT 4.3.12).
        let entry = memchr::memmem::rfind(&bytes, b"PK\x01\x02").expect("an entry");
        let size = u32::try_from(size).expect("a size of 32 bits");
        bytes[entry + 24..entry + 28].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn a_workbook_may_unpack_to_512_mib_and_no_byte_more() {
        for (size, message) in [
            (UNPACKED_BYTES_MAX, "not a readable workbook (.xlsx)"),
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
