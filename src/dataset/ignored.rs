//! `ignored.json`: reviews that the operator has removed for good, so that no import adds them again.
//!
//! The ids and days are published, so that mirrors can remove their copies; the reasons never are.

use super::field::{Check, Kind};
use super::node;
use super::place::Place;
use super::problem::Problems;
use crate::model::RemovedReview;
use crate::wire::date::Date;
use crate::wire::json::push_string;

/// One review on the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The id that it had.
    pub id: String,
    /// The day of its removal.
    pub date: Date,
    /// Why it was removed, for the operator alone.
    pub reason: String,
}

/// Reads the list, from the operator's own file and outside of a dataset.
///
/// # Errors
/// Every problem of the file.
pub fn parse_ignored(bytes: &[u8]) -> Result<Vec<Ignored>, Problems> {
    let mut problems = Problems::default();
    let decoded = decode(bytes, &mut super::check(super::IGNORED, &mut problems));
    match decoded {
        Some(list) if problems.is_empty() => Ok(list),
        _ => Err(problems),
    }
}

/// Renders the list as [`parse_ignored`] reads it, one review a line.
#[must_use]
pub fn render_ignored(list: &[Ignored]) -> String {
    let mut out = b"{\n  \"ignored\": [".to_vec();
    for (at, entry) in list.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"\n    " } else { b",\n    " });
        out.extend_from_slice(b"{ \"id\": ");
        push_string(&mut out, &entry.id);
        out.extend_from_slice(format!(", \"date\": \"{}\", \"reason\": ", entry.date).as_bytes());
        push_string(&mut out, &entry.reason);
        out.extend_from_slice(b" }");
    }
    out.extend_from_slice(b"\n  ]\n}\n");
    // What was written is UTF-8, being made of strings; were it not, the check of the file would say so.
    String::from_utf8_lossy(&out).into_owned()
}

/// Decodes the file.
pub(super) fn decode(bytes: &[u8], check: &mut Check<'_>) -> Option<Vec<Ignored>> {
    let node = node::parse(check.subject, bytes, check.problems)?;
    let at = Place::ROOT;
    let [entries] = check.object(Some(node), &at, ["ignored"])?;
    let entries_at = at.key("ignored");
    let entries = check.each(entries, &entries_at, |check, node, at| {
        let [id, date, reason] = check.object(Some(node), at, ["id", "date", "reason"])?;
        let id = check.review_id(id, &at.key("id"));
        let date = check.date(date, &at.key("date"));
        let reason = check.string(reason, &at.key("reason"), Kind::Prose);
        Some(Ignored {
            id: id?,
            date: date?,
            reason: reason?,
        })
    })?;
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        check.refuse(&entries_at, None, format!("holds {} twice", pair[0]));
        return None;
    }
    Some(entries)
}

/// What is published of the list: ids and days, the newest first.
pub(super) fn published(list: &[Ignored]) -> Vec<RemovedReview> {
    let removed = list.iter().map(|entry| RemovedReview {
        id: entry.id.clone(),
        date: entry.date,
    });
    let mut removed: Vec<RemovedReview> = removed.collect();
    removed.sort_unstable_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
    removed
}
