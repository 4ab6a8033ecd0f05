//! Strict parser for the fast path.
//!
//! Accepts one whole HTTP/1.1 GET or HEAD in the one shape that every parser reads alike: single spaces and exact line
//! ends, a path of letters, digits and `/ . - _`, a query of those and `= & % + ~ : , ! *`, exactly one Host, visible
//! ASCII in values, and no field that changes the framing, the condition or the connection. Everything else goes to
//! hyper, also a head that has not arrived in full, so this parser never refuses a request.

use super::text::trim;

/// A request that the fast path may answer, borrowed from the bytes that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimpleRequest<'b> {
    /// HEAD, not GET.
    pub is_head: bool,
    /// The target before its question mark, if it has one; ASCII.
    pub path: &'b str,
    /// The target after its question mark, still encoded.
    pub query: &'b str,
    /// The value of Host, not checked.
    pub host: &'b [u8],
    /// The value of the one Accept-Encoding.
    pub accept_encoding: Option<&'b [u8]>,
    /// The value of the one If-None-Match.
    pub if_none_match: Option<&'b [u8]>,
    /// The value of the one If-Modified-Since.
    pub if_modified_since: Option<&'b [u8]>,
    /// How many fields there are.
    pub fields: usize,
    /// The lines of all fields.
    pub lines: FieldLines<'b>,
    /// Bytes of the head, the empty line included; the next request begins after them.
    pub length: usize,
}

/// The lines of a request's fields, with their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLines<'b>(pub &'b [u8]);

impl<'b> FieldLines<'b> {
    /// Returns the values of the fields of this name, the last first; linear in the number of fields.
    pub fn from_last(self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        let lines = self.0.rsplit(|byte| *byte == b'\n');
        lines.filter_map(move |line| {
            let (field, rest) = line.split_at_checked(name.len())?;
            let value = rest.strip_prefix(b":")?.strip_suffix(b"\r")?;
            field
                .eq_ignore_ascii_case(name.as_bytes())
                .then(|| trim(value))
        })
    }
}

/// What a field means to the parser.
enum HeaderRole {
    Host,
    AcceptEncoding,
    IfNoneMatch,
    IfModifiedSince,
    Connection,
    /// The request is hyper's.
    Bail,
    /// The fast path does not read it, or looks it up by name.
    Ignore,
}

/// Reads the simple request at the beginning of `bytes`; linear, without allocating. `None` if they begin with anything
/// else, or not with a whole head.
#[must_use]
pub fn parse_simple(bytes: &[u8]) -> Option<SimpleRequest<'_>> {
    let (is_head, rest) = match bytes {
        [b'G', b'E', b'T', b' ', rest @ ..] => (false, rest),
        _ => (true, bytes.strip_prefix(b"HEAD ")?),
    };
    let end = rest.iter().position(|byte| !PATH[usize::from(*byte)])?;
    let (path, rest) = rest.split_at(end);
    if path.first() != Some(&b'/') {
        return None;
    }
    let (query, rest) = match rest {
        [b'?', rest @ ..] => {
            rest.split_at(rest.iter().position(|byte| !QUERY[usize::from(*byte)])?)
        }
        _ => (&[][..], rest),
    };
    let lines = rest.strip_prefix(b" HTTP/1.1\r\n")?;
    let mut request = SimpleRequest {
        is_head,
        path: std::str::from_utf8(path).ok()?,
        query: std::str::from_utf8(query).ok()?,
        host: b"",
        accept_encoding: None,
        if_none_match: None,
        if_modified_since: None,
        fields: 0,
        lines: FieldLines(lines),
        length: 0,
    };
    let mut rest = lines;
    let mut host = None;
    loop {
        if let Some(after) = rest.strip_prefix(b"\r\n") {
            request.host = host?;
            request.lines = FieldLines(&lines[..lines.len() - rest.len()]);
            request.length = bytes.len() - after.len();
            return Some(request);
        }
        let (name, value, after) = parse_field(rest)?;
        match role(name) {
            HeaderRole::Host => set_once(&mut host, value)?,
            HeaderRole::AcceptEncoding => set_once(&mut request.accept_encoding, value)?,
            HeaderRole::IfNoneMatch => set_once(&mut request.if_none_match, value)?,
            HeaderRole::IfModifiedSince => set_once(&mut request.if_modified_since, value)?,
            HeaderRole::Connection if value.eq_ignore_ascii_case(b"keep-alive") => {}
            HeaderRole::Connection | HeaderRole::Bail => return None,
            HeaderRole::Ignore => {}
        }
        request.fields += 1;
        rest = after;
    }
}

/// Sets a value, or returns `None` if there is one already: parsers disagree about which of the two counts.
fn set_once<'b>(slot: &mut Option<&'b [u8]>, value: &'b [u8]) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

/// Reads `name ":" OWS value OWS CRLF` (RFC 9112 §5): name, value, and what follows.
fn parse_field(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let colon = line.iter().position(|byte| !TOKEN[usize::from(*byte)])?;
    let (name, rest) = line.split_at(colon);
    let rest = rest.strip_prefix(b":")?;
    if name.is_empty() {
        return None;
    }
    let (value, end) = rest.split_at(text_length(rest));
    Some((name, trim(value), end.strip_prefix(b"\r\n")?))
}

/// Tells what a field of this name means to the parser.
fn role(name: &[u8]) -> HeaderRole {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match name.len() {
        2 if is("te") => HeaderRole::Bail,
        4 if is("host") => HeaderRole::Host,
        6 if is("expect") => HeaderRole::Bail,
        7 if is("upgrade") || is("trailer") => HeaderRole::Bail,
        8 if is("if-match") => HeaderRole::Bail,
        10 if is("connection") => HeaderRole::Connection,
        13 if is("if-none-match") => HeaderRole::IfNoneMatch,
        14 if is("content-length") => HeaderRole::Bail,
        15 if is("accept-encoding") => HeaderRole::AcceptEncoding,
        17 if is("if-modified-since") => HeaderRole::IfModifiedSince,
        17 if is("transfer-encoding") => HeaderRole::Bail,
        19 if is("if-unmodified-since") => HeaderRole::Bail,
        29 if is("access-control-request-method") => HeaderRole::Bail,
        _ => HeaderRole::Ignore,
    }
}

/// What may stand in a path of ours.
const PATH: [bool; 256] = alphanumeric_or(b"/.-_");
/// What may stand in the query of a simple request.
const QUERY: [bool; 256] = alphanumeric_or(b"/.-_=&%+~:,!*");
/// What may stand in the name of a field.
const TOKEN: [bool; 256] = alphanumeric_or(b"!#$%&'*+-.^_`|~");

/// Makes a table of the letters, the digits and `marks`: every byte of a request line and of a name is looked at.
const fn alphanumeric_or(marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut mark = 0;
    while mark < marks.len() {
        table[marks[mark] as usize] = true;
        mark += 1;
    }
    table
}

/// Returns the length of the text at the beginning of `bytes`: spaces, tabs and visible ASCII. Eight bytes at a time, as
/// most of a head is values.
fn text_length(bytes: &[u8]) -> usize {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let (words, last) = bytes.as_chunks::<8>();
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let mut length = 0;
    for word in words {
        let value = u64::from_le_bytes(*word);
        // Below a space, or DEL and above; what a borrow or a carry marks wrongly is above a byte that is marked rightly.
        let low = value.wrapping_sub(EACH * 0x20) & !value;
        let marked = (low | value | value.wrapping_add(EACH)) & HIGH;
        if marked != 0 {
            let first = marked.trailing_zeros() as usize / 8;
            if word[first] != b'\t' {
                return length + first;
            }
            // Tabs are rare.
            if let Some(end) = word.iter().position(|byte| !is_text(byte)) {
                return length + end;
            }
        }
        length += 8;
    }
    length + last.iter().take_while(|byte| is_text(byte)).count()
}

#[cfg(test)]
mod tests;
