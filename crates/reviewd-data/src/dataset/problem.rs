//! Problems (errors) of the operator's files with their positions, and warnings.
//!
//! The parser stores no positions: line and column of a value are found by its path when a problem is reported.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

/// Problems that are stored; further ones are only counted.
const LISTED_MAX: usize = 100;

/// One reason why a file is rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file's name within the data directory.
    pub file: &'static str,
    /// A path such as `reviews[12].rating`, or "" where the whole file is meant.
    #[serde(rename = "place")]
    pub path: String,
    /// Line of the value, counted from 1; `None` if it is unknown.
    pub line: Option<usize>,
    /// Column in that line, in bytes, counted from 1.
    pub column: Option<usize>,
    /// The error, beginning with a verb: "is not a day that exists".
    pub message: String,
    /// The invalid value as JSON-like text, at most 64 bytes of a string; `None` if it would not help.
    pub value: Option<String>,
}

impl Problem {
    /// A problem of a whole file.
    pub(super) fn of_file(file: &'static str, message: impl Into<String>) -> Problem {
        Problem {
            file,
            message: message.into(),
            ..Problem::default()
        }
    }
}

/// Returns line and column of the byte at `offset`.
pub(super) fn line_and_column(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    (line, 1 + offset - line_start)
}

/// The problems of a dataset: the first 100 are listed, all are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// At most 100, in the order they were found.
    pub listed: Vec<Problem>,
    /// The number of all problems, including those not listed.
    pub total: u64,
}

impl Problems {
    /// Adds a problem; `problem` is called only if the result is listed.
    pub(super) fn push(&mut self, problem: impl FnOnce() -> Problem) {
        self.total += 1;
        if self.listed.len() < LISTED_MAX {
            self.listed.push(problem());
        }
    }

    /// Adds problems that were collected separately, of another file or of a part of this one.
    pub(super) fn append(&mut self, other: Problems) {
        let capacity = LISTED_MAX - self.listed.len();
        self.total += other.total;
        self.listed.extend(other.listed.into_iter().take(capacity));
    }

    /// Adds the positions of these problems, which are all of one file: of the value, or of the nearest object or array
    /// around it if the value is missing. There is no position if that is the whole file, or if the file is not UTF-8 or
    /// not JSON.
    ///
    /// Cost: at most one pass over the file for each distinct object or array on the paths.
    pub(super) fn locate(&mut self, bytes: &[u8]) {
        let Ok(text) = str::from_utf8(bytes) else {
            return;
        };
        let mut cache = HashMap::new();
        for problem in &mut self.listed {
            if let Some(value) = find(text, &problem.path, &mut cache) {
                // A raw value is a slice of the text.
                let offset = value.as_ptr().addr() - text.as_ptr().addr();
                let (line, column) = line_and_column(bytes, offset);
                problem.line = Some(line);
                problem.column = Some(column);
            }
        }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// Members of an object or an array, by key or number.
type MembersByKey<'t> = BTreeMap<String, &'t str>;

/// Returns the text of the innermost value on `path` such as `reviews[12].rating`; `cache` has the members of
/// objects and arrays by the address of their text. A key that
/// is no plain word has quotation marks in a path, and is not found: the result is the object that has it.
fn find<'t>(
    text: &'t str,
    path: &str,
    cache: &mut HashMap<*const u8, MembersByKey<'t>>,
) -> Option<&'t str> {
    let mut found = None;
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        let step = step.strip_suffix(']').unwrap_or(step);
        let around = found.unwrap_or(text);
        let members = cache.entry(around.as_ptr());
        match members.or_insert_with(|| members_of(around)).get(step) {
            Some(value) => found = Some(*value),
            None => break,
        }
    }
    found
}

/// Returns the members of an object by key, or the entries of an array by number; nothing for another value.
fn members_of(text: &str) -> MembersByKey<'_> {
    let mut members = MembersByKey::new();
    if let Ok(object) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        for (key, value) in object {
            members.insert(key, value.get());
        }
    } else if let Ok(array) = serde_json::from_str::<Vec<&RawValue>>(text) {
        for (number, value) in array.into_iter().enumerate() {
            members.insert(number.to_string(), value.get());
        }
    }
    members
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "line {line}, column {column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if let Some(value) = &self.value {
            write!(f, "{value} ")?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.listed.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))?;
        let unlisted = self.total - self.listed.len() as u64;
        if unlisted > 0 {
            write!(f, "\nand {unlisted} more ({} in all)", self.total)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// A finding that the operator should know; the dataset is still served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The rule that found it, such as `unverified`.
    pub code: &'static str,
    /// The file's name within the data directory.
    pub file: &'static str,
    /// A path such as `reviews[12].date`, or "" where the whole file is meant.
    #[serde(rename = "place")]
    pub path: String,
    /// The finding, and how to resolve it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
