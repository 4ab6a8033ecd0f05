//! The arguments of a tool or a prompt: read by name, with all issues reported at once.

use std::borrow::Cow;

use serde_json::Value;

use super::Members;
use crate::mcp::catalog::{Catalog, Named};
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::NOT_READY;
use crate::model::Row;
use crate::search::filter::{Filter, Query, Sort, Words};
use crate::search::fold::fold;
use crate::search::issue::{Code, Issue, Issues};
use crate::search::names::{NAMES_MAX, ResolvedName, WrongName};
use crate::search::query::{Parameter, TEXT_BYTES_MAX};
use crate::search::run::{Scratch, run};
use crate::wire::date::{Date, parse_date};
use crate::wire::json::quote;
use crate::wire::text::cut;

/// Letters from which a word of a phrase tells what a service is.
const WORD_CHARS_MIN: usize = 4;

/// Up to this many services are all listed if one is unknown.
const SERVICES_FEW: usize = 12;

/// Jaro-Winkler similarity from which an argument is near an unknown one.
const LIKENESS_MIN: f64 = 0.8;

/// Largest number of words read from an array; further ones are ignored.
const WORDS_MAX: usize = 16;

/// A person, service or aspect that an argument means.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcp) struct FoundByName<'c> {
    pub(in crate::mcp) entry: &'c Named,
    /// The name, alias, label, phrase or part that was found.
    pub(in crate::mcp) resolved: ResolvedName<'c>,
}

/// The members of `arguments`, and the issues found so far.
pub(in crate::mcp) struct Arguments<'v> {
    members: &'v Members,
    issues: Issues,
}

impl<'v> Arguments<'v> {
    /// Rejects every name that is not one of `known`, so that a model notices a misspelt filter; those that automation
    /// tools add are ignored.
    pub(in crate::mcp) fn new(members: &'v Members, known: &[&str]) -> Arguments<'v> {
        let mut arguments = Arguments {
            members,
            issues: Issues::default(),
        };
        for (name, value) in members {
            if !known.contains(&name.as_str()) && !is_added_by_client(name) {
                arguments.issues.push(unknown(name, value, known));
            }
        }
        arguments
    }

    /// Returns an argument, unless it is absent, null or an empty string, which all count as not given.
    fn argument(&self, name: &str) -> Option<&'v Value> {
        let value = self.members.get(name);
        value.filter(|value| !value.is_null() && *value != "")
    }

    /// Returns a required string of 1 to 1,024 bytes.
    pub(in crate::mcp) fn text(&mut self, name: &'static str, what: &'static str) -> &'v str {
        let (code, received) = match self.argument(name) {
            Some(Value::String(text)) if text.len() <= TEXT_BYTES_MAX => return text,
            Some(Value::String(text)) => (Code::TooLong, Cow::Borrowed(&**text)),
            Some(other) => (Code::InvalidType, quote(other)),
            None => (Code::Missing, Cow::Borrowed("")),
        };
        self.push_issue(name, code, what, &received);
        ""
    }

    /// Returns a string of at most 1,024 bytes; empty if the argument is not given.
    pub(in crate::mcp) fn optional_text(&mut self, name: &'static str) -> &'v str {
        match self.argument(name) {
            Some(_) => self.text(name, "must be a string of at most 1,024 bytes"),
            None => "",
        }
    }

    /// Checks that `text`, the value of the argument `name`, is a date or empty.
    pub(in crate::mcp) fn date(&mut self, name: &'static str, text: &str) -> Option<Date> {
        match parse_date(text.as_bytes()) {
            Ok(date) => return Some(date),
            Err(_) if text.is_empty() => {}
            Err(error) => self.push_issue(name, Code::InvalidDate, error.to_string(), text),
        }
        None
    }

    /// Returns the review whose id is the required argument `name`.
    pub(in crate::mcp) fn review(&mut self, catalog: &Catalog, name: &'static str) -> Option<Row> {
        let id = self.text(name, "must be the id of a review");
        let row = catalog.snapshot.index.row_of_id(id);
        if row.is_none() && !id.is_empty() {
            let message = "no published review has this id";
            self.push_issue(name, Code::UnknownValue, message, id);
        }
        row
    }

    /// Returns the person, service or aspect that the `text` of the argument `name` means, by the rules of a search. Any
    /// other text, unless it is empty, is an issue that suggests names.
    pub(in crate::mcp) fn named<'c>(
        &mut self,
        catalog: &'c Catalog,
        name: &'static str,
        parameter: Parameter,
        text: &str,
        work: &mut RequestWork,
    ) -> Option<FoundByName<'c>> {
        if text.is_empty() {
            return None;
        }
        let folded = fold(text);
        let index = &catalog.snapshot.index;
        let problem = match index.resolve(parameter, &folded, &mut work.hints) {
            Some(Ok(resolved)) => {
                let mut entries = catalog.names(parameter).iter();
                match entries.find(|entry| entry.name == resolved.name) {
                    Some(entry) => return Some(FoundByName { entry, resolved }),
                    // Reviews mention it, but neither the business nor the taxonomy lists it.
                    None => "is unknown".to_owned(),
                }
            }
            Some(Err(wrong)) => problem_of(catalog, parameter, &folded, wrong),
            // Aspects have no rows yet.
            None => NOT_READY.to_owned(),
        };
        self.push_issue(name, Code::UnknownValue, problem, text);
        None
    }

    /// Returns the words of an array, or a single string, each one of `choices`; empty if the argument is not given.
    pub(super) fn words(
        &mut self,
        name: &'static str,
        choices: &[&'static str],
    ) -> Vec<&'static str> {
        let given = match self.argument(name) {
            None => &[],
            Some(Value::Array(items)) => &items[..],
            Some(one) => std::slice::from_ref(one),
        };
        let mut words = Vec::new();
        for value in given.iter().take(WORDS_MAX) {
            match choices.iter().find(|choice| value == **choice) {
                Some(word) => words.push(*word),
                None => {
                    let message = format!("must be one of {}", choices.join(", "));
                    self.push_issue(name, Code::UnknownValue, message, &quote(value));
                }
            }
        }
        words
    }

    /// Adds an issue.
    pub(in crate::mcp) fn push_issue(
        &mut self,
        name: &'static str,
        code: Code,
        message: impl Into<Cow<'static, str>>,
        received: &str,
    ) {
        let path = Some(name.into());
        self.issues.push(Issue::new(path, code, message, received));
    }

    /// Returns all issues as an error, if there are any.
    pub(in crate::mcp) fn finish(self) -> Result<(), Issues> {
        self.issues.into_result()
    }
}

/// Returns why the folded `name` is wrong, with names to try: for an unknown service those with a phrase that has one of
/// its words, or all if there are few.
pub(super) fn problem_of(
    catalog: &Catalog,
    parameter: Parameter,
    name: &str,
    wrong: WrongName<'_>,
) -> String {
    if !wrong.is_unknown {
        return wrong.problem;
    }
    if parameter == Parameter::MentionsTechnician {
        let count = count_phrase(catalog, name);
        if count == 0 {
            return wrong.problem;
        }
        let name = cut(name);
        return format!(
            "{}; it is a word of {count} reviews, which search_reviews finds with words={name}",
            wrong.problem
        );
    }
    if parameter != Parameter::MentionsService {
        return wrong.problem;
    }
    if catalog.services.is_empty() {
        let name = cut(name);
        return format!(
            "is unknown: the business lists no services; search_reviews finds reviews about it with words={name}"
        );
    }
    let has_word = |service: &&Named| {
        let phrases = service.folded.iter().flat_map(|phrase| phrase.split(' '));
        let mut words = phrases.filter(|word| word.chars().count() >= WORD_CHARS_MIN);
        words.any(|word| name.split(' ').any(|asked| asked == word))
    };
    let near: Vec<&str> = catalog
        .services
        .iter()
        .filter(has_word)
        .map(|service| &*service.name)
        .take(NAMES_MAX)
        .collect();
    if !near.is_empty() {
        return format!(
            "is unknown; services with a word of it in their phrases: {}",
            near.join(", ")
        );
    }
    if (1..=SERVICES_FEW).contains(&catalog.services.len()) {
        let all: Vec<&str> = catalog
            .services
            .iter()
            .map(|service| &*service.name)
            .collect();
        return format!("is unknown; known services: {}", all.join(", "));
    }
    wrong.problem
}

/// Returns how many reviews have the folded `text` as a phrase.
fn count_phrase(catalog: &Catalog, text: &str) -> u32 {
    let phrase = format!("\"{}\"", text.replace('"', " "));
    let filter = Filter {
        words: Words::parse(&phrase),
        ..Filter::default()
    };
    if filter.words.is_none() {
        return 0;
    }
    let query = Query::new(filter, Sort::Newest, 1);
    run(&catalog.snapshot.index, &query, &mut Scratch::default()).matched
}

/// Returns the issue about an argument that the tool or prompt does not have.
pub(super) fn unknown(name: &str, value: &Value, known: &[&str]) -> Issue {
    let path = Some(cut(name).to_owned().into());
    let nearest = known
        .iter()
        .map(|known| (strsim::jaro_winkler(cut(name), known), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, nearest)| format!("; the nearest is {nearest}"))
        .unwrap_or_default();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    let message = format!("is not a known argument{nearest}; the arguments are {known}");
    Issue::new(path, Code::UnknownArgument, message, &quote(value))
}

/// Tells whether automation tools add the argument `name` to the arguments of every tool (n8n does).
pub(super) fn is_added_by_client(name: &str) -> bool {
    matches!(name, "toolCallId" | "sessionId" | "action" | "chatInput")
}
