//! The recogniser of plain requests: those that nobody has to think about.
//!
//! A plain request is one whole HTTP/1.1 GET or HEAD in the one shape that every parser reads alike: single spaces and
//! exact line ends, a path of letters, digits and `/ . - _`, a query of those and `= & % + ~ : , ! *`, exactly one Host,
//! visible ASCII in its values, and none of the fields that change how a message is framed, what is asked for, or what
//! becomes of the connection. Everything else is somebody else's to judge. So this parser never refuses a request, and
//! what it takes leaves no room for two opinions. Calls, POST requests with their body, are read by the same rules in
//! `post.rs`.

mod post;

pub use post::{PlainPost, parse_plain_post};

/// A plain request, borrowed from the bytes that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<'b> {
    /// HEAD, not GET.
    pub is_head: bool,
    /// The target before its question mark, if it has one; ASCII.
    pub path: &'b [u8],
    /// The target behind its question mark, still encoded.
    pub query: &'b str,
    /// The value of Host, not checked.
    pub host: &'b [u8],
    /// The value of the one Accept-Encoding.
    pub accept_encoding: Option<&'b [u8]>,
    /// The value of the one If-None-Match.
    pub if_none_match: Option<&'b [u8]>,
    /// The value of the one If-Modified-Since.
    pub if_modified_since: Option<&'b [u8]>,
    /// The value of the one traceparent.
    pub traceparent: Option<&'b [u8]>,
    /// How many fields there are.
    pub fields: usize,
    /// The lines of all fields.
    pub lines: Lines<'b>,
    /// Bytes of the head, the empty line included; behind them the next request begins.
    pub length: usize,
}

/// The lines of a request's fields, with their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines<'b>(pub &'b [u8]);

impl<'b> Lines<'b> {
    /// Returns the values of the fields of this name, the last first; looks at every field.
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

/// Why bytes begin with no plain request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPlain {
    /// They may be the beginning of one.
    Part,
    /// They are the whole head of a call and not all of its body.
    Body {
        /// Bytes of both together.
        length: usize,
    },
    /// They are something else, whatever follows.
    Other,
}

/// What a field is to a plain request.
enum Kind {
    Host,
    AcceptEncoding,
    IfNoneMatch,
    IfModifiedSince,
    TraceParent,
    Connection,
    /// The request is not plain.
    Thought,
    /// Nothing depends on it.
    Idle,
}

/// Reads the plain request at the beginning of `bytes`; linear, without allocating.
///
/// # Errors
/// Where there is none, or not all of it.
pub fn parse_plain(bytes: &[u8]) -> Result<Plain<'_>, NotPlain> {
    let (is_head, rest) = match bytes {
        [b'G', b'E', b'T', b' ', rest @ ..] => (false, rest),
        _ => (true, after(bytes, b"HEAD ").map_err(|_| begun(bytes))?),
    };
    let end = rest.iter().position(|byte| !is_path_byte(*byte));
    let (path, rest) = rest.split_at(end.ok_or_else(|| begun(bytes))?);
    if path.first() != Some(&b'/') {
        return Err(NotPlain::Other);
    }
    let (query, rest) = match rest {
        [b'?', rest @ ..] => {
            let end = rest.iter().position(|byte| !is_query_byte(*byte));
            rest.split_at(end.ok_or_else(|| begun(bytes))?)
        }
        _ => (&[][..], rest),
    };
    let lines = after(rest, b" HTTP/1.1\r\n")?;
    let mut plain = Plain {
        is_head,
        path,
        query: std::str::from_utf8(query).map_err(|_| NotPlain::Other)?,
        host: b"",
        accept_encoding: None,
        if_none_match: None,
        if_modified_since: None,
        traceparent: None,
        fields: 0,
        lines: Lines(lines),
        length: 0,
    };
    let mut rest = lines;
    let mut host = None;
    loop {
        if let Some(behind) = rest.strip_prefix(b"\r\n") {
            plain.host = host.ok_or(NotPlain::Other)?;
            plain.lines = Lines(&lines[..lines.len() - rest.len()]);
            plain.length = bytes.len() - behind.len();
            return Ok(plain);
        }
        let (name, value, behind) = parse_field(rest)?;
        match kind(name) {
            Kind::Host => put(&mut host, value)?,
            Kind::AcceptEncoding => put(&mut plain.accept_encoding, value)?,
            Kind::IfNoneMatch => put(&mut plain.if_none_match, value)?,
            Kind::IfModifiedSince => put(&mut plain.if_modified_since, value)?,
            Kind::TraceParent => put(&mut plain.traceparent, value)?,
            Kind::Connection if value.eq_ignore_ascii_case(b"keep-alive") => {}
            Kind::Connection | Kind::Thought => return Err(NotPlain::Other),
            Kind::Idle => {}
        }
        plain.fields += 1;
        rest = behind;
    }
}

/// Tells whether a first line that has not come to its end could be one of a plain request.
fn begun(bytes: &[u8]) -> NotPlain {
    let is_begun = |start: &[u8]| start.starts_with(bytes) || bytes.starts_with(start);
    match is_begun(b"GET /") || is_begun(b"HEAD /") {
        true => NotPlain::Part,
        false => NotPlain::Other,
    }
}

/// Returns what follows `expected` at the beginning of `bytes`.
fn after<'b>(bytes: &'b [u8], expected: &[u8]) -> Result<&'b [u8], NotPlain> {
    match bytes.strip_prefix(expected) {
        Some(rest) => Ok(rest),
        None if expected.starts_with(bytes) => Err(NotPlain::Part),
        None => Err(NotPlain::Other),
    }
}

/// Notes a value, unless there is one already: which of the two would count?
fn put<'b>(place: &mut Option<&'b [u8]>, value: &'b [u8]) -> Result<(), NotPlain> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(NotPlain::Other),
    }
}

/// Reads `name ":" OWS value OWS CRLF` (RFC 9112 §5): name, value, and what follows.
#[expect(clippy::type_complexity, reason = "three parts of one line")]
fn parse_field(line: &[u8]) -> Result<(&[u8], &[u8], &[u8]), NotPlain> {
    let colon = line.iter().position(|byte| !is_token_byte(*byte));
    let (name, rest) = line.split_at(colon.ok_or(NotPlain::Part)?);
    let Some(rest) = rest.strip_prefix(b":") else {
        // Perhaps of the empty line.
        return after(line, b"\r\n").and(Err(NotPlain::Other));
    };
    if name.is_empty() {
        return Err(NotPlain::Other);
    }
    let (value, end) = rest.split_at(text_length(rest));
    Ok((name, trim(value), after(end, b"\r\n")?))
}

/// Tells what a field of this name is to a plain request.
fn kind(name: &[u8]) -> Kind {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match name.len() {
        2 if is("te") => Kind::Thought,
        4 if is("host") => Kind::Host,
        6 if is("expect") => Kind::Thought,
        7 if is("upgrade") || is("trailer") => Kind::Thought,
        8 if is("if-match") => Kind::Thought,
        10 if is("connection") => Kind::Connection,
        11 if is("traceparent") => Kind::TraceParent,
        13 if is("if-none-match") => Kind::IfNoneMatch,
        14 if is("content-length") => Kind::Thought,
        15 if is("accept-encoding") => Kind::AcceptEncoding,
        17 if is("if-modified-since") => Kind::IfModifiedSince,
        17 if is("transfer-encoding") => Kind::Thought,
        19 if is("if-unmodified-since") => Kind::Thought,
        29 if is("access-control-request-method") => Kind::Thought,
        _ => Kind::Idle,
    }
}

/// Tells whether a byte may stand in a path of ours.
fn is_path_byte(byte: u8) -> bool {
    const PATH: [bool; 256] = alphanumeric_or(b"/.-_");
    PATH[usize::from(byte)]
}

/// Tells whether a byte may stand in a query that is plain.
fn is_query_byte(byte: u8) -> bool {
    const QUERY: [bool; 256] = alphanumeric_or(b"/.-_=&%+~:,!*");
    QUERY[usize::from(byte)]
}

/// Tells whether a byte may stand in the name of a field (RFC 9110 §5.6.2).
fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = alphanumeric_or(b"!#$%&'*+-.^_`|~");
    TOKEN[usize::from(byte)]
}

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

/// Returns `value` without the optional white space (RFC 9110 §5.6.3) around it.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests;
