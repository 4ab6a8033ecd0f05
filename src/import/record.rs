//! What a source says of one review, before anything is made of it.

use std::fmt;

use crate::model::{Media, Verification};

/// What a record can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The source's own id.
    Id,
    /// Who wrote it.
    Author,
    /// Address of their picture.
    Avatar,
    /// Stars, in one of many notations.
    Rating,
    /// The most stars that the source gives, where it says so.
    Best,
    /// The day it was written.
    Date,
    /// The words.
    Text,
    /// A headline, put above the words.
    Title,
    /// Where it was left.
    Source,
    /// Address of the review there.
    SourceUrl,
    /// The owner's answer.
    Reply,
    /// The day of the answer.
    ReplyDate,
    /// Whether the source vouches for it.
    Verified,
    /// When it was last changed; of two versions the later one counts.
    Updated,
    /// Whether the source publishes it, in the source's own words.
    Status,
    /// The language of the words, a BCP 47 tag.
    Language,
}

impl Field {
    /// All fields with the names that `--map` takes.
    pub const NAMES: [(&'static str, Field); 16] = [
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

    /// Returns the field that `--map` and reports call `name`.
    pub fn named(name: &str) -> Option<Field> {
        let found = Field::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, field)| *field)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Field::NAMES.iter().find(|(_, field)| field == self);
        formatter.write_str(found.map_or("", |(name, _)| name))
    }
}

/// What a source says of one review.
///
/// A field is `None` where the source has no place for it, and `""` where it has one and leaves it empty: only the
/// second takes something away from a review that is there.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The line on which it begins, from 1.
    pub line: u64,
    values: [Option<String>; Field::NAMES.len()],
    /// Fields that hold an array or an object of which nothing is known here, and which of both.
    unread: Vec<(Field, &'static str)>,
    /// Whether it comes from a reviewd: its id stays, and its texts have been cleaned before.
    pub is_ours: bool,
    /// People and services, where the source lists them.
    pub mentions: [Option<Vec<String>>; 2],
    /// The keys of a reviewd's review that no other source has.
    pub extra: Extra,
}

/// What only another reviewd says of a review.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// Who verified it, and how.
    pub verification: Option<Option<Verification>>,
    /// Language of the text.
    pub language: Option<Option<String>>,
    /// Pictures and videos.
    pub media: Option<Vec<Media>>,
    /// An English translation of the text.
    pub translation: Option<Option<String>>,
}

impl Record {
    /// A record that says nothing yet.
    pub fn at(line: u64) -> Record {
        Record {
            line,
            ..Record::default()
        }
    }

    /// What it says of `field`.
    pub fn value(&self, field: Field) -> Option<&str> {
        self.values[field as usize].as_deref()
    }

    /// What it says of `field`, without blanks around it; `None` where nothing is left.
    pub fn filled(&self, field: Field) -> Option<&str> {
        let value = self.value(field)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Why each field that holds more than one value cannot be read; taking it for empty would lose what it says, and
    /// what is there.
    pub fn unread(&self) -> impl Iterator<Item = String> {
        self.unread.iter().map(|(field, what)| {
            let wanted = match field {
                Field::Text | Field::Title | Field::Reply => "a text",
                _ => "a single value",
            };
            format!("{field}: is {what}, not {wanted}")
        })
    }

    /// Notes that `field` holds `what`, of which nothing is known; without an address a review is still whole.
    pub fn refuse(&mut self, field: Field, what: &'static str) {
        if !matches!(field, Field::Avatar | Field::SourceUrl) {
            self.unread.push((field, what));
        }
    }

    /// Notes what the source says of `field`.
    pub fn set(&mut self, field: Field, value: impl Into<String>) {
        self.values[field as usize] = Some(value.into());
    }
}

/// What a reader comes upon.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are records, and each is handed on once"
)]
pub enum Found {
    /// A review.
    Record(Record),
    /// Something that should have been one.
    Refused {
        /// The line on which it begins, from 1.
        line: u64,
        /// Why it is none.
        reason: String,
    },
}

/// Takes what a reader comes upon; an error ends the reading.
pub type Sink<'s> = dyn FnMut(Found) -> Result<(), String> + 's;
