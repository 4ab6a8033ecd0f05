//! The request target: its length, its form, and its path, decoded once.

use std::borrow::Cow;

use hyper::Method;
use hyper::http::uri::Uri;

use crate::wire::form::{self, FormError};

/// Why a target is refused: the client's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("the request target has {bytes} bytes, at most {bytes_max} are taken")]
    TooLong { bytes: usize, bytes_max: usize },
    /// `*` with another method than OPTIONS, or the form that only CONNECT has.
    #[error("the request target must be a path")]
    Form,
    #[error("the path has a % without two hexadecimal digits")]
    Escape,
    #[error("the decoded path is not UTF-8")]
    Encoding,
    #[error("the path has a control character or an unescaped byte beyond ASCII")]
    Character,
}

/// A path, cut before its last segment, which is where the parameters of our addresses stand.
///
/// Cut first and decoded second, so that an escaped slash stays part of the segment it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// Up to and with the last slash, decoded; empty, and so no path of ours, if a slash was escaped in it.
    pub(crate) parent: Cow<'a, str>,
    /// What follows it, as it came.
    pub(crate) raw: &'a str,
    /// What follows it, decoded, or why it cannot be: that is for the endpoint to say if it is a parameter.
    pub(crate) last: Result<Cow<'a, str>, TargetError>,
}

/// Checks the form of a target of so many bytes, and returns its path, or `None` for the `*` of OPTIONS.
///
/// Allocates only for a path that has escapes, which none of our own addresses has.
///
/// # Errors
/// The first fault found, the length first.
pub(crate) fn parse_target<'a>(
    method: &Method,
    path: &'a str,
    bytes: usize,
    bytes_max: usize,
) -> Result<Option<Path<'a>>, TargetError> {
    match path {
        _ if bytes > bytes_max => Err(TargetError::TooLong { bytes, bytes_max }),
        "*" if *method == Method::OPTIONS => Ok(None),
        _ if path.starts_with('/') => parse_path(path).map(Some),
        _ => Err(TargetError::Form),
    }
}

/// Returns how many bytes a target has that hyper has read.
pub(crate) fn length(uri: &Uri) -> usize {
    let path = uri.path_and_query().map(|path| path.as_str().len());
    let authority = uri.authority().map(|authority| authority.as_str().len());
    path.unwrap_or(0) + authority.unwrap_or(0)
}

/// Cuts and decodes a path that begins with a slash.
fn parse_path(path: &str) -> Result<Path<'_>, TargetError> {
    let (mut cut, mut plain) = (0, true);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'/' => cut = at + 1,
            b'%' => plain = false,
            0x21..=0x7e => {}
            _ => plain = false,
        }
    }
    let (parent, raw) = path.split_at(cut);
    if plain {
        return Ok(Path {
            parent: Cow::Borrowed(parent),
            raw,
            last: Ok(Cow::Borrowed(raw)),
        });
    }
    let mut decoded = decode(parent)?;
    if decoded.matches('/').count() != parent.matches('/').count() {
        decoded.clear();
    }
    Ok(Path {
        parent: Cow::Owned(decoded),
        raw,
        last: decode(raw).map(Cow::Owned),
    })
}

fn decode(text: &str) -> Result<String, TargetError> {
    if text.bytes().any(|byte| !matches!(byte, 0x21..=0x7e)) {
        return Err(TargetError::Character);
    }
    let mut decoded = String::with_capacity(text.len());
    form::decode_path(text.as_bytes(), &mut decoded).map_err(|error| match error {
        FormError::BrokenEscape { .. } => TargetError::Escape,
        FormError::NotUtf8 => TargetError::Encoding,
    })?;
    match decoded.bytes().any(|byte| byte.is_ascii_control()) {
        true => Err(TargetError::Character),
        false => Ok(decoded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_uri<'u>(method: &Method, uri: &'u Uri) -> Result<Option<Path<'u>>, TargetError> {
        parse_target(method, uri.path(), length(uri), 64)
    }

    fn parse(target: &str) -> Result<Option<(String, String)>, TargetError> {
        let uri: Uri = target.parse().expect("hyper would have passed it on");
        let path = of_uri(&Method::GET, &uri)?;
        path.map(|path| {
            path.last
                .map(|last| (path.parent.into_owned(), last.into_owned()))
        })
        .transpose()
    }

    fn parts(parent: &str, last: &str) -> Result<Option<(String, String)>, TargetError> {
        Ok(Some((parent.to_owned(), last.to_owned())))
    }

    #[test]
    fn a_path_is_cut_before_its_last_segment() {
        assert_eq!(parse("/"), parts("/", ""));
        assert_eq!(parse("/reviews.json"), parts("/", "reviews.json"));
        assert_eq!(
            parse("/api/reviews/since/2024-01-01?x=%zz"),
            parts("/api/reviews/since/", "2024-01-01")
        );
        assert_eq!(parse("http://a/b/"), parts("/b/", ""));
        assert_eq!(parse("http://a"), parts("/", ""));
        assert_eq!(parse("//a"), parts("//", "a"));
    }

    #[test]
    fn an_escape_is_decoded_once_and_an_escaped_slash_stays_data() {
        assert_eq!(parse("/%72eviews.json"), parts("/", "reviews.json"));
        assert_eq!(parse("/%61pi/feed.json"), parts("/api/", "feed.json"));
        assert_eq!(
            parse("/api/reviews/2024%2F01"),
            parts("/api/reviews/", "2024/01")
        );
        assert_eq!(parse("/api%2Freviews/search"), parts("", "search"));
        assert_eq!(parse("/%2572"), parts("/", "%72"));
        assert_eq!(parse("/a%2Fb/%zz"), Err(TargetError::Escape));
    }

    #[test]
    fn broken_escapes_bad_utf8_and_control_characters_are_refused() {
        for target in ["/%", "/%4", "/%zz", "/%4g", "/%%41", "/%/a"] {
            assert_eq!(parse(target), Err(TargetError::Escape), "{target}");
        }
        for target in ["/%00", "/a%0d%0Ab", "/%7f", "/caf\u{e9}"] {
            assert_eq!(parse(target), Err(TargetError::Character), "{target}");
        }
        for target in ["/%ff", "/%c3", "/%ed%a0%80", "/%c3/%a9"] {
            assert_eq!(parse(target), Err(TargetError::Encoding), "{target}");
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_kept_where_it_is_a_parameter() {
        let uri = Uri::from_static("/api/reviews/since/%zz");
        let path = of_uri(&Method::GET, &uri)
            .expect("the parent is fine")
            .expect("a path");
        assert_eq!(
            (&*path.parent, path.raw, path.last),
            ("/api/reviews/since/", "%zz", Err(TargetError::Escape))
        );
    }
}
