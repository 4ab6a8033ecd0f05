//! A server on which the official conformance suite of the Model Context Protocol can be run.
//!
//! `cargo run --release --example conformance -- --data data --listen 127.0.0.1:8080` serves like `reviewd serve` with
//! the same flags, behind a proxy that adds the tools, resources and prompts that the suite requires and a service does
//! not need. A request for one of them is forwarded as a request for an item that the server has, so that all checks of
//! the server apply, and the content of the result is replaced. Features that need messages from the server during a
//! request are not supported.

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
    // The same flags as `reviewd serve`, also from the environment.
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

/// Forwards a request to the server, and returns its response with the content that the suite expects.
async fn exchange(request: Request<Incoming>, inner: &str) -> Response<Full<Bytes>> {
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    let mut body = body.unwrap_or_default().to_vec();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let fixture = answer(&method, &message["params"]);
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

/// Returns the message with an item of the server in place of the suite's item.
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

/// Adds the items of a list; of any other result, keeps only the fields that the protocol revision requires.
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

/// Returns the result that the suite expects of a method; `None` leaves it to the server.
fn answer(method: &str, params: &Value) -> Option<Value> {
    let is_stateless = params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
    let fixtures: Value = serde_json::from_str(FIXTURES).expect("the fixtures are JSON");
    let of_method = fixtures.get(method)?;
    let fixture = match method {
        "tools/call" => of_method.get(params["name"].as_str()?)?,
        "prompts/get" => {
            let prompt = of_method.get(params["name"].as_str()?)?;
            return Some(filled(prompt, params["arguments"].as_object()));
        }
        "resources/read" => return resource(of_method, params["uri"].as_str()?),
        "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" if is_stateless => {
            return None;
        }
        _ => of_method,
    };
    // Only results of revision 2026-07-28 can request input from the client.
    match fixture["inputRequests"].as_object() {
        Some(_) if !is_stateless => None,
        Some(asked)
            if asked
                .keys()
                .all(|key| params["inputResponses"][key].is_object()) =>
        {
            Some(json!({"content": [{"type": "text", "text": "Thank you."}]}))
        }
        _ => Some(fixture.clone()),
    }
}

/// Returns the resource of this URI, which may be an instance of the template.
fn resource(resources: &Value, uri: &str) -> Option<Value> {
    let template = "test://template/{id}/data";
    let (start, end) = template.split_once("{id}")?;
    match uri
        .strip_prefix(start)
        .and_then(|rest| rest.strip_suffix(end))
    {
        Some(id) => {
            let arguments = Map::from_iter([("id".to_owned(), json!(id))]);
            Some(filled(&resources[template], Some(&arguments)))
        }
        None => resources.get(uri).cloned(),
    }
}

/// Replaces names in braces by their arguments.
fn filled(fixture: &Value, arguments: Option<&Map<String, Value>>) -> Value {
    let mut text = fixture.to_string();
    for (name, value) in arguments.into_iter().flatten() {
        let value = value.to_string();
        let unquoted = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'));
        text = text.replace(&format!("{{{name}}}"), unquoted.unwrap_or(&value));
    }
    serde_json::from_str(&text).expect("a string takes the place of another")
}

/// The results that the suite expects, by method; those of tools, resources and prompts also by name.
const FIXTURES: &str = include_str!("fixtures.json");
