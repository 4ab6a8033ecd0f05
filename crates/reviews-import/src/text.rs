//! Restores the original texts of reviews: removes markup, entities, translations and line ends that exports add.

use std::fmt;
use std::sync::LazyLock;

use html_escape::decode_html_entities;
use regex::Regex;
use reviewd_wire::text::truncate;

/// Longest part of another library's message that a message of ours repeats, in bytes.
const MESSAGE_BYTES_MAX: usize = 256;

/// Elements after which a new line begins.
const BLOCKS: &str = "br p div li ul ol tr h1 h2 h3 h4 h5 h6 blockquote section";
/// Further known elements; `<3` and `<name>` are text.
const INLINE: &str = "a abbr b body em font head html i img mark s small span strong sub sup table td u script style";

/// Cleans a text of several lines: renders markup and entities as text, drops a translation of the original, ends lines
/// with `\n`, and trims white space.
pub(super) fn prose(text: &str) -> String {
    split_translation(clean_text(text).trim()).own.to_owned()
}

/// Returns the English translation that a text contains besides the original, cleaned like [`prose`].
pub(super) fn translation(text: &str) -> Option<String> {
    let clean = clean_text(text);
    let translation = split_translation(clean.trim()).english?;
    if translation.is_empty() {
        return None;
    }
    Some(translation.to_owned())
}

/// Cleans a name or another text of one line.
pub(super) fn line(text: &str) -> String {
    let clean = prose(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clean_text(text: &str) -> String {
    let unmarked = without_markup(text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let visible: String = unmarked.chars().filter(is_text).collect();
    let lines: Vec<&str> = visible.lines().map(str::trim_end).collect();
    let mut clean = lines.join("\n");
    // Markup leaves at most one empty line between two paragraphs.
    while clean.contains("\n\n\n") {
        clean = clean.replace("\n\n\n", "\n\n");
    }
    clean
}

/// Whether a character is shown, or ends a line.
fn is_text(c: &char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{feff}' => false,
        c => !c.is_control(),
    }
}

/// The markers that Google puts before a translation, in the language of the reader, and before the original.
static TRANSLATED: LazyLock<Regex> = LazyLock::new(|| {
    let by_google = "Translated by|Übersetzt von|Traduit par|Traducido por|Traduzione di|Traduzido pelo|Vertaald door";
    let marker = format!(r"(?:^|\s)\((?:{by_google}) Google\)");
    Regex::new(&marker).expect("the pattern is valid")
});
static ORIGINAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\((?:Originale?|Origineel)\)").expect("the pattern is valid"));

/// A text and its translation.
struct TranslatedText<'t> {
    /// What the author wrote.
    own: &'t str,
    /// The translation if it is in English.
    english: Option<&'t str>,
}

/// Splits a text with a translation: the translation comes after the author's words, or before them and a label.
fn split_translation(text: &str) -> TranslatedText<'_> {
    let whole = TranslatedText {
        own: text,
        english: None,
    };
    let Some(marker) = TRANSLATED.find(text) else {
        return whole;
    };
    let before = text[..marker.start()].trim_end();
    let after = &text[marker.end()..];
    let mut own = before;
    let mut translation = after;
    if before.is_empty() {
        // A translation without an original is kept unchanged.
        let Some(label) = ORIGINAL.find(after) else {
            return whole;
        };
        own = after[label.end()..].trim();
        translation = &after[..label.start()];
    }
    let is_english = marker.as_str().ends_with("(Translated by Google)");
    TranslatedText {
        own,
        english: if is_english {
            Some(translation.trim())
        } else {
            None
        },
    }
}

/// Matches a tag of a known element: whether it ends the element, and its name.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let names = format!("{BLOCKS} {INLINE}").replace(' ', "|");
    let tag = format!(r"(?i)<(/?)({names})(?-u:\b)[^>]*>");
    Regex::new(&tag).expect("the pattern is valid")
});

/// Renders markup as plain text; a text without markup stays unchanged.
fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for found in TAG.captures_iter(text) {
        let (tag, [slash, name]) = found.extract();
        let start = tag.as_ptr().addr() - text.as_ptr().addr();
        out.push_str(&decode_html_entities(&text[end..start]));
        end = start + tag.len();
        match &*name.to_ascii_lowercase() {
            "td" => out.push(' '),
            "br" => out.push('\n'),
            // An empty line between paragraphs.
            name if is_listed(BLOCKS, name) && !out.is_empty() && !out.ends_with('\n') => {
                let is_paragraph_end = name == "p" && !slash.is_empty();
                out.push_str(if is_paragraph_end { "\n\n" } else { "\n" });
            }
            _ => {}
        }
    }
    out.push_str(&decode_html_entities(&text[end..]));
    if end == 0 && out == text {
        return out;
    }
    out.replace('\u{a0}', " ")
}

/// Returns a name without case, white space and punctuation, for comparisons.
pub(super) fn normal(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns at most the first 256 bytes of the message of a parser or a client, which quotes the value that it did not expect,
/// and that can be as long as the file or the address.
pub fn short_message(error: &dyn fmt::Display) -> String {
    truncate(&error.to_string(), MESSAGE_BYTES_MAX).to_owned()
}

/// Whether a shell reads `name` between single quotes as it stands, and a message may show it whole.
pub(super) fn can_be_typed(name: &str) -> bool {
    name.len() <= 64 && !name.contains(|c: char| c == '\'' || c.is_control())
}

/// Whether a list of words contains `word`.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::{line, prose, short_message, translation};

    #[test]
    fn a_message_is_cut_at_256_bytes_between_characters() {
        assert_eq!(short_message(&"x".repeat(256)), "x".repeat(256));
        assert_eq!(short_message(&"x".repeat(257)), "x".repeat(256));
        let long = format!("x{}", "é".repeat(128));
        assert_eq!(short_message(&long), long[..255]);
    }

    #[test]
    fn markup_is_rendered_as_text() {
        for (text, shown) in [
            ("<p>Good.</p><p>Very&nbsp;good!</p>", "Good.\n\nVery good!"),
            ("one<br>two<BR/>three<br />four", "one\ntwo\nthree\nfour"),
            ("<b>Tom &amp;</b> &#8217;s &#x201c;x&rdquo;", "Tom & ’s “x”"),
            ("a<script>x</script>b", "axb"),
            (
                "<a href=\"https://a.example/?a=1&amp;b=2\">link</a>",
                "link",
            ),
            ("\u{feff} a\r\nb\rc \n\n\n\n d\u{0} ", "a\nb\nc\n\n d"),
        ] {
            assert_eq!(prose(text), shown);
        }
        let as_they_are =
            "I <3 this|fees < 500 & > 100|a <name> of mine|&unknown; &#; &#xzz;|x <p|";
        for text in as_they_are.split('|') {
            assert_eq!(prose(text), text);
        }
        assert_eq!(line(" Ann \r\n <b>Lee</b>\u{7} "), "Ann Lee");
    }

    #[test]
    fn the_original_is_the_text_and_an_english_translation_is_kept() {
        let english = "(Translated by Google) Very good.";
        let german = "(Übersetzt von Google) Sehr gut.";
        let own = "Muy bueno.";
        for (text, own, translated) in [
            (&*format!("{english}\n\n(Original)\n{own}"), own, true),
            (&format!("{own}\n\n{english}"), own, true),
            (&format!("{own} {english}"), own, true),
            (&format!("{german}\r\n\r\n(Original)\r\n{own}"), own, false),
            (english, english, false),
            ("(Original) is a word", "(Original) is a word", false),
        ] {
            assert_eq!(prose(text), own);
            let translation = translation(text);
            assert_eq!(translation.as_deref(), translated.then_some("Very good."));
        }
    }
}
