//! The character encoding of a source, and a reader of it as UTF-8.

use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::HEAD_BYTES;

/// Finds the encoding of a source, reading it to its end: a byte order mark decides, else zeros in every other place
/// of its head mean UTF-16, else UTF-8 throughout is UTF-8, and anything else is Windows-1252. A source that has letters
/// in UTF-8 and a wrong byte later on is UTF-8 too, with a mistake that its reader reports.
///
/// # Errors
/// When reading fails.
pub(super) fn detect(mut source: impl Read) -> io::Result<&'static Encoding> {
    let mut head = Vec::new();
    source
        .by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)?;
    let marked = Encoding::for_bom(&head).map(|(encoding, _)| encoding);
    if let Some(encoding) = marked.or_else(|| unmarked_utf16(&head)) {
        return Ok(encoding);
    }
    let mut text = Utf8::new(head.chain(source), UTF_8);
    let mut has_letters = false;
    loop {
        let length = match text.fill_buf() {
            Ok([]) => return Ok(UTF_8),
            Ok(bytes) => {
                has_letters = has_letters || !bytes.is_ascii();
                bytes.len()
            }
            Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
            Err(_) if has_letters => return Ok(UTF_8),
            Err(_) => return Ok(WINDOWS_1252),
        };
        text.consume(length);
    }
}

/// UTF-16 without a mark, as some spreadsheets write it: most of every other byte of Western text is 0.
fn unmarked_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let zeros = |offset| {
        head.iter()
            .skip(offset)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    match pairs {
        0 => None,
        _ if odd * 2 > pairs && even * 8 < pairs => Some(UTF_16LE),
        _ if even * 2 > pairs && odd * 8 < pairs => Some(UTF_16BE),
        _ => None,
    }
}

/// Returns the beginning of a source as text, to be looked at; what cannot be read in it is replaced.
///
/// # Errors
/// When reading fails.
pub(super) fn head(source: impl Read, encoding: &'static Encoding) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(encoding.decode_with_bom_removal(&bytes).0.into_owned())
}

/// A source as UTF-8, without its byte order mark, decoded as it is read.
///
/// Bytes that the encoding does not know end the reading with `InvalidData`: replaced characters would be published.
pub(super) struct Utf8<R> {
    source: R,
    decoder: Decoder,
    input: Vec<u8>,
    text: String,
    /// How much of `text` has been read.
    read: usize,
    is_at_end: bool,
    /// Whether what follows `text` is not of the encoding.
    is_malformed: bool,
}

impl<R: Read> Utf8<R> {
    pub(super) fn new(source: R, encoding: &'static Encoding) -> Utf8<R> {
        let decoder = encoding.new_decoder_with_bom_removal();
        let room = decoder.max_utf8_buffer_length_without_replacement(HEAD_BYTES);
        Utf8 {
            source,
            decoder,
            input: vec![0; HEAD_BYTES],
            // Some bytes may be left over from those before.
            text: String::with_capacity(room.unwrap_or(3 * HEAD_BYTES) + 16),
            read: 0,
            is_at_end: false,
            is_malformed: false,
        }
    }
}

impl<R: Read> BufRead for Utf8<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.read == self.text.len() && !self.is_at_end {
            // What stands before it has been handed on, so that the reader knows the line.
            if self.is_malformed {
                let name = self.decoder.encoding().name();
                let message =
                    format!("is not {name} throughout: name the encoding with --encoding");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            let filled = self.source.read(&mut self.input)?;
            self.text.clear();
            self.read = 0;
            let (result, _) = self.decoder.decode_to_string_without_replacement(
                &self.input[..filled],
                &mut self.text,
                filled == 0,
            );
            self.is_malformed = matches!(result, DecoderResult::Malformed(..));
            self.is_at_end = filled == 0 && !self.is_malformed;
        }
        Ok(&self.text.as_bytes()[self.read..])
    }

    fn consume(&mut self, amount: usize) {
        self.read = self.text.len().min(self.read + amount);
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, &'static str) {
        let encoding = detect(bytes).unwrap();
        let mut text = String::new();
        Utf8::new(bytes, encoding)
            .read_to_string(&mut text)
            .unwrap();
        (text, encoding.name())
    }

    #[test]
    fn every_encoding_of_spreadsheets_is_found() {
        let text = "Renée, 5, “good”\r\n";
        let utf16 = |mark: &[u8], order: fn(u16) -> [u8; 2]| {
            [mark.to_vec(), text.encode_utf16().flat_map(order).collect()].concat()
        };
        for (bytes, name) in [
            (text.into(), "UTF-8"),
            ([b"\xEF\xBB\xBF", text.as_bytes()].concat(), "UTF-8"),
            (b"Ren\xE9e, 5, \x93good\x94\r\n".to_vec(), "windows-1252"),
            (utf16(b"", u16::to_le_bytes), "UTF-16LE"),
            (utf16(b"", u16::to_be_bytes), "UTF-16BE"),
            (utf16(b"\xFF\xFE", u16::to_le_bytes), "UTF-16LE"),
            (utf16(b"\xFE\xFF", u16::to_be_bytes), "UTF-16BE"),
        ] {
            assert_eq!(decoded(&bytes), (text.to_owned(), name), "{bytes:?}");
        }
        assert_eq!(decoded(b""), (String::new(), "UTF-8"));
    }

    #[test]
    fn a_byte_far_behind_the_head_still_decides() {
        let mut bytes = vec![b'x'; 3 * HEAD_BYTES];
        bytes.push(0xE9);
        let (text, name) = decoded(&bytes);
        assert_eq!(name, "windows-1252");
        assert!(text.ends_with('é'));
    }

    #[test]
    fn one_wrong_byte_does_not_make_utf_8_another_encoding() {
        let bytes = b"Ren\xC3\xA9e, 5\nBj\xC3\xB6rn \xE9";
        let mut far = vec![b'x'; HEAD_BYTES - 1];
        far.extend_from_slice("é".as_bytes());
        far.extend_from_slice(&vec![b'x'; 2 * HEAD_BYTES]);
        far.push(0xE9);
        for bytes in [&bytes[..], &far] {
            assert_eq!(detect(bytes).unwrap(), UTF_8);
        }
        let mut read = Vec::new();
        let error = Utf8::new(&bytes[..], UTF_8)
            .read_to_end(&mut read)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "is not UTF-8 throughout: name the encoding with --encoding"
        );
        assert_eq!(read, "Renée, 5\nBjörn ".as_bytes());
    }
}
