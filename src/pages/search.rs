//! Search pages: one page of matching reviews, and the filters in use.
//!
//! In a search by aspect, the mentions behind its counts are highlighted as well as the search terms.

use std::collections::HashMap;
use std::ops::Range;

use super::filters::{is_filter, parameter_label, tone_label};
use super::form::QueryParams;
use super::layout::rendered;
use super::list_page::{IssueLine, ListPage, WiderSearch};
use super::listing::{Listing, More, cards};
use super::messages::Messages;
use super::review::read_all;
use super::text::without_direction;
use super::{PageLanguage, Pages, QueryPage, mentioned};
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::filter::{Query, Sort, Term, Words};
use crate::search::issue::Issues;
use crate::search::query::{self, Buffers, Parameter};
use crate::search::rank;
use crate::search::run;
use crate::search::work::Work;

/// Parameters with indexable pages if used alone: the front page links to these pages.
const INDEXED: [&str; 5] = ["aspect", "rating", "source", "mentions_service", "sort"];

/// A valid query of a search page or of the widget.
pub(crate) struct PageQuery<'b> {
    pub(super) query: Query<'b>,
    pub(super) params: QueryParams,
}

impl PageQuery<'_> {
    /// Returns whether no parameter was given besides the language, so that the front page is the response.
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
        Err(IssuesPage(match page {
            QueryPage::Widget => {
                let errors = issues.iter().map(ToString::to_string);
                self.widget_error(raw, language, errors.collect())
            }
            _ => self.search_error(&QueryParams::read(raw, language), language, &issues),
        }))
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

    /// Finds and renders one page of reviews. If none matches, those that come closest to the words are listed, as many as
    /// fit on the page, and searches without one of the filters.
    pub(crate) fn search(
        &self,
        page_query: &PageQuery<'_>,
        language: PageLanguage,
        scratch: &mut run::Scratch,
    ) -> String {
        let PageQuery { query, params } = page_query;
        let t = language.chosen.messages();
        let index = &self.snapshot.index;
        let is_first = query.cursor.is_none();
        let mut page = rank::search(index, query, scratch);
        let filter = &query.filter;
        let is_exact = page.matched > 0;
        let has_ranking_words = filter.words.is_some_and(|words| rank::can_rank(&words));
        let is_ranked = page.ranked.is_some();
        if !is_exact && !is_ranked && has_ranking_words {
            let ranked = Query {
                sort: Sort::Relevance,
                cursor: None,
                ..*query
            };
            page = rank::search(index, &ranked, scratch);
        }
        let aspect = filter.aspect.and_then(|name| self.aspect(name));
        let words = filter
            .words
            .iter()
            .flat_map(Words::terms)
            .filter(|term| !term.is_excluded);
        let mut terms: Vec<Term<'_>> = words.collect();
        if !is_exact {
            // Function words would be marked everywhere.
            terms = rank::telling_terms(terms);
        }
        terms.extend(filter.text.map(Term::anywhere));
        let mut evidence: HashMap<&str, Vec<Range<u32>>> = HashMap::new();
        let mentions = aspect.into_iter();
        for one in mentions.flat_map(|aspect| evidence_of(aspect, filter.polarity)) {
            let of_review = evidence.entry(&one.review_id).or_default();
            of_review.push(one.start..one.end);
        }
        let found = if is_exact {
            t.counted(&t.found, u64::from(page.matched))
        } else if page.rows.is_empty() {
            t.no_match.clone()
        } else {
            t.closest.clone()
        };
        let chips = self.chips(t, params, aspect);
        let used: Vec<&str> = chips
            .iter()
            .filter(|chip| chip.is_used)
            .map(|chip| &*chip.label)
            .collect();
        let description = match &used[..] {
            [] => found.clone(),
            used => format!("{found}: {}", without_direction(&used.join(", "))),
        };
        let suggestions = if is_exact {
            Vec::new()
        } else {
            self.suggestions(t, params, aspect, scratch)
        };
        let mut note = String::new();
        if let Some(aspect) = aspect
            && is_exact
        {
            note = note_of(t, aspect, filter.polarity);
        }
        // A page without an exact match is not indexed.
        let canonical = if is_exact { canonical(params) } else { None };
        let first = if is_first {
            None
        } else {
            Some(params.href(None, None))
        };
        let reviews = read_all(&self.snapshot, &page.rows, &terms, &evidence);
        let left = u64::from(page.matched).saturating_sub(page.rows.len() as u64);
        let limit = u64::from(query.limit);
        let more = page.next.map(|cursor| More {
            href: params.href(None, Some(&cursor.render())),
            label: t.counted(&t.show_more, left.min(limit)),
            shown: if is_first {
                shown_of(t, page.rows.len() as u64, u64::from(page.matched))
            } else {
                String::new()
            },
        });
        rendered(&ListPage {
            title: format!("{description} – {}", self.layout.title),
            description,
            canonical,
            listing: Listing {
                cards: cards(&self.snapshot, t, reviews, 0),
                chips,
                found,
                note,
                more,
                first,
                ..self.listing(t, params)
            },
            suggestions,
            ..self.list_page(t, language, params)
        })
    }

    /// Returns the searches without one of the filters, as far as they find something and the work allows.
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
            let href = params.href(Some(name), None);
            let Some((_, rest)) = href.split_once('?') else {
                // All reviews, which the page offers anyway.
                continue;
            };
            if !is_filter(name) {
                continue;
            }
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

    /// Returns the aspect with a folded name.
    fn aspect(&self, folded: &str) -> Option<&Aspect> {
        let found = self
            .snapshot
            .index
            .resolve(Parameter::Aspect, folded, &mut Work::new(0))?;
        let resolved = found.ok()?;
        let mut aspects = mentioned(self.snapshot.insights_value()).into_iter();
        aspects.find(|aspect| aspect.id == resolved.name)
    }
}

/// "20 of 57".
fn shown_of(t: &Messages, shown: u64, all: u64) -> String {
    let shown = t.number(shown);
    let all = t.number(all);
    t.shown_of.fill(&[("shown", &shown), ("count", &all)])
}

/// Returns the path under which search engines may index a search. Other searches are not indexed: there are too many
/// combinations of filters, and a page for free text would repeat any text that is put into a link.
fn canonical(params: &QueryParams) -> Option<String> {
    let mut names = params.iter().map(|(name, _)| name);
    let first = names.next()?;
    if !INDEXED.contains(&first) || names.next().is_some() {
        return None;
    }
    Some(params.href(None, None))
}

/// Returns the stored mentions of an aspect, of one polarity if given.
fn evidence_of(aspect: &Aspect, polarity: Option<Polarity>) -> impl Iterator<Item = &Evidence> {
    let all = aspect.evidence.iter().flatten();
    all.filter(move |one| polarity.is_none_or(|polarity| one.polarity == polarity))
}

/// Returns a sentence about the highlighted mentions of an aspect.
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
