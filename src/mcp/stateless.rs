//! Checks a request of revision 2026-07-28 before its method is called: the headers must match the body.
//!
//! Gateways route by `Mcp-Method` and `Mcp-Name` without reading the body, so a request whose headers differ from its
//! body must be rejected. Order: method header, `_meta`, version header, supported version, routing headers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::head::{Head, SingleField};
use super::jsonrpc::{Call, HEADER_MISMATCH, RpcError, UNSUPPORTED_VERSION};
use super::protocol::Revision;
use crate::wire::text::cut;

/// The key of `_meta` that names the revision.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The key of `_meta` that lists the client's capabilities.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Tells whether the body of a request says that it is of the stateless era.
///
/// A version in `_meta` says so. `initialize` exists only in the handshake era, so its `_meta` must be complete to say so.
pub(super) fn is_claimed(call: &Call<'_>) -> bool {
    match call.method {
        "initialize" => version(call).is_some(),
        _ => call.meta(VERSION_KEY).is_some(),
    }
}

/// Checks a request against its headers; without a head (stdio) only the body is checked.
pub(super) fn check(call: &Call<'_>, head: Option<&Head<'_>>) -> Result<(), RpcError> {
    if let Some(head) = head {
        match head.mcp_method {
            SingleField::Absent => {}
            SingleField::One(method) if method == call.method.as_bytes() => {}
            _ => return Err(mismatch("Mcp-Method must be the method of the message")),
        }
    }
    let Some(version) = version(call) else {
        return Err(RpcError::params(
            "params._meta must contain io.modelcontextprotocol/protocolVersion (a string) and \
             io.modelcontextprotocol/clientCapabilities (an object)",
        )
        .with_status(400));
    };
    if head.is_some_and(|head| head.protocol_version != SingleField::One(version.as_bytes())) {
        return Err(mismatch(
            "MCP-Protocol-Version must be the version in params._meta",
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

/// Returns the error for a revision that is not supported without a handshake.
pub(super) fn unsupported(requested: &str) -> RpcError {
    let supported = [Revision::R2026_07_28.as_str()];
    RpcError {
        code: UNSUPPORTED_VERSION,
        message: "this protocol version is not supported".into(),
        data: Some(json!({"supported": supported, "requested": cut(requested)})),
        status: 400,
    }
}

/// Returns the revision that `_meta` names; `None` if `_meta` is not complete: without version or capabilities.
fn version<'v>(call: &Call<'v>) -> Option<&'v str> {
    let is_complete = call.meta(CAPABILITIES_KEY).is_some_and(Value::is_object);
    if !is_complete {
        return None;
    }
    call.meta(VERSION_KEY).and_then(Value::as_str)
}

/// Checks the headers by which gateways route.
fn check_routing(call: &Call<'_>, head: &Head<'_>) -> Result<(), RpcError> {
    if head.mcp_method == SingleField::Absent {
        return Err(mismatch("Mcp-Method must be sent"));
    }
    let name = match call.method {
        "tools/call" | "prompts/get" => call.param("name"),
        "resources/read" => call.param("uri"),
        _ => return Ok(()),
    };
    // The method itself rejects a name that is not a string.
    let Some(name) = name.and_then(Value::as_str) else {
        return Ok(());
    };
    match head.mcp_name {
        SingleField::Absent => Err(mismatch("Mcp-Name must be sent with this method")),
        SingleField::One(value) if is_name(value, name) => Ok(()),
        _ => Err(mismatch("Mcp-Name must be the name or uri of params")),
    }
}

/// Compares a header value, unencoded or as `=?base64?…?=`, with the name in the body.
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
