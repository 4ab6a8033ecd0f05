//! What the official conformance suite asks for by name, offered only with the hidden flag for it.
//!
//! The suite tests a server by tools, resources and prompts of fixed names and contents, which a real service has no
//! use for. Those whose answers follow from the request alone are here; those that need messages from the server
//! while a request is open are not served at all.

use super::json::Value;
use super::jsonrpc::Call;
use crate::search::issue::cut;
use crate::wire::json::push_escaped;

/// How a fixture tool has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// With its result.
    Complete,
    /// By asking the client for something first (2026-07-28 only).
    InputRequired,
}

/// Answers a fixture tool, or returns `None` if there is none of this name.
pub(super) fn call(name: &str, call: &Call<'_, '_>, out: &mut Vec<u8>) -> Option<Answered> {
    let asks = |key: &str, request: &str, out: &mut Vec<u8>| {
        let responses = call.param("inputResponses");
        let response = responses.and_then(|responses| responses.get(key));
        if response.and_then(Value::as_object).is_some() {
            out.extend_from_slice(br#"{"content":[{"type":"text","text":"Thank you."}]"#);
            return Some(Answered::Complete);
        }
        out.extend_from_slice(format!("{{\"inputRequests\":{{\"{key}\":{request}}}").as_bytes());
        Some(Answered::InputRequired)
    };
    let content = match name {
        "test_simple_text" => SIMPLE_TEXT,
        "test_image_content" => IMAGE,
        "test_audio_content" => AUDIO,
        "test_embedded_resource" => EMBEDDED,
        "test_multiple_content_types" => MULTIPLE,
        "test_error_handling" => ERROR,
        "test_input_required_result_elicitation" => return asks("user_name", ELICITATION, out),
        "test_input_required_result_sampling" => return asks("capital_question", SAMPLING, out),
        "test_input_required_result_list_roots" => return asks("client_roots", ROOTS, out),
        _ => return None,
    };
    out.extend_from_slice(content.replace("$png", PNG).as_bytes());
    Some(Answered::Complete)
}

/// Answers the methods that only a server with log messages and subscriptions has; false for all others.
pub(super) fn acknowledge(method: &str, out: &mut Vec<u8>) -> bool {
    let is_known = matches!(
        method,
        "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    );
    if is_known {
        out.push(b'{');
    }
    is_known
}

/// Reads a fixture resource; false if there is none at this URI.
pub(super) fn read(uri: &str, out: &mut Vec<u8>) -> bool {
    let template = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let (media_type, kind, content) = match (uri, template) {
        ("test://static-text", _) => (
            "text/plain",
            "text",
            "This is the content of the static text resource.".to_owned(),
        ),
        ("test://static-binary", _) => ("image/png", "blob", PNG.to_owned()),
        (_, Some(id)) => {
            let id = cut(id).replace(['"', '\\'], "");
            let text =
                format!("{{\"id\":\"{id}\",\"templateTest\":true,\"data\":\"Data for ID: {id}\"}}");
            ("application/json", "text", text)
        }
        _ => return false,
    };
    out.extend_from_slice(b"{\"contents\":[{\"uri\":");
    crate::wire::json::push_string(out, uri);
    out.extend_from_slice(format!(",\"mimeType\":\"{media_type}\",\"{kind}\":\"").as_bytes());
    push_escaped(out, content.as_bytes());
    out.extend_from_slice(b"\"}]");
    true
}

/// Answers a fixture prompt; false if there is none of this name.
pub(super) fn prompt(name: &str, call: &Call<'_, '_>, out: &mut Vec<u8>) -> bool {
    let argument = |key: &str| {
        let value = call
            .param("arguments")
            .and_then(|arguments| arguments.get(key));
        let mut escaped = Vec::new();
        push_escaped(
            &mut escaped,
            value.and_then(Value::as_str).unwrap_or_default().as_bytes(),
        );
        String::from_utf8_lossy(&escaped).into_owned()
    };
    let messages = match name {
        "test_simple_prompt" => {
            r#"{"role":"user","content":{"type":"text","text":"This is a simple prompt for testing."}}"#.to_owned()
        }
        "test_prompt_with_arguments" => format!(
            r#"{{"role":"user","content":{{"type":"text","text":"Prompt with arguments: arg1='{}', arg2='{}'"}}}}"#,
            argument("arg1"),
            argument("arg2")
        ),
        "test_prompt_with_embedded_resource" => PROMPT_RESOURCE.replace("$uri", &argument("resourceUri")),
        "test_prompt_with_image" => PROMPT_IMAGE.replace("$png", PNG),
        _ => return false,
    };
    out.extend_from_slice(format!("{{\"messages\":[{messages}]").as_bytes());
    true
}

/// Capabilities of the handshake era with the fixtures.
pub(super) const CAPABILITIES: &[u8] =
    br#"{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}"#;

/// Items of `tools/list`.
pub(super) const TOOLS: &str = r#"
{"name": "test_simple_text", "description": "A text.", "inputSchema": {"type": "object"}},
{"name": "test_image_content", "description": "An image.", "inputSchema": {"type": "object"}},
{"name": "test_audio_content", "description": "A sound.", "inputSchema": {"type": "object"}},
{"name": "test_embedded_resource", "description": "A resource.", "inputSchema": {"type": "object"}},
{"name": "test_multiple_content_types", "description": "Three contents.", "inputSchema": {"type": "object"}},
{"name": "test_error_handling", "description": "An error.", "inputSchema": {"type": "object"}},
{"name": "test_input_required_result_elicitation", "description": "A question.", "inputSchema": {"type": "object"}},
{"name": "test_input_required_result_sampling", "description": "A sample.", "inputSchema": {"type": "object"}},
{"name": "test_input_required_result_list_roots", "description": "The roots.", "inputSchema": {"type": "object"}}
"#;

/// Items of `resources/list`.
pub(super) const RESOURCES: &str = r#"
{"uri": "test://static-text", "name": "static-text", "description": "A text.", "mimeType": "text/plain"},
{"uri": "test://static-binary", "name": "static-binary", "description": "An image.", "mimeType": "image/png"}
"#;

/// Items of `resources/templates/list`.
pub(super) const TEMPLATES: &str = r#"
{"uriTemplate": "test://template/{id}/data", "name": "template", "description": "A template.",
 "mimeType": "application/json"}
"#;

/// Items of `prompts/list`.
pub(super) const PROMPTS: &str = r#"
{"name": "test_simple_prompt", "description": "A prompt."},
{"name": "test_prompt_with_arguments", "description": "A prompt with arguments.", "arguments": [
  {"name": "arg1", "description": "The first.", "required": true},
  {"name": "arg2", "description": "The second.", "required": true}]},
{"name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource.", "arguments": [
  {"name": "resourceUri", "description": "Its URI.", "required": true}]},
{"name": "test_prompt_with_image", "description": "A prompt with an image."}
"#;

const SIMPLE_TEXT: &str =
    r#"{"content":[{"type":"text","text":"This is a simple text response for testing."}]"#;
const IMAGE: &str = r#"{"content":[{"type":"image","data":"$png","mimeType":"image/png"}]"#;
/// A WAV file of no samples: 44 bytes of header.
const AUDIO: &str = r#"{"content":[{"type":"audio","mimeType":"audio/wav","data":"UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="}]"#;
const EMBEDDED: &str = r#"{"content":[{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}]"#;
const MULTIPLE: &str = r#"{"content":[{"type":"text","text":"Multiple content types test:"},{"type":"image","data":"$png","mimeType":"image/png"},{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}]"#;
const ERROR: &str = r#"{"content":[{"type":"text","text":"This tool intentionally returns an error for testing"}],"isError":true"#;
const ELICITATION: &str = r#"{"method":"elicitation/create","params":{"mode":"form","message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#;
const SAMPLING: &str = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"What is the capital of France?"}}],"maxTokens":100}}"#;
const ROOTS: &str = r#"{"method":"roots/list","params":{}}"#;
const PROMPT_RESOURCE: &str = r#"{"role":"user","content":{"type":"resource","resource":{"uri":"$uri","mimeType":"text/plain","text":"Embedded resource content for testing."}}},{"role":"user","content":{"type":"text","text":"Please process the embedded resource above."}}"#;
const PROMPT_IMAGE: &str = r#"{"role":"user","content":{"type":"image","data":"$png","mimeType":"image/png"}},{"role":"user","content":{"type":"text","text":"Please analyze the image above."}}"#;
/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
