//! What a source says of one review, field by field, as text.

use std::fmt;

use serde_json::{Map, Value};
use thiserror::Error;

/// A field of a review, or what helps to read one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Id,
    Author,
    Avatar,
    Rating,
    /// The most stars that the source gives.
    Best,
    Date,
    Text,
    Title,
    Source,
    SourceUrl,
    Reply,
    ReplyDate,
    Verified,
    /// When the source last changed it; of two versions the later one counts.
    Updated,
    /// Whether the source publishes it, in the source's own words.
    Status,
    Language,
}

impl Field {
    /// All fields with the names that `--map` and reports use.
    pub(super) const NAMES: [(&'static str, Field); 16] = [
        ("id", Field::Id),
        ("author", Field::Author),
        ("author_avatar_url", Field::Avatar),
        ("rating", Field::Rating),
        ("best_rating", Field::Best),
        ("date", Field::Date),
        ("text", Field::Text),
        ("title", Field::Title),
        ("source", Field::Source),
        ("source_url", Field::SourceUrl),
        ("owner_reply", Field::Reply),
        ("owner_reply_date", Field::ReplyDate),
        ("verified", Field::Verified),
        ("updated", Field::Updated),
        ("status", Field::Status),
        ("language", Field::Language),
    ];

    pub(super) fn named(name: &str) -> Option<Field> {
        let found = Field::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, field)| *field)
    }
}

/// What the operator said with `--map`: fields and the columns that hold them.
pub(crate) type Mapping = Vec<(Field, String)>;

/// Parses one pair of a mapping, such as `rating=Stars`.
pub(crate) fn parse_mapping(pair: &str) -> Result<(Field, String), String> {
    let (name, column) = pair
        .split_once('=')
        .ok_or_else(|| format!("`{pair}` is not of the form field=column"))?;
    let name = name.trim();
    let Some(field) = Field::named(name) else {
        let names: Vec<&str> = Field::NAMES.iter().map(|(name, _)| *name).collect();
        return Err(format!("`{name}` is not a field: {}", names.join(", ")));
    };
    Ok((field, column.trim().to_owned()))
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Field::NAMES[*self as usize].0)
    }
}

/// What a source says of one review.
///
/// A field is `None` where the source has no column for it, and `""` where it has one and leaves it empty: only the
/// second removes something from a stored review.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    values: [Option<String>; Field::NAMES.len()],
    /// A reason for each field that holds more than one value: read as empty, it would replace the stored value.
    pub(super) unread: Vec<String>,
    /// Whether it comes from a reviewd: its id stays, and its texts have been cleaned before.
    pub(super) is_ours: bool,
    /// Keys of a reviewd's review that no other source has, as they stand there.
    pub(super) extra: Map<String, Value>,
}

impl Record {
    pub(super) fn at(line: u64) -> Record {
        Record {
            line,
            ..Record::default()
        }
    }

    /// What it says of `field`.
    pub(super) fn value(&self, field: Field) -> Option<&str> {
        self.values[field as usize].as_deref()
    }

    /// What it says of `field`, without blanks around it; `None` where nothing is left.
    pub(super) fn filled(&self, field: Field) -> Option<&str> {
        let value = self.value(field)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Notes that `field` holds `what`, which cannot be read; without an address a review is still whole.
    pub(super) fn refuse(&mut self, field: Field, what: &str) {
        let wanted = match field {
            Field::Avatar | Field::SourceUrl => return,
            Field::Text | Field::Title | Field::Reply => "a text",
            _ => "a single value",
        };
        self.unread
            .push(format!("{field}: is {what}, not {wanted}"));
    }

    pub(super) fn set(&mut self, field: Field, value: impl Into<String>) {
        self.values[field as usize] = Some(value.into());
    }
}

/// What a reader hands on: a record, or why there is none.
pub type Found = Result<Record, Refusal>;

/// A part of a source that should have been a record and is none.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Why it is none.
    pub reason: String,
}

/// Why a source could not be read to its end: half a file, another kind of file.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ReadError(String);

impl ReadError {
    pub(super) fn at(line: u64, message: impl fmt::Display) -> ReadError {
        ReadError(format!("line {line}: {message}"))
    }

    /// An error of the source as a whole.
    pub(super) fn whole(message: impl Into<String>) -> ReadError {
        ReadError(message.into())
    }
}
