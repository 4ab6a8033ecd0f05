//! The table of formats (`formats.json`): the columns or keys by which each platform's export is recognized, and the
//! fields of its columns.
//!
//! Names of columns and keys are normalized for comparison: only letters and digits, in lower case; `a.b` is the key `b`
//! of the object `a`, `a/` the part of the value after its last slash. Of several names (`a|b`) the first with a value
//! counts; `a+b` is both, joined by a space.
//!
//! From a platform's export only the listed columns are read, and columns that hide a review; other columns are ignored,
//! never guessed. No format lists e-mail or IP addresses, which many exports have.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::record::Field;
use super::shape::Shape;

/// Channels by which reviews are collected, which some tables have in the column of the source; not platforms.
pub(super) const CHANNELS: &str =
    "email mail web sms api widget form app qr qrcode import csv manual admin invitation organic";

/// Author names of anonymous reviews.
pub(super) const ANONYMOUS: [&str; 3] = ["A Google user", "A Facebook user", "Anonymous"];

/// A format of exports: how it is recognized, and where it has the fields of a review.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SourceFormat {
    /// The name of the format in `--from`.
    pub flag: String,
    /// The name of the format in reports.
    pub title: String,
    /// Platform of its reviews, unless the operator or the source names one.
    pub(super) source: String,
    pub(super) form: Form,
    /// Columns that a source of this format must have, all of them (`a|b`: either).
    pub(super) marks: String,
    /// Keys that each object of a source must have; any other object is refused.
    pub(super) needs: String,
    /// The columns of each field; empty in a generic format, which accepts all the usual column names.
    fields: BTreeMap<Field, String>,
    /// The status values of published reviews; if empty, the usual rules for columns of a status apply (`status`).
    pub(super) published: String,
    /// Ratings in words, each with its stars.
    pub(super) ratings: BTreeMap<String, String>,
    /// The column of these words, for messages.
    pub(super) words_column: String,
    /// The best value of its ratings, if that is not 5.
    pub(super) best: String,
    /// The name given to anonymous authors; empty if there is none.
    pub(super) anonymous: String,
}

/// The structure of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// Rows; the first one names the columns.
    #[default]
    Table,
    /// JSON objects, one per line or in lists, or elements of XML.
    Json,
    /// JSON objects with known keys; an absent key means an empty field.
    WholeJson,
    /// A table or JSON.
    Any,
}

#[derive(Deserialize)]
struct FormatTable {
    /// CSV is the first. [`detect`] chooses the format of a source.
    formats: Vec<SourceFormat>,
    /// The usual column names of each field, for sources of unknown platforms; the most reliable name comes first.
    usual: BTreeMap<Field, String>,
}

static TABLE: LazyLock<FormatTable> = LazyLock::new(|| {
    serde_json::from_str(include_str!("formats.json")).expect("a test reads formats.json")
});

/// The usual names of each field.
static USUAL: LazyLock<HashMap<Field, HashSet<&'static str>>> = LazyLock::new(|| {
    let fields = TABLE.usual.iter();
    let sets = fields.map(|(field, names)| (*field, names.split(['|', '+']).collect()));
    sets.collect()
});

/// All formats, CSV first.
pub fn formats() -> &'static [SourceFormat] {
    &TABLE.formats
}

/// Whether `name` is a usual name of a column of `field`.
pub(super) fn is_usual(field: Field, name: &str) -> bool {
    USUAL.get(&field).is_some_and(|names| names.contains(name))
}

impl SourceFormat {
    /// Returns the fields, each with the names of its columns.
    pub(super) fn fields(&self) -> &BTreeMap<Field, String> {
        if self.is_generic() {
            &TABLE.usual
        } else {
            &self.fields
        }
    }

    /// Whether columns may have any of the usual names, as in a table of an unknown platform.
    pub(super) fn is_generic(&self) -> bool {
        self.fields.is_empty()
    }

    fn accepts(&self, is_table: bool) -> bool {
        match self.form {
            Form::Any => true,
            Form::Table => is_table,
            Form::Json | Form::WholeJson => !is_table,
        }
    }

    /// The number of marks that the shape has, and of all marks.
    fn marks_in(&self, shape: &Shape) -> MarkCounts {
        let mut counts = MarkCounts { present: 0, all: 0 };
        for mark in self.marks.split_whitespace() {
            counts.all += 1;
            if mark.split('|').any(|name| shape.has(name)) {
                counts.present += 1;
            }
        }
        counts
    }
}

/// Counts of marks.
struct MarkCounts {
    present: usize,
    all: usize,
}

/// The result of detecting a format.
pub(super) struct Detected {
    pub(super) format: &'static SourceFormat,
    /// The titles of formats of which one mark is absent, and at least two are there; empty if a format was detected.
    pub(super) near: Vec<&'static str>,
}

/// Returns the format with this name in `--from`.
pub fn named(flag: &str) -> Option<&'static SourceFormat> {
    formats().iter().find(|format| format.flag == flag)
}

/// Detects the format of a source by its columns: the format with the most marks, all of which are there; without one, the
/// generic format of tables or of JSON.
pub(super) fn detect(shape: &Shape, is_table: bool) -> Detected {
    let mut best: Option<(usize, &'static SourceFormat)> = None;
    let mut near = Vec::new();
    let marked = formats().iter().filter(|format| !format.marks.is_empty());
    for format in marked.filter(|format| format.accepts(is_table)) {
        let marks = format.marks_in(shape);
        if marks.present == marks.all {
            if best.is_none_or(|(count, _)| marks.all > count) {
                best = Some((marks.all, format));
            }
        } else if marks.present >= 2 && marks.present + 1 == marks.all {
            near.push(format.title.as_str());
        }
    }
    match best {
        Some((_, format)) => Detected {
            format,
            near: Vec::new(),
        },
        None => {
            let flag = if is_table { "csv" } else { "jsonl" };
            let generic = named(flag).unwrap_or(&formats()[0]);
            Detected {
                format: generic,
                near,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_title_and_a_source() {
        assert_eq!(formats().len(), 35);
        for format in formats() {
            let is_named = !format.title.is_empty() && !format.source.is_empty();
            assert!(is_named, "{}", format.flag);
        }
    }

    #[test]
    fn every_name_is_in_the_form_in_which_it_is_compared() {
        for format in formats() {
            let names = format.fields().values().chain([&format.marks]);
            for name in names.flat_map(|names| names.split(['|', '+', '.', '/', ' '])) {
                assert_eq!(super::super::text::normal(name), name, "{}", format.flag);
            }
        }
    }
}
