//! Formats numbers, links and names for readers.

#![allow(
    unreachable_pub,
    reason = "the macro makes the items that it adds public"
)]

use std::fmt::Display;

use askama::filters::{Html, Safe, escape};
use askama::{Result, Values};

use crate::model::{Row, platform};
use crate::snapshot::{Snapshot, Verifications};
use crate::wire::form::push_encoded;
use crate::wire::text::push_percent;

/// Characters that have a meaning anywhere in a line of Markdown.
const MARKDOWN: &str = "\\`*_[]<>#|~&!";

/// Returns `number` with commas between groups of three digits, for documents in English.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the verifier of a review and the method: `Judge.me (purchase)`.
pub(super) fn verifier(by: &str, method: Option<&str>) -> String {
    let by = platform(by).unwrap_or(by);
    match method {
        Some(method) => format!("{by} ({method})"),
        None => by.to_owned(),
    }
}

/// Returns how the published reviews were verified, in one or two sentences; empty if there are no reviews.
pub(super) fn verification(snapshot: &Snapshot) -> String {
    let verifications = &snapshot.verifications;
    let mut sentences = Vec::new();
    sentences.extend(verified_sentence(&snapshot.business.name, verifications));
    sentences.extend(account_sentence(verifications));
    without_direction(&sentences.join(" "))
}

/// Names the verifiers; `None` if no review is verified.
fn verified_sentence(business: &str, verifications: &Verifications) -> Option<String> {
    let mut parts = Vec::new();
    for (verification, number) in &verifications.named {
        let name = match verification {
            Some(verification) => verifier(&verification.by, verification.method.as_deref()),
            None => format!("{business} itself"),
        };
        if verifications.named.len() == 1 && verifications.account_count == 0 {
            return Some(format!("Every review was verified by {name}."));
        }
        parts.push(format!("{} by {name}", count(*number)));
    }
    if parts.is_empty() {
        return None;
    }
    if verifications.other_count > 0 {
        parts.push(format!("{} by others", count(verifications.other_count)));
    }
    Some(format!("Reviews were verified: {}.", parts.join(", ")))
}

/// Says how many reviews were only published by their platform; `None` if there are none.
fn account_sentence(verifications: &Verifications) -> Option<String> {
    if verifications.account_count == 0 {
        return None;
    }
    let mut names = Vec::new();
    for by in &verifications.account_platforms {
        names.push(platform(by).unwrap_or(by));
    }
    let were = counted(verifications.account_count, "review was", "reviews were");
    Some(format!(
        "{were} published with an account at {} and not matched with a customer.",
        names.join(", ")
    ))
}

/// Returns `number` with one of two words: `one` for 1, `many` for any other number.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Returns `url` if its scheme may become a link: http, https, mailto or tel.
pub(super) fn link(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    for permitted in ["http", "https", "mailto", "tel"] {
        if scheme.eq_ignore_ascii_case(permitted) {
            return Some(url);
        }
    }
    None
}

/// Returns the `tel:` URL of a telephone number in any notation.
pub(super) fn telephone(number: &str) -> String {
    let mut url = String::from("tel:");
    for character in number.chars() {
        if character.is_ascii_digit() || character == '+' {
            url.push(character);
        }
    }
    url
}

/// Returns the `mailto:` URL of an address. Characters that could end it or add header fields are escaped.
pub(super) fn mailbox(address: &str) -> String {
    let mut url = String::from("mailto:");
    push_percent(&mut url, address, |byte| {
        byte.is_ascii_alphanumeric() || b"@.-_+".contains(&byte)
    });
    url
}

/// Returns `text` with all bytes but ASCII letters and digits escaped, for the values of a `mailto:` URL.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    push_percent(&mut encoded, text, |byte| byte.is_ascii_alphanumeric());
    encoded
}

/// Returns `prefix` followed by `value` in form encoding.
pub(super) fn encoded(prefix: &str, value: &str) -> String {
    let mut encoded = prefix.to_owned();
    push_encoded(&mut encoded, value);
    encoded
}

/// Writes a name or label without bidirectional control characters. `<bdi>` alone is not enough: in a name with an
/// unclosed isolate, `</bdi>` would close that one and not the element's own.
#[askama::filter_fn]
pub(super) fn in_line<T: Display>(value: T, _: &dyn Values) -> Result<String> {
    Ok(without_direction(&value.to_string()))
}

/// Writes a text of the OpenAPI document as HTML; words between backticks become code.
#[askama::filter_fn]
pub(super) fn with_code<T: Display>(value: T, _: &dyn Values) -> Result<Safe<String>> {
    let mut html = String::new();
    for (at, part) in value.to_string().split('`').enumerate() {
        let part = escape(part, Html)?;
        if at % 2 == 1 {
            html.push_str(&format!("<code>{}</code>", part.0));
        } else {
            html.push_str(&part.0.to_string());
        }
    }
    Ok(Safe(html))
}

/// Returns whether a character begins or ends a bidirectional embedding, override or isolate (Unicode Annex 9).
pub(super) fn turns_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `text` without bidirectional control characters, for places that `<bdi>` cannot isolate, such as a title.
pub(super) fn without_direction(text: &str) -> String {
    text.replace(turns_direction, "")
}

/// Returns `text` as one line of Markdown, with every character escaped that has a meaning in a line or at its beginning.
pub(super) fn markdown(text: &str) -> String {
    let line = escaped_line(text);
    let after_number = line.trim_start_matches(|first: char| first.is_ascii_digit());
    let has_number = after_number.len() < line.len();
    let after_mark = after_number.strip_prefix(['.', ')']);
    // A number with nothing behind its mark is an empty item of a list.
    let is_item = after_mark.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    if has_number && is_item {
        let digits = &line[..line.len() - after_number.len()];
        return format!("{digits}\\{after_number}");
    }
    if line.starts_with(['-', '+', '=']) {
        return format!("\\{line}");
    }
    line
}

/// Escapes the characters that have a meaning anywhere in a line.
fn escaped_line(text: &str) -> String {
    let text = without_direction(text);
    let escaped = text.split_whitespace().map(|word| {
        let mut out = String::with_capacity(word.len());
        for character in word.chars().filter(|character| !character.is_control()) {
            // A single `&` cannot begin an entity.
            if MARKDOWN.contains(character) && word != "&" {
                out.push('\\');
            }
            out.push(character);
        }
        out
    });
    escaped.collect::<Vec<_>>().join(" ")
}

/// Returns the label of the service with this id, or the id itself.
pub(super) fn service_label<'s>(snapshot: &'s Snapshot, id: &'s str) -> &'s str {
    match services(snapshot).find(|(other, _)| *other == id) {
        Some((_, label)) => label,
        None => id,
    }
}

/// Ids and labels of all services, the business's own list first; an id may come twice.
pub(super) fn services(snapshot: &Snapshot) -> impl Iterator<Item = (&str, &str)> {
    let listed = snapshot
        .business
        .services
        .iter()
        .map(|service| (&*service.id, &*service.label));
    let mentioned = snapshot.taxonomy.services.iter();
    listed.chain(mentioned.map(|service| (&*service.id, &*service.label)))
}

/// Names of all people, the business's own list first; a name may come twice.
pub(super) fn people(snapshot: &Snapshot) -> impl Iterator<Item = &str> {
    let listed = snapshot.business.technicians.iter();
    let mentioned = snapshot.taxonomy.technicians.iter();
    listed
        .map(|person| &*person.name)
        .chain(mentioned.map(|person| &*person.name))
}

/// The rows of the newest reviews, at most `count_max`.
pub(super) fn newest(snapshot: &Snapshot, count_max: u32) -> impl Iterator<Item = Row> {
    (0..snapshot.len().min(count_max)).map(Row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_schemes_become_links() {
        for url in "https://a.example/ http://a HTTPS://a mailto:a@b tel:+1".split(' ') {
            assert_eq!(link(url), Some(url));
        }
        let others = "javascript:alert(1)|JavaScript:x|data:text/html,x| https://a|java\nscript:x|//a||vbscript:x\
            |\u{1}javascript:x";
        for url in others.split('|') {
            assert_eq!(link(url), None, "{url}");
        }
    }

    #[test]
    fn addresses_and_numbers_become_urls() {
        assert_eq!(encoded("/?q=", "a b&c=é"), "/?q=a+b%26c%3D%C3%A9");
        assert_eq!(mailbox("a@b.c?cc=d&x"), "mailto:a@b.c%3Fcc%3Dd%26x");
        assert_eq!(telephone("+1 (970) 555-0142"), "tel:+19705550142");
    }

    #[test]
    fn markdown_is_text() {
        let out = markdown(" [a](javascript:x)\n# *b* <!--\u{202e}&amp;`\\ Inc.! ");
        let expected = r"\[a\](javascript:x) \# \*b\* \<\!--\&amp;\`\\ Inc.\!";
        assert_eq!(out, expected);
    }

    #[test]
    fn a_text_is_no_item_of_a_markdown_list() {
        for (text, expected) in [
            ("- all reviews", r"\- all reviews"),
            ("+ all reviews", r"\+ all reviews"),
            ("1. FC Adler", r"1\. FC Adler"),
            ("12) Adler", r"12\) Adler"),
            ("1.", r"1\."),
            ("=== ", r"\==="),
            ("4.5 stars", "4.5 stars"),
            ("24-hour service", "24-hour service"),
            ("2026", "2026"),
        ] {
            assert_eq!(markdown(text), expected);
        }
    }

    #[test]
    fn marks_of_direction_are_taken_out() {
        assert_eq!(without_direction("a\u{202e}b\u{2066}c\u{2069}d"), "abcd");
        let plain = "\u{200f}Ñandú \u{2065}\u{206a} שלום";
        assert_eq!(without_direction(plain), plain);
    }
}
