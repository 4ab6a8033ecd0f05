//! Filters for the templates.

#![allow(
    unreachable_pub,
    reason = "the macro makes the items that it adds public"
)]

use std::fmt::{self, Display, Formatter, Write};

use askama::{Result, Values};

/// Writes a name or label without bidirectional control characters. `<bdi>` alone is not enough: a name with an
/// unclosed isolate would end at the end of the element.
#[askama::filter_fn]
pub(super) fn in_line<T: Display>(value: T, _: &dyn Values) -> Result<InLine<T>> {
    Ok(InLine(value))
}

/// A value that is written without bidirectional control characters.
pub(super) struct InLine<T>(T);

impl<T: Display> Display for InLine<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(Undirected(formatter), "{}", self.0)
    }
}

struct Undirected<'f, 'o>(&'f mut Formatter<'o>);

impl Write for Undirected<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.split(turns_direction)
            .try_for_each(|stretch| self.0.write_str(stretch))
    }
}

/// Returns whether a character is a bidirectional embedding, override or isolate, or ends one (Unicode Annex 9).
pub(super) fn turns_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_direction_are_left_out_and_nothing_else() {
        let shown = |text: &str| InLine(text).to_string();
        assert_eq!(shown("a\u{202e}b\u{2066}c\u{2069}d"), "abcd");
        assert_eq!(shown("\u{202a}\u{202e}\u{2066}\u{2069}"), "");
        assert_eq!(
            shown("\u{200f}Ñandú \u{2065}\u{206a} שלום"),
            "\u{200f}Ñandú \u{2065}\u{206a} שלום"
        );
    }
}
