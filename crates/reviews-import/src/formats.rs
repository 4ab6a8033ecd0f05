//! The table of formats (`formats.json`): the columns or keys by which each platform's export is recognized, and the
//! fields of its columns.
//!
//! Names of columns are normalized for comparison: only letters and digits, in lower case. Keys of JSON are unchanged;
//! `a.b` is the key `b` of the object `a`, `a/` the part of the value after its last slash. Of several names (`a|b`)
//! the first with a value counts; `a+b` is both, joined by a space.
//!
//! From a platform's export only the listed columns are read; other columns are ignored, never guessed. No format lists
//! e-mail or IP addresses, which many exports have.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::record::Field;
use super::text::normal;

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
    /// Columns that a table of this format must have (`a|b`: either), or JSON keys that no other format has.
    pub(super) marks: String,
    /// Keys that each element must have.
    pub(super) needs: String,
    /// The columns of each field; empty in a generic format, which accepts all the usual column names.
    fields: BTreeMap<Field, String>,
    /// The status values of published reviews; if empty, those in [`SHOWN`].
    pub(super) published: String,
    /// Ratings in words, each with its stars.
    pub(super) ratings: BTreeMap<String, String>,
    /// The name given to anonymous authors; empty if there is none.
    pub(super) anonymous: String,
}

/// The structure of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// Rows, the first of which names the columns.
    #[default]
    Table,
    /// JSON objects, one per line or in lists.
    Json,
    /// JSON objects with known keys; an absent key means an empty field.
    WholeJson,
}

#[derive(Deserialize)]
struct Table {
    /// The first format whose marks are present is used. A table without marks is CSV, the first; other JSON is lines.
    formats: Vec<SourceFormat>,
    /// The usual column names of each field, for sources of unknown platforms; the most reliable name comes first.
    usual: BTreeMap<Field, String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("formats.json")).expect("a test reads formats.json")
});

/// All formats, CSV first.
pub fn formats() -> &'static [SourceFormat] {
    &TABLE.formats
}

impl SourceFormat {
    /// Returns the fields, each with the names of its columns.
    pub(super) fn fields(&self) -> &BTreeMap<Field, String> {
        match self.is_generic() {
            true => &TABLE.usual,
            false => &self.fields,
        }
    }

    /// Whether columns may have any of the usual names, as in a table of an unknown platform.
    pub(super) fn is_generic(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Returns the format with this name in `--from`.
pub fn named(flag: &str) -> Option<&'static SourceFormat> {
    formats().iter().find(|format| format.flag == flag)
}

/// Detects the format of a table by its columns.
pub(super) fn of_columns(names: &[String]) -> &'static SourceFormat {
    let names: Vec<String> = names.iter().map(|name| normal(name)).collect();
    let is_present = |mark: &str| {
        mark.split('|')
            .any(|name| names.iter().any(|column| column == name))
    };
    let mut marked = formats()
        .iter()
        .filter(|format| format.form == Form::Table && !format.marks.is_empty());
    let found = marked.find(|format| format.marks.split_whitespace().all(is_present));
    found.unwrap_or(&formats()[0])
}

/// The status values of published reviews in a table of an unknown platform; any other, if not empty, means hidden.
pub(super) const SHOWN: &str = "published publish approved approve accepted active enabled visible public shown live \
    online ok on yes y true 1 ja oui si sí veröffentlicht freigegeben genehmigt sichtbar aktiv publicado aprobado \
    visible publié approuvé";

/// Channels by which reviews are collected, which some tables have in the column of the source; not platforms.
pub(super) const CHANNELS: &str =
    "email mail web sms api widget form app qr qrcode import csv manual admin invitation organic";

/// Author names of anonymous reviews.
pub(super) const ANONYMOUS: [&str; 3] = ["A Google user", "A Facebook user", "Anonymous"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_title_and_a_source() {
        assert_eq!(formats().len(), 14);
        for format in formats() {
            let is_named = !format.title.is_empty() && !format.source.is_empty();
            assert!(is_named, "{}", format.flag);
        }
    }
}
