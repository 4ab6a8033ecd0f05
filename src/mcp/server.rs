//! From a request to a reply: guard, method, media type, message, era, and only then the method itself.

use super::calls::Calls;
use super::catalog::Catalog;
use super::dispatch;
use super::guard::{Guard, Visitor};
use super::head::{Field, Head, is_json};
use super::json::{self, JsonError, Value};
use super::jsonrpc::{
    Call, INTERNAL_ERROR, INVALID_REQUEST, Id, METHOD_NOT_FOUND, Message, PARSE_ERROR, Request,
    RpcError, push_error, read,
};
use super::protocol::{Era, Revision, is_stateless_version};
use super::reply::Reply;
use super::session::{Key, NONCE_BYTES, Session, Sessions, Token};
use super::stateless;
use crate::wire::date::Timestamp;

/// What the operator sets about the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public address without a trailing slash; pages of this origin are welcome.
    pub base_url: String,
    /// More origins whose pages are welcome; `*` for all, and then any Host is too.
    pub allowed_origins: Vec<String>,
    /// Signs session ids; the same on every replica.
    pub session_key: Key,
    /// Largest message in bytes, 1 MiB by default; a larger one gets 413.
    pub body_bytes_max: usize,
}

/// The server: it lasts as long as the process, and what it serves is handed in with each request.
#[derive(Debug)]
pub struct Server {
    guard: Guard,
    sessions: Sessions,
    body_bytes_max: usize,
    calls: Calls,
}

/// A message answered: what to write back, if anything, and with which status.
pub(super) struct Answer {
    status: u16,
    session: Option<Token>,
}

impl Server {
    /// Makes a server.
    #[must_use]
    pub fn new(settings: Settings) -> Server {
        Server {
            guard: Guard::new(&settings.base_url, &settings.allowed_origins),
            sessions: Sessions::new(settings.session_key),
            body_bytes_max: settings.body_bytes_max,
            calls: Calls::default(),
        }
    }

    /// Returns how often each tool was called.
    #[must_use]
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Tells who asks.
    ///
    /// # Errors
    /// The answer to a page that may not ask, or by a name that is not ours.
    pub fn judge(&self, head: &Head<'_>) -> Result<Visitor, Reply> {
        self.guard.check(head).map_err(Reply::forbidden)
    }

    /// Answers a request to `/mcp`; nothing is kept of it but the end of a session.
    #[must_use]
    pub fn handle(&self, catalog: &Catalog, head: &Head<'_>, body: &[u8], now: Timestamp) -> Reply {
        match self.judge(head) {
            Ok(visitor) => self.handle_judged(catalog, head, visitor, body, now),
            Err(reply) => reply,
        }
    }

    /// Answers a request of `visitor`, whom [`Server::judge`] has let in.
    #[must_use]
    pub fn handle_judged(
        &self,
        catalog: &Catalog,
        head: &Head<'_>,
        visitor: Visitor,
        body: &[u8],
        now: Timestamp,
    ) -> Reply {
        let mut reply = match head.method {
            b"POST" => self.post(catalog, head, body, now),
            b"DELETE" => self.delete(head, now),
            b"OPTIONS" => Reply::preflight(),
            _ => Reply::method_not_allowed(),
        };
        reply.visitor = visitor;
        reply
    }

    /// Refuses a request of which the head says enough, as [`Server::handle_judged`] would with its body.
    #[must_use]
    pub fn refuse_head(&self, head: &Head<'_>) -> Option<Reply> {
        match head.method {
            b"POST" if is_json(head.content_type) => None,
            b"POST" => Some(Reply::unsupported_media_type()),
            b"DELETE" | b"OPTIONS" => None,
            _ => Some(Reply::method_not_allowed()),
        }
    }

    /// Answers one line of stdio, where there are no headers and no sessions; `None` where no answer is due.
    #[must_use]
    pub fn answer_line(&self, catalog: &Catalog, line: &[u8], now: Timestamp) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match json::parse(line, &json::MESSAGE) {
            Err(error) => push_error(&mut out, None, &unreadable(&error)),
            // Only headers can call for a reply of their own, and there are none.
            Ok(value) => drop(self.answer(catalog, None, &value, now, &mut out)),
        }
        (!out.is_empty()).then_some(out)
    }

    fn post(&self, catalog: &Catalog, head: &Head<'_>, body: &[u8], now: Timestamp) -> Reply {
        if !is_json(head.content_type) {
            return Reply::unsupported_media_type();
        }
        if body.len() > self.body_bytes_max {
            return Reply::too_large();
        }
        let value = match json::parse(body, &json::MESSAGE) {
            Ok(value) => value,
            Err(error) => return failed(400, None, &unreadable(&error)),
        };
        if let Value::Array(messages) = &value {
            return self.batch(catalog, head, messages, now);
        }
        let mut out = Vec::with_capacity(ANSWER_BYTES);
        match self.answer(catalog, Some(head), &value, now, &mut out) {
            Err(reply) => reply,
            Ok(_) if out.is_empty() => Reply::accepted(),
            Ok(answer) => {
                let mut reply = Reply::json(answer.status, out).framed(head.form);
                reply.session = answer.session;
                reply
            }
        }
    }

    /// Appends the answer to one message, or nothing if none is due.
    ///
    /// # Errors
    /// A whole reply, where the status and not only the body says what is wrong.
    pub(super) fn answer(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        value: &Value<'_>,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Reply> {
        let message = match read(value) {
            Ok(message) => message,
            Err((id, error)) => {
                push_error(out, id, &error);
                return Ok(Answer::status(400));
            }
        };
        match message {
            Message::Response => match head {
                Some(head) if is_stateless(head) => Err(failed(
                    400,
                    None,
                    &invalid("a client has nothing to answer to"),
                )),
                Some(head) => self.handshake(head, now).map(|_| Answer::status(202)),
                None => Ok(Answer::status(202)),
            },
            Message::Notification(call) => match head {
                Some(head) => self.notification(&call, head, now),
                None => Ok(Answer::status(202)),
            },
            Message::Request(request) => {
                let call = &request.call;
                let is_stateless = stateless::is_claimed(call)
                    || (call.method != "initialize" && head.is_some_and(is_stateless));
                if is_stateless {
                    Ok(self.stateless(catalog, head, &request, out))
                } else {
                    self.in_handshake(catalog, head, &request, now, out)
                }
            }
        }
    }

    fn notification(
        &self,
        call: &Call<'_, '_>,
        head: &Head<'_>,
        now: Timestamp,
    ) -> Result<Answer, Reply> {
        if !is_stateless(head) {
            return self.handshake(head, now).map(|_| Answer::status(202));
        }
        match head.protocol_version {
            Field::One(version) if Revision::parse(version).is_some() => Ok(Answer::status(202)),
            Field::One(version) => {
                let version = String::from_utf8_lossy(version);
                Err(failed(400, None, &stateless::unsupported(&version)))
            }
            // Without one version there is no era to speak of; `is_stateless` has seen to that.
            Field::Absent | Field::Repeated => {
                let message = format!(
                    "{} came with no version",
                    crate::search::issue::cut(call.method)
                );
                Err(failed(400, None, &RpcError::new(INVALID_REQUEST, message)))
            }
        }
    }

    /// 2026-07-28: everything about the request is in the request.
    fn stateless(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        request: &Request<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Answer {
        if let Err(error) = stateless::check(&request.call, head) {
            push_error(out, Some(request.id), &error);
            return Answer::status(400);
        }
        self.calls.count(&request.call);
        let outcome = dispatch::dispatch(catalog, Era::Stateless, request, out);
        let is_unknown = outcome.is_err_and(|error| {
            push_error(out, Some(request.id), &error);
            error.code == METHOD_NOT_FOUND
        });
        Answer::status(if is_unknown { 404 } else { 200 })
    }

    /// 2024-11-05 to 2025-11-25: a version header and a session, both of which may be missing.
    fn in_handshake(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        request: &Request<'_, '_>,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Reply> {
        if request.call.method == "initialize" {
            return Ok(self.initialize(catalog, head.is_some(), request, now, out));
        }
        if let Some(head) = head {
            self.handshake(head, now)?;
        }
        self.calls.count(&request.call);
        if let Err(error) = dispatch::dispatch(catalog, Era::Handshake, request, out) {
            push_error(out, Some(request.id), &error);
        }
        Ok(Answer::status(200))
    }

    /// The handshake itself, which hands out a session wherever there are headers.
    fn initialize(
        &self,
        catalog: &Catalog,
        has_sessions: bool,
        request: &Request<'_, '_>,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) -> Answer {
        let Some(requested) = request
            .call
            .param("protocolVersion")
            .and_then(Value::as_str)
        else {
            let error = RpcError::params("params.protocolVersion must be a string");
            push_error(out, Some(request.id), &error);
            return Answer::status(200);
        };
        let revision = Revision::negotiate(requested);
        let session = has_sessions.then(|| self.begin(revision, now));
        if session == Some(None) {
            let error = RpcError::new(INTERNAL_ERROR, "no session could be made");
            push_error(out, Some(request.id), &error);
            return Answer::status(500);
        }
        dispatch::initialize(catalog, revision, request.id, out);
        Answer {
            status: 200,
            session: session.flatten(),
        }
    }

    /// Checks version and session of a request after the handshake, and returns the revision it belongs to.
    ///
    /// # Errors
    /// 400 for a version that is not served, 404 for a session that is not good.
    pub(super) fn handshake(&self, head: &Head<'_>, now: Timestamp) -> Result<Revision, Reply> {
        let named = match head.protocol_version {
            Field::Absent => None,
            Field::One(version) => match Revision::parse(version) {
                Some(revision) if revision != Revision::R2026_07_28 => Some(revision),
                Some(_) => return Ok(Revision::R2026_07_28),
                None => return Err(failed(400, None, &invalid(VERSION_MESSAGE))),
            },
            Field::Repeated => return Err(failed(400, None, &invalid(VERSION_MESSAGE))),
        };
        let session = self.session(head, now)?;
        let settled = session.map_or(Revision::ASSUMED, |session| session.revision);
        Ok(named.unwrap_or(settled))
    }

    fn session(&self, head: &Head<'_>, now: Timestamp) -> Result<Option<Session>, Reply> {
        match head.session {
            Field::Absent => Ok(None),
            Field::One(text) => match self.sessions.verify(text, now) {
                Ok(session) => Ok(Some(session)),
                Err(_) => Err(Reply::session_not_found()),
            },
            Field::Repeated => Err(Reply::session_not_found()),
        }
    }

    fn begin(&self, revision: Revision, now: Timestamp) -> Option<Token> {
        let mut nonce = [0u8; NONCE_BYTES];
        getrandom::fill(&mut nonce).ok()?;
        Some(self.sessions.mint(revision, now, nonce))
    }

    /// Ends a session; the stateless era has none to end.
    fn delete(&self, head: &Head<'_>, now: Timestamp) -> Reply {
        if is_stateless(head) {
            return Reply::method_not_allowed();
        }
        match self.session(head, now) {
            Err(reply) => reply,
            Ok(None) => Reply::session_missing(),
            Ok(Some(session)) => {
                self.sessions.end(session);
                Reply::ended()
            }
        }
    }
}

impl Answer {
    fn status(status: u16) -> Answer {
        Answer {
            status,
            session: None,
        }
    }
}

/// Tells whether the version header is of the stateless era.
fn is_stateless(head: &Head<'_>) -> bool {
    matches!(head.protocol_version, Field::One(version) if is_stateless_version(version))
}

pub(super) fn failed(status: u16, id: Option<Id<'_>>, error: &RpcError) -> Reply {
    let mut body = Vec::with_capacity(256);
    push_error(&mut body, id, error);
    Reply::json(status, body)
}

pub(super) fn invalid(message: &'static str) -> RpcError {
    RpcError::new(INVALID_REQUEST, message)
}

fn unreadable(error: &JsonError) -> RpcError {
    let code = match error {
        JsonError::Syntax(_) => PARSE_ERROR,
        JsonError::Refused(_) => INVALID_REQUEST,
    };
    RpcError::new(code, error.to_string())
}

const VERSION_MESSAGE: &str = "MCP-Protocol-Version must be one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 \
and 2026-07-28, sent once";
/// Room for a page of ten reviews with its copy; larger answers grow.
const ANSWER_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests;
