//! `/widget.html`, a page to be framed by other sites, and the files of the custom element, which needs no frame.

use askama::Template;

use super::filters;
use super::layout::rendered;
use super::query_params::QueryParams;
use super::review::ReviewView;
use super::text::newest;
use super::{Context, Pages};
use crate::search::filter::Query;
use crate::search::query::{self, Buffers, PAIRS_MAX};
use crate::search::run;
use crate::snapshot::Snapshot;
use crate::wire::form::pairs;

/// The styles of the framed page.
pub(super) const STYLESHEET: &str = include_str!("assets/widget.css");
/// The custom element.
pub(super) const SCRIPT: &str = include_str!("assets/widget.js");

/// Reviews that the frame shows unless told otherwise.
const NEWEST_MAX: u32 = 5;

/// Renders the frame without parameters.
pub(super) fn render_newest(context: &Context<'_>) -> Vec<u8> {
    let reviews = newest(context.snapshot, NEWEST_MAX)
        .map(|row| ReviewView::plain(context.snapshot, row))
        .collect();
    render(context.snapshot, context.stats, None, reviews, Vec::new())
}

impl Pages {
    /// Parses the parameters of the frame, which are those of `/api/reviews/search`.
    ///
    /// # Errors
    /// The page that lists every issue.
    pub fn ask_widget<'b>(
        &self,
        raw: &[u8],
        buffers: &'b mut Buffers,
    ) -> Result<Query<'b>, Vec<u8>> {
        let is_limited = !QueryParams::read(raw).value("limit").is_empty();
        match query::parse_query(raw, buffers) {
            Ok(query) if is_limited => Ok(query),
            Ok(query) => Ok(Query {
                limit: NEWEST_MAX as u8,
                ..query
            }),
            Err(issues) => {
                let lines = issues.iter().map(ToString::to_string).collect();
                let (snapshot, stats) = (&self.snapshot, &self.stats);
                Err(render(snapshot, stats, theme(raw), Vec::new(), lines))
            }
        }
    }

    /// Finds and renders the reviews of the frame that `raw` asks for, read as `query`.
    #[must_use]
    pub fn find_widget(
        &self,
        raw: &[u8],
        query: &Query<'_>,
        scratch: &mut run::Scratch,
    ) -> Vec<u8> {
        let page = run::run(&self.snapshot.index, query, scratch);
        let reviews = page
            .rows
            .iter()
            .map(|row| ReviewView::plain(&self.snapshot, *row))
            .collect();
        let (snapshot, stats) = (&self.snapshot, &self.stats);
        render(snapshot, stats, theme(raw), reviews, Vec::new())
    }
}

/// Returns the colors that a query asks for; with any other value they follow the reader's system.
fn theme(raw: &[u8]) -> Option<&'static str> {
    let value = pairs(raw)
        .take(PAIRS_MAX)
        .find(|pair| pair.name == b"theme")?
        .value;
    ["light", "dark"]
        .into_iter()
        .find(|known| known.as_bytes() == value)
}

fn render(
    snapshot: &Snapshot,
    stats: &super::rating_stats::RatingStats,
    theme: Option<&'static str>,
    reviews: Vec<ReviewView>,
    issues: Vec<String>,
) -> Vec<u8> {
    rendered(&Widget {
        name: &snapshot.business.name,
        title: super::text::without_direction(&snapshot.business.name),
        base_url: &snapshot.base_url,
        mean: stats.mean_short().unwrap_or_default(),
        stars_width: stats.stars_width(),
        count: super::text::counted(stats.count, "review", "reviews"),
        disclaimer: snapshot.disclaimer.as_deref().unwrap_or_default(),
        theme,
        reviews,
        issues,
    })
    .into_bytes()
}

#[derive(Template)]
#[template(path = "widget.html")]
struct Widget<'p> {
    name: &'p str,
    title: String,
    base_url: &'p str,
    mean: String,
    stars_width: u64,
    count: String,
    disclaimer: &'p str,
    theme: Option<&'static str>,
    reviews: Vec<ReviewView>,
    issues: Vec<String>,
}
