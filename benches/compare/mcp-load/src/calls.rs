//! What is asked of the servers, and what they have to answer.

use load::{Result, Target};
use serde_json::{Value, json};

/// The last revision with a handshake.
const HANDSHAKE: &str = "2025-11-25";
/// The revision without one.
const STATELESS: &str = "2026-07-28";

/// A call of `search_reviews`.
pub(crate) struct Call {
    /// What the report calls it.
    pub(crate) name: &'static str,
    version: &'static str,
    arguments: Value,
}

impl Call {
    /// Ten reviews by rating in both eras, and by a word.
    pub(crate) fn all() -> [Call; 3] {
        let call = |name, version, arguments| Call {
            name,
            version,
            arguments,
        };
        let by_rating = json!({"rating": 5, "limit": 10});
        let by_word = json!({"query": "call", "limit": 10});
        [
            call("2025-11-25, rating", HANDSHAKE, by_rating.clone()),
            call("2026-07-28, rating", STATELESS, by_rating),
            call("2025-11-25, query", HANDSHAKE, by_word),
        ]
    }

    /// The same search of the REST interface.
    pub(crate) fn rest(&self, target: &Target) -> Vec<u8> {
        let mut query = String::new();
        for (name, value) in self.arguments.as_object().into_iter().flatten() {
            let value = value.to_string();
            query.push_str(if query.is_empty() { "?" } else { "&" });
            // Numbers and one word: nothing to escape.
            query.push_str(&format!("{name}={}", value.trim_matches('"')));
        }
        format!(
            "GET /api/reviews/search{query} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n\r\n",
            target.address
        )
        .into_bytes()
    }

    /// The call as a request to `target`.
    pub(crate) fn request(&self, target: &Target) -> Vec<u8> {
        let mut params = json!({"name": "search_reviews", "arguments": self.arguments});
        let mut fields = format!("MCP-Protocol-Version: {}\r\n", self.version);
        if self.version == STATELESS {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": client(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            fields.push_str("Mcp-Method: tools/call\r\nMcp-Name: search_reviews\r\n");
        }
        post(target, &fields, "tools/call", &params)
    }
}

/// A request that opens a session.
pub(crate) fn initialize(target: &Target) -> Vec<u8> {
    let params = json!({
        "protocolVersion": HANDSHAKE,
        "capabilities": {},
        "clientInfo": client(),
    });
    post(target, "", "initialize", &params)
}

fn client() -> Value {
    json!({"name": "mcp-load", "version": "0.0.0"})
}

fn post(target: &Target, fields: &str, method: &str, params: &Value) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{fields}Content-Length: {}\r\n\r\n",
        target.address,
        body.len()
    );
    (head + &body).into_bytes()
}

/// Reads the page of reviews out of an answer, which has to hold it twice.
///
/// Cursors are opaque, so only their being there is compared.
pub(crate) fn answer(body: &[u8]) -> Result<Value> {
    let mut message: Value = serde_json::from_slice(body)?;
    let result = message["result"].take();
    let text = result["content"][0]["text"]
        .as_str()
        .ok_or_else(|| format!("no text in {result}"))?;
    let mut page = result["structuredContent"].clone();
    if serde_json::from_str::<Value>(text)? != page {
        return Err("text and structuredContent differ".into());
    }
    if page["reviews"].as_array().map(Vec::len) != Some(10) {
        return Err("the page has not ten reviews".into());
    }
    page["next_cursor"] = page["next_cursor"].is_string().into();
    Ok(page)
}
