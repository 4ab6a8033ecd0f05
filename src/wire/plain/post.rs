//! The recogniser of plain calls: whole POST requests of programs, in the shape that nobody has to think about.
//!
//! What [`parse_plain`](super::parse_plain) asks of a request holds here, too. Besides, the body is as long as one
//! Content-Length in decimal digits says; what a page sends along (Origin) or conditions need is somebody else's to judge.

use super::{Lines, NotPlain, after, is_path_byte, parse_field, put};

/// A plain call, borrowed from the bytes that it was read from. Fields are those that came once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainPost<'b> {
    /// The target, which has no query.
    pub path: &'b str,
    /// The value of Host, not checked.
    pub host: &'b [u8],
    /// The value of Accept.
    pub accept: Option<&'b [u8]>,
    /// The value of Content-Type.
    pub content_type: Option<&'b [u8]>,
    /// The value of MCP-Protocol-Version.
    pub protocol_version: Option<&'b [u8]>,
    /// The value of Mcp-Session-Id.
    pub session: Option<&'b [u8]>,
    /// The value of Mcp-Method.
    pub mcp_method: Option<&'b [u8]>,
    /// The value of Mcp-Name.
    pub mcp_name: Option<&'b [u8]>,
    /// The value of traceparent.
    pub traceparent: Option<&'b [u8]>,
    /// How many fields there are.
    pub fields: usize,
    /// The lines of all fields.
    pub lines: Lines<'b>,
    /// The body, or as much of it as is there.
    pub body: &'b [u8],
    /// Bytes of the whole body.
    pub body_bytes: usize,
    /// Bytes of head and whole body; behind them the next request begins.
    pub length: usize,
}

impl PlainPost<'_> {
    /// Tells whether all of the body is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.body.len() == self.body_bytes
    }
}

/// Digits of a Content-Length; nobody waits for longer bodies here.
const LENGTH_DIGITS_MAX: usize = 7;

/// What a field is to a plain call.
enum Kind {
    Host,
    Accept,
    ContentType,
    ContentLength,
    ProtocolVersion,
    Session,
    McpMethod,
    McpName,
    TraceParent,
    Connection,
    /// The call is not plain.
    Thought,
    /// Nothing depends on it.
    Idle,
}

/// Reads the plain call at the beginning of `bytes`, of whose body there may be a part alone; linear in its head, without
/// allocating.
///
/// # Errors
/// Where there is none, or not all of its head.
pub fn parse_plain_post(bytes: &[u8]) -> Result<PlainPost<'_>, NotPlain> {
    let rest = after(bytes, b"POST ")?;
    if !rest.is_empty() && !rest.starts_with(b"/") {
        return Err(NotPlain::Other);
    }
    let end = rest.iter().position(|byte| !is_path_byte(*byte));
    let (path, rest) = rest.split_at(end.ok_or(NotPlain::Part)?);
    let lines = after(rest, b" HTTP/1.1\r\n")?;
    let mut post = PlainPost {
        path: std::str::from_utf8(path).map_err(|_| NotPlain::Other)?,
        host: b"",
        accept: None,
        content_type: None,
        protocol_version: None,
        session: None,
        mcp_method: None,
        mcp_name: None,
        traceparent: None,
        fields: 0,
        lines: Lines(lines),
        body: b"",
        body_bytes: 0,
        length: 0,
    };
    let mut rest = lines;
    let (mut host, mut length) = (None, None);
    loop {
        if let Some(behind) = rest.strip_prefix(b"\r\n") {
            post.host = host.ok_or(NotPlain::Other)?;
            post.lines = Lines(&lines[..lines.len() - rest.len()]);
            let length = length.and_then(parse_length);
            post.body_bytes = length.ok_or(NotPlain::Other)?;
            post.body = &behind[..behind.len().min(post.body_bytes)];
            post.length = bytes.len() - behind.len() + post.body_bytes;
            return Ok(post);
        }
        let (name, value, behind) = parse_field(rest)?;
        match kind(name) {
            Kind::Host => put(&mut host, value)?,
            Kind::Accept => put(&mut post.accept, value)?,
            Kind::ContentType => put(&mut post.content_type, value)?,
            Kind::ContentLength => put(&mut length, value)?,
            Kind::ProtocolVersion => put(&mut post.protocol_version, value)?,
            Kind::Session => put(&mut post.session, value)?,
            Kind::McpMethod => put(&mut post.mcp_method, value)?,
            Kind::McpName => put(&mut post.mcp_name, value)?,
            Kind::TraceParent => put(&mut post.traceparent, value)?,
            Kind::Connection if value.eq_ignore_ascii_case(b"keep-alive") => {}
            Kind::Connection | Kind::Thought => return Err(NotPlain::Other),
            Kind::Idle => {}
        }
        post.fields += 1;
        rest = behind;
    }
}

/// Reads a Content-Length of digits alone (RFC 9110 §8.6).
fn parse_length(value: &[u8]) -> Option<usize> {
    // First of all: more digits may be no number of ours.
    if !(1..=LENGTH_DIGITS_MAX).contains(&value.len()) {
        return None;
    }
    value.iter().try_fold(0, |number: usize, byte| {
        let digit = byte.is_ascii_digit().then(|| usize::from(byte - b'0'))?;
        Some(number * 10 + digit)
    })
}

/// Tells what a field of this name is to a plain call.
fn kind(name: &[u8]) -> Kind {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match name.len() {
        2 if is("te") => Kind::Thought,
        4 if is("host") => Kind::Host,
        5 if is("range") => Kind::Thought,
        6 if is("accept") => Kind::Accept,
        6 if is("expect") || is("origin") => Kind::Thought,
        7 if is("upgrade") || is("trailer") => Kind::Thought,
        8 if is("mcp-name") => Kind::McpName,
        8 if is("if-match") || is("if-range") => Kind::Thought,
        10 if is("mcp-method") => Kind::McpMethod,
        10 if is("connection") => Kind::Connection,
        11 if is("traceparent") => Kind::TraceParent,
        12 if is("content-type") => Kind::ContentType,
        13 if is("if-none-match") => Kind::Thought,
        14 if is("mcp-session-id") => Kind::Session,
        14 if is("content-length") => Kind::ContentLength,
        16 if is("content-encoding") => Kind::Thought,
        17 if is("if-modified-since") || is("transfer-encoding") => Kind::Thought,
        19 if is("if-unmodified-since") => Kind::Thought,
        20 if is("mcp-protocol-version") => Kind::ProtocolVersion,
        29 if is("access-control-request-method") => Kind::Thought,
        _ => Kind::Idle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "POST /mcp HTTP/1.1\r\nHost: reviews.example\r\naccept: application/json\r\nContent-Type: \
        application/json\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: s\r\nMcp-Method: m\r\nMcp-Name: n\r\n\
        traceparent: t\r\nX-Other: y\r\nConnection: keep-alive\r\ncontent-length: 4\r\n\r\n{\"\"}";

    #[test]
    fn a_plain_call_is_read_with_its_body() {
        let bytes = [CALL, "POST /next"].concat();
        let post = parse_plain_post(bytes.as_bytes()).expect("a plain call");
        assert!(post.is_whole());
        assert_eq!((post.path, post.host), ("/mcp", &b"reviews.example"[..]));
        assert_eq!(post.accept, Some(&b"application/json"[..]));
        assert_eq!(post.content_type, post.accept);
        assert_eq!(post.protocol_version, Some(&b"2025-11-25"[..]));
        assert_eq!(
            [
                post.session,
                post.mcp_method,
                post.mcp_name,
                post.traceparent
            ],
            [Some(&b"s"[..]), Some(b"m"), Some(b"n"), Some(b"t")]
        );
        assert_eq!(post.fields, 11);
        assert_eq!(post.lines.from_last("x-other").collect::<Vec<_>>(), [b"y"]);
        assert_eq!((post.body, post.length), (&b"{\"\"}"[..], CALL.len()));
    }

    #[test]
    fn a_part_of_a_head_is_one_and_behind_it_the_body_may_be_missing() {
        let head = CALL.len() - 4;
        for end in 0..head {
            let read = parse_plain_post(&CALL.as_bytes()[..end]);
            assert_eq!(read, Err(NotPlain::Part), "{end} bytes");
        }
        for end in head..CALL.len() {
            let post = parse_plain_post(&CALL.as_bytes()[..end]).expect("a whole head");
            assert!(!post.is_whole());
            let sizes = (post.body.len(), post.body_bytes, post.length);
            assert_eq!(sizes, (end - head, 4, CALL.len()));
        }
    }

    #[test]
    fn a_length_is_of_one_to_seven_digits() {
        for (length, expected) in [
            ("0", Some(0)),
            ("3", Some(3)),
            ("0000003", Some(3)),
            ("00000003", None),
            ("4", Some(4)),
            ("9999999", Some(9_999_999)),
            ("10000000", None),
            ("18446744073709551616", None),
            ("99999999999999999999", None),
            ("", None),
            ("+3", None),
            ("-3", None),
            ("3 ", Some(3)),
            ("3,3", None),
            ("0x3", None),
            ("3\r\nContent-Length: 3", None),
        ] {
            let call =
                format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nabc");
            let read = parse_plain_post(call.as_bytes());
            let told = read.map(|post| post.body_bytes);
            assert_eq!(told, expected.ok_or(NotPlain::Other), "{length:?}");
        }
    }

    #[test]
    fn what_needs_thought_is_not_plain() {
        let call = |line: &str, field: &str| {
            format!("{line}\r\nHost: a\r\nContent-Length: 0\r\n{field}\r\n\r\n")
        };
        let post = "POST /mcp HTTP/1.1";
        assert!(parse_plain_post(call(post, "X: y").as_bytes()).is_ok());
        for line in [
            "GET /mcp HTTP/1.1",
            "post /mcp HTTP/1.1",
            "POST /mcp?a HTTP/1.1",
            "POST  /mcp HTTP/1.1",
            "POST mcp HTTP/1.1",
            "POST /mcp HTTP/1.0",
        ] {
            assert_eq!(
                parse_plain_post(call(line, "X: y").as_bytes()),
                Err(NotPlain::Other),
                "{line}"
            );
        }
        for field in [
            "Host: a",
            "Accept: a\r\nAccept: a",
            "Content-Type: a\r\nContent-Type: a",
            "MCP-Protocol-Version: a\r\nMCP-Protocol-Version: a",
            "Mcp-Session-Id: a\r\nMcp-Session-Id: a",
            "Mcp-Method: a\r\nMcp-Method: a",
            "Mcp-Name: a\r\nMcp-Name: a",
            "traceparent: a\r\ntraceparent: a",
            "Transfer-Encoding: chunked",
            "Content-Encoding: gzip",
            "Origin: https://a.example",
            "Expect: 100-continue",
            "Upgrade: h2c",
            "TE: trailers",
            "Trailer: x",
            "Range: bytes=0-1",
            "If-Range: a",
            "If-Match: *",
            "If-None-Match: *",
            "If-Modified-Since: x",
            "If-Unmodified-Since: x",
            "Connection: close",
            "Access-Control-Request-Method: GET",
            "Name : value",
            "Name: a\nHost: b",
        ] {
            assert_eq!(
                parse_plain_post(call(post, field).as_bytes()),
                Err(NotPlain::Other),
                "{field:?}"
            );
        }
    }
}
