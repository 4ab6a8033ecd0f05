//! The reference of `wire::simple_request`: the whole head cut into lines of text, and each rule asked for by itself.

use reviewd::wire::simple_request::{FieldLines, SimpleRequest, parse_simple};

/// Checks whether the same beginning of `data` is taken for a simple request, and read alike.
///
/// # Panics
/// If code and reference differ.
pub fn check_fast_path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    assert_eq!(parse_simple(data), reference(data), "{text:?}");
}

/// Fields that a request may have once.
const ONCE: [&str; 4] = [
    "host",
    "accept-encoding",
    "if-none-match",
    "if-modified-since",
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

/// The head of a request, cut into pieces.
struct Cut<'d> {
    method: &'d str,
    target: &'d str,
    /// Names in lower case, and values.
    fields: Vec<(String, &'d str)>,
    lines: FieldLines<'d>,
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
            lines: FieldLines(data.get(head.find("\r\n")? + 2..end + 2)?),
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

    fn is_simple(&self) -> bool {
        let kept = |value: &&[u8]| value.eq_ignore_ascii_case(b"keep-alive");
        ONCE.iter().all(|name| self.values(name).len() <= 1)
            && NEVER.iter().all(|name| self.values(name).is_empty())
            && self.values("connection").iter().all(kept)
    }
}

fn is_made_of(text: &str, marks: &str) -> bool {
    text.chars()
        .all(|character| character.is_ascii_alphanumeric() || marks.contains(character))
}

fn reference(data: &[u8]) -> Option<SimpleRequest<'_>> {
    let head = Cut::read(data)?;
    let (path, query) = head.target.split_once('?').unwrap_or((head.target, ""));
    let is_target =
        path.starts_with('/') && is_made_of(path, "/.-_") && is_made_of(query, "/.-_=&%+~:,!*");
    if !is_target || !["GET", "HEAD"].contains(&head.method) || !head.is_simple() {
        return None;
    }
    Some(SimpleRequest {
        is_head: head.method == "HEAD",
        path,
        query,
        host: head.value("host")?,
        accept_encoding: head.value("accept-encoding"),
        if_none_match: head.value("if-none-match"),
        if_modified_since: head.value("if-modified-since"),
        fields: head.fields.len(),
        lines: head.lines,
        length: head.length,
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
