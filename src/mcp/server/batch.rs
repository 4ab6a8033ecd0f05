//! A batch: several messages in one request, which only 2025-03-26 allows. They are answered one by one, so that the
//! caller can take a token of its rate limit for each, and yield to other requests in between.

use serde_json::Value;

use super::{Server, bad_request};
use crate::mcp::catalog::Catalog;
use crate::mcp::guard::Origin;
use crate::mcp::head::{Head, ReplyFormat};
use crate::mcp::jsonrpc::{Message, Request, RpcError, push_error, read};
use crate::mcp::protocol::Revision;
use crate::mcp::reply::{McpReply, TOO_MANY};
use crate::mcp::request_work::RequestWork;

/// Largest number of messages in a batch; larger batches are rejected.
const MESSAGES_MAX: usize = 32;

/// Bytes of responses after which the further requests of a batch are rejected, so that it cannot produce a gigabyte.
const RESPONSES_BYTES_MAX: usize = 1 << 20;

/// Memory of a member of an object besides its key and value: the entry, its hash and its slot.
const MEMBER_BYTES: usize = 48;

/// A batch that is being answered.
#[derive(Debug)]
pub struct Batch {
    messages: std::vec::IntoIter<Value>,
    /// Approximate memory of all messages in bytes.
    messages_bytes: usize,
    /// The responses so far: empty, or an array without its closing bracket.
    out: Vec<u8>,
    work: RequestWork,
    pub(super) form: ReplyFormat,
    pub(super) origin: Origin,
}

impl Batch {
    /// Begins a batch of a client that speaks `revision`.
    ///
    /// # Errors
    /// The revision has no batches, or there are no messages or more than 32.
    pub(super) fn new(messages: Vec<Value>, revision: Revision) -> Result<Batch, RpcError> {
        if revision != Revision::R2025_03_26 {
            let message = "a message must be an object: only 2025-03-26 supports batches";
            return Err(bad_request(message));
        }
        if !(1..=MESSAGES_MAX).contains(&messages.len()) {
            return Err(bad_request("a batch must have 1 to 32 messages"));
        }
        Ok(Batch {
            messages_bytes: messages.iter().map(memory_of).sum(),
            messages: messages.into_iter(),
            out: Vec::new(),
            work: RequestWork::new(),
            form: ReplyFormat::Json,
            origin: Origin::Absent,
        })
    }

    /// Returns the number of messages that are still to be answered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Tells whether every message is answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.len() == 0
    }

    /// Returns the approximate number of bytes that all messages and the responses so far occupy.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        (self.messages_bytes + self.out.capacity()) as u64
    }

    /// Answers the next message, if there is one. A request gets an error if `is_permitted` is false, because the client is
    /// over its rate limit.
    pub fn answer_next(
        &mut self,
        server: &Server,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        is_permitted: bool,
    ) {
        let Some(message) = self.messages.next() else {
            return;
        };
        let start = self.out.len();
        self.out.push(if start == 0 { b'[' } else { b',' });
        if let Ok(Message::Request(request)) = read(&message)
            && let Some(reason) = self.reason_to_refuse(&request, is_permitted)
        {
            let error = RpcError::invalid(reason);
            push_error(&mut self.out, Some(request.id), &error);
        } else {
            // The status of a batch is 200 whatever the answers are, and none of them negotiates a revision.
            let _outcome = server.answer(catalog, head, &message, &mut self.work, &mut self.out);
        }
        let has_response = self.out.len() > start + 1;
        if !has_response {
            self.out.truncate(start);
        }
    }

    /// Returns why a request of the batch gets an error; `None` if it is answered.
    fn reason_to_refuse(&self, request: &Request<'_>, is_permitted: bool) -> Option<&'static str> {
        if request.call.method == "initialize" {
            return Some("initialize must not be part of a batch");
        }
        if !is_permitted {
            return Some(TOO_MANY);
        }
        if self.out.len() > RESPONSES_BYTES_MAX {
            return Some("the responses to this batch are too large: send this request separately");
        }
        if self.work.total.is_spent() {
            return Some("the searches of this batch take too long: send this request separately");
        }
        None
    }

    /// Returns the responses; empty if no message gets one.
    pub(super) fn into_responses(mut self) -> Vec<u8> {
        if !self.out.is_empty() {
            self.out.push(b']');
        }
        self.out
    }

    /// Returns the reply with the responses so far.
    #[must_use]
    pub fn finish(self) -> McpReply {
        let form = self.form;
        let origin = self.origin;
        let responses = self.into_responses();
        let reply = if responses.is_empty() {
            McpReply::empty(202)
        } else {
            McpReply::json(200, responses).framed(form)
        };
        McpReply { origin, ..reply }
    }
}

/// Returns the approximate memory of a value in bytes. The parser limits its depth.
fn memory_of(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(memory_of).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| MEMBER_BYTES + key.len() + memory_of(value))
            .sum(),
        _ => 0,
    };
    size_of::<Value>() + inside
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::tests::{catalog, server};
    use crate::search::work::Work;

    /// A batch of two searches and a notification.
    fn batch() -> Batch {
        let call = |id: u32| {
            json!({
                "jsonrpc": "2.0",
                "id": id,
                "method": "tools/call",
                "params": {"name": "search_reviews", "arguments": {"words": "fees"}},
            })
        };
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let messages = vec![call(1), notification, call(2)];
        Batch::new(messages, Revision::R2025_03_26).expect("three messages are allowed")
    }

    /// Answers all messages; those after the first are permitted or not. Returns the errors of both calls.
    fn errors(mut batch: Batch, is_permitted: bool) -> [Option<String>; 2] {
        batch.answer_next(&server(), catalog(), None, true);
        while !batch.is_empty() {
            batch.answer_next(&server(), catalog(), None, is_permitted);
        }
        let answers: Value = serde_json::from_slice(&batch.finish().body).expect("JSON");
        assert_eq!(answers.as_array().map(Vec::len), Some(2));
        [0, 1].map(|at| answers[at]["error"]["message"].as_str().map(str::to_owned))
    }

    #[test]
    fn what_a_batch_holds_grows_with_its_messages_and_responses() {
        let mut batch = batch();
        let messages = batch.held_bytes();
        let one = Batch::new(vec![json!({"x": "y".repeat(1_000)})], Revision::R2025_03_26);
        assert!(one.expect("one message is allowed").held_bytes() > 1_000);
        batch.answer_next(&server(), catalog(), None, true);
        assert!(batch.held_bytes() >= messages + batch.out.len() as u64);
        assert!(batch.out.len() > 100);
    }

    #[test]
    fn a_call_over_the_rate_limit_is_refused_and_the_calls_before_it_are_answered() {
        assert_eq!(errors(batch(), true), [None, None]);
        assert_eq!(errors(batch(), false), [None, Some(TOO_MANY.to_owned())]);
    }

    #[test]
    fn searches_after_the_work_of_a_batch_is_spent_are_refused() {
        let mut dear = batch();
        dear.work.total = Work::new(1);
        let [first, second] = errors(dear, true);
        assert_eq!(first, None);
        let message = second.expect("the first call has spent all work");
        assert!(message.contains("take too long"), "{message}");
    }
}
