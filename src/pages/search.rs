//! Search pages: the form with the given values, and one page of matching reviews.
//!
//! In a search by aspect, the mentions behind its counts are highlighted as well as the search terms.

use std::collections::HashMap;
use std::ops::Range;

use askama::Template;

use super::form::{Field, Form, QueryParams};
use super::layout::{Layout, rendered};
use super::review::{ReviewView, read_all};
use super::text::{count, counted, service_label, without_direction};
use super::{Pages, mentioned, text as filters};
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::filter::{Query, Term, Words};
use crate::search::hints::{Hint, hints};
use crate::search::issue::{Code, Issue, Issues};
use crate::search::query::{self, Buffers, Parameter};
use crate::search::run;

/// Buffers that a thread reuses for its searches.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Buffers of the query's parser.
    pub buffers: Buffers,
    /// Buffers of the search.
    pub run: run::Scratch,
}

/// A valid request for a search page.
#[derive(Debug)]
pub struct PageQuery<'b> {
    query: Query<'b>,
    given: QueryParams,
}

impl PageQuery<'_> {
    /// Returns whether no parameter was given, so that the stored page is the response.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}

/// An error page for an invalid query.
#[derive(Debug)]
pub struct InvalidQuery {
    /// HTML.
    pub page: Vec<u8>,
    /// Whether the same request will be valid when the insights have been derived.
    pub is_early: bool,
}

impl Pages {
    /// Parses the query string of a page, without its `?`.
    ///
    /// # Errors
    /// The page that shows the form with all issues.
    pub fn ask<'b>(
        &self,
        raw: &[u8],
        buffers: &'b mut Buffers,
    ) -> Result<PageQuery<'b>, InvalidQuery> {
        let given = QueryParams::read(raw);
        match query::parse_query(raw, buffers) {
            Ok(query) if query.filter.needs_insights() && self.insights().is_none() => {
                let is_aspect = query.filter.aspect.is_some();
                let name = if is_aspect { "aspect" } else { "polarity" };
                let issue = Issue {
                    path: Some(name.into()),
                    code: Code::UnknownValue,
                    message: NOT_YET.into(),
                    received: given.value(name).to_owned(),
                };
                Err(self.refuse(&given, &Issues::from(issue), true))
            }
            Ok(query) => Ok(PageQuery { query, given }),
            Err(issues) => Err(self.refuse(&given, &issues, false)),
        }
    }

    /// Finds and renders one page of reviews.
    #[must_use]
    pub fn find(&self, asked: &PageQuery<'_>, scratch: &mut run::Scratch) -> Vec<u8> {
        let query = &asked.query;
        let index = &self.snapshot.index;
        let page = run::run(index, query, scratch);
        let hints = match page.matched {
            0 => hints(index, query, scratch),
            _ => Vec::new(),
        };
        let filter = &query.filter;
        let aspect = filter.aspect.and_then(|name| self.aspect(name));
        let aspect = aspect.map(|aspect| (aspect, filter.polarity));
        let words = filter.words.iter().flat_map(Words::terms);
        let words = words.filter(|term| !term.is_excluded);
        let terms: Vec<Term<'_>> = words.chain(filter.text.map(Term::anywhere)).collect();
        let mut evidence: HashMap<&str, Vec<Range<u32>>> = HashMap::new();
        let asked_for = aspect.iter();
        for one in asked_for.flat_map(|(aspect, polarity)| evidence_of(aspect, *polarity)) {
            let of_review = evidence.entry(&one.review_id).or_default();
            of_review.push(one.start..one.end);
        }
        let heading = match page.matched {
            0 => "No review matches".to_owned(),
            matched => counted(u64::from(matched), "review", "reviews"),
        };
        let (chips, next) = (self.chips(&asked.given), page.next);
        let canonical = canonical(&asked.given).filter(|_| page.matched > 0);
        let subject = match (&canonical, chips.first()) {
            (Some(_), Some(Chip { label, value, .. })) => {
                format!("{heading}, {label}: {}", without_direction(value))
            }
            _ => heading.clone(),
        };
        rendered(&Results {
            title: format!("{subject} – {}", self.layout.title),
            subject,
            canonical,
            heading,
            note: aspect.map(|(aspect, polarity)| note(aspect, polarity)),
            chips,
            reviews: read_all(&self.snapshot, &page.rows, &terms, &evidence),
            next: next.map(|cursor| asked.given.href(None, Some(&cursor.render()))),
            first: query.cursor.map(|_| asked.given.href(None, None)),
            hints: &hints,
            ..self.results(&asked.given)
        })
        .into_bytes()
    }

    /// A page without reviews.
    fn results<'p>(&'p self, given: &'p QueryParams) -> Results<'p> {
        Results {
            layout: &self.layout,
            title: String::new(),
            subject: String::new(),
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

    fn refuse(&self, given: &QueryParams, issues: &Issues, is_early: bool) -> InvalidQuery {
        let line = |issue: &Issue| IssueLine {
            label: issue.path.as_deref().map(label).unwrap_or_default(),
            message: issue.message.to_string(),
            received: issue.received.clone(),
        };
        let heading = "This search is not valid";
        let page = rendered(&Results {
            title: format!("{heading} – {}", self.layout.title),
            heading: heading.to_owned(),
            issues: issues.iter().map(line).collect(),
            ..self.results(given)
        });
        let page = page.into_bytes();
        InvalidQuery { page, is_early }
    }

    /// Returns the aspect with a folded name.
    fn aspect(&self, folded: &str) -> Option<&Aspect> {
        let id = self.snapshot.index.resolve(Parameter::Aspect, folded)?;
        self.aspect_of_id(id.ok()?)
    }

    fn aspect_of_id(&self, id: &str) -> Option<&Aspect> {
        let mut aspects = mentioned(self.insights()).into_iter();
        aspects.find(|aspect| aspect.id == id)
    }

    /// Returns the filters of the search, each with the URL of the same search without it.
    fn chips(&self, given: &QueryParams) -> Vec<Chip> {
        let narrows = |(name, _): &(&str, &str)| !matches!(*name, "sort" | "limit" | "cursor");
        let chips = given.iter().filter(narrows).map(|(name, value)| Chip {
            label: label(name),
            value: self.value_label(name, value).to_owned(),
            href: given.href(Some(name), None),
        });
        chips.collect()
    }

    fn value_label<'v>(&'v self, name: &str, value: &'v str) -> &'v str {
        match name {
            "mentions_service" => service_label(&self.snapshot, value),
            "aspect" => self.aspect_of_id(value).map_or(value, |one| &one.label),
            "polarity" => Polarity::parse(value).map_or(value, |tone| tone_label(tone)),
            _ => value,
        }
    }
}

/// The issue of an aspect while the insights are being derived.
const NOT_YET: &str = "is not known yet: the insights are being derived; try again in a minute";

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
        "aspect" => "Subject",
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

struct IssueLine {
    label: &'static str,
    message: String,
    received: String,
}

#[derive(Template)]
#[template(path = "results.html")]
struct Results<'p> {
    layout: &'p Layout,
    title: String,
    /// The subject of the page, in a few words.
    subject: String,
    /// The URL under which search engines may index it; `None` if they must not.
    canonical: Option<String>,
    form: Form<'p>,
    heading: String,
    note: Option<String>,
    chips: Vec<Chip>,
    reviews: Vec<ReviewView>,
    next: Option<String>,
    first: Option<String>,
    issues: Vec<IssueLine>,
    hints: &'p [Hint<'p>],
    owner: &'p str,
}
