//! The page with a list of reviews: the front page, and every search.

use askama::Template;

use super::form::QueryParams;
use super::highlights::Quotation;
use super::layout::Frame;
use super::listing::Listing;
use super::messages::Messages;
use super::rating::{Chart, RATING_FROM, rounded};
use super::review::{ReviewView, source_icon, source_name};
use super::text::{encoded, link, mailbox, telephone};
use super::{PageLanguage, Pages, text as filters};
use crate::model::{Business, Question};
use crate::search::issue::Issue;

/// A shorter beginning of the description says too little.
const LINE_BYTES_MIN: usize = 24;

/// Sources beside the distribution, as many as it has lines.
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
        let site = &self.snapshot.site;
        let website = site.back_url.as_deref().unwrap_or(&business.url);
        let mut review_links = Vec::new();
        for one in &site.review_links {
            if let Some(url) = link(&one.url) {
                review_links.push(SourceLink {
                    name: source_name(&one.source, t),
                    icon: source_icon(&one.source),
                    url,
                });
            }
        }
        let reviews = t.counted(&t.review_count, self.stats.count);
        let sources = &self.snapshot.tallies.sources;
        let count = match &sources[..] {
            [] => reviews,
            [only] => {
                let source = source_name(&only.value, t);
                t.from_source
                    .fill(&[("reviews", &reviews), ("source", &source)])
            }
            many => {
                let reviews = [("reviews", reviews.as_str())];
                t.counted_with(&t.from_sources, many.len() as u64, &reviews)
            }
        };
        let is_rated = self.stats.count >= RATING_FROM;
        Hero {
            business,
            kind: first_sentence(&business.description),
            website: link(website),
            telephone: telephone(&business.telephone),
            mailbox: mailbox(&business.email),
            review_links,
            is_rated,
            mean: self.stats.mean_tenths().map(|tenths| t.tenths(tenths)),
            stars_width: self.stats.stars_width(),
            count,
            bars: if is_rated {
                self.bars(t, params)
            } else {
                Vec::new()
            },
            sources: if is_rated && sources.len() > 1 {
                self.source_lines(t, params)
            } else {
                Vec::new()
            },
        }
    }

    /// The distribution; the longest bar is full.
    fn bars(&self, t: &Messages, params: &QueryParams) -> Vec<StarBar> {
        let distribution = &self.stats.distribution;
        let most = distribution.iter().max().copied().unwrap_or(0);
        let lines = distribution
            .iter()
            .enumerate()
            .rev()
            .map(|(at, count)| StarBar {
                stars: at + 1,
                label: t.counted(&t.star_count, at as u64 + 1),
                number: t.number(*count),
                count: t.counted(&t.review_count, *count),
                percent: rounded(*count, most, 1000).unwrap_or(0) as f64 / 10.0,
                href: anchored(&params.with_language(&format!("/?rating={}", at + 1))),
            });
        lines.collect()
    }

    fn source_lines(&self, t: &Messages, params: &QueryParams) -> Vec<SourceLine> {
        let sources = self.snapshot.tallies.sources.iter().take(SOURCES_SHOWN);
        let lines = sources.map(|tally| SourceLine {
            name: source_name(&tally.value, t),
            mean: t.tenths(rounded(tally.sum, tally.count, 10).unwrap_or(0)),
            number: t.number(tally.count),
            count: t.counted(&t.review_count, tally.count),
            href: anchored(&params.with_language(&encoded("/?source=", &tally.value))),
        });
        lines.collect()
    }
}

fn anchored(href: &str) -> String {
    format!("{href}#reviews")
}

/// The beginning of the description, one line of trade and place: its first sentence, as far as a list or a remark.
fn first_sentence(text: &str) -> &str {
    let mut sentences = crate::wire::sentence::sentences(text);
    let Some(first) = sentences.next() else {
        return "";
    };
    let sentence = text[first].trim_end_matches('.');
    let end = [": ", "; ", " – ", " — "]
        .iter()
        .filter_map(|mark| sentence.find(mark))
        .filter(|end| *end >= LINE_BYTES_MIN)
        .min();
    &sentence[..end.unwrap_or(sentence.len())]
}

/// The business and its rating.
pub(super) struct Hero<'p> {
    pub(super) business: &'p Business,
    pub(super) kind: &'p str,
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

/// Where to write a review.
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

/// A search that finds something where the given one does not.
pub(super) struct WiderSearch {
    pub(super) label: String,
    pub(super) href: String,
}

/// A reason why a search is refused.
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
