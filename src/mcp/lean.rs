//! Reviews as the answers of tools hold them: what a model reads and quotes, in as few tokens as possible.
//!
//! Kept are id, author, rating, date, text, source, the owner's reply, the mentions and the language, each of the last four
//! only where there is one. Pictures, links and what is the same for every review are left to `get_review`, as is the
//! rest of what is very long.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::wire::json::push_string;
use crate::wire::text::truncate;

/// Appends the short form of `stored`, the JSON object of a review as the snapshot holds it: at most some 16 kB.
///
/// `"text_truncated": true` says that the text was cut after 2,000 bytes, or that a reply or names of that length were
/// left out.
pub(super) fn push_lean(out: &mut Vec<u8>, stored: &[u8]) {
    let Some(starts) = starts(stored) else {
        // The snapshot renders every key of every review, so this is for a bug alone.
        return out.extend_from_slice(stored);
    };
    let [
        avatar,
        rating,
        text,
        source,
        source_url,
        reply,
        verified,
        people,
        services,
        verification,
        language,
        media,
    ] = starts;
    let mut is_cut = false;
    out.extend_from_slice(&stored[..avatar]);
    if source - text <= BYTES_MAX {
        out.extend_from_slice(&stored[rating..source_url]);
    } else {
        let value = text + ",\"text\":".len();
        let whole: String = serde_json::from_slice(&stored[value..source]).unwrap_or_default();
        is_cut = whole.len() > BYTES_MAX;
        out.extend_from_slice(&stored[rating..value]);
        push_string(out, truncate(&whole, BYTES_MAX));
        out.extend_from_slice(&stored[source..source_url]);
    }
    for member in [
        reply..verified,
        people..services,
        services..verification,
        language..media,
    ] {
        let member = &stored[member];
        if member.len() > BYTES_MAX {
            is_cut = true;
        } else if !member.ends_with(b":null") && !member.ends_with(b":[]") {
            out.extend_from_slice(member);
        }
    }
    if is_cut {
        out.extend_from_slice(b",\"text_truncated\":true");
    }
    out.push(b'}');
}

/// Returns where the commas stand before the members that [`KEYS`] lists.
///
/// They are found by their keys instead of by parsing: a quotation mark inside a string has a backslash before it, so a key
/// with its comma and marks cannot occur in one.
fn starts(stored: &[u8]) -> Option<[usize; 12]> {
    let mut starts = [0; 12];
    let mut from = 0;
    for (start, key) in starts.iter_mut().zip(KEYS.iter()) {
        from += key.find(&stored[from..])?;
        *start = from;
    }
    Some(starts)
}

/// The keys at which what is kept begins or ends, in the order of a stored review.
static KEYS: LazyLock<[Finder<'static>; 12]> = LazyLock::new(|| {
    [
        ",\"author_avatar_url\":",
        ",\"rating\":",
        ",\"text\":",
        ",\"source\":",
        ",\"source_url\":",
        ",\"owner_reply\":",
        ",\"verified\":",
        ",\"mentioned_technicians\":",
        ",\"mentioned_services\":",
        ",\"verification\":",
        ",\"language\":",
        ",\"media\":",
    ]
    .map(Finder::new)
});

/// Bytes of a text, and of a reply or a list of names, that the short form holds at most.
const BYTES_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn review() -> Value {
        json!({
            "id": "r1", "author": "A \"B\" \\", "author_avatar_url": null, "rating": 5, "date": "2024-01-01",
            "text": "Good.", "source": "google", "source_url": "https://google.example/1", "owner_reply": null,
            "verified": true, "mentioned_technicians": ["Ana"], "mentioned_services": [], "verification": null,
            "language": null, "media": [],
        })
    }

    fn lean(review: &Value) -> Value {
        let mut out = Vec::new();
        push_lean(&mut out, review.to_string().as_bytes());
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn what_is_absent_or_the_same_for_all_is_left_out() {
        let mut expected = json!({
            "id": "r1", "author": "A \"B\" \\", "rating": 5, "date": "2024-01-01", "text": "Good.",
            "source": "google", "mentioned_technicians": ["Ana"],
        });
        assert_eq!(lean(&review()), expected);
        let mut answered = review();
        answered["owner_reply"] = json!({"text": "},{\"", "date": "2024-01-02"});
        expected["owner_reply"] = answered["owner_reply"].clone();
        assert_eq!(lean(&answered), expected);
    }

    #[test]
    fn a_text_is_cut_after_2000_bytes_and_long_members_are_left_to_get_review() {
        for (text, length) in [
            ("x".repeat(2_000), 2_000),
            ("x".repeat(2_001), 2_000),
            ("\n".repeat(2_000), 2_000),
            (format!("x{}", "😀".repeat(600)), 1_997),
        ] {
            let mut long = review();
            long["text"] = json!(text);
            let lean = lean(&long);
            let kept = lean["text"].as_str().expect("a text");
            assert!(kept.len() == length && text.starts_with(kept));
            assert_eq!(lean.get("text_truncated").is_some(), text.len() > length);
        }
        let mut long = review();
        long["owner_reply"] = json!({"text": "y".repeat(2_000), "date": "2024-01-02"});
        long["mentioned_technicians"] = json!(vec!["n".repeat(100); 20]);
        let lean = lean(&long);
        assert!(lean.get("owner_reply").is_none() && lean.get("mentioned_technicians").is_none());
        assert_eq!(lean["text_truncated"], true);
    }
}
