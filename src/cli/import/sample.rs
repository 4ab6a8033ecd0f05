//! Some reviews of a dry run, for the eye: a wrong column or date shows at once.

use serde_json::Value;

use super::shape::printable;

/// Shows some reviews as they would be published.
pub(super) fn push_sample(out: &mut String, reviews: &[&str]) {
    if reviews.is_empty() {
        return;
    }
    out.push_str("as they would be published:\n");
    for json in reviews {
        let review: Value = serde_json::from_str(json).unwrap_or_default();
        let text = |value: &Value| {
            let text = printable(value.as_str().unwrap_or_default());
            let mut cut: String = text.chars().take(SAMPLE_CHARACTERS).collect();
            if cut.len() < text.len() {
                cut.push('…');
            }
            cut
        };
        let stars = usize::try_from(review["rating"].as_u64().unwrap_or_default());
        let (stars, date) = (stars.unwrap_or_default().min(5), text(&review["date"]));
        let stars = format!("{}{}", "★".repeat(stars), "☆".repeat(5 - stars));
        let (author, source) = (text(&review["author"]), text(&review["source"]));
        let unpublished = match review["verified"].as_bool() {
            Some(true) => "",
            _ => " (not published: not verified)",
        };
        out.push_str(&format!(
            "  {stars} {date} {author}, {source}{unpublished}\n"
        ));
        let reply = &review["owner_reply"];
        for (what, words) in [("", &review["text"]), ("reply: ", &reply["text"])] {
            match text(words) {
                words if words.is_empty() => {}
                words => out.push_str(&format!("    {what}{words}\n")),
            }
        }
    }
    out.push('\n');
}

/// How much of a text a dry run shows, in characters.
const SAMPLE_CHARACTERS: usize = 200;
