//! What an import did, or would do: for people as lines and a table, for scripts as one object.

use std::path::Path;

use encoding_rs::Encoding;

use super::folder::BACKUP;
use super::sample::push_sample;
use super::shape::push_shape;
use super::source::Shown;
use crate::import::merge::{MISSING_MAX, Merge, Note, Tally};
use crate::wire::date::Timestamp;
use crate::wire::json::{Array, Object};

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
        if missing > 0 {
            let more = if missing > ids.len() as u64 {
                ", …"
            } else {
                ""
            };
            let noun = if missing == 1 {
                "review is"
            } else {
                "reviews are"
            };
            out.push_str(&format!(
                "{missing} {noun} not in the source any more and kept: {}{more}\n",
                ids.join(", ")
            ));
        }
        self.push_removed(&mut out);
        self.push_end(&mut out);
        out
    }

    /// What was not added as it is on the ignore list, and what was removed as its source has it no more.
    fn push_removed(&self, out: &mut String) {
        let ignored: u64 = self.merge.tallies().iter().map(|tally| tally.ignored).sum();
        if ignored > 0 {
            let noun = if ignored == 1 {
                "record is"
            } else {
                "records are"
            };
            out.push_str(&format!(
                "{ignored} {noun} on the ignore list and not added\n"
            ));
        }
        let pruned = self.merge.pruned();
        if !pruned.is_empty() {
            let noun = if pruned.len() == 1 {
                "review is"
            } else {
                "reviews are"
            };
            let named = &pruned[..pruned.len().min(MISSING_MAX)];
            let more = if named.len() < pruned.len() {
                ", …"
            } else {
                ""
            };
            out.push_str(&format!(
                "{} {noun} not in the source any more and removed: {}{more}\n",
                pruned.len(),
                named.join(", ")
            ));
        }
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
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        let (written, updated_at) = match self.outcome {
            Outcome::Written(at) => (true, Some(at.to_string())),
            Outcome::Unchanged | Outcome::DryRun | Outcome::Refused => (false, None),
        };
        object
            .bool("written", written)
            .bool("dry_run", self.is_dry)
            .bool("changes", self.merge.is_change())
            .opt_string("updated_at", updated_at.as_deref());
        let mut list = Array::begin(object.key("sources"));
        for (source, tally) in self.sources.iter().zip(self.merge.tallies()) {
            push_source(list.item(), source, tally);
        }
        list.end();
        let refused = self.merge.tallies().iter().map(|tally| tally.refused).sum();
        object.u64("refused_count", refused);
        let refusals = self.merge.refusals();
        self.push_list(object.key("refused"), "reason", &refusals);
        let (count, remarks) = self.merge.remarks();
        let remarks: Vec<&Note> = remarks.iter().collect();
        object.u64("remark_count", count);
        self.push_list(object.key("remarks"), "remark", &remarks);
        let (missing, ids) = self.merge.missing();
        let (reviews, published) = self.merge.counts();
        object
            .u64("missing_count", missing)
            .strings("missing_ids", ids)
            .u64("pruned_count", self.merge.pruned().len() as u64)
            .strings(
                "pruned_ids",
                self.merge
                    .pruned()
                    .iter()
                    .take(MISSING_MAX)
                    .map(String::as_str),
            )
            .u64("review_count", reviews)
            .u64("published_count", published)
            .u64("unpublished_count", reviews - published)
            .u64("hidden_count", self.merge.hidden())
            .u64("newly_verified_count", self.merge.newly_verified())
            .u64("byte_count", self.merge.bytes());
        let sample = if self.is_dry {
            self.merge.sample()
        } else {
            Vec::new()
        };
        let mut list = Array::begin(object.key("sample"));
        for review in sample {
            // On one line, as the rest is.
            let lines = review.lines().map(str::trim_start);
            list.raw(lines.collect::<String>().as_bytes());
        }
        list.end();
        object.end();
        out.push(b'\n');
        // What was written is UTF-8, being made of strings; were it not, the reader would see the replacement mark.
        String::from_utf8_lossy(&out).into_owned()
    }

    fn push_list(&self, out: &mut Vec<u8>, key: &str, notes: &[&Note]) {
        let mut list = Array::begin(out);
        for note in notes {
            let mut each = Object::begin(list.item());
            each.string("source", self.name(note.source))
                .u64("line", note.line)
                .string(key, &note.text);
            each.end();
        }
        list.end();
    }
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

fn push_source(out: &mut Vec<u8>, source: &Shown, tally: &Tally) {
    let mut object = Object::begin(out);
    let delimiter = source
        .shape
        .delimiter
        .map(|byte| char::from(byte).to_string());
    object
        .string("source", &source.name)
        .string("kind", source.format.title)
        .opt_string("encoding", source.encoding.map(Encoding::name))
        .opt_string("delimiter", delimiter.as_deref())
        .opt_string("date_order", source.order.map(|(order, _)| order.name()));
    let mut columns = Object::begin(object.key("columns"));
    for (field, column) in &source.shape.used {
        columns.string(field, column);
    }
    columns.end();
    object
        .strings(
            "unused_columns",
            source.shape.unused.iter().map(String::as_str),
        )
        .u64("added", tally.added)
        .u64("changed", tally.changed)
        .u64("unchanged", tally.unchanged)
        .u64("repeated", tally.repeated)
        .u64("refused", tally.refused)
        .u64("ignored", tally.ignored);
    object.end();
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
