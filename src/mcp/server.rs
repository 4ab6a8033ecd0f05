//! The server: checks origin and host, HTTP method, media type, size, message and era of a request, then calls the
//! JSON-RPC method.

mod batch;

use serde_json::Value;

pub use self::batch::Batch;
use super::catalog::Catalog;
use super::dispatch;
use super::guard::{Origin, OriginGuard};
use super::head::{Head, SingleField};
use super::json::{self, JsonError};
use super::jsonrpc::{
    InvalidMessage, Message, PARSE_ERROR, Request, RpcError, SESSION_NOT_FOUND, id_of_refused,
    push_error, read,
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

/// What a request leads to once its body has been read.
#[derive(Debug)]
pub enum Begun {
    /// The complete reply.
    Answered(McpReply),
    /// To be answered by [`Batch::answer_next`] until it is empty, then [`Batch::finish`].
    Batch(Batch),
}

/// What the answer to a message means for its HTTP response.
struct Outcome {
    /// The status, if the message came alone.
    status: u16,
    /// The revision that a handshake negotiated.
    negotiated: Option<Revision>,
}

impl Outcome {
    fn of_status(status: u16) -> Outcome {
        Outcome {
            status,
            negotiated: None,
        }
    }
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

    /// Answers a request to `/mcp`, a batch without a pause; `origin` is the result of [`Server::check_origin`].
    ///
    /// Only two things are kept for later requests: the list of ended sessions, and the numbers of calls of each tool.
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

    /// Answers a request to `/mcp` as [`Server::handle`] does, unless it is a batch: its messages are left to the caller,
    /// who answers them one by one.
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

    /// Returns the reply to a request that its head alone makes invalid, the same as that of [`Server::handle`]; `None` if
    /// the body must be read.
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
            Err(error) => push_parse_error(&mut out, line, error),
            Ok(Value::Array(messages)) => match Batch::new(messages, *revision) {
                Err(error) => push_error(&mut out, None, &error),
                Ok(mut batch) => {
                    while !batch.is_empty() {
                        batch.answer_next(self, catalog, None, true);
                    }
                    out = batch.into_responses();
                }
            },
            Ok(message) => {
                let work = &mut RequestWork::new();
                let outcome = self.answer(catalog, None, &message, work, &mut out);
                *revision = outcome.negotiated.unwrap_or(*revision);
            }
        }
        if out.is_empty() { None } else { Some(out) }
    }

    fn post(&self, catalog: &Catalog, head: &Head<'_>, body: &[u8]) -> Begun {
        if body.len() > self.body_bytes_max {
            return Begun::Answered(McpReply::of_refusal(McpRefusal::TooLarge(
                self.body_bytes_max,
            )));
        }
        let mut out = Vec::new();
        let outcome = match json::parse(body) {
            Err(error) => {
                push_parse_error(&mut out, body, error);
                Outcome::of_status(400)
            }
            Ok(Value::Array(messages)) => match self.begin_batch(head, messages) {
                Ok(batch) => return Begun::Batch(batch),
                Err(error) => {
                    push_error(&mut out, None, &error);
                    Outcome::of_status(error.status)
                }
            },
            Ok(message) => {
                let work = &mut RequestWork::new();
                self.answer(catalog, Some(head), &message, work, &mut out)
            }
        };
        // Sessions are optional, so the client also works without an id.
        let session = outcome.negotiated.and_then(SessionId::random);
        let reply = if out.is_empty() {
            McpReply::empty(202)
        } else {
            McpReply::json(outcome.status, out).framed(head.form)
        };
        Begun::Answered(McpReply { session, ..reply })
    }

    fn begin_batch(&self, head: &Head<'_>, messages: Vec<Value>) -> Result<Batch, RpcError> {
        let mut batch = Batch::new(messages, self.revision(head)?)?;
        batch.form = head.form;
        Ok(batch)
    }

    /// Answers one message: appends its response, if it gets one.
    fn answer(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        message: &Value,
        work: &mut RequestWork,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let message = match read(message) {
            Ok(message) => message,
            Err(InvalidMessage { id, error }) => {
                push_error(out, id, &error);
                return Outcome::of_status(error.status);
            }
        };
        let Message::Request(request) = message else {
            return self.accept_unanswered(head, &message, out);
        };
        match self.answer_request(catalog, head, &request, work, out) {
            Ok(negotiated) => Outcome {
                status: 200,
                negotiated,
            },
            Err(error) => {
                push_error(out, Some(request.id), &error);
                Outcome::of_status(error.status)
            }
        }
    }

    /// Accepts a notification or a response, which gets no response; appends an error if the head does not allow it.
    fn accept_unanswered(
        &self,
        head: Option<&Head<'_>>,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Outcome {
        if let Some(head) = head
            && let Err(error) = self.check_unanswered(head, message)
        {
            push_error(out, None, &error);
            return Outcome::of_status(error.status);
        }
        Outcome::of_status(200)
    }

    /// Checks a notification or a response by the rules of the era that the head names.
    fn check_unanswered(&self, head: &Head<'_>, message: &Message<'_>) -> Result<(), RpcError> {
        if !head.is_stateless() {
            self.revision(head)?;
            return Ok(());
        }
        if *message == Message::Response {
            let reason = "this server sends no requests, so it accepts no responses";
            return Err(bad_request(reason));
        }
        match head.protocol_version {
            SingleField::One(version) if Revision::parse(version).is_none() => {
                Err(stateless::unsupported(&cut_lossy(version)))
            }
            _ => Ok(()),
        }
    }

    /// Appends the response to a request by the rules of its era; returns the revision that a handshake negotiated.
    fn answer_request(
        &self,
        catalog: &Catalog,
        head: Option<&Head<'_>>,
        request: &Request<'_>,
        work: &mut RequestWork,
        out: &mut Vec<u8>,
    ) -> Result<Option<Revision>, RpcError> {
        let call = &request.call;
        let is_initialize = call.method == "initialize";
        // `initialize` ignores the version header, which clients may already send.
        let is_named_by_head = !is_initialize && head.is_some_and(Head::is_stateless);
        let era = if is_named_by_head || stateless::is_claimed(call) {
            Era::Stateless
        } else {
            Era::Handshake
        };
        if era == Era::Handshake && is_initialize {
            let Some(requested) = call.text("protocolVersion") else {
                let message = "params.protocolVersion must be a string";
                return Err(RpcError::params(message));
            };
            let revision = Revision::negotiate(requested);
            dispatch::initialize(catalog, revision, request.id, out);
            return Ok(Some(revision));
        }
        match (era, head) {
            (Era::Stateless, head) => stateless::check(call, head)?,
            (Era::Handshake, Some(head)) => {
                self.revision(head)?;
            }
            (Era::Handshake, None) => {}
        }
        self.calls.count(call);
        dispatch::dispatch(catalog, era, request, work, out)?;
        Ok(None)
    }

    /// Checks version and session of a request after the handshake, which may both be absent; returns its revision.
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
        let negotiated = session.map_or(Revision::ASSUMED, |session| session.revision());
        Ok(named.unwrap_or(negotiated))
    }

    /// Returns the session that the head names, if it names one; an unknown or ended one is an error.
    fn session(&self, head: &Head<'_>) -> Result<Option<SessionId>, RpcError> {
        let id = match head.session {
            SingleField::Absent => return Ok(None),
            SingleField::One(text) => SessionId::parse(text),
            SingleField::Repeated => None,
        };
        match id {
            Some(id) if !self.ended.contains(&id) => Ok(Some(id)),
            _ => {
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

/// Appends the error of a text that could not be parsed, which has status 400.
fn push_parse_error(out: &mut Vec<u8>, text: &[u8], error: JsonError) {
    let error = match error {
        JsonError::Syntax(reason) => RpcError::new(PARSE_ERROR, reason),
        JsonError::Refused(reason) => RpcError::invalid(reason),
    };
    push_error(out, id_of_refused(text).as_ref(), &error.with_status(400));
}

#[cfg(test)]
mod tests;
