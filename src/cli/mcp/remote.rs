//! `reviewd mcp --url`: forwards each line to a remote reviewd over HTTP, and derives header fields from the message.
//!
//! Every request gets a response: an error without an id, or a body that is not JSON, such as a proxy's, becomes an
//! error with the id of the request. So no client waits for a response that never comes.

use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use crate::clock;

/// The connection to a server, and the protocol version that its handshake settled on.
pub(super) struct Remote {
    agent: Agent,
    url: String,
    version: Option<String>,
}

impl Remote {
    /// Creates a client of the server at this public address.
    pub(super) fn new(base_url: &str) -> Remote {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
            .build();
        Remote {
            agent: config.into(),
            url: format!("{base_url}/mcp"),
            version: None,
        }
    }

    /// Forwards a message and returns the response; `None` if no response is due.
    pub(super) fn answer(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return Some(refuse_all(line, -32_700, &error.to_string())),
        };
        let exchanged = self.exchange(line, &message);
        exchanged.map_or_else(|error| answer_all(&message, &error), Some)
    }

    /// Returns the response to `message` as one line, or an error for each of its requests.
    fn exchange(&mut self, line: &[u8], message: &Value) -> Result<Vec<u8>, Value> {
        let sent = self.send(line, message);
        let (status, body) = sent.map_err(|error| failure(-32_603, &error.to_string()))?;
        // A proxy may answer instead of the server, so only JSON is passed on.
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if !is_response(message, &answer) {
            let why = format!("{} returned {status} without a response message", self.url);
            return Err(match answer["error"].is_object() {
                true => answer,
                false => failure(-32_603, &why),
            });
        }
        if message["method"] == "initialize" {
            let version = answer["result"]["protocolVersion"].as_str();
            self.version = version.map(str::to_owned);
        }
        // The bytes as received, so both copies of a result stay equal; but a line break would end the message.
        Ok(match body.contains(&b'\n') {
            true => answer.to_string().into_bytes(),
            false => body,
        })
    }

    /// Sends a message; while the server answers 429, sends it again, at most for [`TIME_MAX`]. Ignores the session id
    /// that the server offers, as reviewd does not require one.
    fn send(&self, line: &[u8], message: &Value) -> Result<(StatusCode, Vec<u8>), ureq::Error> {
        let deadline = clock::instant() + TIME_MAX;
        let (method, params) = (message["method"].as_str(), &message["params"]);
        let stated = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let is_first = method == Some("initialize");
        let agreed = self.version.as_deref().filter(|_| !is_first);
        loop {
            let left = deadline.saturating_duration_since(clock::instant());
            let request = self
                .agent
                .post(&self.url)
                .config()
                .timeout_global(Some(left))
                .build();
            let request = request.content_type("application/json");
            let mut request = request.header("Accept", "application/json");
            if let Some(version) = stated.or(agreed) {
                request = request.header("MCP-Protocol-Version", version);
            }
            if stated.is_some() {
                request = request.header("Mcp-Method", method.unwrap_or_default());
                if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                    request = request.header("Mcp-Name", header_text(name));
                }
            }
            let mut response = request.send(line)?;
            let wait = retry_after(&response);
            let Some(wait) = wait.filter(|wait| clock::instant() + *wait < deadline) else {
                let status = response.status();
                let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
                return Ok((status, body.read_to_vec()?));
            };
            thread::sleep(wait);
        }
    }
}

/// Encodes a name as a header value: in base64 if it has characters that a header does not allow.
fn header_text(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.starts_with("=?");
    match is_plain {
        true => name.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(name)),
    }
}

/// Returns the Retry-After of a 429 response, if it is a number of seconds.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let is_429 = response.status() == StatusCode::TOO_MANY_REQUESTS;
    let value = response.headers().get("retry-after").filter(|_| is_429)?;
    let seconds: u64 = value.to_str().ok()?.parse().ok()?;
    // At least one second, whatever the server says.
    Some(Duration::from_secs(seconds.max(1)))
}

/// Tells whether `answer` is a response to `message`: an array to a batch, else an object with the same id.
fn is_response(message: &Value, answer: &Value) -> bool {
    match message {
        Value::Array(_) => answer.is_array(),
        _ => answer["id"] == message["id"] && !answer["id"].is_null(),
    }
}

/// Answers each request of `message` with the same error; `None` if it contains no request.
fn answer_all(message: &Value, error: &Value) -> Option<Vec<u8>> {
    let is_request = |message: &&Value| message["method"].is_string() && !message["id"].is_null();
    let answer = |request: &Value| {
        let mut answer = error.clone();
        answer["id"] = request["id"].clone();
        answer
    };
    let answers = match message {
        Value::Array(messages) => {
            let answers: Vec<Value> = messages.iter().filter(is_request).map(answer).collect();
            (!answers.is_empty()).then(|| Value::Array(answers))
        }
        one => Some(one).filter(is_request).map(answer),
    };
    answers.map(|answers| answers.to_string().into_bytes())
}

/// Answers each request of the line with an error; without an id if none can be read.
pub(super) fn refuse_all(line: &[u8], code: i32, why: &str) -> Vec<u8> {
    let message = serde_json::from_slice(line).unwrap_or_default();
    let error = failure(code, why);
    answer_all(&message, &error).unwrap_or_else(|| error.to_string().into())
}

fn failure(code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}})
}

/// Time for one message and its response, including the waits for Retry-After.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Largest response in bytes.
const ANSWER_BYTES_MAX: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::header_text;

    #[test]
    fn names_that_are_invalid_in_a_header_are_base64() {
        assert_eq!(header_text("reviews://review/01J"), "reviews://review/01J");
        assert_eq!(header_text("é"), "=?base64?w6k=?=");
        assert_eq!(header_text("a b"), "=?base64?YSBi?=");
        assert_eq!(header_text("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
