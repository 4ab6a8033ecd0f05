//! A fragment of HTML with the newest reviews, for a page that another program makes. It has no script, style or
//! picture; the page around it styles its classes.

use askama::Template;

use super::layout::rendered;
use super::messages::Messages;
use super::review::ReviewView;
use super::search::PageQuery;
use super::widget::stars_note;
use super::{PageLanguage, Pages, text as filters};
use crate::search::rank;
use crate::search::run::Scratch;

/// Stars of the best rating.
const STARS_MAX: u64 = 5;

impl Pages {
    /// Finds and renders reviews in the owner's language. `has_pages` says whether the public address has a page for
    /// each review; without these pages, a review links to its source.
    pub(crate) fn fragment(&self, query: &PageQuery<'_>, has_pages: bool) -> String {
        let language = PageLanguage::of(self.default_language());
        let t = language.chosen.messages();
        let mut scratch = Scratch::default();
        let page = rank::search(&self.snapshot.index, &query.query, &mut scratch);
        let mut reviews = Vec::new();
        for row in &page.rows {
            reviews.push(ReviewView::read(&self.snapshot, *row));
        }
        let mean_tenths = self.stats.mean_tenths();
        let mean = mean_tenths.map(|tenths| t.tenths(tenths));
        let mut fragment = rendered(&Fragment {
            t,
            owner: &self.snapshot.business.name,
            who: t.who(self.snapshot.site.clientele),
            mean_label: mean
                .as_ref()
                .map_or_else(String::new, |mean| t.stars_of_5.fill(&[("stars", mean)])),
            mean: mean.unwrap_or_default(),
            // Rounded to whole stars; the number beside them is exact.
            mean_stars: star_line(mean_tenths.unwrap_or(0).saturating_add(5) / 10),
            count: t.counted(&t.review_count, self.stats.count),
            all: t.counted(&t.read_all, self.stats.count),
            note: stars_note(t, &query.query),
            disclaimer: self.snapshot.disclaimer.as_deref(),
            base_url: &self.snapshot.base_url,
            has_pages,
            reviews,
        });
        fragment.push('\n');
        fragment
    }

    /// Returns the linked data as an element for the head of a page.
    pub(crate) fn json_ld_element(&self) -> String {
        format!(
            "<script type=\"application/ld+json\">{}</script>\n",
            self.json_ld
        )
    }
}

impl ReviewView {
    /// The rating as five characters.
    fn star_characters(&self) -> String {
        star_line(self.rating)
    }
}

/// Returns full stars, and empty ones up to five: "★★★★☆".
fn star_line(full: u64) -> String {
    let full = full.min(STARS_MAX);
    let mut line = "★".repeat(full as usize);
    line.push_str(&"☆".repeat((STARS_MAX - full) as usize));
    line
}

#[derive(Template)]
#[template(path = "fragment.html")]
struct Fragment<'p> {
    t: &'static Messages,
    owner: &'p str,
    /// The word for the people whom the business serves.
    who: &'static str,
    mean: String,
    mean_label: String,
    mean_stars: String,
    count: String,
    all: String,
    note: Option<String>,
    disclaimer: Option<&'p str>,
    base_url: &'p str,
    has_pages: bool,
    reviews: Vec<ReviewView>,
}
