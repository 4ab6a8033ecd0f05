//! Reviews as the answers of tools hold them: what a model reads and quotes, in as few tokens as possible.
//!
//! Kept are id, author, rating, date, text, source, language, the mentions and the owner's reply, each of the last five
//! only where there is one. Pictures, links and what is the same for every review are left to `get_review`, as is the
//! rest of what is very long.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::wire::json::{Object, push_string};
use crate::wire::text::truncate;

/// Appends the short form of `stored`, the JSON object of a review as the snapshot holds it: at most some 16 kB.
///
/// `"text_truncated": true` says that the text was cut after 2,000 bytes, or that a reply or names of that length were
/// left out.
pub(crate) fn push_lean(out: &mut Vec<u8>, stored: &[u8]) {
    let Some(members) = members(stored) else {
        // The snapshot renders every key of every review, so this is for a bug alone.
        return out.extend_from_slice(stored);
    };
    let [
        id,
        author,
        _,
        rating,
        date,
        text,
        source,
        _,
        owner_reply,
        _,
        technicians,
        services,
        _,
        language,
        _,
    ] = members;
    let mut is_cut = false;
    let mut object = Object::begin(out);
    for (key, raw) in [
        ("id", id),
        ("author", author),
        ("rating", rating),
        ("date", date),
    ] {
        object.raw(key, raw);
    }
    if text.len() <= BYTES_MAX {
        object.raw("text", text);
    } else {
        let text: String = serde_json::from_slice(text).unwrap_or_default();
        is_cut = text.len() > BYTES_MAX;
        push_string(object.key("text"), truncate(&text, BYTES_MAX));
    }
    for (key, raw) in [
        ("source", source),
        ("language", language),
        ("mentioned_technicians", technicians),
        ("mentioned_services", services),
        ("owner_reply", owner_reply),
    ] {
        match raw {
            b"null" | b"[]" | b"\"\"" => {}
            raw if raw.len() > BYTES_MAX => is_cut = true,
            raw => drop(object.raw(key, raw)),
        }
    }
    if is_cut {
        object.bool("text_truncated", true);
    }
    object.end();
}

/// Returns the members of a stored review in their order, as they are written.
///
/// They are cut at their keys instead of being parsed: a quotation mark inside a string has a backslash before it, so a key
/// with its comma and marks cannot occur in one.
fn members(stored: &[u8]) -> Option<[&[u8]; 15]> {
    let mut members = [&b""[..]; 15];
    let mut rest = stored.strip_prefix(b"{\"id\":")?.strip_suffix(b"}")?;
    for (member, key) in members.iter_mut().zip(KEYS.iter()) {
        let end = key.find(rest)?;
        *member = &rest[..end];
        rest = &rest[end + key.needle().len()..];
    }
    members[KEYS.len()] = rest;
    Some(members)
}

/// The keys of a stored review after its `id`, in their order.
static KEYS: LazyLock<[Finder<'static>; 14]> = LazyLock::new(|| {
    [
        ",\"author\":",
        ",\"author_avatar_url\":",
        ",\"rating\":",
        ",\"date\":",
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
        let expected = json!({
            "id": "r1", "author": "A \"B\" \\", "rating": 5, "date": "2024-01-01", "text": "Good.",
            "source": "google", "mentioned_technicians": ["Ana"],
        });
        assert_eq!(lean(&review()), expected);
        let mut answered = review();
        answered["owner_reply"] = json!({"text": "},{\"", "date": "2024-01-02"});
        assert_eq!(lean(&answered)["owner_reply"], answered["owner_reply"]);
    }

    #[test]
    fn a_text_is_cut_after_2000_bytes_on_a_character_boundary() {
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
    }

    #[test]
    fn a_long_reply_and_long_lists_are_left_to_get_review() {
        let mut long = review();
        long["owner_reply"] = json!({"text": "y".repeat(2_000), "date": "2024-01-02"});
        long["mentioned_technicians"] = json!(vec!["n".repeat(100); 20]);
        let lean = lean(&long);
        assert!(lean.get("owner_reply").is_none() && lean.get("mentioned_technicians").is_none());
        assert_eq!(lean["text_truncated"], true);
    }
}
