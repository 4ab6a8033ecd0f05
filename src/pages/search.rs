//! Search pages: the form with the given values, and one page of matching reviews.
//!
//! In a search by aspect, the mentions behind its counts are highlighted as well as the search terms.

use std::collections::HashMap;
use std::ops::Range;

use askama::Template;

use super::form::{Form, QueryParams};
use super::layout::{Layout, rendered};
use super::messages::{Language, Messages};
use super::review::{ReviewView, read_all};
use super::text::{count, counted, service_label, without_direction};
use super::{Page, Pages, mentioned, text as filters};
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::filter::{Query, Term, Words};
use crate::search::hints::{Hint, hints};
use crate::search::issue::{Issue, Issues};
use crate::search::query::{self, Buffers, Parameter};
use crate::search::run;
use crate::search::work::Work;

/// A valid query of a search page or of the widget.
pub(crate) struct PageQuery<'b> {
    pub(super) query: Query<'b>,
    pub(super) given: QueryParams,
}

impl PageQuery<'_> {
    /// Returns whether no parameter was given, so that the stored page is the response.
    pub(crate) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns whether the result depends on the insights.
    pub(crate) fn needs_insights(&self) -> bool {
        self.query.filter.needs_insights()
    }
}

impl Pages {
    /// Parses the query string of a search page or of the widget, without its `?`.
    ///
    /// # Errors
    /// The page that shows all issues; a search page also repeats the form.
    pub(crate) fn parse<'b>(
        &self,
        page: Page,
        raw: &[u8],
        buffers: &'b mut Buffers,
    ) -> Result<PageQuery<'b>, String> {
        let given = QueryParams::read(raw);
        match query::parse_query(raw, buffers) {
            Ok(query) => Ok(PageQuery { query, given }),
            Err(issues) if page == Page::Widget => {
                Err(self.widget_error(raw, issues.iter().map(ToString::to_string).collect()))
            }
            Err(issues) => Err(self.search_error(&given, &issues)),
        }
    }

    /// Finds and renders one page of reviews.
    pub(crate) fn search(&self, page_query: &PageQuery<'_>, scratch: &mut run::Scratch) -> String {
        let PageQuery { query, given } = page_query;
        let index = &self.snapshot.index;
        let page = run::run(index, query, scratch);
        let hints = match page.matched {
            0 => hints(index, query, scratch, &mut Work::for_hints()),
            _ => Vec::new(),
        };
        let filter = &query.filter;
        let aspect = filter.aspect.and_then(|name| self.aspect(name));
        let words = filter.words.iter().flat_map(Words::terms);
        let words = words.filter(|term| !term.is_excluded);
        let terms: Vec<Term<'_>> = words.chain(filter.text.map(Term::anywhere)).collect();
        let mut evidence: HashMap<&str, Vec<Range<u32>>> = HashMap::new();
        let mentions = aspect.into_iter();
        for one in mentions.flat_map(|aspect| evidence_of(aspect, filter.polarity)) {
            let of_review = evidence.entry(&one.review_id).or_default();
            of_review.push(one.start..one.end);
        }
        let heading = match page.matched {
            0 => "No review matches".to_owned(),
            matched => counted(u64::from(matched), "review", "reviews"),
        };
        let chips = self.chips(given, aspect);
        let canonical = canonical(given).filter(|_| page.matched > 0);
        let description = match (&canonical, chips.first()) {
            (Some(_), Some(Chip { label, value, .. })) => {
                format!("{heading}, {label}: {}", without_direction(value))
            }
            _ => heading.clone(),
        };
        let aspect = aspect.filter(|_| page.matched > 0);
        rendered(&Results {
            title: format!("{description} – {}", self.layout.title),
            description,
            canonical,
            heading,
            note: aspect.map(|aspect| note(aspect, filter.polarity)),
            chips,
            reviews: read_all(&self.snapshot, &page.rows, &terms, &evidence),
            next: page
                .next
                .map(|cursor| given.href(None, Some(&cursor.render()))),
            first: query.cursor.map(|_| given.href(None, None)),
            hints: &hints,
            ..self.results(given)
        })
    }

    /// A page without reviews.
    fn results<'p>(&'p self, given: &'p QueryParams) -> Results<'p> {
        Results {
            layout: &self.layout,
            t: Language::DEFAULT.messages(),
            title: String::new(),
            description: String::new(),
            canonical: None,
            form: Form::new(&self.lists, given),
            heading: String::new(),
            note: None,
            chips: Vec::new(),
            reviews: Vec::new(),
            next: None,
            first: None,
            issues: Vec::new(),
            hints: &[],
            owner: &self.snapshot.business.name,
        }
    }

    fn search_error(&self, given: &QueryParams, issues: &Issues) -> String {
        let lines = issues.iter().map(|issue| IssueLine {
            label: issue.path.as_deref().map(label).unwrap_or_default(),
            issue,
        });
        let heading = "This search is not valid";
        rendered(&Results {
            title: format!("{heading} – {}", self.layout.title),
            heading: heading.to_owned(),
            issues: lines.collect(),
            ..self.results(given)
        })
    }

    /// Returns the aspect with a folded name.
    fn aspect(&self, folded: &str) -> Option<&Aspect> {
        let id = self
            .snapshot
            .index
            .resolve(Parameter::Aspect, folded, &mut Work::new(0))?;
        let id = id.ok()?;
        let mut aspects = mentioned(self.snapshot.insights_value()).into_iter();
        aspects.find(|aspect| aspect.id == id)
    }

    /// Returns the filters of the search, each with the URL of the same search without it; `aspect` is that of the
    /// search.
    fn chips(&self, given: &QueryParams, aspect: Option<&Aspect>) -> Vec<Chip> {
        let narrows = |(name, _): &(&str, &str)| !matches!(*name, "sort" | "limit" | "cursor");
        let chips = given.iter().filter(narrows).map(|(name, value)| {
            let value_label = match name {
                "mentions_service" => service_label(&self.snapshot, value),
                "aspect" => aspect.map_or(value, |aspect| &aspect.label),
                "polarity" => Polarity::parse(value).map_or(value, |tone| tone_label(tone)),
                _ => value,
            };
            Chip {
                label: label(name),
                value: value_label.to_owned(),
                href: given.href(Some(name), None),
            }
        });
        chips.collect()
    }
}

/// Parameters with indexable pages if used alone: the front page links to these pages.
const INDEXED: [&str; 4] = ["aspect", "rating", "mentions_service", "sort"];

/// Returns the URL under which search engines may index a search. Other searches are not indexed: there are too many
/// combinations of filters, and a page for free text would repeat any text that is put into a link.
fn canonical(given: &QueryParams) -> Option<String> {
    let mut names = given.iter().map(|(name, _)| name);
    let is_indexed = INDEXED.contains(&names.next()?) && names.next().is_none();
    is_indexed.then(|| given.href(None, None))
}

/// Returns the label of a parameter in the form.
fn label(name: &str) -> &'static str {
    match name {
        "rating" => "Stars",
        "min_rating" => "At least (stars)",
        "since" => "From",
        "until" => "To",
        "query" => "Exact text",
        "words" => "Words",
        "mentions_technician" => "Person",
        "mentions_service" => "Service",
        "limit" => "Reviews per page",
        "sort" => "Order",
        "cursor" => "Cursor",
        "aspect" => "Aspect",
        "polarity" => "Tone",
        "max_rating" => "At most (stars)",
        "has_reply" => "With a reply",
        "language" => "Language",
        "source" => "Source",
        _ => "Address",
    }
}

/// Returns the polarity as a word for readers.
fn tone_label(polarity: Polarity) -> &'static str {
    match polarity {
        Polarity::Positive => "favorable",
        Polarity::Neutral => "neutral or unclear",
        Polarity::Negative => "critical",
    }
}

/// Returns the stored mentions of an aspect, of one polarity if given.
fn evidence_of(aspect: &Aspect, polarity: Option<Polarity>) -> impl Iterator<Item = &Evidence> {
    let is_asked = move |one: &&Evidence| polarity.is_none_or(|polarity| one.polarity == polarity);
    aspect.evidence.iter().flatten().filter(is_asked)
}

/// Returns a sentence about the highlighted mentions of an aspect.
fn note(aspect: &Aspect, polarity: Option<Polarity>) -> String {
    let kept = evidence_of(aspect, polarity).count() as u64;
    let all = aspect.count(polarity);
    let tone = polarity.map_or_else(String::new, |polarity| format!("{} ", tone_label(polarity)));
    let counted = counted(all, &format!("{tone}mention"), &format!("{tone}mentions"));
    let marked = match kept < all {
        true => {
            let kept = count(kept);
            format!("of which the newest and the clearest are marked, {kept} in total.")
        }
        false => "marked in their reviews.".to_owned(),
    };
    format!("{}: {counted}, {marked}", aspect.label)
}

struct Chip {
    label: &'static str,
    value: String,
    href: String,
}

struct IssueLine<'i> {
    label: &'static str,
    issue: &'i Issue,
}

#[derive(Template)]
#[template(path = "results.html")]
struct Results<'p> {
    layout: &'p Layout,
    t: &'static Messages,
    title: String,
    /// The content of the page, in a few words.
    description: String,
    /// The URL under which search engines may index it; `None` if they must not.
    canonical: Option<String>,
    form: Form<'p>,
    heading: String,
    note: Option<String>,
    chips: Vec<Chip>,
    reviews: Vec<ReviewView>,
    next: Option<String>,
    first: Option<String>,
    issues: Vec<IssueLine<'p>>,
    hints: &'p [Hint<'p>],
    owner: &'p str,
}
