//! The short form of reviews in tool results: the parts that a model needs, in as few tokens as possible.
//!
//! It has id, author, rating, date, text and source, and, if present, the owner's reply, the mentions and the language.
//! Pictures, links, members that are the same for every review, and the rest of very long members are only in
//! `get_review`.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::wire::json::push_string;
use crate::wire::text::truncate;

/// Appends the short form of `stored`, the JSON object of a review in the snapshot: at most about 16 kB.
///
/// `"text_truncated": true` means that the text was cut after 2,000 bytes, or that a reply or a list of names was left
/// out because it is longer.
pub(super) fn push_lean(out: &mut Vec<u8>, stored: &[u8]) {
    let start = out.len();
    if push_members(out, stored).is_none() {
        // The snapshot renders every key of every review, so only a bug leads here.
        out.truncate(start);
        out.extend_from_slice(stored);
    }
}

/// Appends the members of the short form; `None` if a key is missing.
///
/// They are found by searching for their keys instead of parsing: quotation marks inside a string are escaped, so a key
/// with its comma and quotation marks cannot occur in a string.
fn push_members(out: &mut Vec<u8>, stored: &[u8]) -> Option<()> {
    let [avatar, rating, source, source_url, members @ ..] = &*KEYS;
    let [
        reply,
        verified,
        people,
        services,
        verification,
        language,
        media,
    ] = members;
    let find = |key: &Finder<'_>, from: usize| Some(from + key.find(&stored[from..])?);
    let avatar = find(avatar, 0)?;
    let rating = find(rating, avatar)?;
    let text = rating + ",\"rating\":5,\"date\":\"2024-01-01\",\"text\":".len();
    let source = find(source, rating)?;
    let source_url = find(source_url, source)?;
    out.extend_from_slice(&stored[..avatar]);
    let mut is_cut = source.checked_sub(text)? > BYTES_MAX;
    if is_cut {
        let whole: String = serde_json::from_slice(&stored[text..source]).unwrap_or_default();
        is_cut = whole.len() > BYTES_MAX;
        out.extend_from_slice(&stored[rating..text]);
        push_string(out, truncate(&whole, BYTES_MAX));
        out.extend_from_slice(&stored[source..source_url]);
    } else {
        out.extend_from_slice(&stored[rating..source_url]);
    }
    let mut at = source_url;
    for (key, next) in [
        (reply, verified),
        (people, services),
        (services, verification),
        (language, media),
    ] {
        let start = find(key, at)?;
        at = start + key.needle().len();
        let value = &stored[at..];
        if value.starts_with(b"null") || value.starts_with(b"[]") {
            continue;
        }
        let end = find(next, at)?;
        match end - start > BYTES_MAX {
            true => is_cut = true,
            false => out.extend_from_slice(&stored[start..end]),
        }
    }
    if is_cut {
        out.extend_from_slice(b",\"text_truncated\":true");
    }
    out.push(b'}');
    Some(())
}

/// The keys at which members of the short form begin or end, in the order of a stored review.
static KEYS: LazyLock<[Finder<'static>; 11]> = LazyLock::new(|| {
    [
        ",\"author_avatar_url\":",
        ",\"rating\":",
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

/// Largest size in bytes of a text, a reply, or a list of names in the short form.
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
    fn absent_and_constant_members_are_left_out() {
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
