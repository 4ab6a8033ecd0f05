//! JSON-RPC 2.0: what a message is, and how answers and errors are written.

use std::borrow::Cow;

use super::json::Value;
use crate::wire::json::{push_i64, push_string, push_u64};

/// One message, seen in a parsed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Message<'v, 'a> {
    /// Wants an answer.
    Request(Request<'v, 'a>),
    /// Wants none.
    Notification(Call<'v, 'a>),
    /// An answer to something that we never asked.
    Response,
}

/// A request: a call that names itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request<'v, 'a> {
    /// Echoed in the answer.
    pub(crate) id: Id<'v>,
    /// What is called.
    pub(crate) call: Call<'v, 'a>,
}

/// A method and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Call<'v, 'a> {
    /// The method's name.
    pub(crate) method: &'v str,
    /// An object if present; `null` counts as absent.
    pub(crate) params: Option<&'v Value<'a>>,
}

impl<'v, 'a> Call<'v, 'a> {
    /// Returns a parameter.
    pub(crate) fn param(&self, key: &str) -> Option<&'v Value<'a>> {
        self.params.and_then(|params| params.get(key))
    }

    /// Returns a member of `_meta`.
    pub(crate) fn meta(&self, key: &str) -> Option<&'v Value<'a>> {
        self.param("_meta").and_then(|meta| meta.get(key))
    }
}

/// The id of a request; a fraction, `null` and everything else are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id<'v> {
    /// A whole number.
    Unsigned(u64),
    /// A whole number below zero.
    Negative(i64),
    /// A string of at most 512 bytes.
    Text(&'v str),
}

/// An error as the client gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    /// One of the codes below.
    pub(crate) code: i32,
    /// One line for people.
    pub(crate) message: Cow<'static, str>,
    /// More for programs, a JSON value.
    pub(crate) data: Option<Vec<u8>>,
}

impl RpcError {
    /// Makes an error without data.
    pub(crate) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Parameters that a method cannot use.
    pub(crate) fn params(message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError::new(INVALID_PARAMS, message)
    }
}

/// Reads a value as a message.
///
/// # Errors
/// What is wrong with it, and the id to answer to if that much could be read.
pub(crate) fn read<'v, 'a>(
    value: &'v Value<'a>,
) -> Result<Message<'v, 'a>, (Option<Id<'v>>, RpcError)> {
    let invalid = |id, message: &'static str| Err((id, RpcError::new(INVALID_REQUEST, message)));
    if value.as_object().is_none() {
        return invalid(None, "a message must be an object");
    }
    let id = match value.get("id") {
        None => None,
        Some(Value::Unsigned(number)) => Some(Id::Unsigned(*number)),
        Some(Value::Negative(number)) => Some(Id::Negative(*number)),
        Some(Value::String(text)) if text.len() <= ID_BYTES_MAX => Some(Id::Text(text)),
        Some(Value::String(_)) => return invalid(None, "id must be at most 512 bytes"),
        Some(_) => return invalid(None, "id must be a string or an integer"),
    };
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "jsonrpc must be \"2.0\"");
    }
    let method = match value.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid(id, "method must be a string"),
        None if value.get("result").is_some() || value.get("error").is_some() => {
            return Ok(Message::Response);
        }
        None => return invalid(id, "method is missing"),
    };
    let params = match value.get("params") {
        None | Some(Value::Null) => None,
        Some(params @ Value::Object(_)) => Some(params),
        Some(Value::Array(_)) => {
            return Err((id, RpcError::params("params must be an object")));
        }
        Some(_) => return invalid(id, "params must be an object"),
    };
    let call = Call { method, params };
    Ok(match id {
        Some(id) => Message::Request(Request { id, call }),
        None => Message::Notification(call),
    })
}

/// Appends everything of an answer before its result; the caller appends one object and `}`.
pub(crate) fn push_answer_head(out: &mut Vec<u8>, id: Id<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_id(out, Some(id));
    out.extend_from_slice(b",\"result\":");
}

/// Appends an error; without an id it answers to `null`, as JSON-RPC asks where the id could not be read.
pub(crate) fn push_error(out: &mut Vec<u8>, id: Option<Id<'_>>, error: &RpcError) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_id(out, id);
    out.extend_from_slice(b",\"error\":{\"code\":");
    push_i64(out, i64::from(error.code));
    out.extend_from_slice(b",\"message\":");
    push_string(out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data);
    }
    out.extend_from_slice(b"}}");
}

fn push_id(out: &mut Vec<u8>, id: Option<Id<'_>>) {
    match id {
        None => out.extend_from_slice(b"null"),
        Some(Id::Unsigned(number)) => push_u64(out, number),
        Some(Id::Negative(number)) => push_i64(out, number),
        Some(Id::Text(text)) => push_string(out, text),
    }
}

/// Not JSON.
pub(crate) const PARSE_ERROR: i32 = -32_700;
/// JSON, but no message.
pub(crate) const INVALID_REQUEST: i32 = -32_600;
/// No such method.
pub(crate) const METHOD_NOT_FOUND: i32 = -32_601;
/// A method with parameters that it cannot use.
pub(crate) const INVALID_PARAMS: i32 = -32_602;
/// Our own fault.
pub(crate) const INTERNAL_ERROR: i32 = -32_603;
/// No such resource, in the handshake era.
pub(crate) const RESOURCE_NOT_FOUND: i32 = -32_002;
/// A session id that is not, or no longer, good: the code that SDKs use with 404, in the handshake era.
pub(crate) const SESSION_NOT_FOUND: i32 = -32_001;
/// A header is missing or at odds with the body, in the stateless era.
pub(crate) const HEADER_MISMATCH: i32 = -32_020;
/// A revision that is not served, in the stateless era.
pub(crate) const UNSUPPORTED_VERSION: i32 = -32_022;
/// Longest id in bytes; it is echoed, so it has a bound.
const ID_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::super::json::{MESSAGE, parse};
    use super::*;

    fn refusal(text: &str) -> (bool, i32) {
        let value = parse(text.as_bytes(), &MESSAGE).expect("JSON");
        match read(&value) {
            Ok(message) => panic!("{text} is {message:?}"),
            Err((id, error)) => (id.is_some(), error.code),
        }
    }

    #[test]
    fn requests_notifications_and_responses_are_told_apart() {
        let is = |text: &str, check: fn(&Message<'_, '_>) -> bool| {
            let value = parse(text.as_bytes(), &MESSAGE).expect("JSON");
            assert!(read(&value).is_ok_and(|message| check(&message)), "{text}");
        };
        is(
            r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
            |m| matches!(m, Message::Request(r) if r.id == Id::Unsigned(0)),
        );
        is(
            r#"{"jsonrpc":"2.0","id":-7,"method":"ping","params":null}"#,
            |m| matches!(m, Message::Request(r) if r.id == Id::Negative(-7)),
        );
        is(
            r#"{"jsonrpc":"2.0","id":"","method":"x","params":{}}"#,
            |m| matches!(m, Message::Request(r) if r.id == Id::Text("")),
        );
        is(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            |m| matches!(m, Message::Notification(_)),
        );
        is(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, |m| {
            *m == Message::Response
        });
        is(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
            |m| *m == Message::Response,
        );
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_id_if_it_has_one() {
        for text in ["1", "null", "\"x\"", "[]"] {
            assert_eq!(refusal(text), (false, INVALID_REQUEST), "{text}");
        }
        for (text, has_id) in [
            (r#"{}"#, false),
            (r#"{"jsonrpc":"2.0","id":1}"#, true),
            (r#"{"id":1,"method":"ping"}"#, true),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, true),
            (r#"{"jsonrpc":2.0,"id":"a","method":"ping"}"#, true),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#, false),
            (
                r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#,
                false,
            ),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, false),
            (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, true),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
                true,
            ),
        ] {
            assert_eq!(refusal(text), (has_id, INVALID_REQUEST), "{text}");
        }
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#;
        assert_eq!(refusal(list), (true, INVALID_PARAMS));
    }

    #[test]
    fn an_id_is_at_most_512_bytes_and_comes_back_as_it_was() {
        let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
        assert_eq!(
            refusal(&request(&"x".repeat(513))),
            (false, INVALID_REQUEST)
        );
        let text = request(&"x".repeat(512));
        let value = parse(text.as_bytes(), &MESSAGE).expect("JSON");
        assert!(read(&value).is_ok());
        let mut out = Vec::new();
        push_answer_head(&mut out, Id::Text("a\"\n😀"));
        out.extend_from_slice(b"{}}");
        assert_eq!(
            out,
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"\\n😀\",\"result\":{}}".as_bytes()
        );
    }

    #[test]
    fn errors_carry_id_code_message_and_data() {
        let mut error = RpcError::new(UNSUPPORTED_VERSION, "say \"no\"");
        error.data = Some(b"{\"a\":1}".to_vec());
        let mut out = Vec::new();
        push_error(&mut out, Some(Id::Negative(-1)), &error);
        assert_eq!(
            out,
            br#"{"jsonrpc":"2.0","id":-1,"error":{"code":-32022,"message":"say \"no\"","data":{"a":1}}}"#
        );
        out.clear();
        push_error(&mut out, None, &RpcError::params("x"));
        assert_eq!(
            out,
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x"}}"#
        );
    }
}
