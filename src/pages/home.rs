//! `/` without parameters: the business and its rating, sentences of customers, the newest reviews, what they are
//! about, their number over time, and questions.

use std::collections::HashSet;

use super::filters::{Menus, OrderEntry, is_filter, orders};
use super::form::QueryParams;
use super::highlights::{newest_quotation, voices};
use super::layout::rendered;
use super::list_page::{AnsweredQuestion, AspectLine, ListPage, Sections};
use super::listing::{Listing, More, cards};
use super::messages::Messages;
use super::rating::{Chart, RATING_FROM, percent_of};
use super::review::ReviewView;
use super::search::shown_of;
use super::text::{encoded, newest, without_direction};
use super::{PageLanguage, Pages, mentioned_aspects};
use crate::model::insights::{Aspect, Polarity};
use crate::model::{Question, Row};
use crate::search::filter::Sort;
use crate::search::run::cursor_at;

/// Most reviews on the page, besides pinned ones; the linked data have the same ones.
pub(super) const NEWEST_MAX: u32 = 10;

/// The least number of reviews with which filters and the search are shown.
pub(super) const TOOLS_FROM: u64 = 10;

/// Aspects that are shown at first; a `<details>` element has the others.
const ASPECTS_SHOWN: usize = 6;
/// The least mentions of an aspect that is shown.
const MENTIONS_MIN: u64 = 3;

/// Most reviews that are named as the evidence of an answer.
const EVIDENCE_SHOWN: usize = 8;

impl Pages {
    /// Renders the front page.
    pub(crate) fn home(&self, language: PageLanguage) -> String {
        let t = language.chosen.messages();
        let snapshot = &self.snapshot;
        let mut params = QueryParams::of_language(language);
        params.is_single = self.layout.is_static;
        let count = t.counted(&t.review_count, self.stats.count);
        let mut description = without_direction(&snapshot.business.description);
        if let Some(tenths) = self.stats.mean_tenths() {
            let rating = t.stars_of_5.fill(&[("stars", &t.tenths(tenths))]);
            description = format!("{rating}, {count}. {description}")
                .trim_end()
                .to_owned();
        }
        rendered(&ListPage {
            title: t.reviews_of.fill(&[("name", &self.layout.title)]),
            description,
            canonical: Some("/".to_owned()),
            json_ld: Some(&self.json_ld),
            listing: self.newest_listing(t, &params),
            sections: self.sections(t),
            ..self.list_page(t, language, &params)
        })
    }

    /// Returns the list of the front page: the pinned reviews, then the newest ones.
    fn newest_listing<'p>(&'p self, t: &'static Messages, params: &'p QueryParams) -> Listing<'p> {
        let snapshot = &self.snapshot;
        let mut rows: Vec<Row> = Vec::new();
        for id in &snapshot.editorial.featured {
            rows.extend(snapshot.index.row_of_id(id));
        }
        let pinned_count = rows.len();
        for row in newest(snapshot, NEWEST_MAX) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let reviews = rows.iter().map(|row| ReviewView::read(snapshot, *row));
        let last = Row(NEWEST_MAX - 1);
        let cursor = if self.stats.count > u64::from(NEWEST_MAX) {
            cursor_at(&snapshot.index, last, Sort::Newest)
        } else {
            None
        };
        let shown = rows.len() as u64;
        Listing {
            cards: cards(snapshot, t, reviews.collect(), pinned_count),
            more: cursor.map(|cursor| More {
                href: params.href(None, Some(&cursor.render())),
                shown: shown_of(t, shown, self.stats.count),
            }),
            ..self.listing(t, params)
        }
    }

    /// Returns the list without reviews: the filters, and the orders if they do not drop a filter in use.
    pub(super) fn listing<'p>(
        &'p self,
        t: &'static Messages,
        params: &'p QueryParams,
    ) -> Listing<'p> {
        let has_tools = self.stats.count >= TOOLS_FROM;
        let mut menus = Menus::default();
        let mut order: Vec<OrderEntry> = Vec::new();
        if has_tools {
            menus = self.menus(t, params);
            // On a site of files a link to an order would drop the filter in use.
            let drops_filter = params.is_single && params.iter().any(|(name, _)| is_filter(name));
            if !drops_filter {
                order = orders(t, params);
            }
        }
        Listing {
            cards: Vec::new(),
            has_tools,
            has_search: has_tools && !self.layout.is_static,
            params,
            chips: if has_tools {
                self.chips(t, params, None)
            } else {
                Vec::new()
            },
            menus,
            orders: order,
            found: String::new(),
            note: String::new(),
            show_all: t.show_all.fill(&[("count", &t.number(self.stats.count))]),
            more: None,
            first: None,
        }
    }

    /// Returns the sections around the list: none with too few reviews for a rating.
    fn sections(&self, t: &'static Messages) -> Sections<'_> {
        if self.stats.count < RATING_FROM {
            return Sections::default();
        }
        let mut sections = Sections {
            chart: Chart::of(&self.stats, t, self.layout.updated),
            ..Sections::default()
        };
        let Some(insights) = self.snapshot.insights_value() else {
            return sections;
        };
        let mut aspects = mentioned_aspects(Some(insights));
        aspects.retain(|aspect| aspect.mention_count >= MENTIONS_MIN);
        sections.voices = voices(&self.snapshot, &aspects, written(&insights.pull_quote));
        // A derived summary repeats what the aspects say.
        if insights.method.summary == "editorial" {
            sections.summary = written(&insights.summary);
        }
        let most = aspects.first().map_or(0, |aspect| aspect.mention_count);
        for aspect in aspects {
            let line = self.aspect_line(t, aspect, most);
            if sections.aspects.len() < ASPECTS_SHOWN {
                sections.aspects.push(line);
            } else {
                sections.further_aspects.push(line);
            }
        }
        for question in &insights.faq {
            sections.questions.push(self.answer(t, question));
        }
        sections
    }

    /// Returns the line of an aspect, whose bar is as long as its mentions in relation to `most`.
    fn aspect_line<'p>(&'p self, t: &Messages, aspect: &'p Aspect, most: u64) -> AspectLine<'p> {
        let mut authors = HashSet::new();
        let mut quotations = Vec::new();
        for side in [Polarity::Positive, Polarity::Negative] {
            if let Some(quotation) = newest_quotation(&self.snapshot, aspect, side, &authors) {
                authors.insert(quotation.review.author.clone());
                quotations.push(quotation);
            }
        }
        let positive = percent_of(aspect.positive_count, most);
        let negative = percent_of(aspect.negative_count, most);
        let sum = aspect.positive_count + aspect.neutral_count + aspect.negative_count;
        let all = percent_of(sum, most);
        AspectLine {
            label: &aspect.label,
            href: encoded("/?aspect=", &aspect.id),
            mentions: t.counted(&t.mention_count, aspect.mention_count),
            favorable: of_side(t, Polarity::Positive, aspect.positive_count),
            neither: of_side(t, Polarity::Neutral, aspect.neutral_count),
            critical: of_side(t, Polarity::Negative, aspect.negative_count),
            all_width: all,
            positive_width: positive,
            negative_width: negative,
            negative_start: all - negative,
            quotations,
        }
    }

    /// Returns a question with the reviews that support its answer.
    fn answer<'p>(&'p self, t: &Messages, question: &'p Question) -> AnsweredQuestion<'p> {
        let mut reviews = Vec::new();
        for id in question.review_ids.iter().take(EVIDENCE_SHOWN) {
            if let Some(row) = self.snapshot.index.row_of_id(id) {
                reviews.push(ReviewView::read(&self.snapshot, row));
            }
        }
        AnsweredQuestion {
            question,
            evidence: t.counted(&t.from_reviews, question.review_ids.len() as u64),
            reviews,
        }
    }
}

/// Returns a text that the owner has written; `None` if it is missing or blank.
fn written(text: &Option<String>) -> Option<&str> {
    let text = text.as_deref()?;
    if text.trim().is_empty() {
        return None;
    }
    Some(text)
}

/// "23 favorable"; "" if there is none.
fn of_side(t: &Messages, side: Polarity, count: u64) -> String {
    if count == 0 {
        return String::new();
    }
    let pattern = match side {
        Polarity::Positive => &t.favorable,
        Polarity::Neutral => &t.neither,
        Polarity::Negative => &t.critical,
    };
    pattern.fill(&[("count", &t.number(count))])
}
