//! Documents for crawlers and agents: `/llms.txt`, `/robots.txt`, the sitemap, and the API catalog.

use std::fmt::Display;

use askama::Template;
use serde_json::Value;

use super::api::Group;
use super::developers::FILES;
use super::layout::rendered;
use super::text::{counted, markdown, verification};
use super::{PageContext, Pages};
use crate::model::Row;

/// Most URLs in one part of the sitemap: the limit of <https://www.sitemaps.org/protocol.html>.
const PART_URLS_MAX: u32 = 50_000;

/// The pages that are listed before those of the reviews.
const PAGES_LISTED: [&str; 2] = ["/", "/developers"];

const XML_HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// Renders `/llms.txt` as <https://llmstxt.org> asks: a title, a summary, and lists of links.
pub(crate) fn llms(context: &PageContext<'_>) -> String {
    let snapshot = context.snapshot();
    let stats = &context.pages.stats;
    let count = counted(stats.count, "review", "reviews");
    let verified = markdown(&verification(snapshot));
    let rating = stats
        .mean_short()
        .map(|mean| format!("{mean} of 5 stars from {count}. {verified}"));
    let groups = context.interface.groups();
    rendered(&LlmsText {
        name: markdown(&snapshot.business.name),
        rating: rating.unwrap_or_else(|| "No review has been published yet.".to_owned()),
        description: markdown(&snapshot.business.description),
        day: snapshot.updated_at.date().to_string(),
        disclaimer: snapshot.disclaimer.as_deref().map(markdown),
        // Agents need none of the files that pages load, such as stylesheets.
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
pub(crate) fn robots(base_url: &str) -> String {
    format!(
        "User-agent: *\nAllow: /\nDisallow: /mcp$\nDisallow: /api/websub/hub\n\nSitemap: {base_url}/sitemap.xml\n"
    )
}

/// Renders `/sitemap.xml`, the index of the parts.
pub(crate) fn sitemap(context: &PageContext<'_>) -> String {
    let snapshot = context.snapshot();
    let base_url = &snapshot.base_url;
    let changed = snapshot.updated_at;
    let mut out = String::from(XML_HEAD);
    out.push_str("<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
    for part in 1..=parts(snapshot.len()) {
        out.push_str(&format!(
            "<sitemap><loc>{base_url}/sitemaps/{part}</loc><lastmod>{changed}</lastmod></sitemap>\n"
        ));
    }
    out.push_str("</sitemapindex>\n");
    out
}

/// Returns how many parts list the pages of this many reviews.
fn parts(review_count: u32) -> u32 {
    (PAGES_LISTED.len() as u32 + review_count).div_ceil(PART_URLS_MAX)
}

impl Pages {
    /// Returns the number of parts of the sitemap, at least 1.
    pub(crate) fn sitemap_parts(&self) -> u32 {
        parts(self.snapshot.len())
    }

    /// Renders the part with this number, from 1 to [`sitemap_parts`](Self::sitemap_parts): at most 50,000 URLs, each with
    /// the day of its last change. A full part takes some milliseconds.
    pub(crate) fn sitemap_part(&self, part: u32) -> String {
        let snapshot = &self.snapshot;
        let base_url = &snapshot.base_url;
        let listed = PAGES_LISTED.len() as u32;
        let start = (part - 1) * PART_URLS_MAX;
        let end = (start + PART_URLS_MAX).min(listed + snapshot.len());
        let mut out = String::with_capacity(128 * (end - start) as usize + 256);
        out.push_str(XML_HEAD);
        out.push_str("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
        for number in start..end {
            if number < listed {
                let path = PAGES_LISTED[number as usize];
                let url = format_args!("{base_url}{path}");
                out.push_str(&url_line(url, snapshot.updated_at));
            } else {
                let row = Row(number - listed);
                let id = snapshot.index.id(row);
                let url = format_args!("{base_url}/reviews/{id}");
                out.push_str(&url_line(url, snapshot.modified(row)));
            }
        }
        out.push_str("</urlset>\n");
        out
    }
}

fn url_line(url: impl Display, changed: impl Display) -> String {
    format!("<url><loc>{url}</loc><lastmod>{changed}</lastmod></url>\n")
}

/// Renders `/.well-known/api-catalog` (RFC 9727), a linkset (RFC 9264).
pub(crate) fn api_catalog(base_url: &str) -> String {
    let text = include_str!("../../templates/api-catalog.json").replace("{base_url}", base_url);
    // Parsing and rendering it removes white space; a test verifies that it is valid JSON.
    let catalog: Value = serde_json::from_str(&text).unwrap_or_default();
    catalog.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_at_most_50_000_urls() {
        for (reviews, expected) in [(0, 1), (49_998, 1), (49_999, 2), (99_998, 2), (99_999, 3)] {
            assert_eq!(parts(reviews), expected, "{reviews}");
        }
    }
}
