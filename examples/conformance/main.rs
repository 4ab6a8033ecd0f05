//! A server on which the official conformance suite of the Model Context Protocol can be run.
//!
//! `cargo run --release --example conformance -- --data data --listen 127.0.0.1:8080` serves like `reviewd serve` with
//! the same flags, behind a proxy that adds the tools, resources and prompts that the suite asks for by name and
//! content, and that a service has no use for. A request for one of them is sent on as one for something that the server
//! has, so that all its checks apply, and the content of the result is exchanged. What needs messages from the server
//! while a request is open is not there.

use std::convert::Infallible;
use std::time::Duration;

use clap::FromArgMatches;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use reviewd::cli::{ServeArgs, command};
use reviewd::server;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // As `reviewd serve` takes them, from the environment, too.
    let arguments = ["reviewd", "serve"].map(Into::into).into_iter();
    let matches = command().get_matches_from(arguments.chain(std::env::args_os().skip(1)));
    let serve = matches
        .subcommand_matches("serve")
        .expect("it is asked for");
    let serve = ServeArgs::from_arg_matches(serve).unwrap_or_else(|error| error.exit());
    let mut config = serve.config().unwrap_or_else(|failure| panic!("{failure}"));
    let address = std::mem::replace(&mut config.listen, ([127, 0, 0, 1], 0).into());
    let running = server::start(config, None).unwrap_or_else(|error| panic!("{error}"));
    let inner = running.local_addr();
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .expect("the address is free");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let service = service_fn(move |request| async move {
            Ok::<_, Infallible>(exchange(request, &format!("http://{inner}")).await)
        });
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
    }
}

/// Sends a request on to the server, and returns its response with the content that the suite asks for.
async fn exchange(request: Request<Incoming>, inner: &str) -> Response<Full<Bytes>> {
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    let mut body = body.unwrap_or_default().to_vec();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let fixture = answer(&method, message["params"].as_object());
    if fixture.is_some() {
        body = stand_in(&message, &mut parts).to_string().into_bytes();
    }
    parts.uri = format!("{inner}{}", parts.uri).parse().expect("an address");
    for name in [
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
    ] {
        parts.headers.remove(name);
    }
    let (mut parts, mut body) = tokio::task::spawn_blocking(move || send(parts, body))
        .await
        .expect("the server answers");
    if let Some(fixture) = fixture
        && let Ok(mut answer) = serde_json::from_slice::<Value>(&body)
        && let Some(result) = answer["result"].as_object_mut()
    {
        exchange_content(&method, result, fixture);
        body = answer.to_string().into_bytes();
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Full::new(body.into()))
}

fn send(parts: Parts, body: Vec<u8>) -> (hyper::http::response::Parts, Vec<u8>) {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(30)))
        .http_status_as_error(false)
        .max_redirects(0)
        .build();
    let agent = ureq::Agent::from(config);
    let response = match parts.method.as_str() {
        "POST" => agent.run(Request::from_parts(parts, body)),
        _ => agent.run(Request::from_parts(parts, ())),
    };
    let (parts, mut body) = response.expect("an answer").into_parts();
    let body = body.read_to_vec().expect("a body");
    (parts, body)
}

/// Returns the message with something that the server has in place of what only the suite knows.
fn stand_in(message: &Value, parts: &mut Parts) -> Value {
    let mut sent = message.clone();
    let (key, name) = match message["method"].as_str() {
        Some("tools/call") => ("name", "get_business"),
        Some("prompts/get") => ("name", "summarize_reviews"),
        Some("resources/read") => ("uri", "reviews://business"),
        Some("logging/setLevel" | "resources/subscribe" | "resources/unsubscribe") => {
            sent["method"] = json!("ping");
            return sent;
        }
        _ => return sent,
    };
    let named = parts.headers.get("mcp-name");
    if named
        .is_some_and(|named| message["params"][key] == *String::from_utf8_lossy(named.as_bytes()))
    {
        parts
            .headers
            .insert("mcp-name", name.parse().expect("a name"));
    }
    sent["params"][key] = json!(name);
    sent["params"]["arguments"] = json!({});
    sent
}

/// Adds the items of a list; of any other result only what the era wants of it stays.
fn exchange_content(method: &str, result: &mut Map<String, Value>, fixture: Value) {
    let Value::Object(fixture) = fixture else {
        return;
    };
    if method != "initialize" && !method.ends_with("/list") {
        result.retain(|key, _| {
            ["resultType", "_meta", "ttlMs", "cacheScope"].contains(&key.as_str())
        });
    }
    for (key, value) in fixture {
        match (result.get_mut(&key), value) {
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (_, value) => drop(result.insert(key, value)),
        }
    }
    if result.contains_key("inputRequests") {
        result.insert("resultType".to_owned(), json!("input_required"));
    }
}

/// Returns what the suite expects of a method; what is not here is left to the server.
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
        "resources/read" => resource(name("uri")?),
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

fn resource(uri: &str) -> Option<Value> {
    let template = uri.strip_prefix("test://template/");
    let result = match (uri, template.and_then(|rest| rest.strip_suffix("/data"))) {
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
