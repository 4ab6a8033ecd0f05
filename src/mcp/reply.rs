//! What goes back over HTTP: every status that the protocol asks for is chosen here.

use super::guard::{GuardError, Visitor};
use super::head::Form;
use super::jsonrpc::{METHOD_NOT_FOUND, PARSE_ERROR, RpcError, push_error};
use super::session::SessionId;

/// An answer to a request to `/mcp`; it is never cached.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// `Content-Type`, absent where there is no body.
    pub content_type: Option<&'static str>,
    /// `Mcp-Session-Id`, on the answer to `initialize`.
    pub session: Option<SessionId>,
    /// `Allow`, with 405.
    pub allow: Option<&'static str>,
    /// `Page`: echo the request's Origin in `Access-Control-Allow-Origin`, with `Vary: Origin`, and expose
    /// `Mcp-Session-Id` and the fields of the rate.
    pub visitor: Visitor,
    /// The answer to a preflight: list methods and headers, too.
    pub is_preflight: bool,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Makes a reply without a body: 202 to a notification or a posted response, 204 where a session is over.
    pub(super) fn empty(status: u16) -> Reply {
        Reply {
            status,
            content_type: None,
            session: None,
            allow: None,
            visitor: Visitor::Direct,
            is_preflight: false,
            body: Vec::new(),
        }
    }

    /// Makes a reply of a JSON body.
    pub(crate) fn json(status: u16, body: Vec<u8>) -> Reply {
        Reply {
            content_type: Some(JSON),
            body,
            ..Reply::empty(status)
        }
    }

    /// Makes a refusal that names no request, because none was read.
    pub(super) fn refusal(status: u16, error: &RpcError) -> Reply {
        let mut body = Vec::with_capacity(128);
        push_error(&mut body, None, error);
        Reply::json(status, body)
    }

    fn invalid(status: u16, message: &'static str) -> Reply {
        Reply::refusal(status, &RpcError::invalid(message))
    }

    /// Returns 204 with what a preflight asks for.
    pub(crate) fn preflight() -> Reply {
        Reply {
            allow: Some(METHODS),
            is_preflight: true,
            ..Reply::empty(204)
        }
    }

    /// Returns 403.
    pub(super) fn forbidden(error: GuardError) -> Reply {
        Reply::refusal(403, &RpcError::invalid(error.to_string()))
    }

    /// Returns 405, with a JSON-RPC error: clients parse whatever comes.
    pub(crate) fn method_not_allowed() -> Reply {
        let message = "there is no event stream here: send messages with POST";
        Reply {
            allow: Some(METHODS),
            ..Reply::refusal(405, &RpcError::new(METHOD_NOT_FOUND, message))
        }
    }

    /// Returns 415.
    pub(crate) fn unsupported_media_type() -> Reply {
        Reply::invalid(415, "Content-Type must be application/json")
    }

    /// Returns 415 for a message in a content coding.
    #[must_use]
    pub fn unsupported_coding() -> Reply {
        Reply::invalid(415, "the message must be sent without a Content-Encoding")
    }

    /// Returns 413.
    #[must_use]
    pub fn too_large() -> Reply {
        Reply::invalid(413, "the message is larger than this server takes")
    }

    /// Returns 429.
    #[must_use]
    pub fn too_many() -> Reply {
        let message = "too many requests from this address: wait as Retry-After says";
        Reply::invalid(429, message)
    }

    /// Returns 408.
    #[must_use]
    pub fn too_slow() -> Reply {
        Reply::invalid(408, "the message did not arrive in time")
    }

    /// Returns 400 for a body that broke off or was framed wrongly.
    #[must_use]
    pub fn broken_body() -> Reply {
        let message = "the message did not arrive whole";
        Reply::refusal(400, &RpcError::new(PARSE_ERROR, message))
    }

    /// Frames the body of a 200 the way that the client reads it.
    pub(crate) fn framed(mut self, form: Form) -> Reply {
        if form == Form::Event && self.status == 200 {
            // Our JSON never holds a line break, so one line of data is enough.
            let mut event = Vec::with_capacity(self.body.len() + 32);
            event.extend_from_slice(b"event: message\ndata: ");
            event.extend_from_slice(&self.body);
            event.extend_from_slice(b"\n\n");
            self.body = event;
            self.content_type = Some(EVENTS);
        }
        self
    }
}

/// Methods of the address, for `Allow` and preflights.
pub const METHODS: &str = "POST, DELETE, OPTIONS";
/// Request headers that pages may send, for preflights.
pub const REQUEST_HEADERS: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, \
Mcp-Method, Mcp-Name, Last-Event-ID";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
