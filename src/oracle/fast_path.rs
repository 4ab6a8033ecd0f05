//! The twin of `wire::plain`: the whole head cut into lines of text, and each rule asked for by itself.

use crate::wire::plain::{Lines, NotPlain, Plain, PlainPost, parse_plain, parse_plain_post};

/// Checks whether the same beginning of `data` is taken for a plain request or a plain call, and read alike; and that
/// whatever can still become a request, and only what is no whole head, is taken for a part of one.
///
/// # Panics
/// If code and twin differ.
pub fn check_fast_path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = parse_plain(data);
    assert_eq!(read.ok(), twin(data), "{text:?}");
    let call = parse_plain_post(data);
    assert_eq!(call.ok(), twin_post(data), "{text:?}");
    for (part, can_become) in [
        (read.err(), can_become_plain(data)),
        (call.err(), can_become_call(data)),
    ] {
        if can_become {
            assert_eq!(part, Some(NotPlain::Part), "{text:?}");
        }
        if part == Some(NotPlain::Part) {
            assert!(!has_end(data), "{text:?}");
        }
    }
}

/// Tells whether one of the ends of a few requests makes `data` a plain one.
fn can_become_plain(data: &[u8]) -> bool {
    let wholes = [
        "GET / HTTP/1.1\r\nX: y\r\nHost: a\r\n\r\n",
        "HEAD / HTTP/1.1\r\nX: y\r\n\r\n",
    ];
    !has_end(data)
        && wholes
            .iter()
            .any(|whole| ends_with_part_of(data, whole, |row| twin(row).is_some()))
}

/// The same of a call, whose body may be missing.
fn can_become_call(data: &[u8]) -> bool {
    let wholes = [
        "POST / HTTP/1.1\r\nX: y\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nHost: a\r\n\r\n",
    ];
    !has_end(data)
        && wholes
            .iter()
            .any(|whole| ends_with_part_of(data, whole, |row| twin_post(row).is_some()))
}

/// Tells whether an end of `whole` behind `data` makes what `is_taken`.
fn ends_with_part_of(data: &[u8], whole: &str, is_taken: impl Fn(&[u8]) -> bool) -> bool {
    let mut ends = (1..=whole.len()).map(|length| &whole[whole.len() - length..]);
    ends.any(|end| is_taken(&[data, end.as_bytes()].concat()))
}

fn has_end(data: &[u8]) -> bool {
    data.windows(4).any(|four| four == b"\r\n\r\n")
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
const NEVER: [&str; 9] = [
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

/// Fields that a call may have once.
const ONCE_IN_POST: [&str; 9] = [
    "host",
    "accept",
    "content-type",
    "content-length",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "traceparent",
];

/// Fields that it may not have.
const NEVER_IN_POST: [&str; 14] = [
    "range",
    "if-range",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "expect",
    "upgrade",
    "origin",
    "content-encoding",
    "transfer-encoding",
    "te",
    "trailer",
    "access-control-request-method",
];

/// The head of a request, cut into pieces.
struct Cut<'d> {
    method: &'d str,
    target: &'d str,
    /// Names in lower case, and values.
    fields: Vec<(String, &'d str)>,
    lines: Lines<'d>,
    length: usize,
}

impl<'d> Cut<'d> {
    /// Cuts the head at the beginning of `data`, where it is of HTTP/1.1 and of visible ASCII.
    fn read(data: &'d [u8]) -> Option<Cut<'d>> {
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
        let [method, target, "HTTP/1.1"] = words[..] else {
            return None;
        };
        Some(Cut {
            method,
            target,
            fields: lines.map(field).collect::<Option<Vec<_>>>()?,
            lines: Lines(data.get(head.find("\r\n")? + 2..end + 2)?),
            length: end + 4,
        })
    }

    fn values(&self, wanted: &str) -> Vec<&'d [u8]> {
        let named = self.fields.iter().filter(|(name, _)| name == wanted);
        named.map(|(_, value)| value.as_bytes()).collect()
    }

    fn value(&self, name: &str) -> Option<&'d [u8]> {
        self.values(name).first().copied()
    }

    fn is_plain(&self, once: &[&str], never: &[&str]) -> bool {
        let kept = |value: &&[u8]| value.eq_ignore_ascii_case(b"keep-alive");
        once.iter().all(|name| self.values(name).len() <= 1)
            && never.iter().all(|name| self.values(name).is_empty())
            && self.values("connection").iter().all(kept)
    }
}

fn is_made_of(text: &str, marks: &str) -> bool {
    text.chars()
        .all(|character| character.is_ascii_alphanumeric() || marks.contains(character))
}

fn twin(data: &[u8]) -> Option<Plain<'_>> {
    let head = Cut::read(data)?;
    let (path, query) = head.target.split_once('?').unwrap_or((head.target, ""));
    let is_target =
        path.starts_with('/') && is_made_of(path, "/.-_") && is_made_of(query, "/.-_=&%+~:,!*");
    if !is_target || !["GET", "HEAD"].contains(&head.method) || !head.is_plain(&ONCE, &NEVER) {
        return None;
    }
    Some(Plain {
        is_head: head.method == "HEAD",
        path: path.as_bytes(),
        query,
        host: head.value("host")?,
        accept_encoding: head.value("accept-encoding"),
        if_none_match: head.value("if-none-match"),
        if_modified_since: head.value("if-modified-since"),
        traceparent: head.value("traceparent"),
        fields: head.fields.len(),
        lines: head.lines,
        length: head.length,
    })
}

fn twin_post(data: &[u8]) -> Option<PlainPost<'_>> {
    let head = Cut::read(data)?;
    let is_target = head.target.starts_with('/') && is_made_of(head.target, "/.-_");
    if !is_target || head.method != "POST" || !head.is_plain(&ONCE_IN_POST, &NEVER_IN_POST) {
        return None;
    }
    let digits = std::str::from_utf8(head.value("content-length")?).ok()?;
    if digits.len() > 7 || !digits.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let body_bytes = digits.parse::<usize>().ok()?;
    let behind = &data[head.length..];
    Some(PlainPost {
        path: head.target,
        host: head.value("host")?,
        accept: head.value("accept"),
        content_type: head.value("content-type"),
        protocol_version: head.value("mcp-protocol-version"),
        session: head.value("mcp-session-id"),
        mcp_method: head.value("mcp-method"),
        mcp_name: head.value("mcp-name"),
        traceparent: head.value("traceparent"),
        fields: head.fields.len(),
        lines: head.lines,
        body: behind.get(..body_bytes).unwrap_or(behind),
        body_bytes,
        length: head.length + body_bytes,
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
