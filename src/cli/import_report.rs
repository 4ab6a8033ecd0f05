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
    let mut lines: Vec<String> = report.sources.iter().flat_map(render_source).collect();
    push_notes(&mut lines, &report.refused, report.refused_count, "refused");
    push_notes(&mut lines, &report.remarks, report.remark_count, "remarks");
    if !report.sample.is_empty() {
        lines.push("as they would be published:".to_owned());
        lines.extend(report.sample.iter().flat_map(render_review));
    }
    for (count, ids, what) in [
        (report.missing_count, &report.missing_ids, "kept"),
        (report.pruned_count, &report.pruned_ids, "removed"),
    ] {
        if count > 0 {
            let ids = ids.join(", ");
            lines.push(format!(
                "{count} not in the source any more and {what}, such as {ids}"
            ));
        }
    }
    let (published, all) = (report.published_count, report.review_count);
    let (new, hidden) = (report.newly_verified_count, report.hidden_count);
    lines.push(format!(
        "{published} of {all} are verified and so published; {new} newly verified, {hidden} hidden at their source"
    ));
    if published < all {
        let hint = "--verified vouches for what is new, --verify-existing for what is there, too";
        lines.push(hint.to_owned());
    }
    let end = match &report.updated_at {
        Some(at) => format!("written, updated_at {at}; the previous file is {BACKUP}"),
        None if report.changes => "not written".to_owned(),
        None => "nothing to change, not written".to_owned(),
    };
    lines.push(format!("{}: {end}\n", into.join("reviews.json").display()));
    lines.join("\n")
}

/// What a source was taken for, and what came of it.
fn render_source(source: &SourceReport) -> Vec<String> {
    let (name, kind) = (&source.source, source.kind);
    let mut head = format!("{name}: {kind}, {}", source.encoding.unwrap_or("workbook"));
    if let Some(delimiter) = source.delimiter {
        head += &format!(", columns separated by {delimiter:?}");
    }
    if let Some(order) = source.date_order {
        head += &format!(", dates {order}");
    }
    let mut lines = vec![head];
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
    let counts = [
        (source.added, "added"),
        (source.changed, "changed"),
        (source.unchanged, "unchanged"),
        (source.repeated, "repeated"),
        (source.refused, "refused"),
        (source.ignored, "on the ignore list and not added"),
    ];
    let counts = counts.map(|(count, what)| format!("{count} {what}"));
    lines.push(format!("  {}", counts.join(", ")));
    lines
}

/// A line for each note, and one for those that were only counted.
fn push_notes(lines: &mut Vec<String>, notes: &[Note], count: u64, what: &str) {
    lines.extend(notes.iter().map(|note| {
        let text = note.reason.as_ref().or(note.remark.as_ref());
        let text = text.map_or("", String::as_str);
        format!("{}:{}: {text}", note.source, note.line)
    }));
    let more = count.saturating_sub(notes.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more {what}"));
    }
}

/// A review as it would be published: a wrong column or date is seen at once.
fn render_review(review: &Value) -> Vec<String> {
    let stars = "★".repeat(review["rating"].as_u64().unwrap_or_default().min(5) as usize);
    let [date, author, source] = ["date", "author", "source"].map(|key| printable(&review[key]));
    let unpublished = match review["verified"].as_bool() {
        Some(true) => "",
        _ => " (not published: not verified)",
    };
    let head = format!("  {stars:☆<5} {date} {author}, {source}{unpublished}");
    let [text, reply] = [&review["text"], &review["owner_reply"]["text"]].map(printable);
    let mut lines = vec![head];
    for (what, words) in [("", text), ("reply: ", reply)] {
        if !words.is_empty() {
            lines.push(format!("    {what}{words}"));
        }
    }
    lines
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
