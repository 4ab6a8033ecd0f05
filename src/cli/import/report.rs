//! What an import did, or would do, as lines and a table.

use std::path::Path;

use serde_json::Value;

use super::folder::BACKUP;
use crate::import::{Note, Report, SourceReport};

/// How much of a text a dry run shows, in characters.
const SAMPLE_CHARACTERS: usize = 200;

/// Renders a report on an import into the folder `into`; `is_barred` where --strict kept it from being written.
pub(super) fn render(report: &Report, into: &Path, is_barred: bool) -> String {
    let mut lines = Vec::new();
    for source in &report.sources {
        push_shape(&mut lines, source);
    }
    push_notes(&mut lines, &report.refused, report.refused_count, "refused");
    push_notes(&mut lines, &report.remarks, report.remark_count, "remarks");
    push_table(&mut lines, &report.sources);
    push_sample(&mut lines, &report.sample);
    push_gone(
        &mut lines,
        report.missing_count,
        &report.missing_ids,
        "kept",
    );
    let ignored = report.sources.iter().map(|source| source.ignored).sum();
    if ignored > 0 {
        let records = plural(ignored, "record is", "records are");
        lines.push(format!("{records} on the ignore list and not added"));
    }
    push_gone(
        &mut lines,
        report.pruned_count,
        &report.pruned_ids,
        "removed",
    );
    push_end(&mut lines, report, &into.join("reviews.json"), is_barred);
    lines.join("\n") + "\n"
}

/// Says what a source was taken for.
fn push_shape(lines: &mut Vec<String>, source: &SourceReport) {
    let encoding = source.encoding.unwrap_or("workbook");
    let delimiter = source.delimiter.map(|delimiter| match delimiter {
        '\t' => ", columns separated by tabs".to_owned(),
        ',' => ", columns separated by commas".to_owned(),
        ';' => ", columns separated by semicolons".to_owned(),
        other => format!(", columns separated by `{other}`"),
    });
    let order = source.date_order.map(|order| format!(", dates {order}"));
    let [delimiter, order] = [delimiter, order].map(Option::unwrap_or_default);
    let (name, kind) = (&source.source, source.kind);
    lines.push(format!("{name}: {kind}, {encoding}{delimiter}{order}"));
    let columns = source.columns.iter();
    let columns = columns.map(|(field, column)| format!("{field}={}", printable(column)));
    let unused = source.unused_columns.iter();
    let unused = unused.map(|name| without_controls(name));
    for (what, names) in [
        ("columns", columns.collect::<Vec<_>>()),
        ("not used", unused.collect()),
    ] {
        if !names.is_empty() {
            lines.push(format!("  {what}: {}", names.join(", ")));
        }
    }
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

fn push_table(lines: &mut Vec<String>, sources: &[SourceReport]) {
    let rows = sources.iter().map(|source| {
        let SourceReport {
            added,
            changed,
            unchanged,
            repeated,
            refused,
            ..
        } = source;
        let counts = [added, changed, unchanged, repeated, refused];
        (source.source.as_str(), counts.map(u64::to_string))
    });
    let header = ["added", "changed", "unchanged", "repeated", "refused"];
    let header = ("source", header.map(str::to_owned));
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    lines.push(String::new());
    lines.extend(rows.into_iter().map(|(name, cells)| {
        let cells = cells.map(|cell| format!("  {cell:>9}")).concat();
        format!("{name:width$}{cells}")
    }));
    lines.push(String::new());
}

/// Shows some reviews as they would be published: a wrong column or date is seen at once.
fn push_sample(lines: &mut Vec<String>, reviews: &[Value]) {
    if reviews.is_empty() {
        return;
    }
    lines.push("as they would be published:".to_owned());
    for review in reviews {
        let stars = review["rating"].as_u64().unwrap_or_default().min(5) as usize;
        let stars = "★".repeat(stars) + &"☆".repeat(5 - stars);
        let [date, author, source] =
            ["date", "author", "source"].map(|key| printable(&review[key]));
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
    lines.push(String::new());
}

/// A line about `count` reviews that their source has no more, of which some ids are named.
fn push_gone(lines: &mut Vec<String>, count: u64, ids: &[String], what: &str) {
    if count > 0 {
        let (reviews, named) = (plural(count, "review is", "reviews are"), ids.join(", "));
        let more = if count > ids.len() as u64 {
            ", …"
        } else {
            ""
        };
        lines.push(format!(
            "{reviews} not in the source any more and {what}: {named}{more}"
        ));
    }
}

fn push_end(lines: &mut Vec<String>, report: &Report, file: &Path, is_barred: bool) {
    let what = match &report.updated_at {
        Some(at) => format!("written, updated_at {at}; the previous file is {BACKUP}"),
        None if is_barred => "not written".to_owned(),
        None => match (report.dry_run, report.changes) {
            (true, true) => "a dry run, not written".to_owned(),
            (true, false) => "a dry run, nothing would change".to_owned(),
            (false, _) => "nothing to change, not written".to_owned(),
        },
    };
    lines.push(format!("{}: {what}", file.display()));
    let verified = report.newly_verified_count;
    if verified > 0 {
        lines.push(format!(
            "{verified} of those that were there newly verified"
        ));
    }
    if report.hidden_count > 0 {
        let hidden = plural(
            report.hidden_count,
            "review is hidden at its source",
            "reviews are hidden at their source",
        );
        lines.push(format!("{hidden}, and not published here either"));
    }
    // What is in the file is no longer new to --verified.
    let hint = match report.unpublished_count {
        0 => "",
        _ if report.changes && !report.written => {
            ", since not verified: --verified vouches for what is new, --verify-existing for what is there, too"
        }
        _ => {
            ", since not verified: set `verified` where you know the client, or import again with --verify-existing"
        }
    };
    let (published, unpublished) = (report.published_count, report.unpublished_count);
    let reviews = plural(report.review_count, "review", "reviews");
    lines.push(format!(
        "{reviews}: {published} published, {unpublished} not published{hint}"
    ));
}

/// A count and the words that go with it.
fn plural(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// A text of a review for a terminal, cut.
fn printable(value: &Value) -> String {
    let text = without_controls(value.as_str().unwrap_or_default());
    let mut cut: String = text.chars().take(SAMPLE_CHARACTERS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The text without what would move a terminal's cursor or change its colors.
fn without_controls(text: &str) -> String {
    text.replace(char::is_control, " ")
}
