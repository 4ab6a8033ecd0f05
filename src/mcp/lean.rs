//! The short form of reviews in tool results: the parts that a model needs, in as few tokens as possible.
//!
//! It has id, author, rating, date, text and source, and, if present, the owner's reply, the mentions, the language, the
//! location and how exact the date is. A review that is not verified says so, and names its platform.
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
    let mut is_cut = false;
    // Id and author come first; then each key ends the member before it.
    let (mut start, mut head_len, mut kept) = (0, 0, Kept::Always);
    for (key, next_head_len, next_kept) in &*MEMBERS {
        let end = start + key.find(&stored[start..])?;
        let member = &stored[start..end];
        let (head, value) = member.split_at_checked(head_len)?;
        match kept {
            Kept::Never => {}
            Kept::IfGiven if value == b"null" || value == b"[]" => {}
            Kept::IfFalse if value == b"true" => {}
            Kept::IfAccount if !is_by_account(value) => {}
            Kept::IfGiven if member.len() > BYTES_MAX => is_cut = true,
            Kept::Text if value.len() > BYTES_MAX => {
                let whole: String = serde_json::from_slice(value).unwrap_or_default();
                is_cut = whole.len() > BYTES_MAX;
                out.extend_from_slice(head);
                push_string(out, truncate(&whole, BYTES_MAX));
            }
            _ => out.extend_from_slice(member),
        }
        (start, head_len, kept) = (end, *next_head_len, *next_kept);
    }
    if is_cut {
        out.extend_from_slice(b",\"text_truncated\":true");
    }
    out.push(b'}');
    Some(())
}

/// Whether the short form has a member.
#[derive(Clone, Copy)]
enum Kept {
    Always,
    /// The text, which may be cut.
    Text,
    /// Unless it is null or empty, or too long.
    IfGiven,
    /// If the value is false.
    IfFalse,
    /// If the verification is only an account at a platform.
    IfAccount,
    Never,
}

/// Whether a verification has the method of reviews that are not verified.
fn is_by_account(verification: &[u8]) -> bool {
    verification.ends_with(ACCOUNT.as_bytes())
}

/// The end of a rendered verification whose method is `model::METHOD_ACCOUNT`.
const ACCOUNT: &str = ",\"method\":\"account\"}";

/// The members after id and author, in the order of a stored review: the key, the length of what comes before the value,
/// and whether the member is kept. Rating and date, which always have the same length, come before the text.
static MEMBERS: LazyLock<[(Finder<'static>, usize, Kept); 18]> = LazyLock::new(|| {
    [
        ("author_avatar_url", Kept::Never),
        ("rating", Kept::Text),
        ("source", Kept::Always),
        ("source_url", Kept::Never),
        ("owner_reply", Kept::IfGiven),
        ("verified", Kept::IfFalse),
        ("mentioned_technicians", Kept::IfGiven),
        ("mentioned_services", Kept::IfGiven),
        ("verification", Kept::IfAccount),
        ("language", Kept::IfGiven),
        ("media", Kept::Never),
        ("translation", Kept::Never),
        ("language_source", Kept::Never),
        ("location", Kept::IfGiven),
        ("date_precision", Kept::IfGiven),
        ("rating_original", Kept::Never),
        ("added_at", Kept::Never),
        ("changed_at", Kept::Never),
    ]
    .map(|(key, kept)| {
        let key = format!(",\"{key}\":");
        let head_len = match kept {
            Kept::Text => ",\"rating\":5,\"date\":\"2024-01-01\",\"text\":".len(),
            _ => key.len(),
        };
        (Finder::new(&key).into_owned(), head_len, kept)
    })
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
            "language": null, "media": [], "translation": null, "language_source": null, "location": null,
            "date_precision": null, "rating_original": null, "added_at": null, "changed_at": null,
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
    fn a_review_that_is_not_verified_says_so_and_names_its_platform() {
        let mut unmatched = review();
        unmatched["verified"] = json!(false);
        unmatched["verification"] = json!({"by": "Google", "method": "account"});
        unmatched["date_precision"] = json!("month");
        let lean = lean(&unmatched);
        for key in ["verified", "verification", "date_precision"] {
            assert_eq!(lean[key], unmatched[key], "{key}");
        }
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
