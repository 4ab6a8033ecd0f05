//! The text in a value: the value itself, or the member of an object that has it, such as `displayName` of an author.

use serde_json::{Map, Value};

use super::record::Field;
use reviewd_data::dataset::is_language_tag;

/// Depth of objects in which a text is searched.
const DEPTH_MAX: usize = 4;

/// What a value holds for a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    /// There is no such key.
    Absent,
    /// The value is null or empty.
    Blank,
    /// It is not a single value.
    Wrong(&'static str),
    Text(ResolvedText),
}

/// A text, and what the object around it says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResolvedText {
    pub(super) text: String,
    /// The best rating of the scale.
    pub(super) best: Option<String>,
    /// The date of a reply.
    pub(super) date: Option<String>,
}

impl Resolved {
    pub(super) fn from_text(text: String) -> Resolved {
        if text.trim().is_empty() {
            return Resolved::Blank;
        }
        Resolved::Text(ResolvedText {
            text,
            ..ResolvedText::default()
        })
    }

    /// Returns the text, or "".
    pub(super) fn into_text(self) -> String {
        match self {
            Resolved::Text(found) => found.text,
            _ => String::new(),
        }
    }
}

/// Returns what `value` holds for `field`.
pub(super) fn resolve(field: Field, value: &Value) -> Resolved {
    resolve_within(field, value, DEPTH_MAX)
}

fn resolve_within(field: Field, value: &Value, depth: usize) -> Resolved {
    match value {
        Value::Null => Resolved::Blank,
        Value::String(text) => Resolved::from_text(text.clone()),
        Value::Number(number) => Resolved::from_text(number.to_string()),
        Value::Bool(value) => Resolved::from_text(value.to_string()),
        Value::Array(values) => match values.as_slice() {
            [] => Resolved::Blank,
            // Of several replies the first is the answer to the review; of several names none is.
            [only] if depth > 0 && only.is_object() => resolve_within(field, only, depth - 1),
            [first, ..] if depth > 0 && first.is_object() && field == Field::OwnerReply => {
                resolve_within(field, first, depth - 1)
            }
            _ => Resolved::Wrong("an array"),
        },
        Value::Object(object) if object.is_empty() => Resolved::Blank,
        Value::Object(object) if depth > 0 => of_object(field, object, depth - 1),
        Value::Object(_) => Resolved::Wrong("an object"),
    }
}

fn of_object(field: Field, object: &Map<String, Value>, depth: usize) -> Resolved {
    // A mark such as `verifiedPurchaser` is there or not.
    if field == Field::Verified {
        return Resolved::from_text("true".to_owned());
    }
    let names = members(field);
    let mut is_there = false;
    for name in names.split_whitespace() {
        let Some(value) = member(object, name) else {
            continue;
        };
        is_there = true;
        if let Resolved::Text(mut found) = resolve_within(field, value, depth) {
            if field == Field::Rating {
                found.best = found
                    .best
                    .or_else(|| text_of(object, "bestrating best max ratingmax ratingrange"));
            }
            if field == Field::OwnerReply {
                let dates = "date updatetime createdat datecreated createtime publishtime isodate publisheddate \
                    createddate lastmodified time updatedat timestamp submittedat";
                found.date = found.date.or_else(|| text_of(object, dates));
            }
            return Resolved::Text(found);
        }
    }
    if field == Field::Author
        && let Some(name) = joined_name(object)
    {
        return Resolved::from_text(name);
    }
    if is_there {
        return Resolved::Blank;
    }
    match language_map(object) {
        Some(value) => resolve_within(field, value, depth),
        None => Resolved::Wrong("an object"),
    }
}

/// The keys that may hold the value of a field, in lower case without punctuation.
fn members(field: Field) -> &'static str {
    match field {
        Field::Rating => "ratingvalue value stars rating score overall label",
        Field::Author => {
            "name displayname fullname publicname nickname nick username login authorname value label"
        }
        Field::Source | Field::Business | Field::Location => {
            "name displayname title label value text"
        }
        Field::OwnerReply => {
            "text comment content body reply response message replytext snippet answer value"
        }
        Field::Text | Field::Title | Field::Translation => {
            "text originaltext original rendered plaintext comment content body value label"
        }
        Field::Pros | Field::Cons => "text value",
        Field::Language | Field::TranslationLanguage => "code languagecode value",
        Field::AuthorAvatarUrl => "url contenturl src image imageurl large small thumbnail value",
        Field::Id => "value id oid",
        _ => "value date iso datetime seconds label",
    }
}

fn member<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    let mut pairs = object.iter();
    let found = pairs.find(|(key, _)| super::text::normal(key) == name);
    found.map(|(_, value)| value)
}

/// The first scalar member with one of these names.
fn text_of(object: &Map<String, Value>, names: &str) -> Option<String> {
    names
        .split_whitespace()
        .find_map(|name| match member(object, name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
}

fn joined_name(object: &Map<String, Value>) -> Option<String> {
    let first = text_of(object, "firstname givenname");
    let last = text_of(object, "lastname familyname surname");
    let parts: Vec<String> = first.into_iter().chain(last).collect();
    if parts.is_empty() {
        return None;
    }
    Some(parts.join(" "))
}

/// The value of an object whose only key is a language, such as `{"en": "Good."}`. Of several languages it is not known
/// which is the original.
fn language_map(object: &Map<String, Value>) -> Option<&Value> {
    let mut pairs = object.iter();
    let (language, value) = pairs.next()?;
    let is_language = is_language_tag(language) && language.split('-').next()?.len() <= 3;
    let is_only = pairs.next().is_none();
    if !is_language || !is_only {
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_found_in_the_objects_of_exports() {
        for (field, value, text) in [
            (Field::Author, json!({"displayName": "Ann"}), "Ann"),
            (
                Field::Author,
                json!({"firstName": "Ann", "lastName": "Lee"}),
                "Ann Lee",
            ),
            (
                Field::Author,
                json!([{"@type": "Person", "name": "Ann"}]),
                "Ann",
            ),
            (Field::Rating, json!({"value": 4, "rating_max": null}), "4"),
            (Field::Text, json!({"en": "Good."}), "Good."),
            (Field::Text, json!({"rendered": "Good."}), "Good."),
            (
                Field::OwnerReply,
                json!([{"Response": "Thanks!"}, {"Response": "b"}]),
                "Thanks!",
            ),
            (Field::OwnerReply, json!({"de": {"text": "Danke"}}), "Danke"),
            (Field::Verified, json!({"Id": "verifiedPurchaser"}), "true"),
            (Field::Text, json!({"en": "Good.", "de": "Gut."}), ""),
            (Field::Text, json!(["a", "b"]), ""),
            (Field::Text, json!({"value": null}), ""),
        ] {
            assert_eq!(resolve(field, &value).into_text(), text, "{value}");
        }
    }
}
