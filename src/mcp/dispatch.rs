//! From a checked request to the method that answers it, in either era.
//!
//! A method appends one result object without its closing brace; `close` adds what the era wants there.

use serde_json::Value;

use super::catalog::Catalog;
use super::completion;
use super::jsonrpc::{Call, METHOD_NOT_FOUND, Request, RpcError, push_answer_head};
use super::prompts;
use super::protocol::{Era, Revision};
use super::resources;
use super::tools;
use crate::wire::text::cut;

/// Appends the answer to `initialize`.
pub(crate) fn initialize(catalog: &Catalog, revision: Revision, id: &Value, out: &mut Vec<u8>) {
    push_answer_head(out, id);
    out.extend_from_slice(b"{\"protocolVersion\":\"");
    out.extend_from_slice(revision.as_str().as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(&catalog.introduction);
    out.push(b'}');
}

/// Appends the answer to any other request.
///
/// # Errors
/// The error to answer with; then nothing has been appended.
pub(crate) fn dispatch(
    catalog: &Catalog,
    era: Era,
    request: &Request<'_>,
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
enum Ending {
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
    call: &Call<'_>,
    out: &mut Vec<u8>,
) -> Result<Ending, RpcError> {
    if let Some(extension) = catalog.extension
        && !call.method.ends_with("/list")
        && let Some(result) = extension(call.method, call.params)
    {
        push_open(out, &result);
        let is_question = result.get("inputRequests").is_some();
        return Ok(match is_question {
            true => Ending::InputRequired,
            false => Ending::Plain,
        });
    }
    match (era, call.method) {
        (_, "tools/call") => tools::call(catalog, call, out).map(|()| Ending::Plain),
        (_, "tools/list") => list(&catalog.tools_list, call, out),
        (_, "resources/list") => list(&catalog.resources_list, call, out),
        (_, "resources/templates/list") => list(&catalog.templates_list, call, out),
        (_, "prompts/list") => list(&catalog.prompts_list, call, out),
        (_, "resources/read") => {
            resources::read(catalog, era, call, out).map(|()| Ending::Cacheable)
        }
        (_, "prompts/get") => {
            push_open(out, &prompts::get(catalog, call)?);
            Ok(Ending::Plain)
        }
        (_, "completion/complete") => {
            push_open(out, &completion::complete(catalog, call)?);
            Ok(Ending::Plain)
        }
        (Era::Handshake, "ping") => {
            out.push(b'{');
            Ok(Ending::Plain)
        }
        (Era::Stateless, "server/discover") => {
            out.extend_from_slice(&catalog.discovery);
            Ok(Ending::Cacheable)
        }
        (_, method) => {
            let message = format!("there is no method {:?} here", cut(method));
            Err(RpcError::new(METHOD_NOT_FOUND, message))
        }
    }
}

/// Appends an object without its closing brace.
fn push_open(out: &mut Vec<u8>, result: &Value) {
    out.extend_from_slice(result.to_string().as_bytes());
    out.pop();
}

/// Appends a list, which is always one page: the only cursor is that of the first, the empty one.
fn list(prepared: &[u8], call: &Call<'_>, out: &mut Vec<u8>) -> Result<Ending, RpcError> {
    match call.param("cursor") {
        None | Some(Value::Null) => {}
        Some(Value::String(cursor)) if cursor.is_empty() => {}
        Some(_) => {
            return Err(RpcError::params(
                "there is no such cursor: the list is one page",
            ));
        }
    }
    out.extend_from_slice(prepared);
    Ok(Ending::Cacheable)
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
