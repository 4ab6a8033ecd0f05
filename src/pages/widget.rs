//! The parts for other sites: `/widget.html`, a page for a frame; the script of the custom element, which needs no
//! frame; and `/badge.svg` with rating and count.

use askama::Template;

use super::layout::{Frame, Layout, rendered};
use super::messages::{Language, Messages};
use super::rating::RatingStats;
use super::review::{ReviewView, read_newest};
use super::search::PageQuery;
use super::text::without_direction;
use super::theme::{badge_font, default_theme, frame_stylesheet};
use super::{PageContext, PageLanguage, Pages, text as filters};
use crate::model::Rating;
use crate::search::filter::{Query, RatingSet};
use crate::search::query::PAIRS_MAX;
use crate::search::rank;
use crate::search::run;
use crate::snapshot::Snapshot;
use crate::wire::form::pairs;

/// The styles of the framed page, without the owner's.
const STYLESHEET: &str = include_str!("assets/widget.css");
/// The custom element, and its styles.
const SCRIPT: &str = include_str!("assets/widget.js");
const ELEMENT_STYLESHEET: &str = include_str!("assets/widget-element.css");
pub(crate) const FAVICON: &str = include_str!("assets/favicon.svg");

/// Number of reviews in the frame, if the request names none.
const FRAME_LIMIT_DEFAULT: u8 = 5;

/// The colors of the badge in each theme.
const LIGHT: &str = ".card{fill:#fff;stroke:#d9d5cc}.strong{fill:#1d2429}.soft{fill:#59626a}.on{fill:#b3730b}.off{fill:#ddd8ce}";
const DARK: &str = ".card{fill:#1b2024;stroke:#3a4248}.strong{fill:#f1efea}.soft{fill:#aab2b8}.on{fill:#e9b04a}.off{fill:#444c52}";

/// Radius of the corners of the badge in pixels, if the owner names none.
const BADGE_RADIUS: u8 = 7;
/// The largest radius, in pixels: half of the height of the badge.
const BADGE_RADIUS_MAX: u8 = 15;

/// Returns the styles of the framed page.
pub(crate) fn stylesheet(context: &PageContext<'_>) -> String {
    frame_stylesheet(STYLESHEET, &context.snapshot().site)
}

/// Returns the script of the custom element, which contains the styles without comments and indentation.
pub(crate) fn script() -> String {
    let mut styles = String::with_capacity(ELEMENT_STYLESHEET.len());
    let mut rest = ELEMENT_STYLESHEET;
    while let Some((before, comment)) = rest.split_once("/*") {
        styles.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    styles.push_str(rest);
    let lines: Vec<&str> = styles
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    SCRIPT.replace("STYLESHEET", &lines.join("\n"))
}

/// Renders the frame without parameters.
pub(crate) fn render_newest(context: &PageContext<'_>) -> String {
    let pages = context.pages;
    let language = PageLanguage::of(pages.default_language());
    rendered(&Widget {
        reviews: read_newest(&pages.snapshot, u32::from(FRAME_LIMIT_DEFAULT)),
        ..Widget::of(&pages.snapshot, &pages.stats, &pages.layout, language)
    })
}

impl Pages {
    /// Finds and renders the reviews of the frame. `page_query` is the query string `raw`, which also has the theme.
    pub(crate) fn widget(
        &self,
        raw: &[u8],
        page_query: &PageQuery<'_>,
        language: PageLanguage,
        scratch: &mut run::Scratch,
    ) -> String {
        let mut query = page_query.query;
        if page_query.params.value("limit").is_empty() {
            query.limit = FRAME_LIMIT_DEFAULT;
        }
        let page = rank::search(&self.snapshot.index, &query, scratch);
        let rows = page.rows.iter();
        let reviews = rows.map(|row| ReviewView::read(&self.snapshot, *row));
        rendered(&Widget {
            theme: theme(raw).or(default_theme(&self.snapshot.site)),
            reviews: reviews.collect(),
            note: stars_note(language.chosen.messages(), &query),
            ..self.frame(language)
        })
    }

    /// Renders the frame with one or more errors in place of the reviews.
    pub(crate) fn widget_error(
        &self,
        raw: &[u8],
        language: PageLanguage,
        errors: Vec<String>,
    ) -> String {
        rendered(&Widget {
            theme: theme(raw).or(default_theme(&self.snapshot.site)),
            errors,
            ..self.frame(language)
        })
    }

    fn frame(&self, language: PageLanguage) -> Widget<'_> {
        Widget::of(&self.snapshot, &self.stats, &self.layout, language)
    }
}

/// Returns a sentence that says which ratings are shown, if the query leaves out some.
pub(super) fn stars_note(t: &Messages, query: &Query<'_>) -> Option<String> {
    let ratings = query.filter.ratings;
    if ratings == RatingSet::ALL {
        return None;
    }
    // A query selects one rating, or all between two.
    let mut shown = (1..=5).filter_map(Rating::new);
    match shown.find(|rating| ratings.contains(*rating)) {
        Some(least) if ratings.contains(Rating::MAX) => {
            Some(t.counted(&t.shown_here, u64::from(least.stars())))
        }
        _ => Some(t.shown_some.clone()),
    }
}

/// Returns the theme that a query names; `None` if it names none or an unknown one.
pub(crate) fn theme(raw: &[u8]) -> Option<&'static str> {
    let mut pairs = pairs(raw).take(PAIRS_MAX);
    match pairs.find(|pair| pair.name == b"theme")?.value {
        b"light" => Some("light"),
        b"dark" => Some("dark"),
        _ => None,
    }
}

#[derive(Template)]
#[template(path = "widget.html")]
struct Widget<'p> {
    frame: Frame<'p>,
    t: &'static Messages,
    name: &'p str,
    /// The word for the people whom the business serves.
    who: &'static str,
    title: String,
    mean: String,
    mean_label: String,
    stars_width: u64,
    count: String,
    /// The words of the link to all reviews.
    all: String,
    /// A sentence that says which ratings are shown; `None` if all are.
    note: Option<String>,
    disclaimer: &'p str,
    theme: Option<&'static str>,
    reviews: Vec<ReviewView>,
    errors: Vec<String>,
}

impl<'p> Widget<'p> {
    /// Fills in the values that do not depend on a request.
    fn of(
        snapshot: &'p Snapshot,
        stats: &RatingStats,
        layout: &'p Layout,
        language: PageLanguage,
    ) -> Widget<'p> {
        let t = language.chosen.messages();
        let mean = stats.mean_tenths().map(|tenths| t.tenths(tenths));
        let title = without_direction(&snapshot.business.name);
        Widget {
            frame: Frame::new(layout, language),
            t,
            name: &snapshot.business.name,
            who: t.who(snapshot.site.clientele),
            title: t.reviews_of.fill(&[("name", &title)]),
            mean_label: mean
                .as_ref()
                .map_or_else(String::new, |mean| t.stars_of_5.fill(&[("stars", mean)])),
            mean: mean.unwrap_or_default(),
            stars_width: stats.stars_width(),
            count: t.counted(&t.review_count, stats.count),
            all: t.counted(&t.read_all, stats.count),
            note: None,
            disclaimer: snapshot.disclaimer.as_deref().unwrap_or_default(),
            theme: default_theme(&snapshot.site),
            reviews: Vec::new(),
            errors: Vec::new(),
        }
    }
}

/// Draws the badge in the owner's theme, or in that of the visitor's system if the owner has set none.
pub(crate) fn badge(context: &PageContext<'_>) -> String {
    let pages = context.pages;
    pages.badge(pages.default_language(), None)
}

/// Draws the badge in the light theme.
pub(crate) fn light_badge(context: &PageContext<'_>) -> String {
    let pages = context.pages;
    pages.badge(pages.default_language(), Some("light"))
}

/// Draws the badge in the dark theme.
pub(crate) fn dark_badge(context: &PageContext<'_>) -> String {
    let pages = context.pages;
    pages.badge(pages.default_language(), Some("dark"))
}

impl Pages {
    /// Draws the badge in a theme. Without one it has the owner's theme, or if the owner has chosen none, that of the
    /// visitor's system. It has only numbers and the words of the language, and no text of the dataset.
    pub(crate) fn badge(&self, language: Language, theme: Option<&str>) -> String {
        let stats = &self.stats;
        let site = &self.snapshot.site;
        let t = language.messages();
        let colors = match theme.or(default_theme(site)) {
            Some("light") => LIGHT.to_owned(),
            Some(_) => DARK.to_owned(),
            None => format!("{LIGHT}@media(prefers-color-scheme:dark){{{DARK}}}"),
        };
        let count = t.counted(&t.review_count, stats.count);
        let tenths = stats.mean_tenths();
        let mean = tenths.map(|tenths| t.tenths(tenths));
        let label = match &mean {
            Some(mean) => {
                let stars = t.stars_of_5.fill(&[("stars", mean)]);
                format!("{stars}{}{count}", t.comma)
            }
            None => t.no_reviews.clone(),
        };
        let tenths = tenths.unwrap_or(0);
        let whole = (tenths / 10) as f64;
        let part = (tenths % 10) as f64 / 10.0;
        let mut badge = rendered(&Badge {
            label,
            mean: mean.unwrap_or_else(|| "–".to_owned()),
            width: 155.0 + estimated_width(&count).ceil(),
            // Whole stars of 15 pixels with a gap of 2, and a part of one.
            stars_width: whole * 17.0 + part * 15.0,
            radius: site.radius.unwrap_or(BADGE_RADIUS).min(BADGE_RADIUS_MAX),
            count,
            colors,
            font: badge_font(site),
        });
        badge.push('\n');
        badge
    }
}

/// An upper estimate of the width of a text in common fonts, in pixels: 6.9 for each character, 13 for a Japanese one.
fn estimated_width(text: &str) -> f64 {
    let mut width = 0.0;
    for character in text.chars() {
        width += if character >= '\u{3000}' { 13.0 } else { 6.9 };
    }
    width
}

#[derive(Template)]
#[template(path = "badge.svg")]
struct Badge<'p> {
    label: String,
    mean: String,
    width: f64,
    stars_width: f64,
    radius: u8,
    count: String,
    colors: String,
    font: &'p str,
}
