//! The recogniser of plain requests: those that nobody has to think about.
//!
//! A plain request is one whole HTTP/1.1 GET or HEAD in the one shape that every parser reads alike: single spaces and
//! exact line ends, a path of letters, digits and `/ . - _`, a query of those and `= & % + ~ : , ! *`, exactly one Host,
//! visible ASCII in its values, and none of the fields that change how a message is framed, what is asked for, or what becomes of the connection. Everything
//! else, a head that is not all there included, is [`None`] here and somebody else's to judge. So this parser never
//! refuses a request, and what it takes leaves no room for two opinions. Calls, POST requests with their body, are read
//! by the same rules in `post.rs`.

mod post;

pub use post::{PlainPost, parse_plain_post};

/// A plain request, borrowed from the bytes that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<'b> {
    /// HEAD, not GET.
    pub is_head: bool,
    /// The target before its question mark, if it has one.
    pub path: &'b str,
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
    /// Whether a field of proxies (X-Forwarded-For, Forwarded) is there.
    pub is_forwarded: bool,
    /// How many fields there are.
    pub fields: usize,
    /// Bytes of the head, the empty line included; behind them the next request begins.
    pub length: usize,
}

/// What a field is to a plain request.
enum Kind {
    Host,
    AcceptEncoding,
    IfNoneMatch,
    IfModifiedSince,
    TraceParent,
    Connection,
    Forwarded,
    /// The request is not plain.
    Thought,
    /// Nothing depends on it.
    Idle,
}

/// Reads the plain request at the beginning of `bytes`, or returns `None` where there is none, or not all of it; linear,
/// without allocating.
#[must_use]
pub fn parse_plain(bytes: &[u8]) -> Option<Plain<'_>> {
    let (is_head, rest) = match bytes {
        [b'G', b'E', b'T', b' ', rest @ ..] => (false, rest),
        [b'H', b'E', b'A', b'D', b' ', rest @ ..] => (true, rest),
        _ => return None,
    };
    let end = rest.iter().position(|byte| !is_path_byte(*byte))?;
    let (path, rest) = rest.split_at(end);
    let (query, rest) = match rest {
        [b'?', rest @ ..] => rest.split_at(rest.iter().position(|byte| !is_query_byte(*byte))?),
        _ => (&[][..], rest),
    };
    let mut rest = rest.strip_prefix(b" HTTP/1.1\r\n")?;
    let mut plain = Plain {
        is_head,
        path: std::str::from_utf8(path).ok()?,
        query: std::str::from_utf8(query).ok()?,
        host: b"",
        accept_encoding: None,
        if_none_match: None,
        if_modified_since: None,
        traceparent: None,
        is_forwarded: false,
        fields: 0,
        length: 0,
    };
    let mut host = None;
    loop {
        if let Some(behind) = rest.strip_prefix(b"\r\n") {
            plain.host = host?;
            plain.length = bytes.len() - behind.len();
            return plain.path.starts_with('/').then_some(plain);
        }
        let (name, value, behind) = parse_field(rest)?;
        match kind(name) {
            Kind::Host => put(&mut host, value)?,
            Kind::AcceptEncoding => put(&mut plain.accept_encoding, value)?,
            Kind::IfNoneMatch => put(&mut plain.if_none_match, value)?,
            Kind::IfModifiedSince => put(&mut plain.if_modified_since, value)?,
            Kind::TraceParent => put(&mut plain.traceparent, value)?,
            Kind::Connection if value.eq_ignore_ascii_case(b"keep-alive") => {}
            Kind::Connection | Kind::Thought => return None,
            Kind::Forwarded => plain.is_forwarded = true,
            Kind::Idle => {}
        }
        plain.fields += 1;
        rest = behind;
    }
}

/// Notes a value, unless there is one already: which of the two would count?
fn put<'b>(place: &mut Option<&'b [u8]>, value: &'b [u8]) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// Reads `name ":" OWS value OWS CRLF` (RFC 9112 §5): name, value, and what follows.
fn parse_field(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let colon = line.iter().position(|byte| !is_token_byte(*byte))?;
    let (name, rest) = line.split_at(colon);
    let rest = rest.strip_prefix(b":")?;
    let end = memchr::memchr2(b'\r', b'\n', rest)?;
    let (value, rest) = rest.split_at(end);
    let rest = rest.strip_prefix(b"\r\n")?;
    let is_text = |ok, byte: &u8| ok & (matches!(byte, b' '..=b'~') | (*byte == b'\t'));
    // All bytes, and no early end: so the compiler looks at 16 of them at a time.
    let is_plain = value.iter().fold(true, is_text);
    (is_plain && !name.is_empty()).then_some((name, trim(value), rest))
}

/// Tells what a field of this name is to a plain request.
fn kind(name: &[u8]) -> Kind {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match name.len() {
        2 if is("te") => Kind::Thought,
        4 if is("host") => Kind::Host,
        5 if is("range") => Kind::Thought,
        6 if is("expect") => Kind::Thought,
        7 if is("upgrade") || is("trailer") => Kind::Thought,
        8 if is("if-match") || is("if-range") => Kind::Thought,
        9 if is("forwarded") => Kind::Forwarded,
        10 if is("connection") => Kind::Connection,
        11 if is("traceparent") => Kind::TraceParent,
        13 if is("if-none-match") => Kind::IfNoneMatch,
        14 if is("content-length") => Kind::Thought,
        15 if is("accept-encoding") => Kind::AcceptEncoding,
        15 if is("x-forwarded-for") => Kind::Forwarded,
        17 if is("if-modified-since") => Kind::IfModifiedSince,
        17 if is("transfer-encoding") => Kind::Thought,
        19 if is("if-unmodified-since") => Kind::Thought,
        29 if is("access-control-request-method") => Kind::Thought,
        _ => Kind::Idle,
    }
}

/// Tells whether a byte may stand in a path of ours.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_')
}

/// Tells whether a byte may stand in a query that is plain.
fn is_query_byte(byte: u8) -> bool {
    is_path_byte(byte) || b"=&%+~:,!*".contains(&byte)
}

/// Tells whether a byte may stand in the name of a field (RFC 9110 §5.6.2); a table, as every name is looked at.
fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let character = byte as u8;
            let mark = matches!(
                character,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
            table[byte] = character.is_ascii_alphanumeric() || mark;
            byte += 1;
        }
        table
    };
    TOKEN[usize::from(byte)]
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
mod tests {
    use super::*;

    const REQUEST: &str = "GET /feed.xml HTTP/1.1\r\nHost: reviews.example\r\nUser-Agent: x/1 (a; b)\r\n\
        accept-encoding:gzip, br \r\nIF-NONE-MATCH: \t\"a\"\r\nConnection: Keep-Alive\r\n\r\n";

    #[test]
    fn a_plain_request_is_read_with_what_depends_on_it() {
        let bytes = [REQUEST, "GET /next"].concat();
        let plain = parse_plain(bytes.as_bytes()).expect("a plain request");
        assert_eq!((plain.path, plain.is_head), ("/feed.xml", false));
        assert_eq!(plain.host, b"reviews.example");
        assert_eq!(plain.accept_encoding, Some(&b"gzip, br"[..]));
        assert_eq!(plain.if_none_match, Some(&b"\"a\""[..]));
        assert_eq!((plain.if_modified_since, plain.traceparent), (None, None));
        assert_eq!((plain.fields, plain.is_forwarded), (5, false));
        assert_eq!(plain.length, REQUEST.len());
    }

    #[test]
    fn a_query_is_what_follows_a_question_mark() {
        for (target, path, query) in [
            ("/a?query=%c3%a9+b&limit=5", "/a", "query=%c3%a9+b&limit=5"),
            ("/a?", "/a", ""),
            ("/a?~:,!*/.-_=&", "/a", "~:,!*/.-_=&"),
        ] {
            let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
            let plain = parse_plain(request.as_bytes()).expect(target);
            assert_eq!((plain.path, plain.query), (path, query));
        }
    }

    #[test]
    fn no_part_of_a_request_is_one() {
        for end in 0..REQUEST.len() {
            assert_eq!(parse_plain(&REQUEST.as_bytes()[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn the_least_request_has_a_host() {
        assert!(
            parse_plain(b"HEAD / HTTP/1.1\r\nhost:\r\n\r\n").is_some_and(|plain| plain.is_head)
        );
        assert_eq!(parse_plain(b"HEAD / HTTP/1.1\r\n\r\n"), None);
    }

    #[test]
    fn other_first_lines_are_not_plain() {
        for line in [
            "POST / HTTP/1.1",
            "get / HTTP/1.1",
            "GET  / HTTP/1.1",
            "GET /  HTTP/1.1",
            "GET /\tHTTP/1.1",
            "GET / HTTP/1.0",
            "GET / HTTP/1.2",
            "GET / HTTP/1.1 ",
            "GET / http/1.1",
            "GET /?a?b HTTP/1.1",
            "GET /?a\" HTTP/1.1",
            "GET /?a#b HTTP/1.1",
            "GET /%61 HTTP/1.1",
            "GET /a#b HTTP/1.1",
            "GET * HTTP/1.1",
            "GET feed.xml HTTP/1.1",
            "GET  HTTP/1.1",
            "GET http://a/ HTTP/1.1",
            "\r\nGET / HTTP/1.1",
            "PRI * HTTP/2.0",
        ] {
            let request = format!("{line}\r\nHost: a\r\n\r\n");
            assert_eq!(parse_plain(request.as_bytes()), None, "{line:?}");
        }
    }

    #[test]
    fn fields_that_need_thought_are_not_plain() {
        for field in [
            "Host: a",
            "Range: bytes=0-1",
            "If-Range: \"a\"",
            "If-Match: *",
            "If-Unmodified-Since: x",
            "Expect: 100-continue",
            "Upgrade: h2c",
            "Content-Length: 0",
            "Transfer-Encoding: chunked",
            "TE: trailers",
            "Trailer: x",
            "Connection: close",
            "Connection: keep-alive, upgrade",
            "Connection:",
            "Access-Control-Request-Method: GET",
            "Accept-Encoding: gzip\r\nAccept-Encoding: br",
            "If-None-Match: \"a\"\r\nIf-None-Match: \"b\"",
            "If-Modified-Since: x\r\nif-modified-since: x",
            "traceparent: x\r\ntraceparent: x",
            "Name : value",
            "Name",
            ": value",
            "Na me: value",
            " folded: value",
            "Name: a\r\n\tb",
            "Name: a\rb",
            "Name: a\nHost: b",
            "Name: caf\u{e9}",
            "Name: \0",
            "Name: \x7f",
        ] {
            let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            assert_eq!(parse_plain(request.as_bytes()), None, "{field:?}");
        }
    }

    #[test]
    fn other_fields_change_nothing() {
        for (field, is_forwarded) in [
            ("Cookie: a=b; c=d", false),
            ("Authorization: Basic x", false),
            ("Accept: */*", false),
            ("Origin: https://a.example", false),
            ("Empty:", false),
            ("X-Forwarded-For: 192.0.2.1", true),
            ("forwarded: for=192.0.2.1", true),
        ] {
            let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            let plain = parse_plain(request.as_bytes()).expect(field);
            assert_eq!(
                (plain.fields, plain.is_forwarded),
                (2, is_forwarded),
                "{field}"
            );
        }
    }
}
