//! From a checked request to the method that answers it, in either era.
//!
//! A method appends one result object without its closing brace; `close` adds what the era wants there.

use super::catalog::Catalog;
use super::completion;
use super::fixtures;
use super::json::Value;
use super::jsonrpc::{Call, Id, METHOD_NOT_FOUND, Request, RpcError, push_answer_head};
use super::prompts;
use super::protocol::{Era, Revision};
use super::resources;
use super::tools;
use crate::search::issue::cut;

/// Appends the answer to `initialize`.
pub(crate) fn initialize(catalog: &Catalog, revision: Revision, id: Id<'_>, out: &mut Vec<u8>) {
    push_answer_head(out, id);
    out.extend_from_slice(b"{\"protocolVersion\":\"");
    out.extend_from_slice(revision.as_str().as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(&catalog.introduction);
    out.extend_from_slice(b"}}");
}

/// Appends the answer to any other request.
///
/// # Errors
/// The error to answer with; then nothing has been appended.
pub(crate) fn dispatch(
    catalog: &Catalog,
    era: Era,
    request: &Request<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let start = out.len();
    push_answer_head(out, request.id);
    match result(catalog, era, &request.call, out) {
        Ok(ending) => {
            close(catalog, era, ending, out);
            out.push(b'}');
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// What a result ends with, besides its brace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// An answer for this moment.
    Plain,
    /// An answer that clients may keep for a while.
    Cacheable,
    /// No answer yet: the client is asked for something first.
    InputRequired,
}

fn result(
    catalog: &Catalog,
    era: Era,
    call: &Call<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Ending, RpcError> {
    match (era, call.method) {
        (_, "tools/call") => tools::call(catalog, era, call, out),
        (_, "tools/list") => list(&catalog.tools_list, call, out),
        (_, "resources/list") => list(&catalog.resources_list, call, out),
        (_, "resources/templates/list") => list(&catalog.templates_list, call, out),
        (_, "prompts/list") => list(&catalog.prompts_list, call, out),
        (_, "resources/read") => {
            resources::read(catalog, era, call, out).map(|()| Ending::Cacheable)
        }
        (_, "prompts/get") => prompts::get(catalog, call, out).map(|()| Ending::Plain),
        (_, "completion/complete") => {
            completion::complete(catalog, call, out).map(|()| Ending::Plain)
        }
        (Era::Handshake, "ping") => {
            out.push(b'{');
            Ok(Ending::Plain)
        }
        (Era::Stateless, "server/discover") => {
            out.extend_from_slice(&catalog.discovery);
            Ok(Ending::Cacheable)
        }
        (Era::Handshake, method) if catalog.has_fixtures && fixtures::acknowledge(method, out) => {
            Ok(Ending::Plain)
        }
        (_, method) => {
            let message = format!("there is no method {:?} here", cut(method));
            Err(RpcError::new(METHOD_NOT_FOUND, message))
        }
    }
}

/// Appends a list, which is always one page: so any cursor is one that was never handed out.
fn list(prepared: &[u8], call: &Call<'_, '_>, out: &mut Vec<u8>) -> Result<Ending, RpcError> {
    match call.param("cursor") {
        None | Some(Value::Null) => {
            out.extend_from_slice(prepared);
            Ok(Ending::Cacheable)
        }
        Some(_) => Err(RpcError::params(
            "cursor must not be given: the list is one page",
        )),
    }
}

fn close(catalog: &Catalog, era: Era, ending: Ending, out: &mut Vec<u8>) {
    if era == Era::Stateless {
        if ending == Ending::Cacheable {
            out.extend_from_slice(CACHE_HINTS);
        }
        out.extend_from_slice(match ending {
            Ending::InputRequired => b",\"resultType\":\"input_required\",\"_meta\":",
            _ => b",\"resultType\":\"complete\",\"_meta\":",
        });
        out.extend_from_slice(&catalog.meta);
    }
    out.push(b'}');
}

/// Everything here is public, and changes only when the dataset does: a minute, as the documents over GET.
const CACHE_HINTS: &[u8] = b",\"ttlMs\":60000,\"cacheScope\":\"public\"";

#[cfg(test)]
mod tests;
