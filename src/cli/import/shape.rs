//! What a source was taken for, as lines for people.

use encoding_rs::Encoding;

use super::source::Shown;

/// Says what a source was taken for.
pub(super) fn push_shape(out: &mut String, source: &Shown) {
    let encoding = source.encoding.map_or("workbook", Encoding::name);
    let mut parts = vec![source.format.title.to_owned(), encoding.to_owned()];
    if let Some(delimiter) = source.shape.delimiter {
        parts.push(match delimiter {
            b'\t' => "columns separated by tabs".to_owned(),
            b',' => "columns separated by commas".to_owned(),
            b';' => "columns separated by semicolons".to_owned(),
            byte => format!("columns separated by `{}`", char::from(byte)),
        });
    }
    match source.order {
        Some((order, Some(line))) => {
            parts.push(format!("dates {} (line {line} decides)", order.name()))
        }
        Some((order, None)) => parts.push(format!("dates {}", order.name())),
        None => {}
    }
    if let Some(line) = source.undecided {
        parts.push(format!("dates of two meanings (line {line})"));
    }
    out.push_str(&format!("{}: {}\n", source.name, parts.join(", ")));
    if !source.shape.used.is_empty() {
        let used: Vec<String> = source
            .shape
            .used
            .iter()
            .map(|(field, column)| format!("{field}={}", printable(column)))
            .collect();
        out.push_str(&format!("  columns: {}\n", used.join(", ")));
    }
    if !source.shape.unused.is_empty() {
        let unused: Vec<String> = source
            .shape
            .unused
            .iter()
            .map(|name| printable(name))
            .collect();
        out.push_str(&format!("  not used: {}\n", unused.join(", ")));
    }
}

/// The text without what would move a terminal's cursor or change its colors.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
