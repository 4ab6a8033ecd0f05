//! Search pages: one page of matching reviews, and the filters in use.
//!
//! In a search by aspect, the mentions behind its counts are highlighted as well as the search terms.

use std::collections::HashMap;
use std::ops::Range;

use super::filters::{Chip, is_filter, parameter_label, tone_label};
use super::form::QueryParams;
use super::layout::rendered;
use super::list_page::{IssueLine, ListPage, WiderSearch};
use super::listing::{Listing, More, cards};
use super::messages::Messages;
use super::review::read_all;
use super::text::without_direction;
use super::{PageLanguage, Pages, QueryPage, mentioned_aspects};
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::filter::{Filter, Query, Sort, Term};
use crate::search::issue::Issues;
use crate::search::query::{self, Buffers, Parameter};
use crate::search::rank;
use crate::search::run;
use crate::search::work::Work;

/// Parameters of which search engines may index a page if the query has no other: the front page links to such pages.
const INDEXED: [&str; 5] = ["aspect", "rating", "source", "mentions_service", "sort"];

/// A valid query of a search page or of the widget.
pub(crate) struct PageQuery<'b> {
    pub(super) query: Query<'b>,
    pub(super) params: QueryParams,
}

impl PageQuery<'_> {
    /// Returns whether the query has no parameter besides the language, so that the front page is the response.
    pub(crate) fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// Returns whether the result depends on the insights.
    pub(crate) fn needs_insights(&self) -> bool {
        self.query.filter.needs_insights()
    }
}

/// The page that shows the issues of a query, in HTML.
#[derive(Debug)]
pub(crate) struct IssuesPage(pub(crate) String);

impl Pages {
    /// Parses the query string of a search page or of the widget, without its `?`.
    ///
    /// # Errors
    /// The page that shows all issues; a search page also repeats the filters.
    pub(crate) fn parse<'b>(
        &self,
        page: QueryPage,
        raw: &[u8],
        language: PageLanguage,
        buffers: &'b mut Buffers,
    ) -> Result<PageQuery<'b>, IssuesPage> {
        let issues = match self.parse_query(raw, language, buffers) {
            Ok(query) => return Ok(query),
            Err(issues) => issues,
        };
        let html = match page {
            QueryPage::Widget => {
                let errors = issues.iter().map(ToString::to_string);
                self.widget_error(raw, language, errors.collect())
            }
            QueryPage::Home => {
                self.search_error(&QueryParams::read(raw, language), language, &issues)
            }
        };
        Err(IssuesPage(html))
    }

    /// Parses a query string.
    ///
    /// # Errors
    /// All issues.
    pub(crate) fn parse_query<'b>(
        &self,
        raw: &[u8],
        language: PageLanguage,
        buffers: &'b mut Buffers,
    ) -> Result<PageQuery<'b>, Issues> {
        let query = query::parse_query(raw, buffers)?;
        let mut params = QueryParams::read(raw, language);
        params.is_single = self.layout.is_static;
        Ok(PageQuery { query, params })
    }

    /// Finds and renders one page of reviews. If no review matches, the page lists the reviews that come closest to the
    /// words, as many as fit, and searches without one of the filters.
    pub(crate) fn search(
        &self,
        page_query: &PageQuery<'_>,
        language: PageLanguage,
        scratch: &mut run::Scratch,
    ) -> String {
        let PageQuery { query, params } = page_query;
        let t = language.chosen.messages();
        let filter = &query.filter;
        let aspect = filter.aspect.and_then(|name| self.aspect(name));
        let page = self.matching_or_closest(query, scratch);
        let is_exact = page.matched > 0;
        let found = if is_exact {
            t.counted(&t.found, u64::from(page.matched))
        } else if page.rows.is_empty() {
            t.no_match.clone()
        } else {
            t.closest.clone()
        };
        let mut note = String::new();
        let mut canonical = None;
        let mut suggestions = Vec::new();
        if is_exact {
            canonical = indexed_path(params);
            if let Some(aspect) = aspect {
                note = note_of(t, aspect, filter.polarity);
            }
        } else {
            suggestions = self.suggestions(t, params, aspect, scratch);
        }
        let chips = self.chips(t, params, aspect);
        let description = description(t, &found, &chips);
        let reviews = read_all(
            &self.snapshot,
            &page.rows,
            &marked_terms(filter, is_exact),
            &marked_evidence(aspect, filter.polarity),
        );
        let is_first = query.cursor.is_none();
        let mut listing = self.listing(t, params);
        if !is_exact {
            // The closest reviews come the best first, whatever order is asked for.
            listing.orders.clear();
        }
        rendered(&ListPage {
            title: format!("{description} – {}", self.layout.title),
            description,
            canonical,
            listing: Listing {
                cards: cards(&self.snapshot, t, reviews, 0),
                chips,
                found,
                note,
                more: link_to_more(t, page_query, &page),
                first: if is_first {
                    None
                } else {
                    Some(params.href(None, None))
                },
                ..listing
            },
            suggestions,
            ..self.list_page(t, language, params)
        })
    }

    /// Returns the page of the reviews that match, or, if none does and the query has words that rank, of those that
    /// come closest; `matched` is 0 then.
    fn matching_or_closest(&self, query: &Query<'_>, scratch: &mut run::Scratch) -> run::Page {
        let index = &self.snapshot.index;
        let page = rank::search(index, query, scratch);
        if page.matched > 0 || page.ranked.is_some() {
            return page;
        }
        let words = query.filter.words;
        if !words.is_some_and(|words| rank::can_rank(&words)) {
            return page;
        }
        let by_relevance = Query {
            sort: Sort::Relevance,
            cursor: None,
            ..*query
        };
        rank::search(index, &by_relevance, scratch)
    }

    /// Returns searches without one of the filters: those that find something, as many as the work for hints allows.
    fn suggestions(
        &self,
        t: &Messages,
        params: &QueryParams,
        aspect: Option<&Aspect>,
        scratch: &mut run::Scratch,
    ) -> Vec<WiderSearch> {
        let mut work = Work::for_hints();
        let mut buffers = Buffers::default();
        let mut suggestions = Vec::new();
        for (name, value) in params.iter() {
            if !is_filter(name) {
                continue;
            }
            let href = params.href(Some(name), None);
            let Some((_, rest)) = href.split_once('?') else {
                // The link leads to all reviews, which the page offers anyway.
                continue;
            };
            let Ok(mut query) = query::parse_query(rest.as_bytes(), &mut buffers) else {
                continue;
            };
            query.limit = 1;
            let page = run::run_within(&self.snapshot.index, &query, scratch, &mut work);
            let matched = page.map_or(0, |page| u64::from(page.matched));
            if matched > 0 {
                let filter = self.used_label(t, name, value, aspect);
                suggestions.push(WiderSearch {
                    label: t.counted_with(&t.without_filter, matched, &[("filter", &filter)]),
                    href,
                });
            }
        }
        suggestions
    }

    /// Renders the page of a search that is not valid: its issues, and the filters to correct them.
    fn search_error(
        &self,
        params: &QueryParams,
        language: PageLanguage,
        issues: &Issues,
    ) -> String {
        let t = language.chosen.messages();
        let lines = issues.iter().map(|issue| {
            let name = issue.path.as_deref().unwrap_or_default();
            IssueLine {
                label: parameter_label(t, name),
                issue,
            }
        });
        rendered(&ListPage {
            title: format!("{} – {}", t.invalid_search, self.layout.title),
            listing: Listing {
                found: t.invalid_search.clone(),
                ..self.listing(t, params)
            },
            issues: lines.collect(),
            ..self.list_page(t, language, params)
        })
    }

    /// Returns the aspect that a folded name means, if reviews mention it.
    fn aspect(&self, folded: &str) -> Option<&Aspect> {
        let index = &self.snapshot.index;
        let resolved = index.resolve(Parameter::Aspect, folded, &mut Work::new(0))?;
        let id = resolved.ok()?.name;
        let mut aspects = mentioned_aspects(self.snapshot.insights_value()).into_iter();
        aspects.find(|aspect| aspect.id == id)
    }
}

/// Returns the link to the next page, if there is one. The link of the first page also says how many of all reviews it shows.
fn link_to_more(t: &Messages, page_query: &PageQuery<'_>, page: &run::Page) -> Option<More> {
    let PageQuery { query, params } = page_query;
    let cursor = page.next.as_ref()?;
    let mut shown = String::new();
    if query.cursor.is_none() {
        shown = shown_of(t, page.rows.len() as u64, u64::from(page.matched));
    }
    Some(More {
        href: params.href(None, Some(&cursor.render())),
        shown,
    })
}

/// Returns the terms that are marked in the texts: of the closest reviews not the function words, which would be marked
/// everywhere.
fn marked_terms<'q>(filter: &Filter<'q>, is_exact: bool) -> Vec<Term<'q>> {
    let mut terms: Vec<Term<'q>> = Vec::new();
    if let Some(words) = filter.words {
        terms.extend(words.terms().filter(|term| !term.is_excluded));
    }
    if !is_exact {
        terms = rank::telling_terms(terms);
    }
    terms.extend(filter.text.map(Term::anywhere));
    terms
}

/// Returns the mentions of an aspect that are marked in the texts: ranges of code points, by the id of the review.
fn marked_evidence(
    aspect: Option<&Aspect>,
    polarity: Option<Polarity>,
) -> HashMap<&str, Vec<Range<u32>>> {
    let mut evidence: HashMap<&str, Vec<Range<u32>>> = HashMap::new();
    let Some(aspect) = aspect else {
        return evidence;
    };
    for mention in evidence_of(aspect, polarity) {
        let of_review = evidence.entry(&mention.review_id).or_default();
        of_review.push(mention.start..mention.end);
    }
    evidence
}

/// Returns how many reviews were found, with the filters in use.
fn description(t: &Messages, found: &str, chips: &[Chip]) -> String {
    let used = chips.iter().filter(|chip| chip.is_used);
    let labels: Vec<&str> = used.map(|chip| &*chip.label).collect();
    if labels.is_empty() {
        return found.to_owned();
    }
    format!("{found}: {}", without_direction(&labels.join(&t.comma)))
}

/// "20 of 57".
pub(super) fn shown_of(t: &Messages, shown: u64, all: u64) -> String {
    let shown = t.number(shown);
    let all = t.number(all);
    t.shown_of.fill(&[("shown", &shown), ("count", &all)])
}

/// Returns the path under which search engines may index a search. Other searches are not indexed: there are too many
/// combinations of filters, and a page for free text would repeat any text that is put into a link.
fn indexed_path(params: &QueryParams) -> Option<String> {
    let mut names = params.iter().map(|(name, _)| name);
    let first = names.next()?;
    if !INDEXED.contains(&first) || names.next().is_some() {
        return None;
    }
    Some(params.href(None, None))
}

/// Returns the stored mentions of an aspect; with a polarity, only those that have it.
fn evidence_of(aspect: &Aspect, polarity: Option<Polarity>) -> impl Iterator<Item = &Evidence> {
    let all = aspect.evidence.iter().flatten();
    all.filter(move |one| polarity.is_none_or(|polarity| one.polarity == polarity))
}

/// Returns a sentence that says how many mentions of an aspect there are, and that they are marked.
fn note_of(t: &Messages, aspect: &Aspect, polarity: Option<Polarity>) -> String {
    let marked = evidence_of(aspect, polarity).count() as u64;
    let all = aspect.count(polarity);
    let sentence = if marked < all {
        t.marked_some
            .fill(&[("count", &t.number(all)), ("marked", &t.number(marked))])
    } else {
        t.counted(&t.marked, all)
    };
    let label = &aspect.label;
    match polarity {
        Some(polarity) => format!("{label}, {}: {sentence}", tone_label(t, polarity.word())),
        None => format!("{label}: {sentence}"),
    }
}
