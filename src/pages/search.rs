//! Search pages: the interface's own rules, a form that repeats what was asked, and one page of reviews.
//!
//! Two parameters are the pages' own: `aspect` keeps the reviews that an aspect's evidence names, and `polarity` those
//! of them whose words sound so. They combine with all others, and the interface ignores them.

use askama::Template;

use super::Pages;
use super::filters;
use super::form::{Field, Form};
use super::given::{ASPECT, Given, POLARITY, issue};
use super::insights::{Aspect, Polarity, label as tone_label};
use super::review::{Shown, read_all};
use super::shell::{Shell, rendered};
use super::text::{counted, service_label, without_direction};
use crate::model::Row;
use crate::search::filter::Query;
use crate::search::issue::{Code, Issues};
use crate::search::query::{self, Buffers};
use crate::search::run;

/// What a thread's searches use again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Memory of the query's parser.
    pub buffers: Buffers,
    /// Memory of the search.
    pub run: run::Scratch,
}

/// A request for a search page that can be answered.
#[derive(Debug)]
pub struct Asked<'b> {
    query: Query<'b>,
    given: Given,
    /// Place of the aspect, and the polarity.
    aspect: Option<(usize, Option<Polarity>)>,
}

impl Asked<'_> {
    /// Tells whether nothing was asked, so that the page without parameters is the answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}

/// Why a search page cannot be answered, as a page.
#[derive(Debug)]
pub struct Refused {
    /// HTML.
    pub page: Vec<u8>,
    /// Whether the same request is answered later, when the insights are there.
    pub is_early: bool,
}

impl Pages {
    /// Reads the parameters of a page, without its `?`.
    ///
    /// # Errors
    /// The page that shows the form with every issue that was found.
    pub fn ask<'b>(&self, raw: &[u8], buffers: &'b mut Buffers) -> Result<Asked<'b>, Refused> {
        let given = Given::read(raw);
        let mut issues = Issues::default();
        let aspect = self.aspect(&given, &mut issues);
        let query = match query::parse_query(raw, buffers) {
            Ok(query) if issues.is_empty() => query,
            Ok(_) => return Err(self.refuse(&given, &issues)),
            Err(mut found) => {
                issues.iter().for_each(|issue| found.push(issue.clone()));
                return Err(self.refuse(&given, &found));
            }
        };
        Ok(Asked {
            query,
            given,
            aspect,
        })
    }

    /// Finds and renders one page of reviews.
    #[must_use]
    pub fn find(&self, asked: &Asked<'_>, scratch: &mut run::Scratch) -> Vec<u8> {
        let query = &asked.query;
        let index = &self.snapshot.index;
        let aspect = asked.aspect.and_then(|(place, polarity)| {
            Some((self.insights.as_ref()?.aspects.get(place)?, polarity))
        });
        let page = match aspect {
            Some((aspect, polarity)) => {
                run::run_among(index, query, &aspect.rows(polarity), scratch)
            }
            None => run::run(index, query, scratch),
        };
        let evidence = |row: Row| {
            let mentions = aspect
                .into_iter()
                .flat_map(|(aspect, polarity)| aspect.mentions_of(polarity));
            let of_row = mentions.filter(move |mention| mention.row == row);
            of_row.map(|mention| mention.points.clone())
        };
        let heading = heading(page.matched, aspect);
        let chips = self.chips(&asked.given);
        let canonical = canonical(&asked.given).filter(|_| page.matched > 0);
        let subject = match (&canonical, chips.first()) {
            (Some(_), Some(chip)) => {
                format!(
                    "{heading}, {}: {}",
                    chip.label,
                    without_direction(&chip.value)
                )
            }
            _ => heading.clone(),
        };
        rendered(&Results {
            shell: &self.shell,
            title: format!("{subject} – {}", self.shell.title),
            subject,
            canonical,
            form: Form::new(&self.lists, &asked.given),
            heading,
            note: aspect.map(|(aspect, polarity)| note(aspect, polarity)),
            chips,
            reviews: read_all(&self.snapshot, &page.rows, query.filter.text, evidence),
            next: page
                .next
                .map(|cursor| asked.given.href_after(&cursor.render())),
            first: query.cursor.map(|_| asked.given.href_without(&[])),
            issues: &[],
            owner: &self.snapshot.business.name,
        })
        .into_bytes()
    }

    fn refuse(&self, given: &Given, issues: &Issues) -> Refused {
        let is_early = issues.iter().all(|issue| issue.message == NOT_YET);
        let lines: Vec<IssueLine> = issues
            .iter()
            .map(|issue| IssueLine {
                label: issue.path.as_deref().map(label).unwrap_or_default(),
                message: issue.message.to_string(),
                received: issue.received.clone(),
            })
            .collect();
        let page = rendered(&Results {
            shell: &self.shell,
            title: format!("This search cannot be answered – {}", self.shell.title),
            subject: String::new(),
            canonical: None,
            form: Form::new(&self.lists, given),
            heading: "This search cannot be answered".to_owned(),
            note: None,
            chips: Vec::new(),
            reviews: Vec::new(),
            next: None,
            first: None,
            issues: &lines,
            owner: &self.snapshot.business.name,
        })
        .into_bytes();
        Refused { page, is_early }
    }

    /// Looks the aspect up, with the rules of the interface: what is unknown, repeated or alone is an issue.
    fn aspect(&self, given: &Given, issues: &mut Issues) -> Option<(usize, Option<Polarity>)> {
        given
            .faults
            .iter()
            .for_each(|issue| issues.push(issue.clone()));
        let mut refuse = |name: &'static str, message: &'static str, received: &str| {
            issues.push(issue(name, Code::UnknownValue, message.into(), received));
        };
        let (aspect, word) = (given.value(ASPECT), given.value(POLARITY));
        let polarity = Polarity::parse(word);
        if !word.is_empty() && polarity.is_none() {
            refuse(POLARITY, "must be positive, neutral or negative", word);
        }
        if aspect.is_empty() {
            return None;
        }
        let Some(insights) = &self.insights else {
            refuse(ASPECT, NOT_YET, aspect);
            return None;
        };
        let place = insights.aspects.iter().position(|known| known.id == aspect);
        if place.is_none() {
            refuse(
                ASPECT,
                "must be the id of a subject that reviews mention",
                aspect,
            );
        }
        Some((place?, polarity))
    }

    /// What narrows the search, each with the address of the same search without it.
    fn chips(&self, given: &Given) -> Vec<Chip> {
        let narrowing = given
            .iter()
            .filter(|(name, _)| !matches!(*name, "sort" | "limit" | "cursor"));
        narrowing
            .map(|(name, value)| {
                let left_out: &[&str] = if name == ASPECT {
                    &[ASPECT, POLARITY]
                } else {
                    &[name]
                };
                Chip {
                    label: label(name),
                    value: self.value_label(name, value).to_owned(),
                    href: given.href_without(left_out),
                }
            })
            .collect()
    }

    fn value_label<'v>(&'v self, name: &str, value: &'v str) -> &'v str {
        match name {
            "mentions_service" => service_label(&self.snapshot, value),
            ASPECT => self
                .insights
                .iter()
                .flat_map(|insights| &insights.aspects)
                .find(|aspect| aspect.id == value)
                .map_or(value, |aspect| &aspect.label),
            POLARITY => Polarity::parse(value).map_or(value, |tone| tone_label(tone)),
            _ => value,
        }
    }
}

/// Why no subject can be looked up before the insights are there.
const NOT_YET: &str = "is not known yet: the insights are being derived, try again in a minute";

/// Parameters that search engines may index a page of, each alone: the front page links to these pages.
const INDEXED: [&str; 4] = [ASPECT, "rating", "mentions_service", "sort"];

/// Returns the address under which search engines may index a search. All others tell them not to: combinations of
/// filters have no end, and a page of typed words would repeat what anybody puts into a link.
fn canonical(given: &Given) -> Option<String> {
    let mut names = given.iter().map(|(name, _)| name);
    let is_indexed = INDEXED.contains(&names.next()?) && names.next().is_none();
    is_indexed.then(|| given.href_without(&[]))
}

/// A parameter as people know it from the form.
fn label(name: &str) -> &'static str {
    match name {
        "rating" => "Stars",
        "min_rating" => "At least (stars)",
        "since" => "From",
        "until" => "To",
        "query" => "Words",
        "mentions_technician" => "Person",
        "mentions_service" => "Service",
        "limit" => "Reviews per page",
        "sort" => "Order",
        "cursor" => "Place",
        ASPECT => "Subject",
        POLARITY => "Tone",
        _ => "Address",
    }
}

/// How many reviews there are; of a polarity whose evidence is a choice, that they are those of the choice alone.
fn heading(matched: u32, aspect: Option<(&Aspect, Option<Polarity>)>) -> String {
    let reviews = match matched {
        0 => "No review".to_owned(),
        matched => counted(u64::from(matched), "review", "reviews"),
    };
    // Without a polarity every review that mentions the aspect is found.
    let chosen = aspect.filter(|(_, polarity)| polarity.is_some());
    let chosen = chosen.and_then(|(aspect, polarity)| {
        let (kept, all) = aspect.kept_of(polarity);
        (kept < all).then(|| {
            let examples = counted(kept, "example", "examples");
            let all = counted(all, "mention", "mentions");
            format!("{reviews} among the {examples} kept (of {all})")
        })
    });
    match chosen {
        Some(chosen) => chosen,
        None if matched == 0 => "No review matches".to_owned(),
        None => reviews,
    }
}

/// What the evidence of an aspect is, in a sentence.
fn note(aspect: &Aspect, polarity: Option<Polarity>) -> String {
    let (kept, all) = aspect.kept_of(polarity);
    let tone = polarity.map_or_else(String::new, |polarity| format!("{} ", tone_label(polarity)));
    let label = &aspect.label;
    let counted = counted(all, &format!("{tone}mention"), &format!("{tone}mentions"));
    if kept < all && polarity.is_none() {
        let kept = super::text::count(kept);
        format!(
            "{label}: {counted}, of which the newest and the clearest are marked, {kept} in all."
        )
    } else if kept < all {
        format!(
            "{label}: {counted}. Only the newest and the clearest of them are kept as examples, {kept} in all; \
             these alone are searched, and marked in their reviews."
        )
    } else {
        format!("{label}: {counted}, marked in their reviews.")
    }
}

/// One narrowing parameter.
struct Chip {
    label: &'static str,
    value: String,
    href: String,
}

/// Why a search is refused, for people.
struct IssueLine {
    label: &'static str,
    message: String,
    received: String,
}

#[derive(Template)]
#[template(path = "results.html")]
struct Results<'p> {
    shell: &'p Shell,
    title: String,
    /// What the page has, in a few words.
    subject: String,
    /// Where search engines may index it; none where they may not.
    canonical: Option<String>,
    form: Form<'p>,
    heading: String,
    note: Option<String>,
    chips: Vec<Chip>,
    reviews: Vec<Shown>,
    next: Option<String>,
    first: Option<String>,
    issues: &'p [IssueLine],
    owner: &'p str,
}
