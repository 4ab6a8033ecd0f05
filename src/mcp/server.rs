//! Handles a request: checks origin and host, HTTP method, media type, message and era, then calls the JSON-RPC method.

mod batch;

use serde_json::Value;

pub use self::batch::Batch;
use super::catalog::Catalog;
use super::dispatch;
use super::guard::{Origin, OriginGuard};
use super::head::{Head, SingleField};
use super::json::{self, JsonError};
use super::jsonrpc::{
    Message, PARSE_ERROR, Request, RpcError, SESSION_NOT_FOUND, id_of_refused, push_error, read,
};
use super::protocol::{Era, Revision};
use super::reply::{McpRefusal, McpReply};
use super::request_work::RequestWork;
use super::session::{EndedSessions, SessionId};
use super::stateless;
use super::tools::ToolCalls;
use crate::wire::text::cut_lossy;

const VERSION_MESSAGE: &str = "MCP-Protocol-Version must be one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 \
and 2026-07-28, sent once";

/// The operator's settings of the server.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The public address without a trailing slash; pages of this origin are allowed.
    pub base_url: String,
    /// Further origins whose pages are allowed; `*` allows all origins and any Host.
    pub allowed_origins: Vec<String>,
    /// Further host names of this server; a port is ignored.
    pub allowed_hosts: Vec<String>,
    /// Largest message in bytes, 1 MiB by default; a larger one gets 413.
    pub body_bytes_max: usize,
}

/// A request whose body has been read: answered, or a batch whose messages are still to be answered.
#[derive(Debug)]
pub enum Begun {
    /// The complete reply.
    Answered(McpReply),
    /// To be answered by [`Batch::answer_next`] until it is empty, then [`Batch::finish`].
    Batch(Batch),
}

/// The MCP server: it lives as long as the process, and gets the catalog with each request.
#[derive(Debug)]
pub struct Server {
    guard: OriginGuard,
    ended: EndedSessions,
    body_bytes_max: usize,
    calls: ToolCalls,
}

impl Server {
    /// Creates a server.
    #[must_use]
    pub fn new(settings: McpSettings) -> Server {
        let origins = &settings.allowed_origins;
        let hosts = &settings.allowed_hosts;
        Server {
            guard: OriginGuard::new(&settings.base_url, origins, hosts),
            ended: EndedSessions::default(),
            body_bytes_max: settings.body_bytes_max,
            calls: ToolCalls::default(),
        }
    }

    /// Returns how often each tool was called.
    pub(crate) fn calls(&self) -> &ToolCalls {
        &self.calls
    }

    /// Checks that a request comes from an allowed page, or from a client other than a browser.
    ///
    /// # Errors
    /// The reply if the origin is not allowed, or the host is not ours.
    pub fn check_origin(&self, head: &Head<'_>) -> Result<Origin, McpReply> {
        self.guard
            .check(head)
            .map_err(|error| McpReply::error(&error))
    }

    /// Answers a request to `/mcp` at once; `origin` is the result of [`Server::check_origin`]. The only state that is
    /// kept is the list of ended sessions.
    #[must_use]
    pub fn handle(
        &self,
        catalog: &Catalog,
        head: &Head<'_>,
        origin: Origin,
        body: &[u8],
    ) -> McpReply {
        let mut batch = match self.begin(catalog, head, origin, body) {
            Begun::Answered(reply) => return reply,
            Begun::Batch(batch) => batch,
        };
        while !batch.is_empty() {
            batch.answer_next(self, catalog, Some(head), true);
        }
        batch.finish()
    }

    /// Answers a request to `/mcp` as [`Server::handle`] does, unless it is a batch, which the caller has answered
    /// message by message.
    #[must_use]
    pub fn begin(&self, catalog: &Catalog, head: &Head<'_>, origin: Origin, body: &[u8]) -> Begun {
        let begun = match head.method {
            b"DELETE" => Begun::Answered(self.delete(head)),
            b"OPTIONS" => Begun::Answered(McpReply::preflight()),
            _ => match self.refuse_head(head) {
                Some(reply) => Begun::Answered(reply),
                None => self.post(catalog, head, body),
            },
        };
        match begun {
            Begun::Answered(reply) => Begun::Answered(McpReply { origin, ..reply }),
            Begun::Batch(mut batch) => {
                batch.origin = origin;
                Begun::Batch(batch)
            }
        }
    }

    /// Rejects a request whose head is already invalid, as [`Server::handle`] would with the body.
    pub(crate) fn refuse_head(&self, head: &Head<'_>) -> Option<McpReply> {
        let refusal = match head.method {
            b"DELETE" | b"OPTIONS" => return None,
            b"POST" if head.is_json() => return None,
            b"POST" => McpRefusal::MediaType,
            _ => McpRefusal::Method,
        };
        Some(McpReply::of_refusal(refusal))
    }

    /// Answers one line of stdio, which has no headers and no sessions; `None` if the line gets no response.
    ///
    /// `revision` is the result of the last `initialize`, or [`Revision::ASSUMED`] before the first one; it decides
    /// whether a line may be a batch.
    pub(crate) fn answer_line(
        &self,
        catalog: &Catalog,
        line: &[u8],
        revision: &mut Revision,
    ) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match json::parse(line) {
            Err(error) => drop(refuse_unreadable(line, error, &mut out)),
            Ok(Value::Array(messages)) => match Batch::new(messages, *revision) {
                Err(error) => drop(append_error(&mut out, None, &error)),
                Ok(mut batch) => {
                    while !batch.is_empty() {
                        batch.answer_next(self, catalog, None, true);
                    }
                    out = batch.into_responses();
                }
            },
            Ok(message) => {
                let work = &mut RequestWork::new();
                let (_, negotiated) = self.answer(catalog, None, &message, work, &mut out);
                *revision = negotiated.unwrap_or(*revision);
            }
        }
        Some(out).filter(|out| !out.is_empty())
    }

    fn post(&self, catalog: &Catalog, head: &Head<'_>, body: &[u8]) -> Begun {
        if body.len() > self.body_bytes_max {
            return Begun::Answered(McpReply::of_refusal(McpRefusal::TooLarge(
                self.body_bytes_max,
            )));
        }
        let mut out = Vec::new();
        let mut negotiated = None;
        let status = match json::parse(body) {
            Err(error) => refuse_unreadable(body, error, &mut out),
            Ok(Value::Array(messages)) => {
                let revision = self.revision(head);
                match revision.and_then(|revision| Batch::new(messages, revision)) {
                    Ok(mut batch) => {
                        batch.form = head.form;
                        return Begun::Batch(batch);
                    }
                    Err(error) => append_error(&mut out, None, &error),
                }
            }
            Ok(message) => {
                let status;
                let work = &mut RequestWork::new();
                (status, negotiated) = self.answer(catalog, Some(head), &message, work, &mut out);
                status
            }
        };
        // Sessions are optional, so the client also works without an id.
        let session = negotiated.and_then(SessionId::random);
        let reply = if out.is_empty() {
            McpReply::empty(202)
        } else {
            McpReply::json(status, out).framed(head.form)
        };
        Begun::Answered(McpReply { session, ..reply })
    }

    /// Appends the response to one message, if it gets one; returns its status, and the revision that a handshake
    /// negotiated.
    pub(super) fn answer(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        message: &Value,
        work: &mut RequestWork,
        out: &mut Vec<u8>,
    ) -> (u16, Option<Revision>) {
        let (id, answered) = match read(message) {
            Err((id, error)) => (id, Err(error)),
            Ok(Message::Request(request)) => {
                let answered = self.request(catalog, head, &request, work, out);
                (Some(request.id), answered)
            }
            Ok(message) => {
                let checked = head.map_or(Ok(()), |head| self.check_unanswered(&message, head));
                (None, checked.map(|()| None))
            }
        };
        match answered {
            Ok(negotiated) => (200, negotiated),
            Err(error) => (append_error(out, id, &error), None),
        }
    }

    /// Checks a message that gets no response.
    fn check_unanswered(&self, message: &Message<'_>, head: &Head<'_>) -> Result<(), RpcError> {
        if !head.is_stateless() {
            return self.revision(head).map(drop);
        }
        match (message, head.protocol_version) {
            (Message::Response, _) => Err(bad_request(
                "this server sends no requests, so it accepts no responses",
            )),
            (_, SingleField::One(version)) if Revision::parse(version).is_none() => {
                Err(stateless::unsupported(&cut_lossy(version)))
            }
            _ => Ok(()),
        }
    }

    /// Appends the response to a request by the rules of its era; returns the revision that a handshake negotiated.
    fn request(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        request: &Request<'_>,
        work: &mut RequestWork,
        out: &mut Vec<u8>,
    ) -> Result<Option<Revision>, RpcError> {
        let call = &request.call;
        let is_initialize = call.method == "initialize";
        let is_stateless =
            stateless::is_claimed(call) || (!is_initialize && head.is_some_and(Head::is_stateless));
        let era = if is_stateless {
            stateless::check(call, head)?;
            Era::Stateless
        } else if is_initialize {
            let Some(requested) = call.text("protocolVersion") else {
                let message = "params.protocolVersion must be a string";
                return Err(RpcError::params(message));
            };
            let revision = Revision::negotiate(requested);
            dispatch::initialize(catalog, revision, request.id, out);
            return Ok(Some(revision));
        } else {
            // Version header and session are both optional.
            head.map(|head| self.revision(head)).transpose()?;
            Era::Handshake
        };
        self.calls.count(call);
        dispatch::dispatch(catalog, era, request, work, out).map(|()| None)
    }

    /// Checks version and session of a request after the handshake, and returns the revision it belongs to.
    fn revision(&self, head: &Head<'_>) -> Result<Revision, RpcError> {
        let named = match head.protocol_version {
            SingleField::Absent => None,
            SingleField::One(version) => match Revision::parse(version) {
                Some(revision) => Some(revision),
                None => return Err(bad_request(VERSION_MESSAGE)),
            },
            SingleField::Repeated => return Err(bad_request(VERSION_MESSAGE)),
        };
        if named == Some(Revision::R2026_07_28) {
            return Ok(Revision::R2026_07_28);
        }
        let session = self.session(head)?;
        let settled = session.map_or(Revision::ASSUMED, |session| session.revision());
        Ok(named.unwrap_or(settled))
    }

    fn session(&self, head: &Head<'_>) -> Result<Option<SessionId>, RpcError> {
        let id = match head.session {
            SingleField::Absent => return Ok(None),
            SingleField::One(text) => SessionId::parse(text),
            SingleField::Repeated => None,
        };
        match id.filter(|id| !self.ended.contains(id)) {
            Some(id) => Ok(Some(id)),
            None => {
                let message = "this session is unknown or ended: send initialize again";
                Err(RpcError::new(SESSION_NOT_FOUND, message).with_status(404))
            }
        }
    }

    /// Ends a session; the stateless era has no sessions.
    fn delete(&self, head: &Head<'_>) -> McpReply {
        if head.is_stateless() {
            return McpReply::of_refusal(McpRefusal::Method);
        }
        let error = match self.session(head) {
            Ok(Some(session)) => {
                self.ended.insert(session);
                return McpReply::empty(204);
            }
            Ok(None) => bad_request("Mcp-Session-Id must name the session to end"),
            Err(error) => error,
        };
        McpReply::error(&error)
    }
}

/// Returns an error with HTTP status 400.
pub(super) fn bad_request(message: &'static str) -> RpcError {
    RpcError::invalid(message).with_status(400)
}

/// Appends an error and returns its status.
fn append_error(out: &mut Vec<u8>, id: Option<&Value>, error: &RpcError) -> u16 {
    push_error(out, id, error);
    error.status
}

/// Appends the error of a body that could not be parsed, and returns its status.
fn refuse_unreadable(body: &[u8], error: JsonError, out: &mut Vec<u8>) -> u16 {
    let error = match error {
        JsonError::Syntax(reason) => RpcError::new(PARSE_ERROR, reason),
        JsonError::Refused(reason) => RpcError::invalid(reason),
    };
    append_error(out, id_of_refused(body).as_ref(), &error.with_status(400))
}

#[cfg(test)]
mod tests;
