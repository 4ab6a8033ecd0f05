//! The arguments of a tool: read by name, with all issues reported at once.

use std::borrow::Cow;

use serde_json::Value;

use super::Members;
use crate::search::issue::{Code, Issue, Issues};
use crate::search::query::TEXT_BYTES_MAX;
use crate::wire::json::quote;
use crate::wire::text::cut;

/// The members of `arguments`, and the issues found so far.
pub(super) struct Arguments<'v> {
    members: &'v Members,
    issues: Issues,
}

impl<'v> Arguments<'v> {
    /// Rejects every name that is not one of `known`, so that a model notices a misspelt filter.
    pub(super) fn new(members: &'v Members, known: &[&str]) -> Arguments<'v> {
        let mut arguments = Arguments {
            members,
            issues: Issues::default(),
        };
        for (name, value) in members {
            if !known.contains(&name.as_str()) {
                arguments.issues.push(unknown(name, value, known));
            }
        }
        arguments
    }

    /// Returns a required string of 1 to 1,024 bytes.
    pub(super) fn text(&mut self, name: &'static str, what: &'static str) -> &'v str {
        let (code, received) = match self.members.get(name) {
            Some(Value::String(text)) if text.len() > TEXT_BYTES_MAX => {
                (Code::TooLong, Cow::Borrowed(&**text))
            }
            Some(Value::String(text)) if !text.is_empty() => return text,
            None | Some(Value::String(_) | Value::Null) => (Code::Missing, Cow::Borrowed("")),
            Some(other) => (Code::InvalidType, quote(other)),
        };
        self.refuse(name, code, what, &received);
        ""
    }

    /// Returns the words of an array, or a single string, each one of `choices`; empty if the argument is absent.
    pub(super) fn words(
        &mut self,
        name: &'static str,
        choices: &[&'static str],
    ) -> Vec<&'static str> {
        let given = match self.members.get(name) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => &items[..],
            Some(one) => std::slice::from_ref(one),
        };
        let mut words = Vec::new();
        for value in given.iter().take(WORDS_MAX) {
            match choices.iter().find(|choice| value == **choice) {
                Some(word) => words.push(*word),
                None => {
                    let message = format!("must be one of {}", choices.join(", "));
                    self.refuse(name, Code::UnknownValue, message, &quote(value));
                }
            }
        }
        words
    }

    /// Adds an issue.
    pub(super) fn refuse(
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
    pub(super) fn finish(self) -> Result<(), Issues> {
        self.issues.into_result()
    }
}

/// Returns the issue about an argument that the tool does not have.
pub(super) fn unknown(name: &str, value: &Value, known: &[&str]) -> Issue {
    let path = Some(cut(name).to_owned().into());
    let message = match known.is_empty() {
        true => "is not an argument of this tool, which takes none".into(),
        false => format!(
            "is not an argument of this tool, which takes {}",
            known.join(", ")
        ),
    };
    Issue::new(path, Code::UnknownArgument, message, &quote(value))
}

/// Words of an array that are read; further ones are ignored.
const WORDS_MAX: usize = 16;
