//! A reviewd elsewhere, asked over HTTP for each line: headers are made of what the messages say.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

/// The connection to a server, and what its handshake settled on.
pub(super) struct Remote {
    agent: Agent,
    url: String,
    session: Option<String>,
    version: Option<String>,
}

impl Remote {
    /// Prepares to ask the server at this public address.
    pub(super) fn new(base_url: &str) -> Remote {
        let config = Agent::config_builder()
            .timeout_global(Some(TIME_MAX))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
            .build();
        Remote {
            agent: config.into(),
            url: format!("{base_url}/mcp"),
            session: None,
            version: None,
        }
    }

    /// Hands a message on and returns what came back; `None` where no answer is due.
    pub(super) fn answer(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return Some(failure(&Value::Null, -32_700, &error.to_string())),
        };
        match self.exchange(line, &message) {
            Ok(answer) if answer.is_empty() => None,
            Ok(answer) => Some(answer),
            // Nobody waits for the answer to a notification.
            Err(_) if message.get("id").is_none() => None,
            Err(error) => Some(failure(&message["id"], -32_603, &error)),
        }
    }

    /// Ends the session, if there is one; a server that does not answer forgets it in a day by itself.
    pub(super) fn end(&mut self) {
        if let Some(session) = self.session.take() {
            let request = self
                .agent
                .delete(&self.url)
                .header("Mcp-Session-Id", &session);
            drop(request.call());
        }
    }

    fn exchange(&mut self, line: &[u8], message: &Value) -> Result<Vec<u8>, String> {
        let mut response = self.post(line, message)?;
        if response.status() == 404 && self.session.take().is_some() {
            // The session is over; sessions are optional, so the message is as good without one.
            response = self.post(line, message)?;
        }
        let session = response.headers().get("mcp-session-id");
        if let Some(session) = session.and_then(|value| value.to_str().ok()) {
            self.session = Some(session.to_owned());
        }
        let status = response.status();
        let mut body = Vec::new();
        let reader = response.body_mut().as_reader();
        let read = reader.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut body);
        read.map_err(|error| error.to_string())?;
        if body.len() as u64 > ANSWER_BYTES_MAX {
            return Err(format!(
                "the answer is larger than {ANSWER_BYTES_MAX} bytes"
            ));
        }
        if body.is_empty() {
            return match status.is_success() {
                true => Ok(body),
                false => Err(format!("{} answered {status}", self.url)),
            };
        }
        // Whatever stands between may answer too, so only JSON is passed on, on one line.
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|_| format!("{} answered {status} and no JSON", self.url))?;
        if let Some(version) = answer["result"]["protocolVersion"].as_str()
            && message["method"] == "initialize"
        {
            self.version = Some(version.to_owned());
        }
        // The bytes as they came, so that both copies of a result stay equal; a line break would end the message.
        match body.contains(&b'\n') {
            true => Ok(answer.to_string().into_bytes()),
            false => Ok(body),
        }
    }

    fn post(&self, line: &[u8], message: &Value) -> Result<Response<Body>, String> {
        let mut request = self
            .agent
            .post(&self.url)
            .content_type("application/json")
            .header("Accept", "application/json");
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let claim = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        if let Some(version) = claim {
            request = request
                .header("MCP-Protocol-Version", version)
                .header("Mcp-Method", method);
            let name = params["name"].as_str().or(params["uri"].as_str());
            if let Some(name) = name {
                request = request.header("Mcp-Name", header_text(name));
            }
        } else if method != "initialize" {
            if let Some(version) = &self.version {
                request = request.header("MCP-Protocol-Version", version);
            }
            if let Some(session) = &self.session {
                request = request.header("Mcp-Session-Id", session);
            }
        }
        request.send(line).map_err(|error| error.to_string())
    }
}

/// A name as a header carries it: in base64 where a header could not carry it as it is.
fn header_text(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.starts_with("=?");
    match is_plain {
        true => name.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(name)),
    }
}

fn failure(id: &Value, code: i32, message: &str) -> Vec<u8> {
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    error.to_string().into_bytes()
}

/// Time for one message and its answer.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Largest answer in bytes.
const ANSWER_BYTES_MAX: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::header_text;

    #[test]
    fn names_that_no_header_carries_are_in_base64() {
        assert_eq!(header_text("reviews://review/01J"), "reviews://review/01J");
        assert_eq!(header_text("é"), "=?base64?w6k=?=");
        assert_eq!(header_text("a b"), "=?base64?YSBi?=");
        assert_eq!(header_text("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
