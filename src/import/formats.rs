//! The table of formats (`formats.json`): by which columns or keys each platform's export is recognized, and which of
//! them hold what.
//!
//! Names of columns are written as they are compared: letters and digits alone, in lower case. Keys of JSON stand as
//! they are; `a.b` is the key `b` of the object `a`, `a/` what follows the last slash of the value. Of several names
//! (`a|b`) the first that holds something counts; `a+b` is both, joined by a space.
//!
//! A platform's export is read by the columns of its row alone: a column that is not named is left out, never guessed.
//! So e-mail and IP addresses, which many exports have, are in no row.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::record::Field;
use super::text::normal;

/// What wrote a source, and how it says what a review needs.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SourceFormat {
    /// The format as `--from` takes it.
    pub flag: String,
    /// The format as reports name it.
    pub(crate) title: String,
    /// Platform of its reviews, unless the operator or the source names one.
    pub(super) source: String,
    pub(super) form: Form,
    /// Of a table the columns that it has, all of them (`a|b`: either); of JSON keys that it alone has.
    pub(super) marks: String,
    /// Keys that each element has.
    pub(super) needs: String,
    /// The columns of each field; empty in a generic format, whose columns may have any of the usual names.
    fields: Map<String, Value>,
    /// The values of the status of a review that is published; empty for those in [`SHOWN`].
    pub(super) published: String,
    /// Ratings in words, each with its stars.
    pub(super) ratings: Map<String, Value>,
    /// Name of an author who does not show one; empty where there is none.
    pub(super) anonymous: String,
}

/// How a source is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// Rows, the first of which names the columns.
    #[default]
    Table,
    /// JSON objects, one a line or in lists.
    Json,
    /// JSON objects with known keys: one that is absent says that there is nothing.
    WholeJson,
}

#[derive(Deserialize)]
struct Table {
    /// The first whose marks are there is taken. A table without marks is CSV, the first; other JSON is lines.
    formats: Vec<SourceFormat>,
    /// The usual column names of each field, for sources of unknown platforms; the most reliable name comes first.
    usual: Map<String, Value>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("formats.json")).expect("a test reads formats.json")
});

/// All formats, CSV first.
pub(crate) fn formats() -> &'static [SourceFormat] {
    &TABLE.formats
}

impl SourceFormat {
    /// Fields, each with the names of its columns.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Field, &str)> {
        let fields = match self.is_generic() {
            true => TABLE.usual.iter(),
            false => self.fields.iter(),
        };
        fields.filter_map(|(field, names)| Some((Field::named(field)?, names.as_str()?)))
    }

    /// Whether columns may have any of the usual names, as in a table of no known platform.
    pub(super) fn is_generic(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Returns the format with this name in `--from`.
pub fn named(flag: &str) -> Option<&'static SourceFormat> {
    formats().iter().find(|format| format.flag == flag)
}

/// Finds the format whose columns a table has.
pub(super) fn of_columns(names: &[String]) -> &'static SourceFormat {
    let names: Vec<String> = names.iter().map(|name| normal(name)).collect();
    let is_there = |mark: &str| {
        mark.split('|')
            .any(|name| names.iter().any(|column| column == name))
    };
    let mut marked = formats()
        .iter()
        .filter(|format| format.form == Form::Table && !format.marks.is_empty());
    let found = marked.find(|format| format.marks.split_whitespace().all(is_there));
    found.unwrap_or(&formats()[0])
}

/// The values of a status by which a table of no known platform publishes a review; any other hides it.
pub(super) const SHOWN: &str = "published publish approved approve accepted active enabled visible public shown live \
    online ok on yes y true 1 ja oui si sí veröffentlicht freigegeben genehmigt sichtbar aktiv publicado aprobado \
    visible publié approuvé";

/// How a review came in, where some tables name its source: not a platform.
pub(super) const CHANNELS: &str =
    "email mail web sms api widget form app qr qrcode import csv manual admin invitation organic";

/// The authors of reviews whose name is not shown.
pub(super) const ANONYMOUS: [&str; 3] = ["A Google user", "A Facebook user", "Anonymous"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_known_fields() {
        assert_eq!(formats().len(), 14);
        for format in formats() {
            let given = match format.is_generic() {
                true => &TABLE.usual,
                false => &format.fields,
            };
            assert_eq!(format.fields().count(), given.len(), "{}", format.flag);
            let is_named = !format.title.is_empty() && !format.source.is_empty();
            assert!(is_named, "{}", format.flag);
        }
    }
}
