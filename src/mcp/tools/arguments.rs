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
use crate::search::run::{Scratch, run_within};
use crate::search::work::Work;
use crate::wire::date::{Date, parse_date};
use crate::wire::json::value_text;
use crate::wire::text::cut;

/// Letters that a word of a phrase must have to tell what a service is.
const WORD_CHARS_MIN: usize = 4;

/// Up to this many services are all listed if one is unknown.
const SERVICES_FEW: usize = 12;

/// Jaro-Winkler similarity, from 0 to 1, from which an argument is near an unknown one.
const LIKENESS_MIN: f64 = 0.8;

/// Largest number of words in an array.
const WORDS_MAX: usize = 16;

/// An argument that names a person, service or aspect.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcp) struct NameArgument {
    /// The name of the argument itself.
    name: &'static str,
    /// The parameter of a search by whose rules the argument is read.
    parameter: Parameter,
}

impl NameArgument {
    /// The argument `name`, which names a person.
    pub(in crate::mcp) const fn person(name: &'static str) -> NameArgument {
        let parameter = Parameter::MentionsTechnician;
        NameArgument { name, parameter }
    }

    /// The argument `name`, which names a service.
    pub(in crate::mcp) const fn service(name: &'static str) -> NameArgument {
        let parameter = Parameter::MentionsService;
        NameArgument { name, parameter }
    }

    /// The argument `name`, which names an aspect.
    pub(in crate::mcp) const fn aspect(name: &'static str) -> NameArgument {
        let parameter = Parameter::Aspect;
        NameArgument { name, parameter }
    }

    /// Returns the name of the argument itself.
    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// Returns the parameter of a search by whose rules the argument is read.
    pub(super) fn parameter(self) -> Parameter {
        self.parameter
    }
}

/// A name in a request, of a person, a service or an aspect.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedName<'n> {
    /// Says which of the three it should name.
    pub(super) parameter: Parameter,
    pub(super) folded: &'n str,
}

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
    /// Begins to read `members`. A member that is not one of `known` is an issue, so that a model notices a misspelt
    /// filter; what automation tools add is ignored.
    pub(in crate::mcp) fn new(members: &'v Members, known: &[&str]) -> Arguments<'v> {
        let mut issues = Issues::default();
        for (name, value) in members {
            if !known.contains(&name.as_str()) && !is_added_by_client(name) {
                issues.push_with(|| unknown_argument(name, value, known));
            }
        }
        Arguments { members, issues }
    }

    /// Returns an argument, unless it is absent, null or an empty string, which all count as not given.
    fn argument(&self, name: &str) -> Option<&'v Value> {
        let value = self.members.get(name);
        value.filter(|value| !value.is_null() && *value != "")
    }

    /// Returns a required string of 1 to 1,024 bytes; empty after an issue. `rule` is the message about a missing
    /// argument, and one of another type.
    pub(in crate::mcp) fn text(&mut self, name: &'static str, rule: &'static str) -> &'v str {
        match self.argument(name) {
            Some(Value::String(text)) if text.len() <= TEXT_BYTES_MAX => return text,
            Some(Value::String(text)) => {
                let message = format!("must be at most {TEXT_BYTES_MAX} bytes");
                self.push_issue(name, Code::TooLong, message, text);
            }
            Some(other) => self.push_issue(name, Code::InvalidType, rule, &value_text(other)),
            None => self.push_issue(name, Code::Missing, rule, ""),
        }
        ""
    }

    /// Returns a string of at most 1,024 bytes; empty if the argument is not given.
    pub(in crate::mcp) fn optional_text(&mut self, name: &'static str) -> &'v str {
        match self.argument(name) {
            Some(_) => self.text(name, "must be a string of at most 1,024 bytes"),
            None => "",
        }
    }

    /// Parses `text`, the value of the argument `name`. `None` if it is empty, or after an issue.
    pub(in crate::mcp) fn date(&mut self, name: &'static str, text: &str) -> Option<Date> {
        if text.is_empty() {
            return None;
        }
        match parse_date(text.as_bytes()) {
            Ok(date) => Some(date),
            Err(error) => {
                self.push_issue(name, Code::InvalidDate, error.to_string(), text);
                None
            }
        }
    }

    /// Returns the review whose id is the required argument `name`; `None` after an issue.
    pub(in crate::mcp) fn review(&mut self, catalog: &Catalog, name: &'static str) -> Option<Row> {
        let id = self.text(name, "must be the id of a review");
        let row = catalog.snapshot.index.row_of_id(id);
        if row.is_none() && !id.is_empty() {
            let message = "no published review has this id";
            self.push_issue(name, Code::UnknownValue, message, id);
        }
        row
    }

    /// Returns the person, service or aspect that the `text` of the argument means, by the rules of a search. `None` if it
    /// is empty, or after an issue, which suggests names.
    pub(in crate::mcp) fn named<'c>(
        &mut self,
        catalog: &'c Catalog,
        argument: NameArgument,
        text: &str,
        work: &mut RequestWork,
    ) -> Option<FoundByName<'c>> {
        if text.is_empty() {
            return None;
        }
        match find_by_name(catalog, argument.parameter, text, work) {
            Ok(found) => Some(found),
            Err(problem) => {
                self.push_issue(argument.name, Code::UnknownValue, problem, text);
                None
            }
        }
    }

    /// Returns the words of an array, or a single word, each one of `choices`; empty if the argument is not given.
    pub(super) fn words(
        &mut self,
        name: &'static str,
        choices: &[&'static str],
    ) -> Vec<&'static str> {
        let values = match self.argument(name) {
            None => &[],
            Some(Value::Array(items)) => &items[..],
            Some(one) => std::slice::from_ref(one),
        };
        if values.len() > WORDS_MAX {
            let message = format!("must have at most {WORDS_MAX} entries");
            self.push_issue(name, Code::TooMany, message, &values.len().to_string());
        }
        let mut words = Vec::new();
        for value in values.iter().take(WORDS_MAX) {
            match choices.iter().find(|choice| value == **choice) {
                Some(word) => words.push(*word),
                None => {
                    let message = format!("must be one of {}", choices.join(", "));
                    self.push_issue(name, Code::UnknownValue, message, &value_text(value));
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

    /// Returns `value`, or all issues as an error. A `value` of `None` must have an issue that says why.
    ///
    /// # Panics
    /// If a `value` of `None` has no issue, which would be a bug.
    pub(in crate::mcp) fn finish_with<T>(self, value: Option<T>) -> Result<T, Issues> {
        self.issues.into_result()?;
        Ok(value.expect("a value that could not be read has an issue"))
    }
}

/// Returns the entry that `text` means, or what is wrong with it.
fn find_by_name<'c>(
    catalog: &'c Catalog,
    parameter: Parameter,
    text: &str,
    work: &mut RequestWork,
) -> Result<FoundByName<'c>, String> {
    let folded = fold(text);
    let index = &catalog.snapshot.index;
    match index.resolve(parameter, &folded, &mut work.hints) {
        Some(Ok(resolved)) => {
            let mut entries = catalog.names(parameter).iter();
            match entries.find(|entry| entry.name == resolved.name) {
                Some(entry) => Ok(FoundByName { entry, resolved }),
                None => Err(unlisted(parameter, resolved.name)),
            }
        }
        Some(Err(wrong)) => {
            let asked = AskedName {
                parameter,
                folded: &folded,
            };
            Err(problem_of(catalog, asked, wrong, work))
        }
        // Aspects have no rows yet.
        None => Err(NOT_READY.to_owned()),
    }
}

/// Returns the problem with a name that reviews mention, but that neither the business nor the taxonomy lists.
fn unlisted(parameter: Parameter, name: &str) -> String {
    format!(
        "is mentioned in reviews, but is not listed by the business; search_reviews finds them with {}={}",
        parameter.name(),
        cut(name)
    )
}

/// Returns the problem with a name that is `wrong`, with what to try instead.
pub(super) fn problem_of(
    catalog: &Catalog,
    asked: AskedName<'_>,
    wrong: WrongName<'_>,
    work: &mut RequestWork,
) -> String {
    if !wrong.is_unknown {
        return wrong.problem;
    }
    match asked.parameter {
        Parameter::MentionsTechnician => {
            problem_of_unknown_person(catalog, asked.folded, wrong.problem, work)
        }
        Parameter::MentionsService => {
            problem_of_unknown_service(catalog, asked.folded, wrong.problem)
        }
        _ => wrong.problem,
    }
}

/// Adds to `problem` how many reviews have the name of an unknown person as a word, if some have.
fn problem_of_unknown_person(
    catalog: &Catalog,
    name: &str,
    problem: String,
    work: &mut RequestWork,
) -> String {
    let count = count_phrase(catalog, name, &mut work.hints);
    if count == 0 {
        return problem;
    }
    let name = cut(name);
    format!(
        "{problem}; it is a word of {count} reviews, which search_reviews finds with words={name}"
    )
}

/// Returns how many reviews have the folded `text` as a phrase; 0 if `work` does not suffice to count them.
fn count_phrase(catalog: &Catalog, text: &str, work: &mut Work) -> u32 {
    let phrase = format!("\"{}\"", text.replace('"', " "));
    let filter = Filter {
        words: Words::parse(&phrase),
        ..Filter::default()
    };
    if filter.words.is_none() {
        return 0;
    }
    let query = Query::new(filter, Sort::Newest, 1);
    let index = &catalog.snapshot.index;
    match run_within(index, &query, &mut Scratch::default(), work) {
        Some(page) => page.matched,
        None => 0,
    }
}

/// Names services to try instead of an unknown one: those with one of its words in a phrase, or all if there are few.
/// If it finds none, it returns `problem`.
fn problem_of_unknown_service(catalog: &Catalog, name: &str, problem: String) -> String {
    let services = &catalog.services;
    if services.is_empty() {
        let name = cut(name);
        return format!(
            "is unknown: the business lists no services; search_reviews finds reviews about it with words={name}"
        );
    }
    let near = services.iter().filter(|service| shares_word(service, name));
    let near: Vec<&str> = near.map(|service| &*service.name).take(NAMES_MAX).collect();
    if !near.is_empty() {
        return format!(
            "is unknown; services with a word of it in their phrases: {}",
            near.join(", ")
        );
    }
    if services.len() <= SERVICES_FEW {
        let all: Vec<&str> = services.iter().map(|service| &*service.name).collect();
        return format!("is unknown; known services: {}", all.join(", "));
    }
    problem
}

/// Tells whether a word of the folded `name`, of four letters or more, is in a phrase of the service.
fn shares_word(service: &Named, name: &str) -> bool {
    let phrases = service.folded.iter().flat_map(|phrase| phrase.split(' '));
    let mut words = phrases.filter(|word| word.chars().count() >= WORD_CHARS_MIN);
    words.any(|word| name.split(' ').any(|asked| asked == word))
}

/// Returns the issue about an argument that the tool or prompt does not have.
pub(super) fn unknown_argument(name: &str, value: &Value, known: &[&str]) -> Issue {
    let name = cut(name);
    let mut message = "is not a known argument".to_owned();
    if let Some(nearest) = nearest_of(known, name) {
        message.push_str("; the nearest is ");
        message.push_str(nearest);
    }
    message.push_str("; the arguments are ");
    if known.is_empty() {
        message.push_str("none");
    } else {
        message.push_str(&known.join(", "));
    }
    let path = Some(name.to_owned().into());
    Issue::new(path, Code::UnknownArgument, message, &value_text(value))
}

/// Returns the known name that is most similar to `name`, if one is similar enough.
fn nearest_of<'k>(known: &[&'k str], name: &str) -> Option<&'k str> {
    let mut nearest = None;
    let mut likeness_max = LIKENESS_MIN;
    for one in known {
        let likeness = strsim::jaro_winkler(name, one);
        if likeness >= likeness_max {
            likeness_max = likeness;
            nearest = Some(*one);
        }
    }
    nearest
}

/// Tells whether automation tools add the argument `name` to the arguments of every tool (n8n does).
pub(super) fn is_added_by_client(name: &str) -> bool {
    matches!(name, "toolCallId" | "sessionId" | "action" | "chatInput")
}
