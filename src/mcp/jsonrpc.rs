//! JSON-RPC 2.0: parses messages, and writes responses and errors.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json;
use crate::wire::json::Object;

/// Not JSON.
pub(super) const PARSE_ERROR: i32 = -32_700;

/// JSON, but not a valid message.
pub(super) const INVALID_REQUEST: i32 = -32_600;

/// No such method.
pub(super) const METHOD_NOT_FOUND: i32 = -32_601;

/// Invalid parameters of a method.
pub(super) const INVALID_PARAMS: i32 = -32_602;

/// No such resource, in the handshake era.
pub(super) const RESOURCE_NOT_FOUND: i32 = -32_002;

/// A session id that is unknown or has ended: the code that SDKs use with 404, in the handshake era.
pub(super) const SESSION_NOT_FOUND: i32 = -32_001;

/// A header is missing or contradicts the body, in the stateless era.
pub(super) const HEADER_MISMATCH: i32 = -32_020;

/// A revision that this server does not support, in the stateless era.
pub(super) const UNSUPPORTED_VERSION: i32 = -32_022;

/// Longest id in bytes; bounded because the response echoes it.
const ID_BYTES_MAX: usize = 512;

/// One message, borrowed from a parsed JSON value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Message<'v> {
    /// Expects a response.
    Request(Request<'v>),
    /// Expects no response.
    Notification(Call<'v>),
    /// A response. This server sends no requests: it ignores one in the handshake era, and rejects it in the stateless era.
    Response,
}

/// A call with an id, which gets a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request<'v> {
    /// A string of at most 512 bytes or an integer, echoed in the response.
    pub(super) id: &'v Value,
    pub(super) call: Call<'v>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call<'v> {
    pub(super) method: &'v str,
    /// `null` counts as absent.
    pub(super) params: Option<&'v Map<String, Value>>,
}

impl<'v> Call<'v> {
    /// Returns a parameter.
    pub(super) fn param(&self, key: &str) -> Option<&'v Value> {
        self.params.and_then(|params| params.get(key))
    }

    /// Returns a parameter that is a string.
    pub(super) fn text(&self, key: &str) -> Option<&'v str> {
        self.param(key).and_then(Value::as_str)
    }

    /// Returns the arguments of a tool or prompt, which must be an object if they are given.
    pub(super) fn arguments(&self) -> Result<Option<&'v Map<String, Value>>, RpcError> {
        match self.param("arguments") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(_) => Err(RpcError::params("params.arguments must be an object")),
        }
    }

    /// Returns a member of `_meta`.
    pub(super) fn meta(&self, key: &str) -> Option<&'v Value> {
        self.param("_meta").and_then(|meta| meta.get(key))
    }
}

/// An error as it is sent to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    /// One of the codes above.
    pub(super) code: i32,
    /// One line of text, for people.
    pub(super) message: Cow<'static, str>,
    /// Details, for programs.
    pub(super) data: Option<Value>,
    /// The status of the HTTP response that carries it.
    pub(super) status: u16,
}

impl RpcError {
    /// Creates an error without data, with HTTP status 200.
    pub(super) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
            status: 200,
        }
    }

    /// Returns the error with another HTTP status.
    pub(super) fn with_status(self, status: u16) -> RpcError {
        RpcError { status, ..self }
    }

    /// Creates an error about invalid parameters of a method.
    pub(super) fn params(message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError::new(INVALID_PARAMS, message)
    }

    /// Creates an error about a value that is not a valid message, or a message that is not allowed here.
    pub(super) fn invalid(message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError::new(INVALID_REQUEST, message)
    }
}

/// Why a value is not a message.
#[derive(Debug)]
pub(super) struct InvalidMessage<'v> {
    /// The id for the response, if the value has a valid one.
    pub(super) id: Option<&'v Value>,
    pub(super) error: RpcError,
}

impl<'v> InvalidMessage<'v> {
    fn new(id: Option<&'v Value>, error: RpcError) -> InvalidMessage<'v> {
        InvalidMessage {
            id,
            error: error.with_status(400),
        }
    }
}

/// Reads a value as a message.
pub(super) fn read(value: &Value) -> Result<Message<'_>, InvalidMessage<'_>> {
    if !value.is_object() {
        let error = RpcError::invalid("a message must be an object");
        return Err(InvalidMessage::new(None, error));
    }
    let id = value.get("id");
    if id.is_some_and(|id| !is_id(id)) {
        let error = RpcError::invalid("id must be an integer or a string of at most 512 bytes");
        return Err(InvalidMessage::new(None, error));
    }
    read_members(value, id).map_err(|error| InvalidMessage::new(id, error))
}

/// Reads the members of a message besides its `id`.
fn read_members<'v>(value: &'v Value, id: Option<&'v Value>) -> Result<Message<'v>, RpcError> {
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(RpcError::invalid("jsonrpc must be \"2.0\""));
    }
    let method = match value.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(RpcError::invalid("method must be a string")),
        None if value.get("result").is_some() || value.get("error").is_some() => {
            return Ok(Message::Response);
        }
        None => return Err(RpcError::invalid("method is missing")),
    };
    let params = match value.get("params") {
        None | Some(Value::Null) => None,
        Some(Value::Object(params)) => Some(params),
        // Valid in JSON-RPC, where parameters may have positions instead of names.
        Some(Value::Array(_)) => return Err(RpcError::params("params must be an object")),
        Some(_) => return Err(RpcError::invalid("params must be an object")),
    };
    let call = Call { method, params };
    Ok(match id {
        Some(id) => Message::Request(Request { id, call }),
        None => Message::Notification(call),
    })
}

/// Returns the valid id of a message that is JSON, but was rejected before it was parsed to a value.
pub(super) fn id_of_refused(text: &[u8]) -> Option<Value> {
    /// Parsing into a struct rejects a duplicate id.
    #[derive(Deserialize)]
    struct OnlyId<'t> {
        #[serde(borrow)]
        id: &'t RawValue,
    }
    let read: OnlyId<'_> = serde_json::from_slice(text).ok()?;
    let id = json::parse(read.id.get().as_bytes()).ok()?;
    if is_id(&id) { Some(id) } else { None }
}

/// Whether `value` is a valid id; fractions and `null` are not.
fn is_id(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= ID_BYTES_MAX,
        Value::Number(number) => !number.is_f64(),
        _ => false,
    }
}

/// Appends a response up to its result; the caller appends the result object and `}`.
pub(super) fn push_answer_head(out: &mut Vec<u8>, id: &Value) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.to_string().as_bytes());
    out.extend_from_slice(b",\"result\":");
}

/// Returns an object without its closing brace.
pub(super) fn open_object(object: Value) -> Vec<u8> {
    let mut json = object.to_string().into_bytes();
    json.pop();
    json
}

/// Appends an error. Without an id the member is omitted, because MCP's schema does not allow `null`.
pub(super) fn push_error(out: &mut Vec<u8>, id: Option<&Value>, error: &RpcError) {
    let mut message = Object::begin(out);
    message.string("jsonrpc", "2.0");
    if let Some(id) = id {
        message.raw("id", id.to_string().as_bytes());
    }
    let mut object = Object::begin(message.key("error"));
    object.raw("code", error.code.to_string().as_bytes());
    object.string("message", &error.message);
    if let Some(data) = &error.data {
        object.raw("data", data.to_string().as_bytes());
    }
    object.end();
    message.end();
}
