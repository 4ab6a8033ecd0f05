//! What an import did, or would do, as lines of text.

use std::path::Path;

use serde_json::Value;

use super::folder::BACKUP;
use crate::import::{Note, Report, SourceReport};
use crate::wire::text::truncate;

/// How much of a text a dry run shows, in bytes.
const SAMPLE_BYTES: usize = 200;

/// Renders a report on an import into the folder `into`.
pub(super) fn render(report: &Report, into: &Path) -> String {
    let mut lines = Vec::new();
    for source in &report.sources {
        push_source(&mut lines, source);
    }
    push_notes(&mut lines, &report.refused, report.refused_count, "refused");
    push_notes(&mut lines, &report.remarks, report.remark_count, "remarks");
    if !report.sample.is_empty() {
        lines.push("as they would be published:".to_owned());
        report
            .sample
            .iter()
            .for_each(|review| push_review(&mut lines, review));
    }
    for (count, ids, what) in [
        (report.missing_count, &report.missing_ids, "kept"),
        (report.pruned_count, &report.pruned_ids, "removed"),
    ] {
        let more = if count > ids.len() as u64 {
            ", …"
        } else {
            ""
        };
        if count > 0 {
            let ids = ids.join(", ");
            lines.push(format!(
                "{count} not in the source any more and {what}: {ids}{more}"
            ));
        }
    }
    for (count, what) in [
        (
            report.newly_verified_count,
            "newly verified of those that were there",
        ),
        (
            report.hidden_count,
            "hidden at their source, and not published here either",
        ),
    ] {
        if count > 0 {
            lines.push(format!("{count} {what}"));
        }
    }
    let (published, all) = (report.published_count, report.review_count);
    let hint = match published == all {
        true => "",
        false => "; --verified vouches for what is new, --verify-existing for what is there, too",
    };
    lines.push(format!(
        "{published} of {all} are verified and so published{hint}"
    ));
    let end = match &report.updated_at {
        Some(at) => format!("written, updated_at {at}; the previous file is {BACKUP}"),
        None if report.changes => "not written".to_owned(),
        None => "nothing to change, not written".to_owned(),
    };
    lines.push(format!("{}: {end}\n", into.join("reviews.json").display()));
    lines.join("\n")
}

/// What a source was taken for, and what came of it.
fn push_source(lines: &mut Vec<String>, source: &SourceReport) {
    let SourceReport {
        source: name,
        kind,
        added,
        changed,
        unchanged,
        repeated,
        refused,
        ignored,
        ..
    } = source;
    let mut head = format!("{name}: {kind}, {}", source.encoding.unwrap_or("workbook"));
    if let Some(delimiter) = source.delimiter {
        head += &format!(", columns separated by {delimiter:?}");
    }
    if let Some(order) = source.date_order {
        head += &format!(", dates {order}");
    }
    lines.push(head);
    let columns = source.columns.iter();
    let columns = columns.map(|(field, column)| format!("{field}={}", printable(column)));
    for (what, names) in [
        ("columns", columns.collect()),
        ("not used", source.unused_columns.clone()),
    ] {
        if !names.is_empty() {
            lines.push(format!("  {what}: {}", without_controls(&names.join(", "))));
        }
    }
    lines.push(format!(
        "  {added} added, {changed} changed, {unchanged} unchanged, {repeated} repeated, {refused} refused, \
         {ignored} on the ignore list and not added"
    ));
}

/// A line for each note, and one for those that were only counted.
fn push_notes(lines: &mut Vec<String>, notes: &[Note], count: u64, what: &str) {
    lines.extend(notes.iter().map(|note| {
        let remark = note
            .remark
            .as_ref()
            .map(|remark| format!("remark: {remark}"));
        let text = note.reason.clone().or(remark).unwrap_or_default();
        format!("{}:{}: {text}", note.source, note.line)
    }));
    let more = count.saturating_sub(notes.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more {what}"));
    }
}

/// A review as it would be published: a wrong column or date is seen at once.
fn push_review(lines: &mut Vec<String>, review: &Value) {
    let stars = review["rating"].as_u64().unwrap_or_default().min(5) as usize;
    let stars = "★".repeat(stars) + &"☆".repeat(5 - stars);
    let [date, author, source] = ["date", "author", "source"].map(|key| printable(&review[key]));
    let unpublished = match review["verified"].as_bool() {
        Some(true) => "",
        _ => " (not published: not verified)",
    };
    lines.push(format!("  {stars} {date} {author}, {source}{unpublished}"));
    let [text, reply] = [&review["text"], &review["owner_reply"]["text"]].map(printable);
    for (what, words) in [("", text), ("reply: ", reply)] {
        if !words.is_empty() {
            lines.push(format!("    {what}{words}"));
        }
    }
}

/// A text of a review for a terminal, cut.
fn printable(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let shown = truncate(text, SAMPLE_BYTES);
    let more = if shown.len() < text.len() { "…" } else { "" };
    without_controls(shown) + more
}

/// The text without what would move a terminal's cursor or change its colors.
fn without_controls(text: &str) -> String {
    text.replace(char::is_control, " ")
}
