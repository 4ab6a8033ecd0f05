//! The form in which texts and needles are compared.

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::ComposingNormalizerBorrowed;

/// Appends `text` to `out` in the form in which texts are compared: NFC, then Unicode simple case folding of each code point.
///
/// Texts of ASCII alone take a short way; nothing is allocated where `out` has room.
pub fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_lowercase();
        return;
    }
    let mapper = CaseMapperBorrowed::new();
    let composer = ComposingNormalizerBorrowed::new_nfc();
    out.extend(
        composer
            .normalize_iter(text.chars())
            .map(|character| mapper.simple_fold(character)),
    );
}
