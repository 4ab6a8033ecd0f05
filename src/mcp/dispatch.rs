//! Calls the method of a checked request, in either era.
//!
//! A method appends one result object without its closing brace; `dispatch` adds the members that the era requires.

use serde_json::Value;

use super::catalog::Catalog;
use super::completion;
use super::jsonrpc::{Call, METHOD_NOT_FOUND, Request, RpcError, open_object, push_answer_head};
use super::prompts;
use super::protocol::{Era, Revision};
use super::request_work::RequestWork;
use super::resources;
use super::tools;
use crate::wire::text::cut;

/// The members that make a result cacheable for a minute, like the documents over GET: it is public, and changes only
/// with the dataset.
const CACHE_HINTS: &[u8] = b",\"ttlMs\":60000,\"cacheScope\":\"public\"";

/// The methods whose results have no cache hints, because the standard gives them none.
const NOT_CACHEABLE: [&str; 3] = ["tools/call", "prompts/get", "completion/complete"];

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
    work: &mut RequestWork,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let start = out.len();
    push_answer_head(out, request.id);
    if let Err(error) = push_result(catalog, era, &request.call, work, out) {
        out.truncate(start);
        return Err(error);
    }
    if era == Era::Stateless {
        if !NOT_CACHEABLE.contains(&request.call.method) {
            out.extend_from_slice(CACHE_HINTS);
        }
        out.extend_from_slice(b",\"resultType\":\"complete\",\"_meta\":");
        out.extend_from_slice(&catalog.meta);
    }
    out.extend_from_slice(b"}}");
    Ok(())
}

/// Appends a result up to its closing brace.
fn push_result(
    catalog: &Catalog,
    era: Era,
    call: &Call<'_>,
    work: &mut RequestWork,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    match (era, call.method) {
        (_, "tools/call") => return tools::call(catalog, call, work, out),
        (_, "tools/list") => return list(&catalog.tools_list, call, out),
        (_, "resources/list") => return list(&catalog.resources_list, call, out),
        (_, "resources/templates/list") => return list(&catalog.templates_list, call, out),
        (_, "resources/read") => {
            resources::read(&catalog.snapshot, catalog.business.json(), era, call, out)?;
        }
        (_, "prompts/list") => return list(&catalog.prompts_list, call, out),
        (_, "prompts/get") => out.extend(open_object(prompts::get(catalog, call, work)?)),
        (_, "completion/complete") => out.extend(open_object(completion::complete(catalog, call)?)),
        (Era::Handshake, "ping") => out.push(b'{'),
        (Era::Stateless, "server/discover") => out.extend_from_slice(&catalog.discovery),
        (_, method) => {
            let error = RpcError::new(
                METHOD_NOT_FOUND,
                format!("unknown method {:?}", cut(method)),
            );
            return Err(error.with_status(if era == Era::Stateless { 404 } else { 200 }));
        }
    }
    Ok(())
}

/// Appends a list, which is always one page: a cursor must be absent, `null` or empty.
fn list(prepared: &[u8], call: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let cursor = call.param("cursor").unwrap_or(&Value::Null);
    if !cursor.is_null() && cursor != "" {
        let message = "invalid cursor: the list has only one page";
        return Err(RpcError::params(message));
    }
    out.extend_from_slice(prepared);
    Ok(())
}

#[cfg(test)]
mod tests;
