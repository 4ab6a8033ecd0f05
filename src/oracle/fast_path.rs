//! The twin of `wire::plain`: the whole head cut into lines of text, and each rule asked for by itself.

use crate::wire::plain::{Plain, parse_plain};

/// Checks whether the same beginning of `data` is taken for a plain request, and read alike.
///
/// # Panics
/// If code and twin differ.
pub fn check_fast_path(data: &[u8]) {
    assert_eq!(
        parse_plain(data),
        twin(data),
        "{:?}",
        String::from_utf8_lossy(data)
    );
}

/// Fields that a request may have once.
const ONCE: [&str; 5] = [
    "host",
    "accept-encoding",
    "if-none-match",
    "if-modified-since",
    "traceparent",
];

/// Fields that it may not have.
const NEVER: [&str; 11] = [
    "range",
    "if-range",
    "if-match",
    "if-unmodified-since",
    "expect",
    "upgrade",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "access-control-request-method",
];

fn twin(data: &[u8]) -> Option<Plain<'_>> {
    let end = data.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&data[..end]).ok()?;
    if head
        .bytes()
        .any(|byte| byte == 0x7f || (byte < b' ' && !b"\r\n\t".contains(&byte)))
        || !head.is_ascii()
    {
        return None;
    }
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next()?.split(' ').collect();
    let [method @ ("GET" | "HEAD"), target, "HTTP/1.1"] = words[..] else {
        return None;
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_made_of = |text: &str, marks: &str| {
        text.chars()
            .all(|character| character.is_ascii_alphanumeric() || marks.contains(character))
    };
    if !path.starts_with('/') || !is_made_of(path, "/.-_") || !is_made_of(query, "/.-_=&%+~:,!*") {
        return None;
    }
    let fields = lines.map(field).collect::<Option<Vec<_>>>()?;
    let values = |wanted: &str| -> Vec<&[u8]> {
        let named = fields.iter().filter(|(name, _)| name == wanted);
        named.map(|(_, value)| value.as_bytes()).collect()
    };
    let kept = |value: &&[u8]| value.eq_ignore_ascii_case(b"keep-alive");
    let is_plain = ONCE.iter().all(|name| values(name).len() <= 1)
        && NEVER.iter().all(|name| values(name).is_empty())
        && values("connection").iter().all(kept);
    if !is_plain {
        return None;
    }
    let value = |name: &str| values(name).first().copied();
    Some(Plain {
        is_head: method == "HEAD",
        path,
        query,
        host: value("host")?,
        accept_encoding: value("accept-encoding"),
        if_none_match: value("if-none-match"),
        if_modified_since: value("if-modified-since"),
        traceparent: value("traceparent"),
        is_forwarded: value("forwarded").or(value("x-forwarded-for")).is_some(),
        fields: fields.len(),
        length: end + 4,
    })
}

/// Splits a line into a name in lower case and a value.
fn field(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_token = |character: char| {
        character.is_ascii_graphic() && !"()<>@,;:\\\"/[]?={}".contains(character)
    };
    let is_field = !name.is_empty() && name.chars().all(is_token) && !value.contains(['\r', '\n']);
    is_field.then(|| (name.to_ascii_lowercase(), value.trim_matches([' ', '\t'])))
}
