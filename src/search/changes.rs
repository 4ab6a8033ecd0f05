//! The parameters of `/api/reviews/changes`: a position in the log of changes, and how much to return.

use std::borrow::Cow;
use std::fmt;

use arrayvec::ArrayVec;

use super::filter::IgnoredName;
use super::issue::{Code, Issue, Issues};
use super::query::{IGNORED_MAX, PAIRS_MAX, parameter_names, too_many_parameters};
use crate::dataset::{ID_BYTES_MAX, is_id};
use crate::wire::date::Timestamp;
use crate::wire::form::{FormPair, decode_into, pairs};
use crate::wire::text::cut_lossy;

/// Changes in a response, unless the client asks for another number.
pub const LIMIT_DEFAULT: usize = 100;
/// Most changes in a response.
pub const LIMIT_MAX: usize = 1_000;

/// Longest text of a cursor: a time, the name of the log and an id, with two points between them.
const CURSOR_BYTES_MAX: usize = 20 + 2 * (1 + ID_BYTES_MAX);

/// The name of the log in the cursors of a folder without a record.
const NO_LOG: &str = "0";

/// A position in the log of changes: what follows is later, or has the same time and a greater id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangeCursor {
    /// The time of the last change that was returned.
    pub at: Timestamp,
    /// The id of its review; empty before the first change.
    pub id: String,
    /// The name of the log; `None` for that of a folder without a record.
    pub log: Option<String>,
}

impl ChangeCursor {
    /// The position before the first change of a log.
    #[must_use]
    pub fn start(log: Option<String>) -> ChangeCursor {
        ChangeCursor {
            at: Timestamp::MIN,
            id: String::new(),
            log,
        }
    }

    /// Parses the text of a cursor.
    fn parse(text: &str) -> Option<ChangeCursor> {
        if text.len() > CURSOR_BYTES_MAX {
            return None;
        }
        let (seconds, rest) = text.split_once('.')?;
        let (log, id) = rest.split_once('.')?;
        if !is_id(log) || !(id.is_empty() || is_id(id)) {
            return None;
        }
        let seconds: i64 = seconds.parse().ok()?;
        let cursor = ChangeCursor {
            at: Timestamp::from_unix(seconds),
            id: id.to_owned(),
            log: Some(log.to_owned()).filter(|log| log != NO_LOG),
        };
        // Each cursor has exactly one text.
        if cursor.to_string() != text {
            return None;
        }
        Some(cursor)
    }
}

/// Writes the text of the cursor: only characters that need no escape in a URL.
impl fmt::Display for ChangeCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log.as_deref().unwrap_or(NO_LOG);
        write!(formatter, "{}.{log}.{}", self.at.unix(), self.id)
    }
}

/// A request for changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesQuery {
    /// Only changes after this one; from the first without it.
    pub after: Option<ChangeCursor>,
    /// At most this number of changes, 1 to [`LIMIT_MAX`].
    pub limit: usize,
    /// The first names of unknown parameters.
    pub ignored: ArrayVec<IgnoredName, IGNORED_MAX>,
}

/// Parses a raw query string, without its `?`, by the same rules as that of a search. `log` is the name of the log that
/// is served: a cursor of another one is invalid.
///
/// # Errors
/// All issues of the first 64 pairs, and `too_many` if there are more.
pub fn parse_changes(raw: &[u8], log: Option<&str>) -> Result<ChangesQuery, Issues> {
    let mut parser = ChangesParser::default();
    for pair in pairs(raw).take(PAIRS_MAX) {
        parser.read(pair, log);
    }
    let count = pairs(raw).count();
    if count > PAIRS_MAX {
        parser.issues.push(too_many_parameters(count));
    }
    parser.issues.into_result()?;
    let mut ignored = parameter_names(raw);
    ignored.retain(|name| ChangesParameter::parse(name).is_none());
    Ok(ChangesQuery {
        after: parser.after,
        limit: parser.limit.unwrap_or(LIMIT_DEFAULT),
        ignored,
    })
}

/// Parses the text of a cursor of the log that is served; the error is a message.
///
/// # Errors
/// If it is no cursor, or one of another log.
pub fn parse_cursor(text: &str, log: Option<&str>) -> Result<ChangeCursor, &'static str> {
    let cursor = ChangeCursor::parse(text);
    let cursor = cursor.ok_or("must be the next_cursor of an earlier response")?;
    if cursor.log.as_deref() != log {
        return Err(
            "is a position in a log that was begun again: read all changes without it, and drop the reviews that they do not have",
        );
    }
    Ok(cursor)
}

/// A parameter of a request for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangesParameter {
    After,
    Limit,
}

impl ChangesParameter {
    fn parse(name: &str) -> Option<ChangesParameter> {
        match name {
            "after" => Some(ChangesParameter::After),
            "limit" => Some(ChangesParameter::Limit),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ChangesParameter::After => "after",
            ChangesParameter::Limit => "limit",
        }
    }
}

/// The values read so far.
#[derive(Default)]
struct ChangesParser {
    after: Option<ChangeCursor>,
    limit: Option<usize>,
    /// The parameters whose value was read, also if it is invalid.
    seen: ArrayVec<ChangesParameter, 2>,
    issues: Issues,
}

impl ChangesParser {
    fn read(&mut self, pair: FormPair<'_>, log: Option<&str>) {
        let mut name = String::new();
        if let Err(error) = decode_into(pair.name, &mut name) {
            let received = cut_lossy(pair.name);
            let path = Some(received.clone().into());
            let issue = Issue::new(path, Code::InvalidEncoding, error.to_string(), &received);
            return self.issues.push(issue);
        }
        let Some(parameter) = ChangesParameter::parse(&name) else {
            return;
        };
        if pair.value.is_empty() {
            return;
        }
        if let Err((code, message)) = self.read_value(parameter, pair.value, log) {
            let path = Some(parameter.name().into());
            let received = cut_lossy(pair.value);
            self.issues.push(Issue::new(path, code, message, &received));
        }
    }

    fn read_value(
        &mut self,
        parameter: ChangesParameter,
        value: &[u8],
        log: Option<&str>,
    ) -> Result<(), (Code, Cow<'static, str>)> {
        if self.seen.contains(&parameter) {
            return Err((Code::Duplicate, "is given twice".into()));
        }
        let mut text = String::new();
        if let Err(error) = decode_into(value, &mut text) {
            return Err((Code::InvalidEncoding, error.to_string().into()));
        }
        self.seen.push(parameter);
        match parameter {
            ChangesParameter::After => match parse_cursor(&text, log) {
                Ok(cursor) => self.after = Some(cursor),
                Err(message) => return Err((Code::InvalidCursor, message.into())),
            },
            ChangesParameter::Limit => self.limit = Some(parse_limit(&text)?),
        }
        Ok(())
    }
}

fn parse_limit(text: &str) -> Result<usize, (Code, Cow<'static, str>)> {
    let message = format!("must be an integer from 1 to {LIMIT_MAX}").into();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err((Code::InvalidType, message));
    }
    match text.parse() {
        Ok(limit @ 1..=LIMIT_MAX) => Ok(limit),
        _ => Err((Code::OutOfRange, message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path and code of each issue.
    fn issues(query: &str) -> Vec<(String, Code)> {
        let issues = parse_changes(query.as_bytes(), Some("log")).unwrap_err();
        let issues = issues.iter();
        let issues = issues.map(|issue| (issue.path.clone().unwrap_or_default(), issue.code));
        issues
            .map(|(path, code)| (path.into_owned(), code))
            .collect()
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for (at, id) in [(0, ""), (1_900_000_000, "a-B_9"), (-5, &*"x".repeat(64))] {
            let cursor = ChangeCursor {
                at: Timestamp::from_unix(at),
                id: id.to_owned(),
                log: Some("log".to_owned()),
            };
            let query = parse_changes(format!("after={cursor}").as_bytes(), Some("log")).unwrap();
            assert_eq!(query.after, Some(cursor));
        }
        let start = ChangeCursor::start(None);
        let query = parse_changes(format!("after={start}").as_bytes(), None).unwrap();
        assert_eq!(query.after, Some(start));
    }

    #[test]
    fn a_cursor_of_another_form_or_log_is_invalid() {
        for cursor in [
            "x",
            "1.log",
            "1.log.a.b",
            "+1.log.a",
            "01.log.a",
            "1..a",
            "1.other.a",
            "1.0.a",
            "99999999999999.log.a",
        ] {
            let found = issues(&format!("after={cursor}"));
            assert_eq!(
                found,
                [("after".to_owned(), Code::InvalidCursor)],
                "{cursor}"
            );
        }
    }

    #[test]
    fn the_limit_is_1_to_1000() {
        for (limit, code) in [
            ("0", Code::OutOfRange),
            ("1001", Code::OutOfRange),
            ("99999999999999999999999", Code::OutOfRange),
            ("-1", Code::InvalidType),
            ("1.0", Code::InvalidType),
        ] {
            let found = issues(&format!("limit={limit}"));
            assert_eq!(found, [("limit".to_owned(), code)], "{limit}");
        }
        for limit in [1, 1_000] {
            let query = parse_changes(format!("limit={limit}").as_bytes(), None).unwrap();
            assert_eq!(query.limit, limit);
        }
    }

    #[test]
    fn every_issue_is_listed() {
        let found = issues("limit=0&limit=2&after=x&%zz=1");
        let codes: Vec<Code> = found.into_iter().map(|(_, code)| code).collect();
        let expected = [
            Code::OutOfRange,
            Code::Duplicate,
            Code::InvalidCursor,
            Code::InvalidEncoding,
        ];
        assert_eq!(codes, expected);
        let many = "x=1&".repeat(65);
        assert_eq!(issues(&many), [(String::new(), Code::TooMany)]);
    }

    #[test]
    fn empty_values_are_absent_and_unknown_names_are_listed() {
        let query = parse_changes(b"after=&limit=&utm=1&limit=7", None).unwrap();
        assert_eq!((query.after, query.limit), (None, 7));
        assert_eq!(query.ignored.len(), 1);
    }
}
