//! The arguments of a tool: read by name, and everything that is wrong with them told at once.

use std::borrow::Cow;

use crate::mcp::json::Value;
use crate::search::builder;
use crate::search::issue::{Code, Issue, Issues, cut};
use crate::search::query::TEXT_BYTES_MAX;

/// The members of `arguments`, and what has been found wrong so far.
pub(crate) struct Arguments<'v, 'a> {
    members: &'v [(Cow<'a, str>, Value<'a>)],
    issues: Issues,
}

impl<'v, 'a> Arguments<'v, 'a> {
    /// Refuses every name that is not one of `known`, so that a model notices a misspelt filter.
    pub(crate) fn new(
        members: &'v [(Cow<'a, str>, Value<'a>)],
        known: &[&str],
    ) -> Arguments<'v, 'a> {
        let mut issues = Issues::default();
        for (name, value) in members {
            if !known.contains(&name.as_ref()) {
                issues.push(Issue {
                    path: Some(cut(name).to_owned().into()),
                    code: Code::UnknownArgument,
                    message: unknown_message(known).into(),
                    received: cut(&value.quote()).to_owned(),
                });
            }
        }
        Arguments { members, issues }
    }

    /// Returns a text that must be given: 1 to 1,024 bytes.
    pub(crate) fn text(&mut self, name: &'static str, what: &'static str) -> &'v str {
        let value = self.members.iter().find(|(key, _)| key == name);
        let (code, received) = match value {
            Some((_, Value::String(text))) if text.len() > TEXT_BYTES_MAX => {
                (Code::TooLong, cut(text).to_owned())
            }
            Some((_, Value::String(text))) if !text.is_empty() => return text,
            None | Some((_, Value::String(_) | Value::Null)) => (Code::Missing, String::new()),
            Some((_, other)) => (Code::InvalidType, other.quote().into_owned()),
        };
        self.refuse(name, code, what.into(), &received);
        ""
    }

    /// Adds a refusal.
    pub(crate) fn refuse(
        &mut self,
        name: &'static str,
        code: Code,
        message: Cow<'static, str>,
        received: &str,
    ) {
        self.issues.push(Issue {
            path: Some(name.into()),
            code,
            message,
            received: cut(received).to_owned(),
        });
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Everything that was wrong.
    pub(crate) fn finish(self) -> Result<(), Issues> {
        match self.issues.is_empty() {
            true => Ok(()),
            false => Err(self.issues),
        }
    }
}

/// Says which arguments there are.
pub(crate) fn unknown_message(known: &[&str]) -> String {
    if known.is_empty() {
        "is not an argument of this tool, which takes none".into()
    } else {
        format!(
            "is not an argument of this tool, which takes {}",
            known.join(", ")
        )
    }
}

/// A JSON value as the rules of a search take it; a number is written out into `scratch`.
pub(crate) fn search_value<'s>(
    value: &'s Value<'_>,
    scratch: &'s mut String,
) -> builder::Value<'s> {
    match value {
        Value::Null => builder::Value::Null,
        Value::String(text) => builder::Value::Text(text),
        Value::Unsigned(_) | Value::Negative(_) | Value::Float(_) => {
            // The shortest decimal that means the same double: 5.0 comes out as 5, 4.5 as 4.5.
            scratch.clear();
            scratch.push_str(&value.quote());
            builder::Value::Number(scratch)
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            scratch.clear();
            scratch.push_str(&value.quote());
            builder::Value::Other(scratch)
        }
    }
}
