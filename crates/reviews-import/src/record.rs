//! Records: the fields of one review in a source, as text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{Error as NameError, StrDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// Why a row or a table is refused: after a missing quotation mark, columns and rows are merged.
pub(super) const MISPLACED_QUOTE: &str = "a quotation mark that opens here closes in the middle of a column; is one missing, or not doubled?";

/// A field of a review, or information for parsing one; `--map`, reports and `formats.json` name it in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The id of the source.
    Id,
    /// The author.
    Author,
    /// The author's picture.
    AuthorAvatarUrl,
    /// The stars.
    Rating,
    /// The maximum of the rating scale.
    BestRating,
    /// The day.
    Date,
    /// The text.
    Text,
    /// The title.
    Title,
    /// What the author liked; published with the name of its column.
    Pros,
    /// What the author did not like.
    Cons,
    /// The platform.
    Source,
    /// The address at the platform.
    SourceUrl,
    /// The owner's reply.
    OwnerReply,
    /// The day of the reply.
    OwnerReplyDate,
    /// Whether the author is known to be a customer.
    Verified,
    /// When the source last changed the review; of two versions the later one wins.
    Updated,
    /// Whether the source publishes the review, as a value of that source.
    Status,
    /// The language of the text.
    Language,
    /// The text in the language of `TranslationLanguage`.
    Translation,
    /// The language of the translation.
    TranslationLanguage,
    /// Pictures and videos.
    Media,
    /// The location of the business that the review is about.
    Location,
    /// The name of the business or place that the review is about; compared with the folder's.
    Business,
    /// When the source was collected, for dates relative to it.
    Collected,
}

/// The value of `--map`: fields and their columns.
pub type Mapping = Vec<MappedField>;

/// A field and the column that the operator named for it.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedField {
    /// The field.
    pub field: Field,
    /// The name or path of its column.
    pub column: String,
}

/// Why a value of `--map` is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MappingError {
    /// No equals sign.
    #[error("`{0}` is not of the form field=column")]
    Form(String),
    /// No field has the name; the message lists all.
    #[error("{0}")]
    Field(String),
}

/// Parses one value of `--map`: `rating=Stars`, or several, `rating=Stars,text=What they said`. A comma separates two of
/// them only if a field and `=` follow it, so a column's name may have commas and equals signs.
///
/// # Errors
/// If a value is not of this form, or names no field.
pub fn parse_mapping(text: &str) -> Result<Mapping, MappingError> {
    let mut mapping = Mapping::new();
    let mut start = 0;
    let commas = text.match_indices(',').map(|(at, _)| at);
    for end in commas.chain([text.len()]) {
        let is_last = end == text.len();
        if is_last || parse_pair(&text[end + 1..]).is_ok() {
            mapping.push(parse_pair(&text[start..end])?);
            start = end + 1;
        }
    }
    Ok(mapping)
}

fn parse_pair(pair: &str) -> Result<MappedField, MappingError> {
    let (name, column) = pair
        .split_once('=')
        .ok_or_else(|| MappingError::Form(pair.to_owned()))?;
    let field =
        Field::deserialize(StrDeserializer::new(name.trim())).map_err(|error: NameError| {
            MappingError::Field(error.to_string().replacen("variant", "field", 1))
        })?;
    Ok(MappedField {
        field,
        column: column.trim().to_owned(),
    })
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
    /// The number of the record in its source, from 1.
    pub(super) number: u64,
    values: BTreeMap<Field, String>,
    /// Pictures and videos, as the source has them; `None` without a column for them.
    pub(super) media: Option<Vec<Value>>,
    /// Whether a status column hides the review.
    pub(super) is_hidden: bool,
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

    pub(super) fn numbered(mut self, number: u64) -> Record {
        self.number = number;
        self
    }

    /// Returns the value of `field`.
    pub(super) fn value(&self, field: Field) -> Option<&str> {
        self.values.get(&field).map(String::as_str)
    }

    /// Returns the trimmed value of `field`; `None` if it is empty.
    pub(super) fn filled(&self, field: Field) -> Option<&str> {
        let value = self.value(field)?.trim();
        Some(value).filter(|value| !value.is_empty())
    }

    /// Records an error: `field` is `what`, not a single value. URLs are optional, so errors in them are ignored.
    pub(super) fn push_unread(&mut self, field: Field, what: &str) {
        let wanted = match field {
            Field::AuthorAvatarUrl | Field::SourceUrl | Field::Business | Field::Collected => {
                return;
            }
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
pub type RecordResult = Result<Record, Refusal>;

/// A part of a source that is not a valid record.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The line on which the part begins, from 1.
    pub line: u64,
    /// Why it is refused.
    pub reason: ObjectError,
}

/// Why a part of a source is not a record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// A number, a text or a list.
    #[error("is not an object")]
    NotAnObject,
    /// An object without any key that reviews of the format have.
    #[error("is not a review of {format}: it has no {keys}")]
    Foreign {
        /// The name of the format.
        format: String,
        /// The keys, joined by "or no".
        keys: String,
    },
    /// More than a mebibyte of JSON; the limit in bytes.
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    /// Invalid JSON.
    #[error("is not JSON: {reason} at column {column}")]
    Json {
        /// The parser's message.
        reason: String,
        /// From 1.
        column: usize,
    },
    /// A quotation mark that closes in the middle of a column, in the first line of the row.
    #[error("{MISPLACED_QUOTE}")]
    Quote,
    /// The same, in a later line of the row, from 1 in the source.
    #[error("line {0}: {MISPLACED_QUOTE}")]
    QuoteAtLine(u64),
    /// A row with more cells than the header.
    #[error("has {cells} columns, but the header has {header_cells}")]
    TooManyCells {
        /// Cells of the row.
        cells: usize,
        /// Cells of the header.
        header_cells: usize,
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_takes_columns_with_commas_and_equals_signs() {
        for (text, expected) in [
            (
                "rating=Points, text = What they said",
                "rating: Points; text: What they said",
            ),
            ("text=Tell us more, please", "text: Tell us more, please"),
            ("text=a=b,author=c, d", "text: a=b; author: c, d"),
            ("text=a,b=c", "text: a,b=c"),
        ] {
            let mapping = parse_mapping(text).expect("valid").into_iter();
            let pairs = mapping.map(|one| format!("{}: {}", one.field, one.column));
            assert_eq!(pairs.collect::<Vec<_>>().join("; "), expected);
        }
        for wrong in ["rating", "stars=Points", "=x"] {
            assert!(parse_mapping(wrong).is_err(), "{wrong}");
        }
    }
}
