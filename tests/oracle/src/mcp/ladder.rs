//! The ladder of checks that a message climbs, step by step: which status, and which code of JSON-RPC.

use serde_json::Value;

use super::{answer, code};
use reviewd::mcp::json::{self, JsonError};
use reviewd::mcp::{Field, Head};

/// Status and code, by the steps of the ladder in their order.
pub(super) fn reference(head: &Head<'_>, body: &[u8]) -> (u16, i64) {
    if !is_welcome(head) {
        return (403, -32_600);
    }
    let is_new = is_new(version(head));
    match head.method {
        b"POST" => {}
        b"OPTIONS" => return (204, 0),
        b"DELETE" if is_new => return (405, -32_601),
        b"DELETE" if head.session == Field::Absent => return (400, -32_600),
        b"DELETE" if !has_session(head) => return (404, -32_001),
        b"DELETE" => return (204, 0),
        _ => return (405, -32_601),
    }
    let media_type = match head.content_type {
        Field::One(value) => String::from_utf8_lossy(value).to_ascii_lowercase(),
        _ => String::new(),
    };
    let media_type = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim_matches(|c: char| c.is_ascii_whitespace());
    if media_type != "application/json" {
        return (415, -32_600);
    }
    let message = match (json::parse(body), serde_json::from_slice::<Value>(body)) {
        (Ok(_), Ok(message)) => message,
        (Err(JsonError::Refused(_)), _) => return (400, -32_600),
        _ => return (400, -32_700),
    };
    reference_message(head, &message)
}

/// The steps that look at what the body says.
fn reference_message(head: &Head<'_>, message: &Value) -> (u16, i64) {
    let version = version(head);
    let is_new = is_new(version);
    // Versions of the handshake era, and the one session that no test has: none.
    let is_served = matches!(
        version,
        None | Some(b"2024-11-05" | b"2025-03-26" | b"2025-06-18" | b"2025-11-25")
    ) && head.protocol_version != Field::Repeated;
    let handshake = match (is_served, head.session) {
        (false, _) => Err((400, -32_600)),
        (true, Field::Absent) => Ok(()),
        (true, _) if has_session(head) => Ok(()),
        (true, _) => Err((404, -32_001)),
    };
    if let Value::Array(messages) = message {
        return reference_batch(messages, version, handshake);
    }
    if let Some(refusal) = reference_refusal(message) {
        return (400, refusal);
    }
    let method = message["method"].as_str();
    let is_request = message.get("id").is_some() && method.is_some();
    if !is_request {
        return match (method, is_new) {
            (None, true) => (400, -32_600),
            (Some(_), true) if version != Some(b"2026-07-28") => (400, -32_022),
            (Some(_), true) => (202, 0),
            (_, false) => handshake.map_or_else(|refusal| refusal, |()| (202, 0)),
        };
    }
    let method = method.unwrap_or_default();
    let meta = &message["params"]["_meta"];
    let claim = meta.get("io.modelcontextprotocol/protocolVersion");
    let is_complete = claim.is_some_and(Value::is_string)
        && meta["io.modelcontextprotocol/clientCapabilities"].is_object();
    let is_claimed = if method == "initialize" {
        is_complete
    } else {
        claim.is_some()
    };
    if is_claimed || (is_new && method != "initialize") {
        return reference_stateless(head, message, is_complete);
    }
    if method == "initialize" {
        let is_good = message["params"]["protocolVersion"].is_string();
        return (200, if is_good { 0 } else { -32_602 });
    }
    handshake.map_or_else(
        |refusal| refusal,
        |()| (200, reference_code(message, false)),
    )
}

fn version<'h>(head: &Head<'h>) -> Option<&'h [u8]> {
    match head.protocol_version {
        Field::One(version) => Some(version),
        _ => None,
    }
}

/// Whether a version is a date of the stateless era.
fn is_new(version: Option<&[u8]>) -> bool {
    let is_date = |text: &[u8]| {
        let parts: Vec<&[u8]> = text.split(|&byte| byte == b'-').collect();
        parts.iter().map(|part| part.len()).eq([4, 2, 2])
            && parts.concat().iter().all(u8::is_ascii_digit)
    };
    version.is_some_and(|text| is_date(text) && text >= b"2026-07-28".as_slice())
}

fn reference_batch(
    messages: &[Value],
    version: Option<&[u8]>,
    handshake: Result<(), (u16, i64)>,
) -> (u16, i64) {
    let is_newest = version == Some(b"2026-07-28");
    match handshake {
        Err(refusal) if !is_newest => return refusal,
        _ => {}
    }
    let has_batches = matches!(version, None | Some(b"2025-03-26"));
    if !has_batches || messages.is_empty() || messages.len() > 32 {
        return (400, -32_600);
    }
    let is_quiet = |message: &Value| {
        let is_initialize = message["method"] == "initialize";
        let is_call = message["method"].is_string() && message.get("id").is_some();
        reference_refusal(message).is_none() && !is_initialize && !is_call
    };
    (
        if messages.iter().all(is_quiet) {
            202
        } else {
            200
        },
        0,
    )
}

/// The code for a value that is no message.
fn reference_refusal(message: &Value) -> Option<i64> {
    let Some(members) = message.as_object() else {
        return Some(-32_600);
    };
    let id = match members.get("id") {
        None => true,
        Some(Value::String(text)) => text.len() <= 512,
        Some(id) => id.is_u64() || id.is_i64(),
    };
    let has_outcome = members.contains_key("result") || members.contains_key("error");
    let is_response = !members.contains_key("method") && has_outcome;
    if !id || message["jsonrpc"] != "2.0" || !(is_response || message["method"].is_string()) {
        return Some(-32_600);
    }
    match &message["params"] {
        _ if is_response => None,
        Value::Null | Value::Object(_) => None,
        Value::Array(_) => Some(-32_602),
        _ => Some(-32_600),
    }
}

fn reference_stateless(head: &Head<'_>, message: &Value, is_complete: bool) -> (u16, i64) {
    let params = &message["params"];
    let method = message["method"].as_str().unwrap_or_default();
    let claim = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let claim = claim.unwrap_or_default();
    if head.mcp_method != Field::Absent && head.mcp_method != Field::One(method.as_bytes()) {
        return (400, -32_020);
    }
    if !is_complete {
        return (400, -32_602);
    }
    if head.protocol_version != Field::One(claim.as_bytes()) {
        return (400, -32_020);
    }
    if claim != "2026-07-28" {
        return (400, -32_022);
    }
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let is_named = |name: &str| match head.mcp_name {
        Field::One(value) => {
            use base64::Engine;
            let text = String::from_utf8_lossy(value).into_owned();
            match text
                .strip_prefix("=?base64?")
                .and_then(|text| text.strip_suffix("?="))
            {
                Some(code) => {
                    base64::engine::general_purpose::STANDARD.decode(code) == Ok(name.into())
                }
                None => value == name.as_bytes(),
            }
        }
        _ => false,
    };
    if head.mcp_method == Field::Absent || name.is_some_and(|name| !is_named(name)) {
        return (400, -32_020);
    }
    match reference_code(message, true) {
        -32_601 => (404, -32_601),
        code => (200, code),
    }
}

/// The code of a method's own answer. What arguments do is tested elsewhere, so those methods are asked themselves.
fn reference_code(message: &Value, is_stateless: bool) -> i64 {
    let method = message["method"].as_str().unwrap_or_default();
    match method {
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
            let cursor = &message["params"]["cursor"];
            if cursor.is_null() || cursor == "" {
                0
            } else {
                -32_602
            }
        }
        "ping" if !is_stateless => 0,
        "server/discover" if is_stateless => 0,
        "tools/call" | "resources/read" | "prompts/get" | "completion/complete" => {
            let mut alone = message.clone();
            alone["id"] = Value::from(1);
            let params = alone["params"].as_object_mut();
            params.map(|params| params.remove("_meta"));
            let head = Head {
                content_type: Field::One(b"application/json"),
                method: b"POST",
                ..Head::default()
            };
            match code(&answer(&head, alone.to_string().as_bytes())) {
                -32_002 if is_stateless => -32_602,
                code => code,
            }
        }
        _ => -32_601,
    }
}

/// Whether the session is well formed; none here has been ended. In base64, the first two bytes of an id are 1 and a
/// number from 1 to 4, and its last digit holds two bits.
fn has_session(head: &Head<'_>) -> bool {
    let Field::One(text) = head.session else {
        return false;
    };
    text.len() == 46
        && text.starts_with(b"AQ")
        && (b'E'..=b'T').contains(&text[2])
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
        && b"AQgw".contains(&text[45])
}

/// Own, loopback or none, read from the end of the authority.
fn is_welcome(head: &Head<'_>) -> bool {
    let ip = |host: &str| match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(literal) => literal
            .parse::<std::net::Ipv6Addr>()
            .ok()
            .map(std::net::IpAddr::from),
        None => host
            .parse::<std::net::Ipv4Addr>()
            .ok()
            .map(std::net::IpAddr::from),
    };
    let is_loopback = |host: &str| {
        host.eq_ignore_ascii_case("localhost") || ip(host).is_some_and(|ip| ip.is_loopback())
    };
    let host_of = |authority: &str| {
        let digits = authority.trim_end_matches(|c: char| c.is_ascii_digit());
        let host = digits.strip_suffix(':').unwrap_or(authority);
        let is_whole = host.starts_with('[') || !host.contains(':');
        if is_whole {
            host.to_owned()
        } else {
            String::new()
        }
    };
    let text = |field: &[u8]| std::str::from_utf8(field).ok().map(str::to_owned);
    let origin = match head.origin {
        Field::Absent => true,
        Field::Repeated => false,
        Field::One(origin) => text(origin).is_some_and(|origin| {
            let rest = origin
                .strip_prefix("http://")
                .or(origin.strip_prefix("https://"));
            origin.eq_ignore_ascii_case("https://reviews.example")
                || rest.is_some_and(|rest| is_loopback(&host_of(rest)))
        }),
    };
    let host = match head.host {
        Field::Absent => true,
        Field::Repeated => false,
        Field::One(host) => text(host).is_some_and(|host| {
            let name = host_of(&host);
            name.eq_ignore_ascii_case("reviews.example")
                || name.eq_ignore_ascii_case("localhost")
                || ip(&name).is_some()
        }),
    };
    origin && host
}
