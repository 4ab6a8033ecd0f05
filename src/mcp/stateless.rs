//! The checks that a request of 2026-07-28 passes before anything is done: the headers must say what the body says.
//!
//! Gateways route by `Mcp-Method` and `Mcp-Name` without reading the body, so a request where the two differ must
//! not be answered. Order: method header, `_meta`, version header, version served, routing headers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::head::{Field, Head};
use super::jsonrpc::{Call, HEADER_MISMATCH, RpcError, UNSUPPORTED_VERSION};
use super::protocol::Revision;
use crate::wire::text::cut;

/// The key of `_meta` that names the revision.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of `_meta` that lists what the client can do.
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Tells whether the body claims to be of the stateless era.
///
/// `initialize` exists only in the other one, so it is taken for stateless only if its claim is complete.
pub(crate) fn is_claimed(call: &Call<'_>) -> bool {
    let has_version = call.meta(VERSION_KEY).is_some();
    has_version && (call.method != "initialize" || is_complete(call))
}

/// Checks a request against the headers it came with; without a head (stdio) only the body is judged.
///
/// # Errors
/// The first fault, to be answered with 400.
pub(crate) fn check(call: &Call<'_>, head: Option<&Head<'_>>) -> Result<(), RpcError> {
    if let Some(head) = head {
        match head.mcp_method {
            Field::Absent => {}
            Field::One(method) if method == call.method.as_bytes() => {}
            _ => return Err(mismatch("Mcp-Method must be the method of the message")),
        }
    }
    if !is_complete(call) {
        return Err(RpcError::params(
            "params._meta must hold io.modelcontextprotocol/protocolVersion (a string) and \
             io.modelcontextprotocol/clientCapabilities (an object)",
        )
        .with_status(400));
    }
    let version = call.meta(VERSION_KEY).and_then(Value::as_str);
    let version = version.unwrap_or_default();
    if head.is_some_and(|head| head.protocol_version != Field::One(version.as_bytes())) {
        return Err(mismatch(
            "MCP-Protocol-Version must be the version that params._meta names",
        ));
    }
    if version != Revision::R2026_07_28.as_str() {
        return Err(unsupported(version));
    }
    match head {
        Some(head) => check_routing(call, head),
        None => Ok(()),
    }
}

/// Returns the error for a revision that is not served without a handshake.
pub(crate) fn unsupported(requested: &str) -> RpcError {
    let supported = [Revision::R2026_07_28.as_str()];
    RpcError {
        code: UNSUPPORTED_VERSION,
        message: "this protocol version is not served".into(),
        data: Some(json!({"supported": supported, "requested": cut(requested)})),
        status: 400,
    }
}

fn is_complete(call: &Call<'_>) -> bool {
    call.meta(VERSION_KEY).and_then(Value::as_str).is_some()
        && call.meta(CAPABILITIES_KEY).is_some_and(Value::is_object)
}

fn check_routing(call: &Call<'_>, head: &Head<'_>) -> Result<(), RpcError> {
    if head.mcp_method == Field::Absent {
        return Err(mismatch("Mcp-Method must be sent"));
    }
    let name = match call.method {
        "tools/call" | "prompts/get" => call.param("name"),
        "resources/read" => call.param("uri"),
        _ => return Ok(()),
    };
    // A name that is no string is the method's own business to refuse.
    let Some(name) = name.and_then(Value::as_str) else {
        return Ok(());
    };
    match head.mcp_name {
        Field::Absent => Err(mismatch("Mcp-Name must be sent with this method")),
        Field::One(value) if is_name(value, name) => Ok(()),
        _ => Err(mismatch("Mcp-Name must be the name or uri of params")),
    }
}

/// Compares a header value, plain or `=?base64?…?=`, with the name in the body.
fn is_name(value: &[u8], name: &str) -> bool {
    let encoded = value
        .strip_prefix(b"=?base64?")
        .and_then(|rest| rest.strip_suffix(b"?="));
    match encoded {
        None => value == name.as_bytes(),
        Some(encoded) => STANDARD
            .decode(encoded)
            .is_ok_and(|decoded| decoded == name.as_bytes()),
    }
}

fn mismatch(message: &'static str) -> RpcError {
    RpcError::new(HEADER_MISMATCH, message).with_status(400)
}

#[cfg(test)]
mod tests {
    use super::super::json::parse;
    use super::super::jsonrpc::{INVALID_PARAMS, Message, read};
    use super::*;

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    fn verdict(method: &str, params: &str, change: impl FnOnce(&mut Head<'_>)) -> Result<(), i32> {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
        let value = parse(text.as_bytes()).expect("JSON");
        let Ok(Message::Request(request)) = read(&value) else {
            panic!("{text} is no request");
        };
        let mut head = Head {
            protocol_version: Field::One(b"2026-07-28"),
            mcp_method: Field::One(method.as_bytes()),
            ..Head::default()
        };
        change(&mut head);
        check(&request.call, Some(&head)).map_err(|error| error.code)
    }

    #[test]
    fn a_request_whose_headers_agree_passes() {
        assert_eq!(verdict("tools/list", META, |_| {}), Ok(()));
        let call = format!(r#""name":"get_business",{META}"#);
        assert_eq!(
            verdict("tools/call", &call, |head| head.mcp_name =
                Field::One(b"get_business")),
            Ok(())
        );
        let read = format!(r#""uri":"reviews://é",{META}"#);
        let encoded = Field::One(b"=?base64?cmV2aWV3czovL8OpPz89?=");
        assert_eq!(
            verdict("resources/read", &read, |head| head.mcp_name = encoded),
            Err(HEADER_MISMATCH)
        );
        let encoded = Field::One(b"=?base64?cmV2aWV3czovL8Op?=");
        assert_eq!(
            verdict("resources/read", &read, |head| head.mcp_name = encoded),
            Ok(())
        );
    }

    #[test]
    fn each_header_that_is_missing_repeated_or_wrong_is_a_mismatch() {
        let changes: [fn(&mut Head<'_>); 8] = [
            |head| head.mcp_method = Field::Absent,
            |head| head.mcp_method = Field::Repeated,
            |head| head.mcp_method = Field::One(b"tools/List"),
            |head| head.mcp_method = Field::One(b""),
            |head| head.protocol_version = Field::Absent,
            |head| head.protocol_version = Field::Repeated,
            |head| head.protocol_version = Field::One(b"2025-11-25"),
            |head| head.protocol_version = Field::One(b"2026-07-29"),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            assert_eq!(
                verdict("tools/list", META, change),
                Err(HEADER_MISMATCH),
                "{at}"
            );
        }
        let call = format!(r#""name":"get_business",{META}"#);
        for name in [
            Field::Absent,
            Field::Repeated,
            Field::One(b"".as_slice()),
            Field::One(b"Get_business"),
            Field::One(b"=?base64?Z2V0X2J1c2luZXNz"),
            Field::One(b"=?base64?Z2V0X2J1c2luZXNz=?="),
            Field::One(b"=?base64?Z2V0X2J1c2luZXN!?="),
            Field::One(b"=?base64?Z2V0X2J1c2luZXM?="),
            Field::One(b"=?BASE64?Z2V0X2J1c2luZXNz?="),
        ] {
            let verdict = verdict("tools/call", &call, |head| head.mcp_name = name);
            assert_eq!(verdict, Err(HEADER_MISMATCH), "{name:?}");
        }
    }

    #[test]
    fn an_incomplete_meta_is_invalid_and_a_later_version_unsupported() {
        for meta in [
            r#""_meta":{}"#,
            r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            r#""_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}"#,
            r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
            r#""_meta":1"#,
        ] {
            assert_eq!(
                verdict("tools/list", meta, |_| {}),
                Err(INVALID_PARAMS),
                "{meta}"
            );
        }
        let later = META.replace("2026-07-28", "2027-01-01");
        let header = |head: &mut Head<'_>| head.protocol_version = Field::One(b"2027-01-01");
        assert_eq!(
            verdict("tools/list", &later, header),
            Err(UNSUPPORTED_VERSION)
        );
        let data = unsupported("2027-01-01").data;
        let expected = json!({"supported": ["2026-07-28"], "requested": "2027-01-01"});
        assert_eq!(data, Some(expected));
    }
}
