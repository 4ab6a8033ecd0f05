//! Documents for crawlers and agents: `/llms.txt`, `/robots.txt`, `/sitemap.xml`, and the API catalog.

use askama::Template;
use serde_json::Value;

use super::Context;
use super::api::Group;
use super::developers::FILES;
use super::layout::rendered;
use super::text::{counted, markdown, verification};

/// Renders `/llms.txt` as <https://llmstxt.org> asks: a title, a summary, and lists of links.
pub(super) fn llms(context: &Context<'_>) -> String {
    let (snapshot, stats) = (context.snapshot, context.stats);
    let count = counted(stats.count, "review", "reviews");
    let verified = markdown(&verification(snapshot));
    let rating = stats.mean_short();
    let rating = rating.map(|mean| format!("{mean} of 5 stars from {count}. {verified}"));
    let groups = context.interface.groups();
    rendered(&LlmsText {
        name: markdown(&snapshot.business.name),
        rating: rating.unwrap_or_else(|| "No review has been published yet.".to_owned()),
        description: markdown(&snapshot.business.description),
        day: snapshot.updated_at.date().to_string(),
        disclaimer: snapshot.disclaimer.as_deref().map(markdown),
        groups: groups.filter(|group| group.id != FILES).collect(),
        base_url: &snapshot.base_url,
    })
}

#[derive(Template)]
#[template(path = "llms.txt")]
struct LlmsText<'p> {
    name: String,
    rating: String,
    description: String,
    day: String,
    disclaimer: Option<String>,
    groups: Vec<Group<'p>>,
    base_url: &'p str,
}

/// Renders `/robots.txt` (RFC 9309).
pub(super) fn robots(base_url: &str) -> String {
    format!(
        "User-agent: *\nAllow: /\nDisallow: /mcp$\nDisallow: /api/websub/hub\n\nSitemap: {base_url}/sitemap.xml\n"
    )
}

/// Renders `/sitemap.xml` (<https://www.sitemaps.org>).
pub(super) fn sitemap(context: &Context<'_>) -> String {
    let mut sitemap = rendered(&Sitemap {
        base_url: &context.snapshot.base_url,
        changed: context.snapshot.updated_at.to_string(),
    });
    sitemap.push('\n');
    sitemap
}

#[derive(Template)]
#[template(path = "sitemap.xml")]
struct Sitemap<'p> {
    base_url: &'p str,
    changed: String,
}

/// Renders `/.well-known/api-catalog` (RFC 9727), a linkset (RFC 9264).
pub(super) fn api_catalog(base_url: &str) -> String {
    let catalog = include_str!("../../templates/api-catalog.json").replace("{base_url}", base_url);
    // Parsing and rendering it removes white space; a test verifies that it is valid JSON.
    let catalog: Value = serde_json::from_str(&catalog).unwrap_or_default();
    catalog.to_string()
}
