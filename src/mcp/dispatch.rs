//! Calls the method of a checked request, in either era.
//!
//! A method appends one result object without its closing brace; `dispatch` adds the members that the era requires.

use serde_json::Value;

use super::catalog::Catalog;
use super::completion;
use super::jsonrpc::{Call, METHOD_NOT_FOUND, Request, RpcError, open_object, push_answer_head};
use super::prompts;
use super::protocol::{Era, Revision};
use super::resources;
use super::tools;
use crate::wire::text::cut;

/// Appends the response to `initialize`.
pub(super) fn initialize(catalog: &Catalog, revision: Revision, id: &Value, out: &mut Vec<u8>) {
    push_answer_head(out, id);
    out.extend_from_slice(b"{\"protocolVersion\":\"");
    out.extend_from_slice(revision.as_str().as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(&catalog.introduction);
    out.push(b'}');
}

/// Appends the response to any other request.
pub(super) fn dispatch(
    catalog: &Catalog,
    era: Era,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let start = out.len();
    push_answer_head(out, request.id);
    match result(catalog, era, &request.call, out) {
        Ok(is_cacheable) => {
            if era == Era::Stateless {
                if is_cacheable {
                    out.extend_from_slice(CACHE_HINTS);
                }
                out.extend_from_slice(b",\"resultType\":\"complete\",\"_meta\":");
                out.extend_from_slice(&catalog.meta);
            }
            out.extend_from_slice(b"}}");
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// Appends a result up to its closing brace; returns whether clients may cache it.
fn result(
    catalog: &Catalog,
    era: Era,
    call: &Call<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, RpcError> {
    match (era, call.method) {
        (_, "tools/call") => tools::call(catalog, call, out)?,
        (_, "prompts/get") => out.extend_from_slice(&open_object(prompts::get(catalog, call)?)),
        (_, "completion/complete") => {
            out.extend_from_slice(&open_object(completion::complete(catalog, call)?));
        }
        (Era::Handshake, "ping") => out.push(b'{'),
        (_, "tools/list") => return list(&catalog.tools_list, call, out),
        (_, "resources/list") => return list(&catalog.resources_list, call, out),
        (_, "resources/templates/list") => return list(&catalog.templates_list, call, out),
        (_, "prompts/list") => return list(&catalog.prompts_list, call, out),
        (_, "resources/read") => {
            resources::read(&catalog.snapshot, &catalog.business, era, call, out)?;
            return Ok(true);
        }
        (Era::Stateless, "server/discover") => {
            out.extend_from_slice(&catalog.discovery);
            return Ok(true);
        }
        (_, method) => {
            let message = format!("unknown method {:?}", cut(method));
            return Err(RpcError::new(METHOD_NOT_FOUND, message));
        }
    }
    Ok(false)
}

/// Appends a list, which is always one page: the only valid cursor is the empty one.
fn list(prepared: &[u8], call: &Call<'_>, out: &mut Vec<u8>) -> Result<bool, RpcError> {
    match call.param("cursor") {
        None | Some(Value::Null) => {}
        Some(Value::String(cursor)) if cursor.is_empty() => {}
        Some(_) => {
            let message = "invalid cursor: the list has only one page";
            return Err(RpcError::params(message));
        }
    }
    out.extend_from_slice(prepared);
    Ok(true)
}

/// All responses are public and change only with the dataset: cacheable for a minute, like the documents over GET.
const CACHE_HINTS: &[u8] = b",\"ttlMs\":60000,\"cacheScope\":\"public\"";

#[cfg(test)]
mod tests;
