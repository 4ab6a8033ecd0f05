//! What an import did, or would do, as lines and a table.

use std::path::Path;

use serde_json::Value;

use super::folder::BACKUP;
use crate::import::{Note, NoteText, Report, SourceReport};

/// Larger files need a flag wherever they are read: 256 MiB, the default of `--data-file-bytes`.
const DATA_FILE_BYTES: u64 = 256 << 20;

/// How much of a text a dry run shows, in characters.
const SAMPLE_CHARACTERS: usize = 200;

/// Renders a report on an import into the folder `into`; `is_barred` where --strict kept it from being written.
pub(super) fn render(report: &Report, into: &Path, is_barred: bool) -> String {
    let mut out = String::new();
    for source in &report.sources {
        push_shape(&mut out, source);
    }
    push_notes(
        &mut out,
        &report.refused,
        report.refused_count,
        ["more refused"; 2],
    );
    let more = ["more remark", "more remarks"];
    push_notes(&mut out, &report.remarks, report.remark_count, more);
    push_table(&mut out, &report.sources);
    push_sample(&mut out, &report.sample);
    push_gone(&mut out, report.missing_count, &report.missing_ids, "kept");
    let ignored = report.sources.iter().map(|source| source.ignored).sum();
    if ignored > 0 {
        let records = plural(ignored, "record is", "records are");
        out.push_str(&format!("{records} on the ignore list and not added\n"));
    }
    push_gone(&mut out, report.pruned_count, &report.pruned_ids, "removed");
    push_end(&mut out, report, &into.join("reviews.json"), is_barred);
    out
}

/// Says what a source was taken for.
fn push_shape(out: &mut String, source: &SourceReport) {
    let mut parts = vec![
        source.kind.to_owned(),
        source.encoding.unwrap_or("workbook").to_owned(),
    ];
    if let Some(delimiter) = source.delimiter {
        parts.push(match delimiter {
            '\t' => "columns separated by tabs".to_owned(),
            ',' => "columns separated by commas".to_owned(),
            ';' => "columns separated by semicolons".to_owned(),
            other => format!("columns separated by `{other}`"),
        });
    }
    if let Some(order) = source.date_order {
        let decides = source
            .order_line
            .map(|line| format!(" (line {line} decides)"));
        parts.push(format!("dates {order}{}", decides.unwrap_or_default()));
    }
    if let Some(line) = source.undecided_line {
        parts.push(format!("dates of two meanings (line {line})"));
    }
    out.push_str(&format!("{}: {}\n", source.source, parts.join(", ")));
    let columns = source.columns.iter();
    let columns = columns.map(|(field, column)| format!("{field}={}", printable(column)));
    let unused = source
        .unused_columns
        .iter()
        .map(|name| without_controls(name));
    for (what, names) in [
        ("columns", columns.collect::<Vec<_>>()),
        ("not used", unused.collect()),
    ] {
        if !names.is_empty() {
            out.push_str(&format!("  {what}: {}\n", names.join(", ")));
        }
    }
}

/// A line for each note, and one for those that were only counted.
fn push_notes(out: &mut String, notes: &[Note], count: u64, [one, several]: [&str; 2]) {
    for Note {
        source, line, text, ..
    } in notes
    {
        let text = match text {
            NoteText::Reason(reason) => reason.clone(),
            NoteText::Remark(remark) => format!("remark: {remark}"),
        };
        out.push_str(&format!("{source}:{line}: {text}\n"));
    }
    let unnamed = count.saturating_sub(notes.len() as u64);
    if unnamed > 0 {
        out.push_str(&format!("and {}\n", plural(unnamed, one, several)));
    }
}

fn push_table(out: &mut String, sources: &[SourceReport]) {
    let counts = |source: &SourceReport| {
        [
            source.added,
            source.changed,
            source.unchanged,
            source.repeated,
            source.refused,
        ]
    };
    let mut rows: Vec<(&str, [u64; 5])> = sources
        .iter()
        .map(|source| (source.source.as_str(), counts(source)))
        .collect();
    if rows.len() > 1 {
        let sum = |at: usize| rows.iter().map(|(_, counts)| counts[at]).sum();
        rows.push(("total", std::array::from_fn(sum)));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default().max("source".len());
    let mut line = |name: &str, cells: [String; 5]| {
        let cells = cells.map(|cell| format!("  {cell:>9}")).concat();
        out.push_str(&format!("{name:width$}{cells}\n"));
    };
    let header = ["added", "changed", "unchanged", "repeated", "refused"];
    line("\nsource", header.map(str::to_owned));
    for (name, counts) in rows {
        line(name, counts.map(|count| count.to_string()));
    }
    out.push('\n');
}

/// Shows some reviews as they would be published: a wrong column or date is seen at once.
fn push_sample(out: &mut String, reviews: &[Value]) {
    if reviews.is_empty() {
        return;
    }
    out.push_str("as they would be published:\n");
    for review in reviews {
        let stars = review["rating"].as_u64().unwrap_or_default().min(5) as usize;
        let stars = "★".repeat(stars) + &"☆".repeat(5 - stars);
        let [date, author, source] =
            ["date", "author", "source"].map(|key| printable(&review[key]));
        let unpublished = match review["verified"].as_bool() {
            Some(true) => "",
            _ => " (not published: not verified)",
        };
        out.push_str(&format!(
            "  {stars} {date} {author}, {source}{unpublished}\n"
        ));
        let [text, reply] = [&review["text"], &review["owner_reply"]["text"]].map(printable);
        for (what, words) in [("", text), ("reply: ", reply)] {
            if !words.is_empty() {
                out.push_str(&format!("    {what}{words}\n"));
            }
        }
    }
    out.push('\n');
}

/// A line about `count` reviews that their source has no more, of which some ids are named.
fn push_gone(out: &mut String, count: u64, ids: &[String], what: &str) {
    if count > 0 {
        let more = if count > ids.len() as u64 {
            ", …"
        } else {
            ""
        };
        let (reviews, ids) = (plural(count, "review is", "reviews are"), ids.join(", "));
        out.push_str(&format!(
            "{reviews} not in the source any more and {what}: {ids}{more}\n"
        ));
    }
}

fn push_end(out: &mut String, report: &Report, file: &Path, is_barred: bool) {
    let file = file.display();
    let what = match &report.updated_at {
        Some(at) if report.is_skeleton => {
            let more = match report.has_placeholders {
                true => " (name and url too, without which it is not served)",
                false => "",
            };
            format!(
                "written, updated_at {at}; fill in `business`{more}, its type too (LegalService for a law practice), \
                 before you publish it"
            )
        }
        Some(at) => format!("written, updated_at {at}; the previous file is {BACKUP}"),
        None if is_barred => "not written".to_owned(),
        None => match (report.dry_run, report.changes) {
            (true, true) => "a dry run, not written".to_owned(),
            (true, false) => "a dry run, nothing would change".to_owned(),
            (false, _) => "nothing to change, not written".to_owned(),
        },
    };
    out.push_str(&format!("{file}: {what}\n"));
    if let Some(size) = size_hint(report.byte_count) {
        out.push_str(&format!("{file}: {size}\n"));
    }
    if report.newly_verified_count > 0 {
        let count = report.newly_verified_count;
        out.push_str(&format!(
            "{count} of those that were there newly verified\n"
        ));
    }
    if report.hidden_count > 0 {
        let one = "review is hidden at its source";
        let hidden = plural(
            report.hidden_count,
            one,
            "reviews are hidden at their source",
        );
        out.push_str(&format!("{hidden}, and not published here either\n"));
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
    out.push_str(&format!(
        "{reviews}: {published} published, {unpublished} not published{hint}\n"
    ));
}

/// A count and the words that go with it.
fn plural(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// What other commands need to read a file of `bytes`, if it is larger than they read by themselves.
fn size_hint(bytes: u64) -> Option<String> {
    let size = bytes.div_ceil(1 << 20);
    (bytes > DATA_FILE_BYTES).then(|| {
        format!("{bytes} bytes, more than check and serve read by default: give them --data-file-bytes {size}MiB")
    })
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

#[cfg(test)]
mod tests {
    use super::size_hint;

    #[test]
    fn a_file_that_needs_a_flag_elsewhere_is_said_to() {
        assert_eq!(size_hint(256 << 20), None);
        let hint = size_hint((256 << 20) + 1).unwrap();
        assert!(
            hint.starts_with("268435457 bytes, ") && hint.ends_with(" --data-file-bytes 257MiB"),
            "{hint}"
        );
    }
}
