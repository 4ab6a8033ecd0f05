//! A fragment of HTML with the newest reviews, for the page of another program: without script, style or picture, so it
//! needs nothing but the page around it, which styles its classes.

use askama::Template;

use super::layout::rendered;
use super::messages::Messages;
use super::review::ReviewView;
use super::search::PageQuery;
use super::widget::stars_note;
use super::{PageLanguage, Pages, text as filters};
use crate::search::rank;
use crate::search::run::Scratch;

/// Stars of a whole rating.
const STARS: u64 = 5;

impl Pages {
    /// Finds and renders reviews in the owner's language. `has_pages` tells whether the public address has pages of the
    /// reviews; without them, a review links to its source.
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
            mean_stars: stars(mean_tenths.unwrap_or(0).saturating_add(5) / 10),
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
    fn star_characters(&self) -> String {
        stars(self.rating)
    }
}

/// "★★★★☆"
fn stars(count: u64) -> String {
    let full = count.min(STARS);
    let mut stars = "★".repeat(full as usize);
    stars.push_str(&"☆".repeat((STARS - full) as usize));
    stars
}

#[derive(Template)]
#[template(path = "fragment.html")]
struct Fragment<'p> {
    t: &'static Messages,
    owner: &'p str,
    /// The word for those whom the business serves.
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
