//! The short form of a review, cut out of its prepared bytes: what a long page shows of each review.
//!
//! Nothing is parsed into values and rendered again: the members of the prepared object are found by their quotes
//! and braces, and those that are kept are copied.

/// Characters of the text that the short form keeps.
const TEXT_CHARS_MAX: usize = 160;
/// Bytes of a list of names that the short form keeps at most, in whole names.
const LIST_BYTES_MAX: usize = 512;

/// Appends the short form of `review`, the JSON object of one review as the snapshot holds it.
///
/// It has id, author, rating, date, the first 160 characters of the text, `text_truncated`, and the mentions.
pub(crate) fn push_brief(out: &mut Vec<u8>, review: &[u8]) {
    out.push(b'{');
    let mut comma = false;
    for (key, value) in members(review) {
        match key {
            b"id" | b"author" | b"rating" | b"date" => {
                push_member(out, &mut comma, key, value);
            }
            b"text" => {
                let cut = cut_text(value);
                push_member(out, &mut comma, key, cut);
                if cut.len() < value.len() {
                    out.push(b'"');
                }
                let is_cut: &[u8] = if cut.len() < value.len() {
                    b"true"
                } else {
                    b"false"
                };
                push_member(out, &mut comma, b"text_truncated", is_cut);
            }
            b"mentioned_technicians" | b"mentioned_services" => {
                push_member(out, &mut comma, key, b"[");
                out.extend_from_slice(cut_list(value));
                out.push(b']');
            }
            _ => {}
        }
    }
    out.push(b'}');
}

fn push_member(out: &mut Vec<u8>, comma: &mut bool, key: &[u8], value: &[u8]) {
    if *comma {
        out.push(b',');
    }
    *comma = true;
    out.push(b'"');
    out.extend_from_slice(key);
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

/// The members of an object that our own writer made: keys without escapes, no white space.
fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = object.strip_prefix(b"{").unwrap_or_default();
    std::iter::from_fn(move || {
        let after = rest.strip_prefix(b"\"")?;
        let (key, after) = after.split_at(memchr::memchr(b'"', after)?);
        let after = after.strip_prefix(b"\":")?;
        let (value, after) = after.split_at(value_length(after));
        rest = after.strip_prefix(b",").unwrap_or_default();
        Some((key, value))
    })
}

/// Length of the value at the front of `text`: up to the comma or brace that ends it.
fn value_length(text: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += string_length(&text[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' if depth == 0 => return at,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Length of the string at the front of `text`, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The front of a JSON string, up to its 160th character; without the closing quote if something is left out.
fn cut_text(string: &[u8]) -> &[u8] {
    let mut at = 1;
    for _ in 0..TEXT_CHARS_MAX {
        at += match string.get(at) {
            None | Some(b'"') => return string,
            Some(b'\\') if string.get(at + 1) == Some(&b'u') => 6,
            Some(b'\\') => 2,
            Some(byte) => match byte.leading_ones() {
                0 => 1,
                length => length as usize,
            },
        };
    }
    match string.get(at) {
        None | Some(b'"') => string,
        Some(_) => &string[..at],
    }
}

/// The strings of a list that fit the bound, without the brackets.
fn cut_list(list: &[u8]) -> &[u8] {
    let items = list.strip_prefix(b"[").unwrap_or_default();
    let mut end = 0;
    loop {
        let start = if end == 0 { 0 } else { end + 1 };
        if items.get(start) != Some(&b'"') {
            break;
        }
        let next = start + string_length(&items[start..]);
        if next > LIST_BYTES_MAX {
            break;
        }
        end = next;
    }
    &items[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::{Object, push_strings};
    use serde_json::{Value, json};

    fn brief(text: &str, names: &[&str]) -> Value {
        let mut review = Vec::new();
        let mut object = Object::begin(&mut review);
        object
            .string("id", "r1")
            .string("author", "A \"B\" \\")
            .null("author_avatar_url")
            .u64("rating", 5)
            .string("date", "2024-01-01")
            .string("text", text)
            .raw("owner_reply", br#"{"text":"},{\"","date":"2024-01-02"}"#)
            .bool("verified", true);
        push_strings(object.key("mentioned_technicians"), names.iter().copied());
        object.raw("mentioned_services", b"[]");
        object.end();
        let mut out = Vec::new();
        push_brief(&mut out, &review);
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn a_short_text_is_whole() {
        let expected = json!({
            "id": "r1", "author": "A \"B\" \\", "rating": 5, "date": "2024-01-01", "text": "Good.",
            "text_truncated": false, "mentioned_technicians": ["Ana"], "mentioned_services": [],
        });
        assert_eq!(brief("Good.", &["Ana"]), expected);
        assert_eq!(brief("", &[])["text"], "");
    }

    #[test]
    fn a_text_is_cut_after_160_characters_whatever_they_take_in_json() {
        for character in ["x", "é", "😀", "\"", "\n", "\u{1}", "\\"] {
            let whole = character.repeat(160);
            assert_eq!(brief(&whole, &[])["text"], whole);
            assert_eq!(brief(&whole, &[])["text_truncated"], false);
            let longer = brief(&format!("{whole}y"), &[]);
            assert_eq!(longer["text"], whole, "{character}");
            assert_eq!(longer["text_truncated"], true);
        }
    }

    #[test]
    fn a_list_is_cut_in_whole_names() {
        let name = "n".repeat(100);
        let names = vec![name.as_str(); 20];
        let kept = brief("x", &names)["mentioned_technicians"]
            .as_array()
            .map(Vec::len);
        assert_eq!(kept, Some(4));
        let long = "n".repeat(600);
        assert_eq!(brief("x", &[&long])["mentioned_technicians"], json!([]));
    }
}
