//! The short form of reviews in tool results: the parts that a model needs, in as few tokens as possible.
//!
//! It has id, author, rating, date, text, source and the address of its page. If present, it also has the owner's reply,
//! the mentions, the language, the location and how exact the date is. A review that is not verified says so, and names its
//! platform. Only `get_review` has the pictures, the links, the members that are the same for every review, and the rest
//! of very long members.

use crate::model::METHOD_ACCOUNT;
use crate::snapshot::{JsonText, StoredReply, StoredReview, StoredVerification};
use crate::wire::json::{Array, Object};
use crate::wire::text::truncate;

/// Largest size in bytes of a text, and of the JSON of a reply's text or of a list of names, in the short form.
pub(super) const BYTES_MAX: usize = 2_000;

/// Appends the short form of `review`, whose page is at `url`: at most about 22 kB once `mcp::clean` has
/// dropped its hidden characters.
///
/// `"text_truncated": true` means that the text was cut after 2,000 bytes, or that a reply or a list of names was left
/// out because its JSON has more than 2,000 bytes.
pub(super) fn push_short_form(out: &mut Vec<u8>, review: &StoredReview<'_>, url: &str) {
    let mut is_cut = false;
    let mut object = Object::begin(out);
    object
        .string("id", review.id)
        .raw("author", review.author.json().as_bytes())
        .u64("rating", u64::from(review.rating))
        .string("date", review.date);
    is_cut |= push_text(&mut object, review.text);
    object.raw("source", review.source.json().as_bytes());
    if let Some(reply) = &review.owner_reply {
        is_cut |= push_reply(&mut object, reply);
    }
    if !review.verified {
        object.raw("verified", b"false");
    }
    let people = &review.mentioned_technicians;
    is_cut |= push_names(&mut object, "mentioned_technicians", people);
    let services = &review.mentioned_services;
    is_cut |= push_names(&mut object, "mentioned_services", services);
    if let Some(verification) = &review.verification {
        push_platform(&mut object, verification);
    }
    if let Some(language) = review.language {
        object.string("language", language);
    }
    if let Some(location) = review.location {
        object.raw("location", location.json().as_bytes());
    }
    if let Some(precision) = review.date_precision {
        object.string("date_precision", precision);
    }
    if is_cut {
        object.raw("text_truncated", b"true");
    }
    object.string("url", url);
    object.end();
}

/// Appends the text of a review, cut if it is too long; returns whether it was cut.
fn push_text(object: &mut Object<'_>, text: JsonText<'_>) -> bool {
    // A text is never longer than its JSON, so most need not be decoded to know that they fit.
    if text.json().len() <= BYTES_MAX {
        object.raw("text", text.json().as_bytes());
        return false;
    }
    let whole = text.decode();
    object.string("text", truncate(&whole, BYTES_MAX));
    whole.len() > BYTES_MAX
}

/// Appends the owner's reply, unless it is too long; returns whether it was left out.
fn push_reply(object: &mut Object<'_>, reply: &StoredReply<'_>) -> bool {
    if reply.text.json().len() > BYTES_MAX {
        return true;
    }
    let mut members = Object::begin(object.key("owner_reply"));
    members
        .raw("text", reply.text.json().as_bytes())
        .string("date", reply.date);
    members.end();
    false
}

/// Appends a list of names, if there are any, unless it is too long; returns whether it was left out.
fn push_names(object: &mut Object<'_>, key: &str, names: &[JsonText<'_>]) -> bool {
    let bytes: usize = names.iter().map(|name| name.json().len() + 1).sum();
    if bytes > BYTES_MAX {
        return true;
    }
    if !names.is_empty() {
        let mut array = Array::begin(object.key(key));
        for name in names {
            array.item().extend_from_slice(name.json().as_bytes());
        }
        array.end();
    }
    false
}

/// Appends the platform of a review that was published with an account there, and not matched with a customer.
fn push_platform(object: &mut Object<'_>, verification: &StoredVerification<'_>) {
    let Some(method) = verification.method else {
        return;
    };
    if method.decode() != METHOD_ACCOUNT {
        return;
    }
    let mut members = Object::begin(object.key("verification"));
    members
        .raw("by", verification.by.json().as_bytes())
        .raw("method", method.json().as_bytes());
    members.end();
}

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

    fn short_form(review: &Value) -> Value {
        let mut out = Vec::new();
        push_short_form(
            &mut out,
            &StoredReview::parse(review.to_string().as_bytes()),
            "https://r.example/reviews/r1",
        );
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn absent_and_constant_members_are_left_out() {
        let mut expected = json!({
            "id": "r1", "author": "A \"B\" \\", "rating": 5, "date": "2024-01-01", "text": "Good.",
            "source": "google", "mentioned_technicians": ["Ana"], "url": "https://r.example/reviews/r1",
        });
        assert_eq!(short_form(&review()), expected);
        let mut answered = review();
        answered["owner_reply"] = json!({"text": "},{\"", "date": "2024-01-02"});
        expected["owner_reply"] = answered["owner_reply"].clone();
        assert_eq!(short_form(&answered), expected);
    }

    #[test]
    fn a_review_that_is_not_verified_says_so_and_names_its_platform() {
        let mut unmatched = review();
        unmatched["verified"] = json!(false);
        unmatched["verification"] = json!({"by": "Google", "method": "account"});
        unmatched["date_precision"] = json!("month");
        let short = short_form(&unmatched);
        for key in ["verified", "verification", "date_precision"] {
            assert_eq!(short[key], unmatched[key], "{key}");
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
            let short = short_form(&long);
            let kept = short["text"].as_str().expect("a text");
            assert_eq!(kept, &text[..length]);
            assert_eq!(short.get("text_truncated").is_some(), text.len() > length);
        }
        let mut long = review();
        long["owner_reply"] = json!({"text": "y".repeat(2_000), "date": "2024-01-02"});
        long["mentioned_technicians"] = json!(vec!["n".repeat(100); 20]);
        let short = short_form(&long);
        assert_eq!(short.get("owner_reply"), None);
        assert_eq!(short.get("mentioned_technicians"), None);
        assert_eq!(short["text_truncated"], true);
    }
}
