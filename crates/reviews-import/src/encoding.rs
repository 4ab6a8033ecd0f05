//! The character encoding of a source, and its text.

use std::borrow::Cow;
use std::str::from_utf8;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::record::ReadError;

/// Decodes a source in the encoding that the operator named, or in the detected one.
pub(super) fn decode<'b>(
    bytes: &'b [u8],
    named: Option<&'static Encoding>,
) -> Result<(Cow<'b, str>, &'static Encoding), ReadError> {
    let encoding = named.unwrap_or_else(|| detect(bytes));
    let marked = Encoding::for_bom(bytes).filter(|(marked, _)| *marked == encoding);
    let bytes = &bytes[marked.map_or(0, |(_, length)| length)..];
    if let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        return Ok((text, encoding));
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let capacity = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(capacity.unwrap_or_default());
    // Ends at the error, so the text before it gives the line.
    let _malformed = decoder.decode_to_string_without_replacement(bytes, &mut text, true);
    let line = 1 + text.matches('\n').count() as u64;
    let name = encoding.name();
    let message = format!("is not entirely {name}: set the encoding with --encoding");
    Err(ReadError::at(line, message))
}

/// Detects the encoding: by a byte order mark, else UTF-8 if the source is valid UTF-8, else by the frequency of letters
/// in the languages of each encoding, as browsers do. A source with non-ASCII characters in UTF-8 before its first
/// invalid byte is UTF-8 with an error.
fn detect(bytes: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    match from_utf8(bytes) {
        Err(error) if bytes[..error.valid_up_to()].is_ascii() => guess(bytes),
        _ => UTF_8,
    }
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guessed = detector.guess(None, Utf8Detection::Deny);
    let is_readable = guessed
        .decode_without_bom_handling_and_without_replacement(bytes)
        .is_some();
    if is_readable { guessed } else { WINDOWS_1252 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a text after its byte order mark.
    fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let marked = format!("\u{feff}{text}");
        marked.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn every_encoding_of_spreadsheets_is_found() {
        let text = "Renée, 5, “good”\r\n";
        for (bytes, name) in [
            (text.into(), "UTF-8"),
            ([b"\xEF\xBB\xBF", text.as_bytes()].concat(), "UTF-8"),
            (b"Ren\xE9e, 5, \x93good\x94\r\n".to_vec(), "windows-1252"),
            (utf16(text, u16::to_le_bytes), "UTF-16LE"),
            (utf16(text, u16::to_be_bytes), "UTF-16BE"),
        ] {
            let (decoded, encoding) = decode(&bytes, None).unwrap();
            assert_eq!((&*decoded, encoding.name()), (text, name), "{bytes:?}");
        }
        assert_eq!(decode(b"", None).unwrap().0, "");
    }

    #[test]
    fn encodings_of_other_languages_are_guessed_by_their_letters() {
        for (text, name) in [
            (
                "Imię,Ocena,Komentarz\nŁucja,5,Świetna obsługa, bardzo polecam. Będę wracać.",
                "windows-1250",
            ),
            (
                "Adınız,Puan,Yorum\nAyşe,5,Çok iyi bir yer, teşekkürler.",
                "windows-1254",
            ),
            (
                "お名前,評価,コメント\n山田,5,とても良かったです。",
                "Shift_JIS",
            ),
            (
                "Имя,Оценка,Отзыв\nАнна,5,Очень хорошо, спасибо.",
                "windows-1251",
            ),
            (
                "Name;Note;Kommentar\nJörg;5;Schöne Brötchen, für alle.",
                "windows-1252",
            ),
        ] {
            let encoding = Encoding::for_label(name.as_bytes()).expect("an encoding");
            let (bytes, ..) = encoding.encode(text);
            let (decoded, found) = decode(&bytes, None).expect("readable");
            assert_eq!((&*decoded, found.name()), (text, name));
        }
    }
}
