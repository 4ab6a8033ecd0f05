//! One review of a snapshot, borrowed from its stored JSON: the only place where our own JSON is parsed.
//!
//! `/reviews.json` is the only copy of the reviews that a snapshot keeps. Texts stay JSON until they are asked for, as most
//! of them are only passed on.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A review as `/reviews.json` has it, without the members that nothing in the program reads.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredReview<'s> {
    pub(crate) id: &'s str,
    #[serde(borrow)]
    pub(crate) author: JsonText<'s>,
    #[serde(borrow)]
    pub(crate) author_avatar_url: Option<JsonText<'s>>,
    /// From 1 to 5.
    pub(crate) rating: u8,
    /// `YYYY-MM-DD`.
    pub(crate) date: &'s str,
    #[serde(borrow)]
    pub(crate) text: JsonText<'s>,
    #[serde(borrow)]
    pub(crate) source: JsonText<'s>,
    #[serde(borrow)]
    pub(crate) source_url: Option<JsonText<'s>>,
    #[serde(borrow)]
    pub(crate) owner_reply: Option<StoredReply<'s>>,
    pub(crate) verified: bool,
    #[serde(borrow)]
    pub(crate) mentioned_technicians: Vec<JsonText<'s>>,
    #[serde(borrow)]
    pub(crate) mentioned_services: Vec<JsonText<'s>>,
    #[serde(borrow)]
    pub(crate) verification: Option<StoredVerification<'s>>,
    /// A language tag, stated or detected.
    pub(crate) language: Option<&'s str>,
    #[serde(borrow)]
    pub(crate) media: Vec<StoredMedia<'s>>,
    #[serde(borrow)]
    pub(crate) translation: Option<JsonText<'s>>,
    #[serde(borrow)]
    pub(crate) location: Option<JsonText<'s>>,
    /// `month`, `year` or `unknown`, if the day is not known.
    pub(crate) date_precision: Option<&'s str>,
    pub(crate) rating_original: Option<StoredRating>,
}

/// The author and the text of a stored review; the rest of its JSON is skipped.
#[derive(Debug, Deserialize)]
pub(crate) struct AuthoredText<'s> {
    #[serde(borrow)]
    pub(crate) author: JsonText<'s>,
    #[serde(borrow)]
    pub(crate) text: JsonText<'s>,
}

/// The owner's reply to a review.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredReply<'s> {
    #[serde(borrow)]
    pub(crate) text: JsonText<'s>,
    /// `YYYY-MM-DD`.
    pub(crate) date: &'s str,
}

/// How a review was verified.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredVerification<'s> {
    #[serde(borrow)]
    pub(crate) by: JsonText<'s>,
    #[serde(borrow)]
    pub(crate) method: Option<JsonText<'s>>,
}

/// A picture, film or recording of a review.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredMedia<'s> {
    #[serde(borrow)]
    pub(crate) url: JsonText<'s>,
    #[serde(borrow)]
    pub(crate) alt: JsonText<'s>,
    #[serde(rename = "type")]
    pub(crate) media_type: &'s str,
    #[serde(borrow)]
    pub(crate) thumbnail_url: Option<JsonText<'s>>,
}

/// A rating on the scale of its source.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredRating {
    pub(crate) value: serde_json::Number,
    pub(crate) best: serde_json::Number,
}

/// A string that is still JSON.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonText<'s>(#[serde(borrow)] &'s RawValue);

impl<'s> JsonText<'s> {
    /// Returns the JSON: the string with its quotation marks and escapes.
    pub(crate) fn json(self) -> &'s str {
        self.0.get()
    }

    /// Returns the text; borrowed if it has no escapes.
    pub(crate) fn decode(self) -> Cow<'s, str> {
        let json = self.json();
        let inner = json
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        match inner.filter(|inner| !inner.contains('\\')) {
            Some(plain) => Cow::Borrowed(plain),
            None => Cow::Owned(serde_json::from_str(json).expect("the snapshot rendered a string")),
        }
    }

    /// Returns the text as a string that does not borrow the snapshot.
    pub(crate) fn to_text(self) -> String {
        self.decode().into_owned()
    }
}

impl<'s> StoredReview<'s> {
    /// Parses the stored JSON of a review.
    ///
    /// # Panics
    /// If `json` is not a review as the snapshot renders it.
    pub(crate) fn parse(json: &'s [u8]) -> StoredReview<'s> {
        serde_json::from_slice(json).expect("the snapshot rendered a review")
    }
}

impl<'s> AuthoredText<'s> {
    /// Parses the stored JSON of a review.
    ///
    /// # Panics
    /// If `json` is not a review as the snapshot renders it.
    pub(crate) fn parse(json: &'s [u8]) -> AuthoredText<'s> {
        serde_json::from_slice(json).expect("the snapshot rendered a review")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_borrowed_unless_it_has_escapes() {
        let texts = r#"["plain é", "a \"b\"\n", ""]"#;
        let texts: Vec<JsonText<'_>> = serde_json::from_str(texts).expect("three strings");
        assert!(matches!(texts[0].decode(), Cow::Borrowed("plain é")));
        assert_eq!(texts[1].decode(), "a \"b\"\n");
        assert_eq!(texts[1].json(), r#""a \"b\"\n""#);
        assert_eq!(texts[2].decode(), "");
    }
}
