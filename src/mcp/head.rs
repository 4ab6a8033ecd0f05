//! The method and header fields of an HTTP request that MCP reads, as byte slices.

use super::protocol::is_stateless_version;

/// Lines of `Accept` that are read; further ones are ignored.
const ACCEPT_LINES_MAX: usize = 8;

/// Method and header fields of a request to `/mcp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    /// The method as sent, such as `POST`.
    pub method: &'a [u8],
    /// `Host`, or the authority of an HTTP/2 request.
    pub host: SingleField<'a>,
    /// `Origin`.
    pub origin: SingleField<'a>,
    /// The response format that the client accepts, from `Accept`.
    pub form: ReplyFormat,
    /// `Content-Type`.
    pub content_type: SingleField<'a>,
    /// `MCP-Protocol-Version`.
    pub protocol_version: SingleField<'a>,
    /// `Mcp-Session-Id`.
    pub session: SingleField<'a>,
    /// `Mcp-Method`.
    pub mcp_method: SingleField<'a>,
    /// `Mcp-Name`.
    pub mcp_name: SingleField<'a>,
}

/// A header field that should occur once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SingleField<'a> {
    /// Not sent.
    #[default]
    Absent,
    /// Sent once, without white space around it.
    One(&'a [u8]),
    /// Sent more than once, so that two parsers could use different values.
    Repeated,
}

impl<'a> SingleField<'a> {
    /// Reads the field from its lines.
    pub fn of(mut lines: impl Iterator<Item = &'a [u8]>) -> SingleField<'a> {
        match (lines.next(), lines.next()) {
            (None, _) => SingleField::Absent,
            (Some(line), None) => SingleField::One(line.trim_ascii()),
            (Some(_), Some(_)) => SingleField::Repeated,
        }
    }
}

/// The format of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyFormat {
    /// `application/json`: the default.
    #[default]
    Json,
    /// `text/event-stream` with one event, for clients that accept nothing else.
    Event,
}

impl ReplyFormat {
    /// Chooses the format by the lines of `Accept`. Only the first 8 are read; the server bounds their length.
    ///
    /// The protocol requires both media types, but many clients send one or none. So every value is accepted, and the
    /// format is JSON unless the client lists only events.
    pub fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> ReplyFormat {
        let mut format = ReplyFormat::Json;
        for line in lines.take(ACCEPT_LINES_MAX) {
            for member in line.split(|&byte| byte == b',') {
                let name = media_type(member);
                if name.eq_ignore_ascii_case(b"text/event-stream") {
                    format = ReplyFormat::Event;
                } else if !name.is_empty() {
                    return ReplyFormat::Json;
                }
            }
        }
        format
    }
}

impl Head<'_> {
    /// Whether the Content-Type is `application/json`, with or without parameters.
    pub(super) fn is_json(&self) -> bool {
        match self.content_type {
            SingleField::One(value) => media_type(value).eq_ignore_ascii_case(b"application/json"),
            SingleField::Absent | SingleField::Repeated => false,
        }
    }

    /// Whether the version header names a revision of the stateless era.
    pub(super) fn is_stateless(&self) -> bool {
        match self.protocol_version {
            SingleField::One(version) => is_stateless_version(version),
            SingleField::Absent | SingleField::Repeated => false,
        }
    }
}

/// Returns the media type without its parameters.
fn media_type(value: &[u8]) -> &[u8] {
    let name = value.split(|&byte| byte == b';').next();
    name.unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_json_unless_only_events_are_accepted() {
        let form =
            |lines: &[&'static str]| ReplyFormat::of(lines.iter().map(|line| line.as_bytes()));
        for lines in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/json"],
            &["application/json, text/event-stream"],
            &["text/event-stream, application/json"],
            &["text/event-stream", "application/json"],
            &["text/event-stream, */*;q=0.1"],
            &["text/html"],
        ] {
            assert_eq!(form(lines), ReplyFormat::Json, "{lines:?}");
        }
        for lines in [&["text/event-stream"][..], &[" Text/Event-Stream ;q=1 ,"]] {
            assert_eq!(form(lines), ReplyFormat::Event, "{lines:?}");
        }
    }
}
