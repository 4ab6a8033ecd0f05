//! What is wrong with the operator's files (problems) and what deserves a look (warnings).

use std::fmt;

pub(super) use crate::wire::text::{QUOTED_BYTES_MAX, quote};

/// How many problems are kept; further ones are only counted.
pub const KEPT_MAX: usize = 100;

/// A file and the limit on its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    /// The file's name within the data directory.
    pub(super) file: &'static str,
    /// More bytes than this are refused unread.
    pub(super) bytes_max: usize,
}

/// One reason why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file's name within the data directory.
    pub file: &'static str,
    /// A path such as `reviews[12].rating`, or "" where the whole file is meant.
    pub place: String,
    /// Where in the file that is, unless the place itself says so.
    pub position: Option<Position>,
    /// What is wrong, beginning with a verb: "is not from 1 to 5".
    pub message: String,
    /// The value in question as JSON-like text, at most 64 bytes of a string, where one helps.
    pub value: Option<String>,
}

/// A line and a column of a file, both counted from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
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
    /// Counts a problem, and keeps it while fewer than 100 are kept.
    pub fn push(
        &mut self,
        file: &'static str,
        place: &str,
        message: impl Into<String>,
        value: Option<String>,
    ) {
        self.total += 1;
        if !self.is_full() {
            self.kept.push(Problem {
                file,
                place: place.to_owned(),
                position: None,
                message: message.into(),
                value,
            });
        }
    }

    /// Whether further problems are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= KEPT_MAX
    }

    /// Counts a problem that is not kept.
    pub(super) fn count(&mut self) {
        self.total += 1;
    }

    /// The kept problems of one file that have a path.
    pub(super) fn of_file_mut(&mut self, file: &str) -> impl Iterator<Item = &mut Problem> {
        let of_file =
            move |problem: &&mut Problem| problem.file == file && !problem.place.is_empty();
        self.kept.iter_mut().filter(of_file)
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
        f.write_str(self.file)?;
        if let Some(position) = self.position {
            write!(f, ": {position}")?;
        }
        if !self.place.is_empty() {
            write!(f, ": {}", self.place)?;
        }
        f.write_str(": ")?;
        if let Some(value) = &self.value {
            write!(f, "{value} ")?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.kept.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        let unkept = self.total - self.kept.len() as u64;
        if unkept > 0 {
            write!(f, "\nand {unkept} more ({} in all)", self.total)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Something that does not keep a dataset from being served but that a careful operator would want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A stable word for the subject, such as `unverified`.
    pub code: &'static str,
    /// The file's name within the data directory.
    pub file: &'static str,
    /// A path such as `reviews[12].date`, or "" where the whole file is meant.
    pub place: String,
    /// The finding and what can be done about it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file)?;
        if !self.place.is_empty() {
            write!(f, ": {}", self.place)?;
        }
        write!(f, ": {}", self.message)
    }
}
