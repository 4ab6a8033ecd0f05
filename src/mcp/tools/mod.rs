//! The tools that a model may call; `catalog/tools.json` describes them to clients.

pub(super) mod arguments;
mod beyond;
mod changed;
mod insights;
mod lookup;
mod search;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::{Map, Value};

use super::catalog::Catalog;
use super::jsonrpc::{Call, RpcError};
use super::request_work::RequestWork;
use super::result::{NOT_READY, ResultJson, push_error, push_refusal};
use crate::search::issue::Issues;
use crate::wire::text::cut;
use arguments::Arguments;
use insights::{get_aspect_sentiment, get_insights};
use lookup::{fetch, get_review, get_service, get_technician};
use search::{list_reviews_since, search, search_reviews};

/// The members of `arguments` of a tool or a prompt.
pub(super) type Members = Map<String, Value>;

/// How a call of a tool is answered.
enum ToolAnswer {
    /// With a result prepared in the catalog; the tool takes no arguments.
    Ready(fn(&Catalog) -> &ResultJson),
    /// With one JSON object, or all issues of the arguments.
    Object(fn(&Catalog, &Members, &mut RequestWork) -> Result<ResultJson, Issues>),
}

/// Every tool in the order of `tools/list`, and how its calls are answered.
const TOOLS: [(&str, ToolAnswer); 13] = {
    use ToolAnswer::{Object, Ready};
    [
        ("get_business", Ready(|catalog| &catalog.business)),
        ("search_reviews", Object(search_reviews)),
        ("get_review", Object(get_review)),
        ("list_reviews_since", Object(list_reviews_since)),
        ("get_rating_summary", Ready(|catalog| &catalog.ratings)),
        ("get_insights", Object(get_insights)),
        ("get_aspect_sentiment", Object(get_aspect_sentiment)),
        ("get_technician", Object(get_technician)),
        ("get_service", Object(get_service)),
        (
            "list_services_and_technicians",
            Ready(|catalog| &catalog.names),
        ),
        ("get_faq", Ready(|catalog| &catalog.faq)),
        ("search", Object(search)),
        ("fetch", Object(fetch)),
    ]
};

/// The tools that need the insights, which are ready some time after the start.
const OF_INSIGHTS: [&str; 3] = ["get_insights", "get_aspect_sentiment", "get_faq"];

/// How often each tool was called since the start, rejected calls included; the last counter is for unknown tools.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls([AtomicU64; TOOLS.len() + 1]);

impl ToolCalls {
    /// Counts `call`, if it calls a tool.
    pub(super) fn count(&self, call: &Call<'_>) {
        if call.method == "tools/call" {
            let name = call.text("name");
            let position = TOOLS.iter().position(|(tool, _)| Some(*tool) == name);
            let of_unknown = TOOLS.len();
            self.0[position.unwrap_or(of_unknown)].fetch_add(1, Relaxed);
        }
    }

    /// Returns each tool with its number of calls; calls of unknown tools as `unknown`.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = TOOLS.iter().map(|(tool, _)| *tool).chain(["unknown"]);
        names.zip(self.0.iter().map(|count| count.load(Relaxed)))
    }
}

/// Appends the result of `tools/call`, up to its closing brace. An invalid argument gives a result with `isError`, which
/// clients show to the model.
///
/// # Errors
/// The tool is unknown, or its arguments are not an object.
pub(super) fn call(
    catalog: &Catalog,
    call: &Call<'_>,
    work: &mut RequestWork,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(name) = call.text("name") else {
        return Err(RpcError::params("params.name must be the name of a tool"));
    };
    let none = Members::new();
    let members = call.arguments()?.unwrap_or(&none);
    let Some((_, answer)) = TOOLS.iter().find(|(tool, _)| *tool == name) else {
        let message = format!("unknown tool {:?}", cut(name));
        return Err(RpcError::params(message));
    };
    if OF_INSIGHTS.contains(&name) && catalog.snapshot.insights().is_none() {
        push_error(out, NOT_READY);
        return Ok(());
    }
    match answer {
        ToolAnswer::Ready(result) => match Arguments::new(members, &[]).finish() {
            Ok(()) => result(catalog).push_to(out),
            Err(issues) => push_refusal(out, &issues),
        },
        ToolAnswer::Object(tool) => match tool(catalog, members, work) {
            Ok(json) => json.push_to(out),
            Err(issues) => push_refusal(out, &issues),
        },
    }
    Ok(())
}
