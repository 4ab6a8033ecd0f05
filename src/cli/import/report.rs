//! What an import did, or would do: for people as lines and a table, for scripts as one object.

use std::borrow::Borrow;
use std::path::Path;

use encoding_rs::Encoding;
use serde_json::{Map, Value, json};

use super::folder::BACKUP;
use super::sample::push_sample;
use super::shape::push_shape;
use super::source::Shown;
use crate::import::merge::{MISSING_MAX, Merge, Note, Tally};
use crate::wire::date::Timestamp;

/// Larger files need a flag wherever they are read: 256 MiB, the default of `--data-file-bytes`.
const DATA_FILE_BYTES: u64 = 256 << 20;

/// How the import ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The file was replaced and bears this time.
    Written(Timestamp),
    /// There was nothing to write.
    Unchanged,
    /// Nothing was to be written.
    DryRun,
    /// Nothing was written, since a record was refused.
    Refused,
}

/// What there is to say.
pub(super) struct Report<'r> {
    pub(super) into: &'r Path,
    pub(super) sources: &'r [Shown],
    pub(super) merge: &'r Merge<'r>,
    pub(super) outcome: Outcome,
    pub(super) is_dry: bool,
}

impl Report<'_> {
    /// Lines and a table.
    pub(super) fn render_text(&self) -> String {
        let mut out = String::new();
        for source in self.sources {
            push_shape(&mut out, source);
        }
        let refused: u64 = self.merge.tallies().iter().map(|tally| tally.refused).sum();
        let refusals = self.merge.refusals();
        self.push_notes(&mut out, "", &refusals, refused, "refused");
        let (count, remarks) = self.merge.remarks();
        let remarks: Vec<&Note> = remarks.iter().collect();
        self.push_notes(&mut out, "remark: ", &remarks, count, "remarks");
        self.push_table(&mut out);
        if self.is_dry {
            push_sample(&mut out, &self.merge.sample());
        }
        let (missing, ids) = self.merge.missing();
        push_gone(&mut out, missing, &ids, "kept");
        self.push_removed(&mut out);
        self.push_end(&mut out);
        out
    }

    /// Records that are on the ignore list, and reviews that were removed because their source has them no more.
    fn push_removed(&self, out: &mut String) {
        let ignored: u64 = self.merge.tallies().iter().map(|tally| tally.ignored).sum();
        if ignored > 0 {
            let noun = plural(ignored, "record is", "records are");
            out.push_str(&format!(
                "{ignored} {noun} on the ignore list and not added\n"
            ));
        }
        let pruned = self.merge.pruned();
        let named = &pruned[..pruned.len().min(MISSING_MAX)];
        push_gone(out, pruned.len() as u64, named, "removed");
    }

    /// A line for each note, and one for those that were only counted.
    fn push_notes(&self, out: &mut String, what: &str, notes: &[&Note], count: u64, more: &str) {
        for note in notes {
            let name = self.name(note.source);
            out.push_str(&format!("{name}:{}: {what}{}\n", note.line, note.text));
        }
        match count.saturating_sub(notes.len() as u64) {
            0 => {}
            1 => out.push_str(&format!("and 1 more {}\n", more.trim_end_matches('s'))),
            unnamed => out.push_str(&format!("and {unnamed} more {more}\n")),
        }
    }

    fn name(&self, source: usize) -> &str {
        self.sources.get(source).map_or("", |source| &source.name)
    }

    fn push_table(&self, out: &mut String) {
        let names = self.sources.iter().map(|source| source.name.as_str());
        let tallies = self.merge.tallies();
        let mut rows: Vec<(&str, Tally)> = names.zip(tallies.iter().copied()).collect();
        if rows.len() > 1 {
            let total = tallies
                .iter()
                .fold(Tally::default(), |sum, tally| sum.plus(tally));
            rows.push(("total", total));
        }
        let width = rows
            .iter()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or_default()
            .max(6);
        out.push_str(&format!(
            "\n{:width$}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n",
            "source", "added", "changed", "unchanged", "repeated", "refused"
        ));
        for (name, tally) in rows {
            out.push_str(&format!(
                "{name:width$}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n",
                tally.added, tally.changed, tally.unchanged, tally.repeated, tally.refused
            ));
        }
        out.push('\n');
    }

    fn push_end(&self, out: &mut String) {
        let file = self.into.join("reviews.json");
        let file = file.display();
        match self.outcome {
            Outcome::Written(at) if self.merge.is_skeleton() => {
                let what = match self.merge.placeholders() {
                    [false, false] => "",
                    _ => " (name and url too, without which it is not served)",
                };
                out.push_str(&format!(
                    "{file}: written, updated_at {at}; fill in `business`{what}, its type too (LegalService for a law practice), before you publish it\n"
                ));
            }
            Outcome::Written(at) => {
                out.push_str(&format!(
                    "{file}: written, updated_at {at}; the previous file is {BACKUP}\n"
                ));
            }
            Outcome::Unchanged if self.is_dry => {
                out.push_str(&format!("{file}: a dry run, nothing would change\n"));
            }
            Outcome::Unchanged => {
                out.push_str(&format!("{file}: nothing to change, not written\n"));
            }
            Outcome::DryRun => out.push_str(&format!("{file}: a dry run, not written\n")),
            Outcome::Refused => out.push_str(&format!("{file}: not written\n")),
        }
        if let Some(size) = size_hint(self.merge.bytes()) {
            out.push_str(&format!("{file}: {size}\n"));
        }
        match self.merge.newly_verified() {
            0 => {}
            count => out.push_str(&format!(
                "{count} of those that were there newly verified\n"
            )),
        }
        match self.merge.hidden() {
            0 => {}
            1 => out.push_str("1 review is hidden at its source, and not published here either\n"),
            count => out.push_str(&format!(
                "{count} reviews are hidden at their source, and not published here either\n"
            )),
        }
        let (reviews, published) = self.merge.counts();
        let noun = if reviews == 1 { "review" } else { "reviews" };
        let hint = match reviews - published {
            0 => "",
            _ => self.hint(),
        };
        out.push_str(&format!(
            "{reviews} {noun}: {published} published, {} not published{hint}\n",
            reviews - published
        ));
    }

    /// How what is not published comes to be; what is in the file is no longer new to `--verified`.
    fn hint(&self) -> &'static str {
        match self.outcome {
            Outcome::DryRun | Outcome::Refused => {
                ", since not verified: --verified vouches for what is new, --verify-existing for what is there, too"
            }
            Outcome::Written(_) | Outcome::Unchanged => {
                ", since not verified: set `verified` where you know the client, or import again with --verify-existing"
            }
        }
    }

    /// One object.
    pub(super) fn render_json(&self) -> String {
        let merge = self.merge;
        let updated_at = match self.outcome {
            Outcome::Written(at) => Some(at.to_string()),
            Outcome::Unchanged | Outcome::DryRun | Outcome::Refused => None,
        };
        let sources = self.sources.iter().zip(merge.tallies());
        let sources: Vec<Value> = sources
            .map(|(source, tally)| render_source(source, tally))
            .collect();
        let refused: u64 = merge.tallies().iter().map(|tally| tally.refused).sum();
        let (remark_count, remarks) = merge.remarks();
        let (missing_count, missing_ids) = merge.missing();
        let (reviews, published) = merge.counts();
        let pruned = merge.pruned();
        let sample = if self.is_dry {
            merge.sample()
        } else {
            Vec::new()
        };
        let sample: Vec<Value> = sample
            .iter()
            .filter_map(|review| serde_json::from_str(review).ok())
            .collect();
        let report = json!({
            "written": updated_at.is_some(),
            "dry_run": self.is_dry,
            "changes": merge.is_change(),
            "updated_at": updated_at,
            "sources": sources,
            "refused_count": refused,
            "refused": self.render_notes("reason", merge.refusals()),
            "remark_count": remark_count,
            "remarks": self.render_notes("remark", &remarks),
            "missing_count": missing_count,
            "missing_ids": missing_ids,
            "pruned_count": pruned.len(),
            "pruned_ids": &pruned[..pruned.len().min(MISSING_MAX)],
            "review_count": reviews,
            "published_count": published,
            "unpublished_count": reviews - published,
            "hidden_count": merge.hidden(),
            "newly_verified_count": merge.newly_verified(),
            "byte_count": merge.bytes(),
            "sample": sample,
        });
        format!("{report}\n")
    }

    fn render_notes<'n>(&self, key: &str, notes: impl IntoIterator<Item = &'n Note>) -> Vec<Value> {
        let notes = notes.into_iter();
        notes
            .map(
                |note| json!({"source": self.name(note.source), "line": note.line, key: note.text}),
            )
            .collect()
    }
}

/// A line about `count` reviews that their source has no more, of which some ids are named.
fn push_gone(out: &mut String, count: u64, ids: &[impl Borrow<str>], what: &str) {
    if count == 0 {
        return;
    }
    let noun = plural(count, "review is", "reviews are");
    let more = if count > ids.len() as u64 {
        ", …"
    } else {
        ""
    };
    let ids = ids.join(", ");
    out.push_str(&format!(
        "{count} {noun} not in the source any more and {what}: {ids}{more}\n"
    ));
}

fn plural<'n>(count: u64, one: &'n str, several: &'n str) -> &'n str {
    if count == 1 { one } else { several }
}

/// What other commands need to read a file of `bytes`, if it is larger than they read by themselves.
fn size_hint(bytes: u64) -> Option<String> {
    let size = bytes.div_ceil(1 << 20);
    (bytes > DATA_FILE_BYTES).then(|| {
        format!(
            "{bytes} bytes, more than check and serve read by default: give them --data-file-bytes {size}MiB"
        )
    })
}

fn render_source(source: &Shown, tally: &Tally) -> Value {
    let shape = &source.shape;
    let columns = shape.used.iter();
    let columns: Map<String, Value> = columns
        .map(|(field, column)| (field.to_string(), json!(column)))
        .collect();
    json!({
        "source": source.name,
        "kind": source.format.title,
        "encoding": source.encoding.map(Encoding::name),
        "delimiter": shape.delimiter.map(char::from),
        "date_order": source.order.map(|(order, _)| order.name()),
        "columns": columns,
        "unused_columns": shape.unused,
        "added": tally.added,
        "changed": tally.changed,
        "unchanged": tally.unchanged,
        "repeated": tally.repeated,
        "refused": tally.refused,
        "ignored": tally.ignored,
    })
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
