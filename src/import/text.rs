//! Restores the original texts of reviews: removes markup, entities, translations and line ends that exports add.

use html_escape::decode_html_entities;

/// Cleans a text of several lines: renders markup and entities as text, drops a translation of the original, ends lines
/// with `\n`, and trims white space.
pub(super) fn prose(text: &str) -> String {
    original(clean(text).trim()).0.to_owned()
}

/// Returns the English translation that a text contains besides the original, cleaned like [`prose`].
pub(super) fn translation(text: &str) -> Option<String> {
    let clean = clean(text);
    let translation = original(clean.trim()).1?;
    (!translation.is_empty()).then(|| translation.to_owned())
}

/// Cleans a name or another text of one line.
pub(super) fn line(text: &str) -> String {
    let clean = prose(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clean(text: &str) -> String {
    let text = without_markup(text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let is_text = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || *c == '\u{feff}');
    let text: String = text.chars().filter(is_text).collect();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut text = lines.join("\n");
    // Markup leaves at most one empty line between two paragraphs.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

/// The markers that Google puts before a translation, in the language of the reader, and before the original.
const TRANSLATED: [&str; 7] = [
    "(Translated by Google)",
    "(Übersetzt von Google)",
    "(Traduit par Google)",
    "(Traducido por Google)",
    "(Traduzione di Google)",
    "(Traduzido pelo Google)",
    "(Vertaald door Google)",
];
const ORIGINAL: [&str; 3] = ["(Original)", "(Originale)", "(Origineel)"];

/// Splits a text with a translation, in either order: returns the original, and the translation if it is in English.
fn original(text: &str) -> (&str, Option<&str>) {
    let first = |markers: &[&'static str], is_marker: &dyn Fn(usize) -> bool| {
        let found = markers.iter().filter_map(|marker| {
            let mut offsets = text.match_indices(*marker).map(|(at, _)| at);
            Some((offsets.find(|at| is_marker(*at))?, *marker))
        });
        found.min()
    };
    let begins_word = |at: usize| {
        text[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    };
    let Some((at, marker)) = first(&TRANSLATED, &begins_word) else {
        return (text, None);
    };
    let (before, after) = (text[..at].trim_end(), &text[at + marker.len()..]);
    let (own, translation) = match (at, first(&ORIGINAL, &|_| true)) {
        // Without an original the translation is kept unchanged.
        (0, None) => return (text, None),
        (0, Some((own, label))) => (text[own + label.len()..].trim(), &text[marker.len()..own]),
        _ => (before, after),
    };
    (own, (marker == TRANSLATED[0]).then_some(translation.trim()))
}

/// Elements after which a new line begins.
const BLOCKS: &str = "br p div li ul ol tr h1 h2 h3 h4 h5 h6 blockquote section";
/// Further known elements; `<3` and `<name>` are text.
const INLINE: &str = "a abbr b body em font head html i img mark s small span strong sub sup table td u script style";

/// Longest tag in bytes; a longer one is text. This keeps the cost linear for a text such as `<b<b<b`.
const TAG_BYTES_MAX: usize = 2_048;

/// Splits a tag off the beginning of `text`: its name, whether it is an end tag, and the rest of the text.
fn tag(text: &str) -> Option<(&'static str, bool, &str)> {
    let inner = text.strip_prefix('<')?;
    let name = inner.strip_prefix('/').unwrap_or(inner);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric());
    let (name, _) = name.split_at(end.unwrap_or(name.len()));
    let mut known = BLOCKS.split(' ').chain(INLINE.split(' '));
    let name = known.find(|known| known.eq_ignore_ascii_case(name))?;
    let bytes = text.as_bytes();
    let end = memchr::memchr(b'>', bytes.get(..TAG_BYTES_MAX).unwrap_or(bytes))?;
    Some((name, inner.starts_with('/'), &text[end + 1..]))
}

/// Renders markup as plain text; a text without markup stays unchanged.
fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut has_tags = false;
    while let Some(at) = rest.find('<') {
        out.push_str(&decode_html_entities(&rest[..at]));
        let Some((name, closes, after)) = tag(&rest[at..]) else {
            out.push('<');
            rest = &rest[at + 1..];
            continue;
        };
        (rest, has_tags) = (after, true);
        match name {
            "td" => out.push(' '),
            "br" => out.push('\n'),
            // An empty line between paragraphs.
            _ if is_listed(BLOCKS, name) && !out.is_empty() && !out.ends_with('\n') => {
                out.push_str(if name == "p" && closes { "\n\n" } else { "\n" });
            }
            _ => {}
        }
    }
    out.push_str(&decode_html_entities(rest));
    match has_tags || out != text {
        true => out.replace('\u{a0}', " "),
        false => out,
    }
}

/// Returns a name without case, white space and punctuation, for comparisons.
pub(super) fn normal(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a list of words contains `word`.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::{line, prose, translation};

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
