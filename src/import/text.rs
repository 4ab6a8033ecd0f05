//! Texts as their authors wrote them, out of the wrappings of exports: HTML, translations, line ends.

use html_escape::decode_html_entities;

use super::columns::is_listed;

/// How much of an offending value a reason quotes, in characters.
const QUOTED_MAX: usize = 48;

/// Quotes a value for a reason, cut, with anything escaped that a terminal would not show as it is.
pub(super) fn quote(text: &str) -> String {
    let mut cut: String = text.chars().take(QUOTED_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("\"{}\"", cut.escape_debug())
}

/// Cleans a text of several lines: markup and entities become what they show, a translation gives way to the
/// original, lines end in `\n`, and blanks around the whole are gone.
pub(super) fn prose(text: &str) -> String {
    original(clean(text).trim()).0.to_owned()
}

/// Returns the English translation that a text holds besides the original, cleaned as [`prose`] does.
pub(super) fn translation(text: &str) -> Option<String> {
    let clean = clean(text);
    let (_, translation) = original(clean.trim());
    translation
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

fn clean(text: &str) -> String {
    let text = if is_marked_up(text) {
        without_markup(text)
    } else {
        text.to_owned()
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String = text
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || *c == '\u{feff}'))
        .collect();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut text = lines.join("\n");
    // What markup leaves between two paragraphs is one empty line.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

/// Cleans a name or another text of one line.
pub(super) fn line(text: &str) -> String {
    let clean = prose(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The markers that Google puts into a text that it has translated, by language of the reader, English first.
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

/// Returns the author's own words of a text that holds a translation too, in either order, and the translation where it
/// is an English one.
fn original(text: &str) -> (&str, Option<&str>) {
    if let Some(marker) = TRANSLATED.iter().find(|marker| text.starts_with(**marker)) {
        let found = ORIGINAL
            .iter()
            .filter_map(|marker| Some((text.find(marker)?, marker)))
            .min();
        // Only the translation is there: better that, as it stands, than nothing.
        let Some((at, own)) = found else {
            return (text, None);
        };
        let translation = &text[marker.len()..at];
        let is_english = *marker == TRANSLATED[0];
        return (
            text[at + own.len()..].trim(),
            is_english.then_some(translation.trim()),
        );
    }
    let begins = |marker: &&'static str| {
        let mut places = text.match_indices(*marker).map(|(at, _)| at);
        let at = places.find(|at| text[..*at].ends_with(char::is_whitespace))?;
        Some((at, *marker))
    };
    let Some((at, marker)) = TRANSLATED.iter().filter_map(begins).min() else {
        return (text, None);
    };
    let is_english = marker == TRANSLATED[0];
    let translation = text[at + marker.len()..].trim();
    (text[..at].trim_end(), is_english.then_some(translation))
}

/// Elements after which a new line begins.
const BLOCKS: &str = "br p div li ul ol tr h1 h2 h3 h4 h5 h6 blockquote section";
/// Further elements that are known for markup; `<3` and `<name>` are not.
const INLINE: &str =
    "a abbr b body em font head html i img mark s small span strong sub sup table u";
/// Elements whose content is no text.
const HIDDEN: &str = "script style td";

/// A longer tag is none, so that a text of nothing but `<b` is not searched to its end for each of them.
const TAG_BYTES_MAX: usize = 2_048;

/// Whether a text holds markup or entities.
fn is_marked_up(text: &str) -> bool {
    text.match_indices('<')
        .any(|(at, _)| tag(&text[at..]).is_some())
        || decode_html_entities(text) != text
}

/// Splits a tag off the beginning of `text`: its name, whether it closes, and its length in bytes.
fn tag(text: &str) -> Option<(&'static str, bool, usize)> {
    let inner = text.strip_prefix('<')?;
    let (closes, inner) = match inner.strip_prefix('/') {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    let end = inner
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(inner.len());
    let mut known = [BLOCKS, INLINE, HIDDEN]
        .into_iter()
        .flat_map(str::split_whitespace);
    let name = known.find(|known| known.eq_ignore_ascii_case(&inner[..end]))?;
    let bytes = text.as_bytes();
    let end = memchr::memchr(b'>', bytes.get(..TAG_BYTES_MAX).unwrap_or(bytes))?;
    Some((name, closes, end + 1))
}

/// Turns markup into what a reader would see of it.
fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&decode_html_entities(&rest[..at]));
        rest = &rest[at..];
        if let Some((name, closes, length)) = tag(rest) {
            rest = &rest[length..];
            if matches!(name, "script" | "style") && !closes {
                rest = after_hidden(rest, name);
            } else if name == "td" {
                out.push(' ');
            } else if is_listed(BLOCKS, name) {
                end_line(&mut out, name, closes);
            }
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(&decode_html_entities(rest));
    out.replace('\u{a0}', " ")
}

/// Begins a new line for a block, and an empty one between paragraphs.
fn end_line(out: &mut String, name: &str, closes: bool) {
    if name == "br" {
        out.push('\n');
    } else if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(if name == "p" && closes { "\n\n" } else { "\n" });
    }
}

/// Returns what follows the end of a script or a style sheet.
fn after_hidden<'t>(text: &'t str, name: &str) -> &'t str {
    let end = text.match_indices("</").find(|(at, _)| {
        let rest = &text.as_bytes()[at + 2..];
        rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    });
    end.map_or("", |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::{line, prose, quote, translation};

    #[test]
    fn markup_becomes_what_it_shows() {
        assert_eq!(
            prose("<p>Good.</p><p>Really&nbsp;good!</p>"),
            "Good.\n\nReally good!"
        );
        assert_eq!(
            prose("one<br>two<BR/>three<br />four"),
            "one\ntwo\nthree\nfour"
        );
        assert_eq!(
            prose("<b>Tom &amp; Ann</b> &#8217;s &#x201c;x&rdquo;"),
            "Tom & Ann ’s “x”"
        );
        assert_eq!(
            prose("a<script>alert('<b>')</script>b<style>p{}</style>c"),
            "abc"
        );
        assert_eq!(prose("<ul><li>one</li><li>two</li></ul>"), "one\ntwo");
        assert_eq!(
            prose("<a href=\"https://x.example/?a=1&amp;b=2\">link</a>"),
            "link"
        );
        assert_eq!(prose("<script>never closed"), "");
    }

    #[test]
    fn what_only_looks_like_markup_stays() {
        for text in [
            "I <3 this",
            "fees < 500 & > 100",
            "AT&T",
            "a <name> of mine",
            "&unknown; &#; &#xzz;",
            "x <p",
            "if a<b then",
        ] {
            assert_eq!(prose(text), text);
        }
    }

    #[test]
    fn line_ends_and_blanks_are_of_one_kind() {
        assert_eq!(
            prose("\u{feff} a\r\nb\rc \n\n\n\n d\u{0} "),
            "a\nb\nc\n\n d"
        );
        assert_eq!(line(" Ann \r\n <b>Lee</b>\u{7} "), "Ann Lee");
        assert_eq!(prose(""), "");
    }

    #[test]
    fn an_english_translation_is_found_in_either_order() {
        let both = "(Translated by Google) Very good.\n\n(Original)\nMuy bueno.";
        assert_eq!(translation(both).as_deref(), Some("Very good."));
        let after = "Muy bueno.\n\n(Translated by Google)\nVery good.";
        assert_eq!(translation(after).as_deref(), Some("Very good."));
        for none in [
            "Muy bueno.",
            "(Translated by Google) Alone.",
            "(Übersetzt von Google) Sehr gut.\n\n(Original)\nVery good.",
            "Muy bueno. (Translated by Google)",
        ] {
            assert_eq!(translation(none), None, "{none}");
        }
    }

    #[test]
    fn the_original_is_kept_and_the_translation_not() {
        let both = "(Translated by Google) Very good.\n\n(Original)\nMuy bueno.";
        assert_eq!(prose(both), "Muy bueno.");
        assert_eq!(
            prose("Muy bueno.\n\n(Translated by Google)\nVery good."),
            "Muy bueno."
        );
        assert_eq!(
            prose("Muy bueno. (Translated by Google) Very good."),
            "Muy bueno."
        );
        assert_eq!(
            prose("(Übersetzt von Google) Sehr gut.\r\n\r\n(Original)\r\nVery good."),
            "Very good."
        );
        assert_eq!(
            prose("(Translated by Google) Alone."),
            "(Translated by Google) Alone."
        );
        assert_eq!(
            prose("(Original) is a fine word"),
            "(Original) is a fine word"
        );
    }

    #[test]
    fn quotes_are_cut_and_escaped() {
        assert_eq!(quote("a\u{1b}[31m"), "\"a\\u{1b}[31m\"");
        assert_eq!(quote(&"ä".repeat(49)), format!("\"{}…\"", "ä".repeat(48)));
    }
}
