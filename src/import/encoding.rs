//! How a source's bytes are written, and a reader of them as UTF-8.

use std::io::{self, BufRead, Read};

use encoding_rs::{
    CoderResult, Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252,
};

use super::HEAD_BYTES;

/// Finds how a source is written, reading it to its end: a byte order mark decides, else zeros in every other place
/// of its head mean UTF-16, else what is UTF-8 throughout is UTF-8, and anything else is Windows-1252. What begins with
/// letters in UTF-8 and has another byte later on is UTF-8 too, with a mistake that its reader comes upon.
///
/// # Errors
/// When reading fails.
pub fn detect(mut source: impl Read) -> io::Result<&'static Encoding> {
    let mut buffer = vec![0; HEAD_BYTES];
    let mut filled = fill(&mut source, &mut buffer)?;
    let head = &buffer[..filled];
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return Ok(encoding);
    }
    if let Some(encoding) = unmarked_utf16(head) {
        return Ok(encoding);
    }
    let mut decoder = UTF_8.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(TEXT_BYTES);
    let mut has_letters = false;
    loop {
        let is_end = filled == 0;
        text.clear();
        let (result, _) =
            decoder.decode_to_string_without_replacement(&buffer[..filled], &mut text, is_end);
        has_letters = has_letters || !text.is_ascii();
        match result {
            DecoderResult::Malformed(..) if !has_letters => return Ok(WINDOWS_1252),
            DecoderResult::Malformed(..) => return Ok(UTF_8),
            _ if is_end => return Ok(UTF_8),
            _ => filled = source.read(&mut buffer)?,
        }
    }
}

/// Room for what [`HEAD_BYTES`] become in UTF-8: a byte three at most, and what was left over before.
const TEXT_BYTES: usize = 3 * HEAD_BYTES + 16;

/// Reads until the buffer is full or the source ends, so that the head does not depend on how a source is cut.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// UTF-16 without a mark, as some spreadsheets write it: most of every other byte of Western text is 0.
fn unmarked_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let zeros = |offset: usize| {
        let bytes = head.iter().skip(offset).step_by(2);
        bytes.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    match pairs {
        0 => None,
        _ if odd * 2 > pairs && even * 8 < pairs => Some(UTF_16LE),
        _ if even * 2 > pairs && odd * 8 < pairs => Some(UTF_16BE),
        _ => None,
    }
}

/// A source as UTF-8, without its byte order mark, decoded as it is read.
///
/// Bytes that the encoding does not know end the reading with `InvalidData`: replaced characters would be published.
pub struct Utf8<R> {
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
    /// Reads `source`, which is written in `encoding`.
    pub fn new(source: R, encoding: &'static Encoding) -> Utf8<R> {
        let decoder = encoding.new_decoder_with_bom_removal();
        let room = decoder.max_utf8_buffer_length_without_replacement(HEAD_BYTES);
        Utf8 {
            source,
            decoder,
            input: vec![0; HEAD_BYTES],
            // Some bytes may be left over from those before.
            text: String::with_capacity(room.unwrap_or_default().max(TEXT_BYTES) + 16),
            read: 0,
            is_at_end: false,
            is_malformed: false,
        }
    }

    /// Decodes until there is something to read, or nothing more.
    fn refill(&mut self) -> io::Result<()> {
        while self.read == self.text.len() && !self.is_at_end {
            // What stands before it has been handed on, so that the reader knows the line.
            if self.is_malformed {
                let message = format!(
                    "is not {} throughout: name the encoding with --encoding",
                    self.decoder.encoding().name()
                );
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
        Ok(())
    }
}

impl<R: Read> BufRead for Utf8<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.refill()?;
        Ok(&self.text.as_bytes()[self.read..])
    }

    fn consume(&mut self, amount: usize) {
        self.read = self.text.len().min(self.read + amount);
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

/// Returns the beginning of a source as text, to be looked at; what cannot be read in it is replaced.
///
/// # Errors
/// When reading fails.
pub fn head(mut source: impl Read, encoding: &'static Encoding) -> io::Result<String> {
    let mut bytes = vec![0; HEAD_BYTES];
    let filled = fill(&mut source, &mut bytes)?;
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = String::with_capacity(TEXT_BYTES);
    let (result, ..) = decoder.decode_to_string(&bytes[..filled], &mut text, false);
    debug_assert_eq!(result, CoderResult::InputEmpty);
    Ok(text)
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
        let utf16 =
            |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let own = |name| (text.to_owned(), name);
        assert_eq!(decoded(text.as_bytes()), own("UTF-8"));
        assert_eq!(
            decoded(&[b"\xEF\xBB\xBF", text.as_bytes()].concat()),
            own("UTF-8")
        );
        assert_eq!(
            decoded(b"Ren\xE9e, 5, \x93good\x94\r\n"),
            own("windows-1252")
        );
        assert_eq!(decoded(&utf16(u16::to_le_bytes)), own("UTF-16LE"));
        assert_eq!(decoded(&utf16(u16::to_be_bytes)), own("UTF-16BE"));
        assert_eq!(
            decoded(&[b"\xFF\xFE".to_vec(), utf16(u16::to_le_bytes)].concat()),
            own("UTF-16LE")
        );
        assert_eq!(
            decoded(&[b"\xFE\xFF".to_vec(), utf16(u16::to_be_bytes)].concat()),
            own("UTF-16BE")
        );
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
        let bytes = "Renée, 5\nBj\u{f6}rn \u{fffd}".as_bytes();
        let mut bytes = bytes[..bytes.len() - 3].to_vec();
        bytes.push(0xE9);
        assert_eq!(detect(&bytes[..]).unwrap(), UTF_8);
        let mut far = vec![b'x'; HEAD_BYTES - 1];
        far.extend_from_slice("é".as_bytes());
        far.extend_from_slice(&vec![b'x'; 2 * HEAD_BYTES]);
        far.push(0xE9);
        assert_eq!(detect(&far[..]).unwrap(), UTF_8);
        let mut read = Vec::new();
        let error = Utf8::new(&bytes[..], UTF_8).read_to_end(&mut read);
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read, "Renée, 5\nBjörn ".as_bytes());
    }

    #[test]
    fn what_the_named_encoding_does_not_know_is_an_error() {
        let mut text = String::new();
        let error = Utf8::new(&b"Ren\xE9e"[..], UTF_8)
            .read_to_string(&mut text)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "is not UTF-8 throughout: name the encoding with --encoding"
        );
    }
}
