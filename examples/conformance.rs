//! A server on which the official conformance suite of the Model Context Protocol can be run.
//!
//! `cargo run --release --example conformance -- --data data --listen 127.0.0.1:8080` serves like `reviewd serve` with
//! the same flags. It adds the tools, resources and prompts that the suite asks for by name and content, and that a
//! service has no use for. Those that need messages from the server while a request is open are not there.

use clap::Parser;
use reviewd::cli::ServeArgs;
use reviewd::server;
use serde_json::{Map, Value, json};

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    serve: ServeArgs,
}

fn main() {
    let serve = Arguments::parse().serve;
    let mut config = serve.config().unwrap_or_else(|failure| panic!("{failure}"));
    config.mcp.extension = Some(answer);
    let _running = server::start(config).unwrap_or_else(|error| panic!("{error}"));
    loop {
        std::thread::park();
    }
}

/// Answers the methods of the suite; what is not here is left to the server.
fn answer(method: &str, params: Option<&Map<String, Value>>) -> Option<Value> {
    let name = |key: &str| params.and_then(|params| params.get(key)?.as_str());
    match method {
        "initialize" => Some(json!({"capabilities": {
            "tools": {}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {},
        }})),
        "tools/list" => Some(json!({"tools": TOOLS.map(|(name, description)| {
            json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
        })})),
        "resources/list" => Some(json!({"resources": [
            {"uri": "test://static-text", "name": "static-text", "description": "A text.", "mimeType": "text/plain"},
            {"uri": "test://static-binary", "name": "static-binary", "description": "An image.",
             "mimeType": "image/png"},
        ]})),
        "resources/templates/list" => Some(json!({"resourceTemplates": [
            {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "A template.",
             "mimeType": "application/json"},
        ]})),
        "prompts/list" => Some(json!({"prompts": [
            {"name": "test_simple_prompt", "description": "A prompt."},
            {"name": "test_prompt_with_arguments", "description": "A prompt with arguments.", "arguments": [
                {"name": "arg1", "description": "The first.", "required": true},
                {"name": "arg2", "description": "The second.", "required": true},
            ]},
            {"name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource.", "arguments": [
                {"name": "resourceUri", "description": "Its URI.", "required": true},
            ]},
            {"name": "test_prompt_with_image", "description": "A prompt with an image."},
        ]})),
        "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
            if !is_stateless(params) =>
        {
            Some(json!({}))
        }
        "tools/call" => tool(name("name")?, params),
        "resources/read" => resource(name("uri")?, is_stateless(params)),
        "prompts/get" => prompt(name("name")?, params),
        _ => None,
    }
}

fn is_stateless(params: Option<&Map<String, Value>>) -> bool {
    let meta = params.and_then(|params| params.get("_meta"));
    meta.is_some_and(|meta| meta["io.modelcontextprotocol/protocolVersion"].is_string())
}

fn tool(name: &str, params: Option<&Map<String, Value>>) -> Option<Value> {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let content = match name {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{"type": "audio", "mimeType": "audio/wav", "data": WAV}]),
        "test_embedded_resource" => json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        }}]),
        "test_multiple_content_types" => json!([
            text("Multiple content types test:"),
            image,
            {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": "{\"test\":\"data\",\"value\":123}",
            }},
        ]),
        "test_error_handling" => {
            let content = [text("This tool intentionally returns an error for testing")];
            return Some(json!({"content": content, "isError": true}));
        }
        "test_input_required_result_elicitation" => {
            return ask(
                "user_name",
                params,
                json!({
                    "method": "elicitation/create",
                    "params": {"mode": "form", "message": "What is your name?", "requestedSchema": {
                        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
                    }},
                }),
            );
        }
        "test_input_required_result_sampling" => {
            return ask(
                "capital_question",
                params,
                json!({
                    "method": "sampling/createMessage",
                    "params": {
                        "messages": [{"role": "user", "content": text("What is the capital of France?")}],
                        "maxTokens": 100,
                    },
                }),
            );
        }
        "test_input_required_result_list_roots" => {
            return ask(
                "client_roots",
                params,
                json!({"method": "roots/list", "params": {}}),
            );
        }
        _ => return None,
    };
    Some(json!({ "content": content }))
}

/// Asks the client for something, and thanks it once it has answered; only 2026-07-28 has such results.
fn ask(key: &str, params: Option<&Map<String, Value>>, request: Value) -> Option<Value> {
    let responses = params.and_then(|params| params.get("inputResponses"));
    match responses.and_then(|responses| responses.get(key)) {
        _ if !is_stateless(params) => None,
        Some(Value::Object(_)) => Some(json!({"content": [text("Thank you.")]})),
        _ => Some(json!({"inputRequests": {key: request}})),
    }
}

fn resource(uri: &str, is_stateless: bool) -> Option<Value> {
    let template = uri.strip_prefix("test://template/");
    let mut result = match (uri, template.and_then(|rest| rest.strip_suffix("/data"))) {
        ("test://static-text", _) => json!({"contents": [{
            "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource.",
        }]}),
        ("test://static-binary", _) => {
            json!({"contents": [{"uri": uri, "mimeType": "image/png", "blob": PNG}]})
        }
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"contents": [{"uri": uri, "mimeType": "application/json", "text": data.to_string()}]})
        }
        _ => return None,
    };
    if is_stateless {
        result["ttlMs"] = json!(60_000);
        result["cacheScope"] = json!("public");
    }
    Some(result)
}

fn prompt(name: &str, params: Option<&Map<String, Value>>) -> Option<Value> {
    let arguments = params.and_then(|params| params.get("arguments"));
    let argument = |key: &str| {
        let value = arguments.and_then(|arguments| arguments.get(key)?.as_str());
        value.unwrap_or_default().to_owned()
    };
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![text(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            json!({"type": "resource", "resource": {
                "uri": argument("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }}),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ],
        _ => return None,
    };
    let messages = contents
        .into_iter()
        .map(|content| json!({"role": "user", "content": content}));
    Some(json!({"messages": messages.collect::<Vec<_>>()}))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

const TOOLS: [(&str, &str); 9] = [
    ("test_simple_text", "A text."),
    ("test_image_content", "An image."),
    ("test_audio_content", "A sound."),
    ("test_embedded_resource", "A resource."),
    ("test_multiple_content_types", "Three contents."),
    ("test_error_handling", "An error."),
    ("test_input_required_result_elicitation", "A question."),
    ("test_input_required_result_sampling", "A sample."),
    ("test_input_required_result_list_roots", "The roots."),
];

/// A WAV file of no samples: 44 bytes of header.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";
/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
