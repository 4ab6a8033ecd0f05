//! Issues: the reasons why an input is rejected, and the body of the 400 that lists them.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::wire::json::{Array, Object, push_strings};
use crate::wire::text::cut;

/// Most issues that are reported. Our choice: more than a query of 64 parameters can have.
const ISSUES_MAX: usize = 100;

/// Bytes that the body of a 400 has without its issues. With [`ISSUE_BYTES`] it tells how much to allocate.
const BODY_BYTES: usize = 256;
/// Bytes of a usual issue.
const ISSUE_BYTES: usize = 256;

/// One reason why an input is rejected: a client error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The parameter, or `None` if the issue is about the whole input; an unknown name is cut at 64 bytes. In
    /// responses it is an array.
    pub path: Option<Cow<'static, str>>,
    /// The type of issue, for programs.
    pub code: Code,
    /// The rule that was violated, for people: lower case, without the parameter's name, no full stop.
    pub message: Cow<'static, str>,
    /// The received value, cut at 64 bytes on a character boundary.
    pub received: String,
}

impl Issue {
    /// Creates an issue that quotes at most 64 bytes of `received`.
    pub fn new(
        path: Option<Cow<'static, str>>,
        code: Code,
        message: impl Into<Cow<'static, str>>,
        received: &str,
    ) -> Issue {
        Issue {
            path,
            code,
            message: message.into(),
            received: cut(received).to_owned(),
        }
    }

    /// Appends the issue as a JSON object.
    fn push_json(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        push_strings(object.key("path"), self.path.as_deref());
        object
            .string("code", self.code.word())
            .string("message", &self.message)
            .string("received", &self.received);
        object.end();
    }
}

impl fmt::Display for Issue {
    /// Writes one line that can be read alone: `rating: must be an integer from 1 to 5, received "9"`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(formatter, "{path}: ")?;
        }
        write!(formatter, "{}, received {:?}", self.message, self.received)
    }
}

/// The type of an issue; its word in responses, in snake case, never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Not a number where a number is required, or a JSON value of another type.
    InvalidType,
    /// A number outside its bounds.
    OutOfRange,
    /// Not `YYYY-MM-DD`, or a day that does not exist.
    InvalidDate,
    /// A broken percent-escape or bytes that are not UTF-8.
    InvalidEncoding,
    /// A cursor that is malformed, or was issued for another order.
    InvalidCursor,
    /// A word that is not one of a list.
    UnknownValue,
    /// A parameter given twice.
    Duplicate,
    /// A text over its limit.
    TooLong,
    /// More parameters than are read.
    TooMany,
    /// An unknown argument; only for inputs whose names are checked, so not for query strings.
    UnknownArgument,
    /// A required argument that is missing.
    Missing,
}

impl Code {
    /// Returns the word in responses.
    fn word(self) -> &'static str {
        match self {
            Code::InvalidType => "invalid_type",
            Code::OutOfRange => "out_of_range",
            Code::InvalidDate => "invalid_date",
            Code::InvalidEncoding => "invalid_encoding",
            Code::InvalidCursor => "invalid_cursor",
            Code::UnknownValue => "unknown_value",
            Code::Duplicate => "duplicate",
            Code::TooLong => "too_long",
            Code::TooMany => "too_many",
            Code::UnknownArgument => "unknown_argument",
            Code::Missing => "missing",
        }
    }
}

/// All issues, in the order of the input; never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issues(Vec<Issue>);

impl Issues {
    /// Adds an issue, if there are fewer than 100. The list allocates only now, so that accepted requests cost nothing.
    pub fn push(&mut self, issue: Issue) {
        self.push_with(|| issue);
    }

    /// Adds the issue that `make` returns, which is called only if there are fewer than 100.
    pub fn push_with(&mut self, make: impl FnOnce() -> Issue) {
        if self.0.len() < ISSUES_MAX {
            self.0.push(make());
        }
    }

    /// Returns the issues in the order of the input.
    pub fn iter(&self) -> std::slice::Iter<'_, Issue> {
        self.0.iter()
    }

    /// Succeeds if there are no issues.
    ///
    /// # Errors
    /// The issues themselves.
    pub fn into_result(self) -> Result<(), Issues> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Renders the body of the 400: `error`, `message` and `issues`.
    pub fn render(&self) -> Vec<u8> {
        let mut message = String::with_capacity(ISSUE_BYTES);
        // Cannot fail: the text grows if necessary.
        let _ = write!(message, "{self}");
        let mut body = Vec::with_capacity(BODY_BYTES + self.0.len() * ISSUE_BYTES);
        let mut object = Object::begin(&mut body);
        object
            .string("error", "validation_error")
            .string("message", &message);
        let mut issues = Array::begin(object.key("issues"));
        for issue in &self.0 {
            issue.push_json(issues.item());
        }
        issues.end();
        object.end();
        body
    }
}

impl From<Issue> for Issues {
    fn from(issue: Issue) -> Issues {
        Issues(vec![issue])
    }
}

impl fmt::Display for Issues {
    /// Writes the first issue, and the number of further ones.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else {
            return formatter.write_str("no issue");
        };
        first.fmt(formatter)?;
        match self.0.len() - 1 {
            0 => Ok(()),
            1 => formatter.write_str(", and 1 more issue"),
            more => write!(formatter, ", and {more} more issues"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_names_path_code_message_and_what_was_received() {
        let message = "must be an integer from 1 to 5";
        let issue = |path| Issue::new(path, Code::OutOfRange, message, "9\"");
        let body = Issues::from(issue(Some("rating".into()))).render();
        let expected = concat!(
            r#"{"error":"validation_error","message":"rating: must be an integer from 1 to 5, received \"9\\\"\"","#,
            r#""issues":[{"path":["rating"],"code":"out_of_range","message":"must be an integer from 1 to 5","received":"9\""}]}"#
        );
        assert_eq!(std::str::from_utf8(&body), Ok(expected));
        let mut issues = Issues::from(issue(None));
        for more in ["", ", and 1 more issue", ", and 2 more issues"] {
            assert_eq!(
                issues.to_string(),
                format!("{message}, received \"9\\\"\"{more}")
            );
            issues.push(issue(None));
        }
        assert!(String::from_utf8_lossy(&issues.render()).contains(r#""path":[]"#));
        for kept in (issues.iter().count() + 1..=ISSUES_MAX).chain([ISSUES_MAX]) {
            issues.push(issue(None));
            assert_eq!(issues.iter().count(), kept);
        }
        issues.push_with(|| panic!("an issue that is not reported is not made"));
    }
}
