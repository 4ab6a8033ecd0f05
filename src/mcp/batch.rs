//! Batches: several messages in one array, which only 2025-03-26 has.

use super::catalog::Catalog;
use super::head::Head;
use super::json::Value;
use super::jsonrpc::{Message, push_error, read};
use super::reply::Reply;
use super::server::{Server, failed, invalid};
use crate::wire::date::Timestamp;

impl Server {
    /// Answers several messages at once, which only 2025-03-26 allows.
    pub(super) fn batch(
        &self,
        catalog: &Catalog,
        head: &Head<'_>,
        messages: &[Value<'_>],
        now: Timestamp,
    ) -> Reply {
        let refuse = |message: &'static str| failed(400, None, &invalid(message));
        let revision = match self.handshake(head, now) {
            Ok(revision) => revision,
            Err(reply) => return reply,
        };
        if !revision.has_batches() {
            return refuse("a message must be an object: only 2025-03-26 has batches");
        }
        if messages.is_empty() || messages.len() > BATCH_MAX {
            return refuse("a batch must have 1 to 32 messages");
        }
        let mut out = vec![b'['];
        for message in messages {
            let start = out.len();
            if start > 1 {
                out.push(b',');
            }
            let before = out.len();
            if start > BATCH_BYTES_MAX {
                refuse_late(message, &mut out);
            } else {
                self.answer_one(catalog, head, message, now, &mut out);
            }
            if out.len() == before {
                out.truncate(start);
            }
        }
        if out.len() == 1 {
            return Reply::accepted();
        }
        out.push(b']');
        Reply::json(200, out).framed(head.form)
    }

    fn answer_one(
        &self,
        catalog: &Catalog,
        head: &Head<'_>,
        message: &Value<'_>,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) {
        if message.get("method").and_then(Value::as_str) == Some("initialize") {
            return push_error(
                out,
                None,
                &invalid("initialize must not be part of a batch"),
            );
        }
        if let Err(reply) = self.answer(catalog, Some(head), message, now, out) {
            out.extend_from_slice(&reply.body);
        }
    }
}

/// Refuses a request of a batch whose answers have grown past the bound; a notification needs no answer.
fn refuse_late(message: &Value<'_>, out: &mut Vec<u8>) {
    if let Ok(Message::Request(request)) = read(message) {
        let error = invalid("the answers to this batch are too large: send the rest by itself");
        push_error(out, Some(request.id), &error);
    }
}

/// Most messages of a batch; more are refused.
const BATCH_MAX: usize = 32;
/// Bytes of answers after which the rest of a batch is refused, so that one request cannot ask for a gigabyte.
const BATCH_BYTES_MAX: usize = 1 << 20;
