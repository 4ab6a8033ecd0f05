//! Records: the fields of one review in a source, as text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{Error as NameError, StrDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// A field of a review, or information for parsing one; `--map`, reports and `formats.json` name it in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The id of the review at its source.
    Id,
    /// The name of the author.
    Author,
    /// The address of the author's picture.
    AuthorAvatarUrl,
    /// The stars, by whatever scale and words the source has.
    Rating,
    /// The maximum of the rating scale.
    BestRating,
    /// The day of the review.
    Date,
    /// The text.
    Text,
    /// A heading, which is put before the text.
    Title,
    /// The platform.
    Source,
    /// The address of the review at its source.
    SourceUrl,
    /// The business's reply.
    OwnerReply,
    /// The day of the reply.
    OwnerReplyDate,
    /// Whether the source states that the review is verified.
    Verified,
    /// When the source last changed the review; of two versions the later one wins.
    Updated,
    /// Whether the source publishes the review, as a value of that source.
    Status,
    /// The language of the text.
    Language,
}

/// Fields and their columns.
pub type Mapping = Vec<(Field, String)>;

/// Parses one pair of a mapping, such as `rating=Stars`.
///
/// # Errors
/// If there is no `=`, or if no field has the name.
pub fn parse_mapping(pair: &str) -> Result<(Field, String), String> {
    let (name, column) = pair
        .split_once('=')
        .ok_or_else(|| format!("`{pair}` is not of the form field=column"))?;
    let field = Field::deserialize(StrDeserializer::new(name.trim()));
    let unknown = |error: NameError| error.to_string().replacen("variant", "field", 1);
    let field = field.map_err(unknown)?;
    Ok((field, column.trim().to_owned()))
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// The fields of one review in a source.
///
/// A field is `None` if the source has no column for it, and `""` if its column is empty: only the latter clears the
/// field of a stored review.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The line on which the record begins, from 1.
    pub(super) line: u64,
    values: BTreeMap<Field, String>,
    /// An error for each field with more than one value: as an empty field, it would clear the stored value.
    pub(super) unread: Vec<String>,
    /// Whether it was exported from a reviewd: then it keeps its id, and its texts are already cleaned.
    pub(super) is_ours: bool,
    /// Keys that only exports of reviewd have, unchanged.
    pub(super) extra: Map<String, Value>,
}

impl Record {
    pub(super) fn at(line: u64) -> Record {
        Record {
            line,
            ..Record::default()
        }
    }

    /// Returns the value of `field`.
    pub(super) fn value(&self, field: Field) -> Option<&str> {
        self.values.get(&field).map(String::as_str)
    }

    /// Returns the trimmed value of `field`; `None` if it is empty.
    pub(super) fn filled(&self, field: Field) -> Option<&str> {
        let value = self.value(field)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Records an error: `field` is `what`, not a single value. URLs are optional, so errors in them are ignored.
    pub(super) fn refuse(&mut self, field: Field, what: &str) {
        let wanted = match field {
            Field::AuthorAvatarUrl | Field::SourceUrl => return,
            Field::Text | Field::Title | Field::OwnerReply => "a text",
            _ => "a single value",
        };
        self.unread
            .push(format!("{field}: is {what}, not {wanted}"));
    }

    pub(super) fn set(&mut self, field: Field, value: impl Into<String>) {
        self.values.insert(field, value.into());
    }
}

/// The result of a reader: a record, or why it is refused.
pub type Found = Result<Record, Refusal>;

/// A part of a source that is not a valid record.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The line on which the part begins, from 1.
    pub line: u64,
    /// Why it is refused.
    pub reason: String,
}

/// Why a source could not be read completely, such as a truncated file or an unknown format.
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
