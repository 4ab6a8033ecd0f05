//! The page with a list of reviews: the front page, and every search.

use askama::Template;

use super::form::QueryParams;
use super::highlights::Quotation;
use super::layout::Frame;
use super::listing::Listing;
use super::messages::Messages;
use super::rating::{Chart, RATING_FROM, percent_of, rounded_ratio};
use super::review::{ReviewView, source_icon, source_name};
use super::text::{encoded, link, mailbox, telephone};
use super::visit::{address_line, hours_line};
use super::{PageLanguage, Pages, text as filters};
use crate::model::{Business, Question};
use crate::search::issue::Issue;

/// The least bytes of the line about the business; a shorter beginning of its description says too little.
const LINE_BYTES_MIN: usize = 24;

/// Most sources beside the distribution: as many as it has lines.
const SOURCES_SHOWN: usize = 5;

impl Pages {
    /// Returns a page without reviews and sections.
    pub(super) fn list_page<'p>(
        &'p self,
        t: &'static Messages,
        language: PageLanguage,
        params: &'p QueryParams,
    ) -> ListPage<'p> {
        ListPage {
            frame: Frame::new(&self.layout, language).with_query(params),
            t,
            title: String::new(),
            description: String::new(),
            canonical: None,
            json_ld: None,
            owner: &self.snapshot.business.name,
            hero: self.hero(t, params),
            listing: self.listing(t, params),
            sections: Sections::default(),
            issues: Vec::new(),
            suggestions: Vec::new(),
        }
    }

    fn hero<'p>(&'p self, t: &Messages, params: &QueryParams) -> Hero<'p> {
        let business = &self.snapshot.business;
        let back_url = self.snapshot.site.back_url.as_deref();
        let is_rated = self.stats.count >= RATING_FROM;
        let mut bars = Vec::new();
        let mut sources = Vec::new();
        if is_rated {
            bars = self.bars(t, params);
            if self.snapshot.tallies.sources.len() > 1 {
                sources = self.source_lines(t, params);
            }
        }
        Hero {
            business,
            kind: opening_line(&business.description),
            address: address_line(&business.address),
            opening_hours: hours_line(&business.opening_hours, t),
            website: link(back_url.unwrap_or(&business.url)),
            telephone: telephone(&business.telephone),
            mailbox: mailbox(&business.email),
            review_links: self.review_links(t),
            is_rated,
            mean: self.stats.mean_tenths().map(|tenths| t.tenths(tenths)),
            stars_width: self.stats.stars_width(),
            count: self.count_with_sources(t),
            bars,
            sources,
        }
    }

    /// The places where a visitor can write a review.
    fn review_links(&self, t: &Messages) -> Vec<SourceLink<'_>> {
        let mut links = Vec::new();
        for one in &self.snapshot.site.review_links {
            if let Some(url) = link(&one.url) {
                links.push(SourceLink {
                    name: source_name(&one.source, t),
                    icon: source_icon(&one.source),
                    url,
                });
            }
        }
        links
    }

    /// How many reviews there are, and from how many sources or from which one.
    fn count_with_sources(&self, t: &Messages) -> String {
        let reviews = t.counted(&t.review_count, self.stats.count);
        match &self.snapshot.tallies.sources[..] {
            [] => reviews,
            [only] => {
                let source = source_name(&only.value, t);
                t.from_source
                    .fill(&[("reviews", &reviews), ("source", &source)])
            }
            sources => {
                let count = sources.len() as u64;
                t.counted_with(&t.from_sources, count, &[("reviews", &reviews)])
            }
        }
    }

    /// The distribution, five stars first; the longest bar is full.
    fn bars(&self, t: &Messages, params: &QueryParams) -> Vec<StarBar> {
        let most = self.stats.distribution.iter().max().copied();
        let mut bars = Vec::new();
        for (stars, count) in (1..).zip(self.stats.distribution) {
            bars.push(StarBar {
                stars,
                label: t.counted(&t.star_count, stars as u64),
                number: t.number(count),
                count: t.counted(&t.review_count, count),
                percent: percent_of(count, most.unwrap_or(0)),
                href: anchored(&params.with_language(&format!("/?rating={stars}"))),
            });
        }
        bars.reverse();
        bars
    }

    /// The rating of each of the first [`SOURCES_SHOWN`] sources.
    fn source_lines(&self, t: &Messages, params: &QueryParams) -> Vec<SourceLine> {
        let sources = self.snapshot.tallies.sources.iter().take(SOURCES_SHOWN);
        let lines = sources.map(|tally| SourceLine {
            name: source_name(&tally.value, t),
            mean: t.tenths(rounded_ratio(tally.sum, tally.count, 10).unwrap_or(0)),
            number: t.number(tally.count),
            count: t.counted(&t.review_count, tally.count),
            href: anchored(&params.with_language(&encoded("/?source=", &tally.value))),
        });
        lines.collect()
    }
}

/// Returns `href` with the anchor of the list of reviews.
fn anchored(href: &str) -> String {
    format!("{href}#reviews")
}

/// Returns a line about the business: the first sentence of its description, without a list or a remark at its end.
fn opening_line(description: &str) -> &str {
    let mut sentences = crate::wire::sentence::sentences(description);
    let Some(first) = sentences.next() else {
        return "";
    };
    let sentence = description[first].trim_end_matches('.');
    let mut end = sentence.len();
    for mark in [": ", "; ", " – ", " — "] {
        if let Some(at) = sentence.find(mark)
            && at >= LINE_BYTES_MIN
        {
            end = end.min(at);
        }
    }
    &sentence[..end]
}

/// The business and its rating.
pub(super) struct Hero<'p> {
    pub(super) business: &'p Business,
    /// What the business is, in a line.
    pub(super) kind: &'p str,
    /// Where it is, and when it is open; "" if that is not known.
    pub(super) address: String,
    pub(super) opening_hours: String,
    pub(super) website: Option<&'p str>,
    pub(super) telephone: String,
    pub(super) mailbox: String,
    pub(super) review_links: Vec<SourceLink<'p>>,
    /// Whether there are enough reviews for a mean and a distribution.
    pub(super) is_rated: bool,
    pub(super) mean: Option<String>,
    pub(super) stars_width: u64,
    pub(super) count: String,
    pub(super) bars: Vec<StarBar>,
    pub(super) sources: Vec<SourceLine>,
}

/// A place where a visitor can write a review.
pub(super) struct SourceLink<'p> {
    pub(super) name: String,
    pub(super) icon: &'static str,
    pub(super) url: &'p str,
}

/// One line of the distribution.
pub(super) struct StarBar {
    pub(super) stars: usize,
    pub(super) label: String,
    pub(super) number: String,
    pub(super) count: String,
    pub(super) percent: f64,
    pub(super) href: String,
}

/// The rating of one source.
pub(super) struct SourceLine {
    pub(super) name: String,
    pub(super) mean: String,
    pub(super) number: String,
    pub(super) count: String,
    pub(super) href: String,
}

/// The sections around the list of the front page.
#[derive(Default)]
pub(super) struct Sections<'p> {
    pub(super) voices: Vec<Quotation>,
    pub(super) summary: Option<&'p str>,
    pub(super) aspects: Vec<AspectLine<'p>>,
    pub(super) further_aspects: Vec<AspectLine<'p>>,
    pub(super) chart: Option<Chart>,
    pub(super) questions: Vec<AnsweredQuestion<'p>>,
}

/// One aspect: its counts, its bar on the scale of all, and a quotation of each side.
pub(super) struct AspectLine<'p> {
    pub(super) label: &'p str,
    pub(super) href: String,
    pub(super) mentions: String,
    pub(super) favorable: String,
    pub(super) neither: String,
    pub(super) critical: String,
    /// Widths in percent of the longest bar.
    pub(super) all_width: f64,
    pub(super) positive_width: f64,
    pub(super) negative_width: f64,
    pub(super) negative_start: f64,
    pub(super) quotations: Vec<Quotation>,
}

/// A question with its answer and reviews that support it.
pub(super) struct AnsweredQuestion<'p> {
    pub(super) question: &'p Question,
    pub(super) evidence: String,
    pub(super) reviews: Vec<ReviewView>,
}

/// A search that finds reviews where the visitor's own finds none.
pub(super) struct WiderSearch {
    pub(super) label: String,
    pub(super) href: String,
}

/// A fault of a parameter, with the words for the parameter.
pub(super) struct IssueLine<'i> {
    pub(super) label: &'i str,
    pub(super) issue: &'i Issue,
}

#[derive(Template)]
#[template(path = "list_page.html")]
pub(super) struct ListPage<'p> {
    pub(super) frame: Frame<'p>,
    pub(super) t: &'static Messages,
    pub(super) title: String,
    pub(super) description: String,
    /// The path under which search engines may index it; `None` if they must not.
    pub(super) canonical: Option<String>,
    pub(super) json_ld: Option<&'p str>,
    pub(super) owner: &'p str,
    pub(super) hero: Hero<'p>,
    pub(super) listing: Listing<'p>,
    pub(super) sections: Sections<'p>,
    pub(super) issues: Vec<IssueLine<'p>>,
    pub(super) suggestions: Vec<WiderSearch>,
}
