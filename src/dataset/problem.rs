//! What is wrong with the operator's files (problems) and what deserves a look (warnings).

use std::fmt;

use serde::Serialize;

/// How many problems are kept; further ones are only counted.
const KEPT_MAX: usize = 100;

/// One reason why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file's name within the data directory.
    pub file: &'static str,
    /// A path such as `reviews[12].rating`, or "" where the whole file is meant.
    #[serde(rename = "place")]
    pub path: String,
    /// Where in the file that is, unless the path itself says so.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// What is wrong, beginning with a verb: "is not from 1 to 5".
    pub message: String,
    /// The value in question as JSON-like text, at most 64 bytes of a string, where one helps.
    pub value: Option<String>,
}

impl Problem {
    /// A problem of a whole file.
    pub(super) fn of_file(file: &'static str, message: impl Into<String>) -> Problem {
        Problem {
            file,
            path: String::new(),
            position: None,
            message: message.into(),
            value: None,
        }
    }
}

/// A line and a column of a file, both counted from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl Position {
    /// The position of the byte at `offset`.
    pub(super) fn of(bytes: &[u8], offset: usize) -> Position {
        let before = &bytes[..offset];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |feed| feed + 1);
        Position {
            line: 1 + memchr::memchr_iter(b'\n', before).count() as u64,
            column: 1 + (offset - line_start) as u64,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// All problems of a dataset: at most 100 of them are kept, all of them are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    kept: Vec<Problem>,
    total: u64,
}

impl Problems {
    pub(super) fn push(&mut self, problem: Problem) {
        self.push_with(|| problem);
    }

    /// Like [`Problems::push`]; the problem is made only if it is kept.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> Problem) {
        self.total += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(problem());
        }
    }

    /// Adds problems that were collected apart, of another file or of a part of this one.
    pub(super) fn append(&mut self, other: Problems) {
        let capacity = KEPT_MAX - self.kept.len();
        self.total += other.total;
        self.kept.extend(other.kept.into_iter().take(capacity));
    }

    pub(super) fn kept_mut(&mut self) -> &mut [Problem] {
        &mut self.kept
    }

    /// The problems kept, at most 100, in the order they were found.
    #[must_use]
    pub fn kept(&self) -> &[Problem] {
        &self.kept
    }

    /// How many problems there are, those not kept included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position.map(|position| position.to_string());
        write_places(f, self.file, &[&position.unwrap_or_default(), &self.path])?;
        if let Some(value) = &self.value {
            write!(f, "{value} ")?;
        }
        f.write_str(&self.message)
    }
}

/// Writes the file and what is known of the place in it, with what separates them from a message.
fn write_places(f: &mut fmt::Formatter<'_>, file: &str, places: &[&str]) -> fmt::Result {
    write!(f, "{file}: ")?;
    let known = places.iter().filter(|place| !place.is_empty());
    known
        .into_iter()
        .try_for_each(|place| write!(f, "{place}: "))
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.kept.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))?;
        let unkept = self.total - self.kept.len() as u64;
        if unkept > 0 {
            write!(f, "\nand {unkept} more ({} in all)", self.total)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Something that does not keep a dataset from being served but that a careful operator would want to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The rule that found it, such as `unverified`.
    pub code: &'static str,
    /// The file's name within the data directory.
    pub file: &'static str,
    /// A path such as `reviews[12].date`, or "" where the whole file is meant.
    #[serde(rename = "place")]
    pub path: String,
    /// The finding and what can be done about it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_places(f, self.file, &[&self.path])?;
        f.write_str(&self.message)
    }
}
