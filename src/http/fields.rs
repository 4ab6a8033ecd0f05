//! The header fields of a request that we read: which are there, found in one pass.
//!
//! A plain GET has a Host and a few fields that nobody reads here. One pass over what came is cheaper than a lookup
//! for each field that might have come.

use hyper::header::{self, HeaderMap, HeaderName};

use crate::wire::plain::Plain;

/// A field that the service reads; the number is its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Accept-Encoding.
    AcceptEncoding = 0,
    /// If-None-Match.
    IfNoneMatch = 1,
    /// If-Modified-Since.
    IfModifiedSince = 2,
    /// If-Match.
    IfMatch = 3,
    /// If-Unmodified-Since.
    IfUnmodifiedSince = 4,
    /// Transfer-Encoding.
    TransferEncoding = 5,
    /// Access-Control-Request-Method, which makes an OPTIONS a preflight.
    RequestMethod = 6,
}

/// The fields of a request.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'r> {
    source: Source<'r>,
    present: u8,
}

/// Where the values are.
#[derive(Clone, Copy)]
enum Source<'r> {
    Map(&'r HeaderMap),
    /// The first three of [`Field`], each there once or not at all.
    Plain([Option<&'r [u8]>; 3]),
}

impl<'r> Fields<'r> {
    /// Notes which fields are there.
    pub(crate) fn read(headers: &'r HeaderMap) -> Fields<'r> {
        let mut present = 0;
        for name in headers.keys() {
            let field = match *name {
                header::ACCEPT_ENCODING => Field::AcceptEncoding,
                header::IF_NONE_MATCH => Field::IfNoneMatch,
                header::IF_MODIFIED_SINCE => Field::IfModifiedSince,
                header::IF_MATCH => Field::IfMatch,
                header::IF_UNMODIFIED_SINCE => Field::IfUnmodifiedSince,
                header::TRANSFER_ENCODING => Field::TransferEncoding,
                header::ACCESS_CONTROL_REQUEST_METHOD => Field::RequestMethod,
                _ => continue,
            };
            present |= 1 << field as u8;
        }
        Fields {
            source: Source::Map(headers),
            present,
        }
    }

    /// Takes the fields of a plain request, which has no others of those that are read.
    pub(crate) fn of_plain(plain: &Plain<'r>) -> Fields<'r> {
        let values = [
            plain.accept_encoding,
            plain.if_none_match,
            plain.if_modified_since,
        ];
        let bits = values.iter().enumerate();
        let present = bits.fold(0, |present, (bit, value)| {
            present | u8::from(value.is_some()) << bit
        });
        Fields {
            source: Source::Plain(values),
            present,
        }
    }

    /// Tells whether `field` is there at least once.
    pub(crate) fn has(&self, field: Field) -> bool {
        self.present & 1 << field as u8 != 0
    }

    /// Tells whether there is any condition (RFC 9110 §13.1) on the request.
    pub(crate) fn is_conditional(&self) -> bool {
        const CONDITIONS: u8 = 1 << Field::IfNoneMatch as u8
            | 1 << Field::IfModifiedSince as u8
            | 1 << Field::IfMatch as u8
            | 1 << Field::IfUnmodifiedSince as u8;
        self.present & CONDITIONS != 0
    }

    /// Returns the values of `field`, in the order in which they came.
    pub(crate) fn values(&self, field: Field) -> impl Iterator<Item = &'r [u8]> + use<'r> {
        let (mut all, mut only) = (None, None);
        match self.source {
            Source::Map(headers) if self.has(field) => {
                all = Some(headers.get_all(name(field)).iter());
            }
            Source::Map(_) => {}
            Source::Plain(values) => only = values.get(field as usize).copied().flatten(),
        }
        let all = all.into_iter().flatten().map(|value| value.as_bytes());
        all.chain(only)
    }
}

fn name(field: Field) -> HeaderName {
    match field {
        Field::AcceptEncoding => header::ACCEPT_ENCODING,
        Field::IfNoneMatch => header::IF_NONE_MATCH,
        Field::IfModifiedSince => header::IF_MODIFIED_SINCE,
        Field::IfMatch => header::IF_MATCH,
        Field::IfUnmodifiedSince => header::IF_UNMODIFIED_SINCE,
        Field::TransferEncoding => header::TRANSFER_ENCODING,
        Field::RequestMethod => header::ACCESS_CONTROL_REQUEST_METHOD,
    }
}

/// Tells whether a request's Transfer-Encoding is one that we take: none, or exactly one `chunked`.
///
/// hyper takes the chunks off `gzip, chunked` and hands out the compressed bytes as if they were the body; a second
/// line of the field is how requests are smuggled.
pub(crate) fn is_transfer_encoding_known(fields: &Fields<'_>) -> bool {
    let mut values = fields.values(Field::TransferEncoding);
    let first_is_chunked = values
        .next()
        .is_none_or(|value| value.eq_ignore_ascii_case(b"chunked"));
    first_is_chunked && values.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(fields: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn fields_are_found_with_all_their_values() {
        let headers = headers(&[
            (header::HOST, "a"),
            (header::IF_NONE_MATCH, "\"a\""),
            (header::ACCEPT, "*/*"),
            (header::IF_NONE_MATCH, "\"b\""),
        ]);
        let fields = Fields::read(&headers);
        assert!(fields.has(Field::IfNoneMatch) && fields.is_conditional());
        assert!(!fields.has(Field::AcceptEncoding));
        assert_eq!(
            fields.values(Field::IfNoneMatch).collect::<Vec<_>>(),
            [b"\"a\"", b"\"b\""]
        );
        assert_eq!(fields.values(Field::IfMatch).count(), 0);
    }

    #[test]
    fn a_request_without_conditions_is_not_conditional() {
        let headers = headers(&[
            (header::ACCEPT_ENCODING, "gzip"),
            (header::TRANSFER_ENCODING, "chunked"),
        ]);
        assert!(!Fields::read(&headers).is_conditional());
    }

    #[test]
    fn exactly_one_chunked_is_known() {
        let verdict = |values: &[&'static str]| {
            let fields: Vec<_> = values
                .iter()
                .map(|value| (header::TRANSFER_ENCODING, *value))
                .collect();
            is_transfer_encoding_known(&Fields::read(&headers(&fields)))
        };
        assert!(verdict(&[]) && verdict(&["chunked"]) && verdict(&["Chunked"]));
        for values in [
            &["gzip, chunked"][..],
            &["chunked, chunked"],
            &["chunked", "chunked"],
            &["identity"],
            &[""],
        ] {
            assert!(!verdict(values), "{values:?}");
        }
    }
}
