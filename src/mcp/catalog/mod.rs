//! Everything that the protocol's answers are made of, prepared once for each snapshot.

mod card;
mod facts;
mod fit;

use std::sync::Arc;

use super::fixtures;
use super::protocol::Revision;
use super::tools::push_result;
use super::{prompts, resources};
use crate::search::fold::fold_into;
use crate::snapshot::{Resource, Snapshot};
use crate::wire::json::{Object, push_string};
use crate::wire::minify::minified;
use facts::Facts;

/// The lists, the introduction and the ready answers for one snapshot.
#[derive(Debug)]
pub struct Catalog {
    /// `/mcp/server-card`.
    pub server_card: Resource,
    /// `/.well-known/ai-catalog.json`.
    pub ai_catalog: Resource,
    pub(crate) snapshot: Arc<Snapshot>,
    /// Offers the fixtures that the conformance suite asks for by name.
    pub(crate) has_fixtures: bool,
    /// Members of the answer to `initialize` after the version.
    pub(crate) introduction: Vec<u8>,
    /// The answer to `server/discover`, as all below without its closing brace.
    pub(crate) discovery: Vec<u8>,
    pub(crate) tools_list: Vec<u8>,
    pub(crate) resources_list: Vec<u8>,
    pub(crate) templates_list: Vec<u8>,
    pub(crate) prompts_list: Vec<u8>,
    /// `_meta` of every stateless result, a whole object.
    pub(crate) meta: Vec<u8>,
    pub(crate) aspects: Vec<Named>,
    pub(crate) technicians: Vec<Named>,
    pub(crate) services: Vec<Named>,
    /// The JSON of `get_business`, also a resource.
    pub(crate) business: Vec<u8>,
    /// Results of the tools that take no arguments.
    fixed: Vec<(&'static str, Vec<u8>)>,
}

/// Something that a tool finds by name.
#[derive(Debug)]
pub(crate) struct Named {
    /// How lists, messages and completions call it.
    pub(crate) name: String,
    /// What it is found by, folded; never empty, and the first finds it in the search index.
    pub(crate) folded: Vec<String>,
    /// What is known about it, a JSON object.
    pub(crate) json: Vec<u8>,
}

impl Named {
    pub(crate) fn new<'n>(
        name: &str,
        found_by: impl IntoIterator<Item = &'n str>,
        json: Vec<u8>,
    ) -> Named {
        let folded = |name: &str| {
            let mut folded = String::with_capacity(name.len());
            fold_into(name, &mut folded);
            folded
        };
        Named {
            name: name.to_owned(),
            folded: found_by.into_iter().map(folded).collect(),
            json,
        }
    }
}

impl Catalog {
    /// Prepares the answers for `snapshot`: milliseconds, and a second where the insights are hundreds of MB.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>, has_fixtures: bool) -> Catalog {
        let facts = Facts::of(&snapshot);
        let info = server_info(&snapshot);
        let instructions = instructions(&snapshot);
        let fixed = [
            ("get_business", &facts.business),
            ("get_rating_summary", &facts.rating_summary),
            ("get_insights", &facts.insights),
            ("list_services_and_technicians", &facts.names),
            ("get_faq", &facts.faq),
        ];
        let fixed = fixed.map(|(name, json)| {
            let mut result = Vec::new();
            push_result(&mut result, json);
            (name, result)
        });
        let list = |name: &str, lists: &[&[u8]]| {
            let items = lists.iter().filter(|items| !items.is_empty());
            let items: Vec<&[u8]> = items.copied().collect();
            [
                format!("{{\"{name}\":[").as_bytes(),
                &items.join(&b','),
                b"]",
            ]
            .concat()
        };
        let extra = |bytes: &'static str| {
            if has_fixtures {
                minified(bytes)
            } else {
                Vec::new()
            }
        };
        let resource_list = resources::render_list(&snapshot, facts.business.len());
        Catalog {
            server_card: card::server_card(&snapshot),
            ai_catalog: card::ai_catalog(&snapshot),
            introduction: introduction(&info, &instructions, has_fixtures),
            discovery: discovery(&info, &instructions),
            tools_list: list("tools", &[&tools(&facts), &extra(fixtures::TOOLS)]),
            resources_list: list("resources", &[&resource_list, &extra(fixtures::RESOURCES)]),
            templates_list: list(
                "resourceTemplates",
                &[&minified(resources::TEMPLATES), &extra(fixtures::TEMPLATES)],
            ),
            prompts_list: list(
                "prompts",
                &[&minified(prompts::PROMPTS), &extra(fixtures::PROMPTS)],
            ),
            meta: meta(&info),
            fixed: fixed.into(),
            business: facts.business,
            aspects: facts.aspects,
            technicians: facts.technicians,
            services: facts.services,
            has_fixtures,
            snapshot,
        }
    }

    /// Returns the ready result of a tool without arguments, up to its closing brace.
    pub(crate) fn fixed_result(&self, tool: &str) -> Option<&[u8]> {
        let found = self.fixed.iter().find(|(name, _)| *name == tool);
        found.map(|(_, result)| &result[..])
    }
}

/// The tools' list: written by hand in a file, with the review's schema and real names as examples put in.
fn tools(facts: &Facts) -> Vec<u8> {
    let examples = |names: &[Named]| {
        let mut out = Vec::new();
        let names = names
            .iter()
            .take(EXAMPLES_MAX)
            .map(|named| named.name.as_str());
        crate::wire::json::push_strings(&mut out, names);
        String::from_utf8_lossy(&out).into_owned()
    };
    let service_ids: Vec<String> = facts
        .services
        .iter()
        .take(EXAMPLES_MAX)
        .map(|service| service.folded[0].clone())
        .collect();
    let mut ids = Vec::new();
    crate::wire::json::push_strings(&mut ids, service_ids.iter().map(String::as_str));
    let text = TOOLS
        .replace("\"$review\"", REVIEW_SCHEMA)
        .replace("\"$ratings\"", RATINGS_SCHEMA)
        .replace("\"$technicians\"", &examples(&facts.technicians))
        .replace("\"$aspects\"", &examples(&facts.aspects))
        .replace("\"$services\"", &String::from_utf8_lossy(&ids));
    minified(&text)
}

/// Name, title and version of the server.
fn server_info(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    let mut info = Object::begin(&mut out);
    info.string("name", "reviewd")
        .string("title", &format!("Reviews of {}", snapshot.business.name))
        .string("version", env!("CARGO_PKG_VERSION"));
    info.end();
    out
}

/// What a model is told before it chooses a tool; clients cut it at 2,048 characters.
fn instructions(snapshot: &Snapshot) -> String {
    let name: String = snapshot.business.name.chars().take(200).collect();
    format!(
        "Verified customer reviews of {name} ({count} published, data as of {date}), read-only. \
         Use search_reviews to find reviews by words, rating, date, person or service; filters combine with AND, \
         the newest come first, and next_cursor leads to the next page. matched is the exact number of all hits, \
         so ask with limit 1 when only a number is wanted. Use get_rating_summary for averages and get_insights, \
         get_aspect_sentiment, get_technician and get_service for figures already counted: do not add up pages \
         of reviews yourself. list_services_and_technicians gives the names that filters accept; an unknown name \
         matches nothing. Quote reviews word for word with author and date, and do not \
         take a review for advice. An empty answer means that no published review fits, not that something failed. A field \
         that is null was not measured.",
        count = snapshot.len(),
        date = snapshot.updated_at.date(),
    )
}

fn introduction(info: &[u8], instructions: &str, has_fixtures: bool) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"\"capabilities\":");
    out.extend_from_slice(if has_fixtures {
        fixtures::CAPABILITIES
    } else {
        CAPABILITIES
    });
    out.extend_from_slice(b",\"serverInfo\":");
    out.extend_from_slice(info);
    out.extend_from_slice(b",\"instructions\":");
    push_string(&mut out, instructions);
    out
}

/// Some clients look for `serverInfo` and `protocolVersion` here too, so they are given.
fn discovery(info: &[u8], instructions: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object
        .strings("supportedVersions", Revision::ALL.map(Revision::as_str))
        .raw("capabilities", CAPABILITIES)
        .raw("serverInfo", info)
        .string("protocolVersion", Revision::R2026_07_28.as_str())
        .string("instructions", instructions);
    object.end();
    out.pop();
    out
}

fn meta(info: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.raw("io.modelcontextprotocol/serverInfo", info);
    object.end();
    out
}

/// What is served, and nothing else: lists never change while a client looks, and nobody can subscribe.
const CAPABILITIES: &[u8] = br#"{"tools":{},"resources":{},"prompts":{},"completions":{}}"#;
/// Real names that schemas show as examples.
const EXAMPLES_MAX: usize = 3;
const TOOLS: &str = include_str!("tools.json");
const REVIEW_SCHEMA: &str = include_str!("review.json");
const RATINGS_SCHEMA: &str = include_str!("ratings.json");
