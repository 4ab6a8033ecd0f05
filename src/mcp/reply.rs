//! HTTP replies: every status that the protocol requires is chosen here or given by the error.

use std::borrow::Cow;

use super::guard::Origin;
use super::head::ReplyFormat;
use super::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RpcError, push_error};
use super::session::SessionId;

/// The message of a request for which a budget of bytes has no room.
const BUSY: &str = "too many responses are unfinished: retry after the time in Retry-After";

/// The message of a request over its rate limit.
pub(super) const TOO_MANY: &str =
    "too many requests from this address: retry after the time in Retry-After";

/// Methods of the address, for `Allow` and preflights.
pub const METHODS: &str = "POST, DELETE, OPTIONS";

/// Request headers that pages may send, for preflights.
pub const REQUEST_HEADERS: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, \
Mcp-Method, Mcp-Name, Last-Event-ID";

/// A response to a request to `/mcp`; it is never cached.
#[derive(Debug)]
pub struct McpReply {
    /// The status code.
    pub status: u16,
    /// `Content-Type`; absent without a body.
    pub content_type: Option<&'static str>,
    /// `Mcp-Session-Id`, in the response to `initialize`.
    pub session: Option<SessionId>,
    /// `Allow`, with 405.
    pub allow: Option<&'static str>,
    /// `Allowed`: echo the request's Origin in `Access-Control-Allow-Origin`, with `Vary: Origin`, and expose
    /// `Mcp-Session-Id` and the fields of the rate.
    pub origin: Origin,
    /// The response to a preflight: list methods and headers, too.
    pub is_preflight: bool,
    /// The body.
    pub body: Vec<u8>,
}

impl McpReply {
    /// Creates a reply without a body: 202 to a notification or a response, 204 when a session has been ended.
    pub(super) fn empty(status: u16) -> McpReply {
        McpReply {
            status,
            content_type: None,
            session: None,
            allow: None,
            origin: Origin::Absent,
            is_preflight: false,
            body: Vec::new(),
        }
    }

    /// Creates a reply with a JSON body.
    pub(crate) fn json(status: u16, body: Vec<u8>) -> McpReply {
        McpReply {
            content_type: Some("application/json"),
            body,
            ..McpReply::empty(status)
        }
    }

    /// Creates an error without an id, as no request was parsed; always JSON, which every client can parse.
    pub(super) fn error(error: &RpcError) -> McpReply {
        let mut body = Vec::with_capacity(128);
        push_error(&mut body, None, error);
        McpReply::json(error.status, body)
    }

    /// Creates the reply to a request that is rejected before a message is parsed.
    pub(crate) fn of_refusal(refusal: McpRefusal) -> McpReply {
        let error = RpcError::new(refusal.code(), refusal.message());
        let mut reply = McpReply::error(&error.with_status(refusal.status()));
        if let McpRefusal::Method = refusal {
            reply.allow = Some(METHODS);
        }
        reply
    }

    /// Returns 204 with the headers of a preflight response.
    pub(crate) fn preflight() -> McpReply {
        McpReply {
            allow: Some(METHODS),
            is_preflight: true,
            ..McpReply::empty(204)
        }
    }

    /// Converts the body of a 200 to the format that the client accepts.
    pub(crate) fn framed(mut self, form: ReplyFormat) -> McpReply {
        if form == ReplyFormat::Event && self.status == 200 {
            // Our JSON never contains a line break, so one line of data is enough.
            self.body = [b"event: message\ndata: ", &self.body[..], b"\n\n"].concat();
            self.content_type = Some("text/event-stream");
        }
        self
    }
}

/// Why a request is rejected before a message is parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum McpRefusal {
    /// The body was incomplete or malformed on the HTTP level.
    BrokenBody,
    /// The HTTP method is not one of [`METHODS`].
    Method,
    /// The body was not received in time.
    TooSlow,
    /// The message is longer than this number of bytes.
    TooLarge(usize),
    /// The Content-Type is not JSON.
    MediaType,
    /// The message is in a content coding.
    Coding,
    /// The client is over its rate limit.
    TooMany,
    /// The message or the response has no room in a budget of bytes in flight.
    Busy,
}

impl McpRefusal {
    /// Returns the status of the response.
    fn status(self) -> u16 {
        match self {
            McpRefusal::BrokenBody => 400,
            McpRefusal::Method => 405,
            McpRefusal::TooSlow => 408,
            McpRefusal::TooLarge(_) => 413,
            McpRefusal::MediaType | McpRefusal::Coding => 415,
            McpRefusal::TooMany => 429,
            McpRefusal::Busy => 503,
        }
    }

    /// Returns the code of the JSON-RPC error.
    fn code(self) -> i32 {
        match self {
            McpRefusal::BrokenBody => PARSE_ERROR,
            McpRefusal::Method => METHOD_NOT_FOUND,
            _ => INVALID_REQUEST,
        }
    }

    /// Returns the message of the JSON-RPC error.
    fn message(self) -> Cow<'static, str> {
        let message = match self {
            McpRefusal::BrokenBody => "the message was not received completely",
            McpRefusal::Method => "this endpoint has no event stream: send messages with POST",
            McpRefusal::TooSlow => "the message was not received in time",
            McpRefusal::TooLarge(bytes_max) => {
                return format!("the message must not be longer than {bytes_max} bytes").into();
            }
            McpRefusal::MediaType => "Content-Type must be application/json",
            McpRefusal::Coding => "the message must be sent without a Content-Encoding",
            McpRefusal::TooMany => TOO_MANY,
            McpRefusal::Busy => BUSY,
        };
        message.into()
    }
}
