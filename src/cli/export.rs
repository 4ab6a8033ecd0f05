//! `reviewd export DIR`: prints the published reviews as a table for spreadsheets, or as JSON with one object on a
//! line. With `--site` it writes the pages as files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::config::DATA_DEFAULT;
use super::exit::{Failure, print};
use super::read::read_dataset;
use super::site::{self, SiteExport};
use super::values::{parse_page_language, parse_site_url};
use crate::model::Review;

/// The columns of the table.
const COLUMNS: [&str; 19] = [
    "id",
    "author",
    "rating",
    "date",
    "text",
    "source",
    "source_url",
    "reply_text",
    "reply_date",
    "verified",
    "verification_by",
    "verification_method",
    "mentioned_technicians",
    "mentioned_services",
    "language",
    "location",
    "date_precision",
    "added_at",
    "changed_at",
];

/// Separates several names in a field.
const SEPARATOR: &str = "; ";

/// Bytes of output that are collected before they are written.
const CHUNK_BYTES: usize = 1 << 16;

#[derive(Args)]
pub(super) struct ExportArgs {
    /// Directory with reviews.json and the files beside it
    #[arg(value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// Output format: a table with a header, or one JSON object a line
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    format: ExportFormat,
    /// Write the pages, feeds and data as files into this directory instead, for a host without a server
    #[arg(
        long,
        value_name = "OUT",
        conflicts_with = "format",
        requires = "base_url"
    )]
    site: Option<PathBuf>,
    /// With --site: the public address of the files, also below a path, such as https://www.example/reviews
    #[arg(long, value_name = "URL", value_parser = parse_site_url)]
    base_url: Option<String>,
    /// With --site: the language of the pages' own words, such as de [default: that of site.json, or English]
    #[arg(long, value_name = "TAG", value_parser = parse_page_language)]
    language: Option<String>,
}

/// How reviews are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A table for spreadsheets
    Csv,
    /// The reviews as they are published
    Ndjson,
}

/// Prints the published reviews, newest first, or writes the site.
pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    if let Some(out) = &args.site
        && let Some(base_url) = &args.base_url
    {
        return site::write(&SiteExport {
            data: &args.data,
            out,
            base_url,
            language: args.language.as_deref(),
        });
    }
    let dataset = read_dataset(&args.data)?.dataset;
    let mut out = Vec::new();
    if args.format == ExportFormat::Csv {
        push_row(&mut out, &COLUMNS.map(str::to_owned));
    }
    for review in &dataset.reviews {
        match args.format {
            ExportFormat::Csv => push_row(&mut out, &row_of(review)),
            ExportFormat::Ndjson => {
                out.extend_from_slice(json!(review).to_string().as_bytes());
                out.push(b'\n');
            }
        }
        if out.len() > CHUNK_BYTES {
            print(&out)?;
            out.clear();
        }
    }
    print(&out)
}

/// Returns the fields of a review, in the order of [`COLUMNS`]; empty where there is nothing.
fn row_of(review: &Review) -> [String; COLUMNS.len()] {
    let published = json!(review);
    let reply = &published["owner_reply"];
    let verification = &published["verification"];
    [
        field(&published, "id"),
        field(&published, "author"),
        review.rating.stars().to_string(),
        review.date.to_string(),
        field(&published, "text"),
        field(&published, "source"),
        field(&published, "source_url"),
        field(reply, "text"),
        field(reply, "date"),
        review.verified.to_string(),
        field(verification, "by"),
        field(verification, "method"),
        review.mentioned_technicians.join(SEPARATOR),
        review.mentioned_services.join(SEPARATOR),
        field(&published, "language"),
        field(&published, "location"),
        field(&published, "date_precision"),
        field(&published, "added_at"),
        field(&published, "changed_at"),
    ]
}

/// Returns the text of a member of an object; empty if the member or the object is missing.
fn field(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

/// Appends a row of a table in CSV (RFC 4180).
fn push_row(out: &mut Vec<u8>, fields: &[String]) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_field(out, field);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a field, in quotation marks if it needs them. A field that a spreadsheet would take for a formula gets an
/// apostrophe before it, because the author of a review may have written it, and the owner opens the table.
fn push_field(out: &mut Vec<u8>, field: &str) {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let apostrophe = if is_formula { "'" } else { "" };
    let is_quoted = field.contains([',', '"', '\n', '\r']);
    if !is_quoted {
        out.extend_from_slice(apostrophe.as_bytes());
        out.extend_from_slice(field.as_bytes());
        return;
    }
    let doubled = field.replace('"', "\"\"");
    out.extend_from_slice(format!("\"{apostrophe}{doubled}\"").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_are_none() {
        for (field, expected) in [
            ("plain", "plain"),
            ("a, b", "\"a, b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("@sum,", "\"'@sum,\""),
            ("", ""),
        ] {
            let mut out = Vec::new();
            push_field(&mut out, field);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{field:?}");
        }
    }
}
