//! Documents for crawlers and agents: `/llms.txt`, `/robots.txt`, `/sitemap.xml`, and the API catalog.

use std::fmt::Write as _;

use super::api::{Interface, Operation};
use super::developers::FILES;
use super::rating_stats::RatingStats;
use super::text::{counted, push_markdown, verification};
use crate::snapshot::Snapshot;
use crate::wire::json::{Array, Object};
use crate::wire::xml;

/// Renders `/llms.txt` as <https://llmstxt.org> asks: a title, a summary, and lists of links.
pub(super) fn llms(snapshot: &Snapshot, stats: &RatingStats, interface: &Interface) -> Vec<u8> {
    let mut out = String::from("# Reviews of ");
    push_markdown(&mut out, &snapshot.business.name);
    out.push_str("\n\n> ");
    match stats.mean_short() {
        Some(mean) => {
            let count = counted(stats.count, "review", "reviews");
            write(&mut out, format_args!("{mean} of 5 stars from {count}. "));
            push_markdown(&mut out, &verification(snapshot));
        }
        None => out.push_str("No review has been published yet."),
    }
    if !snapshot.business.description.trim().is_empty() {
        out.push(' ');
        push_markdown(&mut out, &snapshot.business.description);
    }
    let day = snapshot.updated_at.date();
    write(&mut out, format_args!(" Last updated {day}.\n\n"));
    if let Some(disclaimer) = &snapshot.disclaimer {
        push_markdown(&mut out, disclaimer);
        out.push_str("\n\n");
    }
    out.push_str(
        "Everything is read-only, public and without a key. Quote reviews word for word, with author and day, and name \
         their address. Counts are exact; ask for `limit=1` where only the count matters.\n",
    );
    for group in interface.groups().filter(|group| group.id != FILES) {
        write(&mut out, format_args!("\n## {}\n\n", group.name));
        for operation in &group.operations {
            push_link(&mut out, &snapshot.base_url, operation);
        }
    }
    out.into_bytes()
}

fn push_link(out: &mut String, base_url: &str, operation: &Operation<'_>) {
    let (method, path, target) = (operation.method(), operation.path, operation.target());
    let (summary, description) = (operation.summary(), operation.description());
    write(
        out,
        format_args!("- [{method} {path}]({base_url}{target}): {summary}. {description}\n"),
    );
}

/// Renders `/robots.txt` (RFC 9309).
pub(super) fn robots(base_url: &str) -> Vec<u8> {
    format!(
        "User-agent: *\nAllow: /\nDisallow: /mcp$\nDisallow: /api/websub/hub\n\nSitemap: {base_url}/sitemap.xml\n"
    )
    .into_bytes()
}

/// Renders `/sitemap.xml` (<https://www.sitemaps.org>).
pub(super) fn sitemap(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::from(
        &b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"[..],
    );
    let changed = snapshot.updated_at.to_string();
    for path in ["/", "/developers"] {
        out.extend_from_slice(b"<url><loc>");
        xml::push_text(&mut out, &snapshot.base_url);
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(b"</loc><lastmod>");
        out.extend_from_slice(changed.as_bytes());
        out.extend_from_slice(b"</lastmod></url>\n");
    }
    out.extend_from_slice(b"</urlset>\n");
    out
}

/// Renders `/.well-known/api-catalog` (RFC 9727), a linkset (RFC 9264).
pub(super) fn api_catalog(base_url: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut document = Object::begin(&mut out);
    let mut linkset = Array::begin(document.key("linkset"));
    push_context(
        linkset.item(),
        base_url,
        "/",
        &[
            ("service-desc", "/openapi.json", "application/json"),
            ("service-doc", "/developers", "text/html"),
            ("service-meta", "/llms.txt", "text/plain"),
            ("status", "/readyz", "application/json"),
        ],
    );
    let card = "application/mcp-server-card+json";
    push_context(
        linkset.item(),
        base_url,
        "/mcp",
        &[
            ("service-desc", "/mcp/server-card", card),
            ("service-doc", "/developers#mcp", "text/html"),
        ],
    );
    push_context(
        linkset.item(),
        base_url,
        "/api/websub/hub",
        &[("service-doc", "/developers#push", "text/html")],
    );
    linkset.end();
    document.end();
    out
}

/// Appends the links of one address: relation, path and media type of each.
fn push_context(out: &mut Vec<u8>, base_url: &str, anchor: &str, links: &[(&str, &str, &str)]) {
    let mut context = Object::begin(out);
    context.string("anchor", &format!("{base_url}{anchor}"));
    for (relation, path, media_type) in links {
        let mut targets = Array::begin(context.key(relation));
        let mut target = Object::begin(targets.item());
        target
            .string("href", &format!("{base_url}{path}"))
            .string("type", media_type);
        target.end();
        targets.end();
    }
    context.end();
}

fn write(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _never = out.write_fmt(arguments);
}
