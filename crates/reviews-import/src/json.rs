//! Finds the reviews in JSON: objects in a list, at any depth of a document, or one on each line.
//!
//! Documents are not parsed as a whole: `RawValue` gives the bytes of each member, so a source of a gigabyte needs little
//! more memory than its text.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

use super::formats::is_usual;
use super::record::{Field, Mapping, ObjectError, ReadError};
use super::shape::Shape;
use super::text::normal;
use reviewd_data::dataset::{reason, unreadable};

/// Largest nesting depth of objects in which lists of reviews are searched.
const DEPTH_MAX: usize = 8;

/// Longest review in bytes, 1 MiB, more than any text that is published; a longer one is refused.
pub(super) const ELEMENT_BYTES_MAX: usize = 1 << 20;

/// Elements of a list by which it is recognized as one of reviews.
const LOOKS: usize = 5;

/// Elements of a list of other things in which lists of reviews are searched.
const SEARCHED_MAX: usize = 10_000;

/// Keys under which the pages of one response hold their reviews: lists at several of them are one.
const LISTS: [&str; 6] = [
    "reviews",
    "locationReviews",
    "data",
    "items",
    "results",
    "response",
];

/// Keys of a document with the time at which it was collected.
const COLLECTED: &str = "syncedat fetchedat scrapedat collectedat retrievedat crawledat lastsynced lastsyncedat lastsync \
    lastfetched lastfetchedat lastupdated lastupdatedat lastupdate updatedat generatedat exportedat updated fetched generated";

/// Objects of a document with what it says about itself.
const METADATA: &str = "searchmetadata metadata meta";

/// Keys of those with the time of collection.
const METADATA_COLLECTED: &str = "createdat processedat";

/// Keys of a document that only counts reviews.
const COUNTS: &str = "reviewcount reviewscount ratingcount ratingscount userratingcount userratingstotal totalreviews \
    totalreviewcount numberofreviews";

/// Keys of a document with the name of the business.
const BUSINESS: &str = "businessname placename";

/// The JSON of a possible review, and the line on which it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'t> {
    pub(super) line: u64,
    json: &'t str,
}

/// The reviews of a text.
#[derive(Debug, Default)]
pub(super) struct FoundLists<'t> {
    pub(super) elements: Vec<Element<'t>>,
    /// When the document says that it was collected.
    pub(super) collected: Option<String>,
    /// The business that the document is about.
    pub(super) business: Option<String>,
}

/// How to choose between lists.
#[derive(Clone, Copy)]
pub(super) struct ListRules<'r> {
    pub(super) mapping: &'r Mapping,
    /// The path of the list, such as `data.reviews`.
    pub(super) list: Option<&'r str>,
    /// The key of the place in the path, or its normal form.
    pub(super) place: Option<&'r str>,
}

/// A list with its path.
struct ObjectList<'t> {
    path: Vec<String>,
    /// The innermost object around it.
    within: Option<&'t str>,
    elements: Vec<&'t str>,
    /// Whether its elements are reviews by their keys.
    is_reviews: bool,
}

/// Finds the reviews of a text. If the first line is a complete JSON value, each line is a document, and an invalid line
/// does not affect the others. Otherwise the text is one or several documents.
pub(super) fn find<'t>(text: &'t str, rules: ListRules<'_>) -> Result<FoundLists<'t>, ReadError> {
    let mut lists = Vec::new();
    let mut found = FoundLists::default();
    for document in documents(text)? {
        let mut of_document = Vec::new();
        search(
            document,
            &mut Vec::new(),
            DEPTH_MAX,
            rules,
            &mut of_document,
        );
        if rules.list.is_none() {
            if of_document.iter().any(|list| list.is_reviews) {
                of_document.retain(|list| list.is_reviews);
            } else {
                // A list of something else, or a review with unknown keys: its columns are named in the error.
                of_document = vec![unknown(document, of_document)];
            }
        }
        let mut lists_found = of_document.iter();
        let is_review = lists_found.any(|list| list.elements == [document]);
        if !is_review {
            note_document(document, &mut found);
        }
        lists.append(&mut of_document);
    }
    let chosen = choose(lists, rules)?;
    if let [list] = chosen.as_slice() {
        check_unknown(list)?;
        // What the object of a place says comes before what the document says.
        if let Some(within) = list.within {
            let mut of_list = FoundLists::default();
            note_document(within, &mut of_list);
            found.collected = of_list.collected.or(found.collected);
            found.business = of_list.business.or(found.business);
        }
    }
    let elements = chosen.into_iter().flat_map(|list| list.elements);
    found.elements = with_lines(text, elements.collect());
    Ok(found)
}

/// Notes what a document says about itself.
fn note_document(document: &str, found: &mut FoundLists<'_>) {
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(document);
    for (key, value) in members.unwrap_or_default() {
        let key = normal(&key);
        if has_word(METADATA, &key) {
            note_metadata(value.get(), found);
        } else if has_word(COLLECTED, &key) {
            note_text(value, &mut found.collected);
        } else if has_word(BUSINESS, &key) {
            note_text(value, &mut found.business);
        }
    }
}

/// Notes when an object about the document says that it was collected.
fn note_metadata(metadata: &str, found: &mut FoundLists<'_>) {
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(metadata);
    for (key, value) in members.unwrap_or_default() {
        let key = normal(&key);
        if has_word(COLLECTED, &key) || has_word(METADATA_COLLECTED, &key) {
            note_text(value, &mut found.collected);
        }
    }
}

/// Sets a slot that is empty to a value that is a text.
fn note_text(value: &RawValue, slot: &mut Option<String>) {
    if slot.is_none() {
        *slot = serde_json::from_str(value.get()).ok();
    }
}

/// Refuses a document that has no reviews: its list is empty, or it only counts them.
fn check_unknown(list: &ObjectList<'_>) -> Result<(), ReadError> {
    let [element] = list.elements.as_slice() else {
        return Ok(());
    };
    if list.is_reviews || !list.path.is_empty() {
        return Ok(());
    }
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(element);
    for (key, value) in members.unwrap_or_default() {
        let is_list = LISTS.contains(&key.as_str());
        if is_list && matches!(value.get(), "null" | "[]" | "{}") {
            return Err(ReadError::whole(format!(
                "has no reviews: {key:?} is empty"
            )));
        }
        if has_word(COUNTS, &normal(&key)) {
            return Err(ReadError::whole(
                "has no reviews, only their number: export the reviews themselves",
            ));
        }
    }
    Ok(())
}

/// Splits a text into documents.
fn documents(text: &str) -> Result<Vec<&str>, ReadError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or_default();
    if serde_json::from_str::<&RawValue>(first).is_ok() {
        return Ok(lines.collect());
    }
    let mut documents = Vec::new();
    for document in Deserializer::from_str(text).into_iter::<&RawValue>() {
        let document =
            document.map_err(|error| ReadError::at(error.line() as u64, unreadable(&error)))?;
        documents.push(document.get());
    }
    Ok(documents)
}

/// Adds the lists of objects within `json`, at any depth. A list of reviews is not searched any further.
fn search<'t>(
    json: &'t str,
    path: &mut Vec<String>,
    depth: usize,
    rules: ListRules<'_>,
    lists: &mut Vec<ObjectList<'t>>,
) {
    if json.starts_with('[') {
        let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(json) else {
            return;
        };
        let elements: Vec<&str> = values.into_iter().map(RawValue::get).collect();
        let is_asked = rules.list.is_some_and(|list| list == path.join("."));
        let mut first = elements
            .iter()
            .filter(|element| element.starts_with('{'))
            .take(LOOKS);
        let is_reviews = is_asked || first.any(|element| is_review(element, rules.mapping));
        let is_objects = elements.iter().any(|element| element.starts_with('{'));
        if !is_reviews && depth > 0 {
            for element in elements.iter().take(SEARCHED_MAX) {
                search(element, path, depth - 1, rules, lists);
            }
        }
        if is_reviews || is_objects || path.is_empty() {
            lists.push(ObjectList {
                path: path.clone(),
                within: None,
                elements,
                is_reviews,
            });
        }
        return;
    }
    if !json.starts_with('{') {
        return;
    }
    let before = lists.len();
    if depth > 0
        && let Ok(members) = serde_json::from_str::<ObjectMembers<'t>>(json)
    {
        for (key, value) in members.0 {
            if value.starts_with(['{', '[']) {
                path.push(key);
                search(value, path, depth - 1, rules, lists);
                path.pop();
            }
        }
    }
    for list in &mut lists[before..] {
        list.within = list.within.or(Some(json));
    }
    // An empty path would be the whole document.
    let is_asked = !path.is_empty() && rules.list.is_some_and(|list| list == path.join("."));
    let has_reviews = lists[before..].iter().any(|list| list.is_reviews);
    if is_asked || (!has_reviews && is_review(json, rules.mapping)) {
        // The object itself is the review, whatever it contains.
        lists.truncate(before);
        lists.push(ObjectList {
            path: path.clone(),
            within: None,
            elements: vec![json],
            is_reviews: true,
        });
    }
}

/// The members of an object in their order; of a key that is there twice, both.
struct ObjectMembers<'t>(Vec<(String, &'t str)>);

impl<'de: 't, 't> serde::Deserialize<'de> for ObjectMembers<'t> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<'t>(std::marker::PhantomData<&'t str>);
        impl<'de: 't, 't> serde::de::Visitor<'de> for Visitor<'t> {
            type Value = ObjectMembers<'t>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((key, value.get()));
                }
                Ok(ObjectMembers(members))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

/// A document without known reviews: its longest list of objects, else the document itself as one element.
fn unknown<'t>(document: &'t str, lists: Vec<ObjectList<'t>>) -> ObjectList<'t> {
    let longest = lists.into_iter().max_by_key(|list| list.elements.len());
    longest.unwrap_or_else(|| ObjectList {
        path: Vec::new(),
        within: None,
        elements: vec![document],
        is_reviews: false,
    })
}

/// Chooses the lists of reviews: all, unless they are lists of several places or of different things.
fn choose<'t>(
    mut lists: Vec<ObjectList<'t>>,
    rules: ListRules<'_>,
) -> Result<Vec<ObjectList<'t>>, ReadError> {
    if let Some(asked) = rules.list {
        let paths: Vec<String> = lists
            .iter()
            .map(|list| on_one_line(&list.path.join(".")))
            .collect();
        lists.retain(|list| list.path.join(".") == asked);
        if lists.is_empty() {
            let paths_found = paths.join(", ");
            return Err(ReadError::whole(format!(
                "has no list at {asked:?} (--list); the lists of objects are: {paths_found}"
            )));
        }
    } else if let Some(place) = rules.place
        && lists.iter().any(|list| is_in_place(list, place))
    {
        lists.retain(|list| is_in_place(list, place));
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for list in lists.iter().filter(|list| list.is_reviews) {
        *counts.entry(list.path.join(".")).or_default() += list.elements.len();
    }
    // `a.reviews` beside `b.reviews` are those of two places.
    if counts.len() > 1 && !counts.keys().all(|path| is_usual_path(path)) {
        let shown: Vec<String> = counts
            .iter()
            .map(|(path, count)| format!("{} ({count})", on_one_line(path)))
            .collect();
        return Err(ReadError::whole(format!(
            "has reviews of several places or lists: choose one with --place KEY or --list PATH: {}",
            shown.join(", ")
        )));
    }
    Ok(lists)
}

/// Returns a path for a message: control characters, which no other part of a message contains, become U+FFFD.
fn on_one_line(path: &str) -> String {
    path.replace(char::is_control, "\u{fffd}")
}

/// Whether a key around a list names this place.
fn is_in_place(list: &ObjectList<'_>, place: &str) -> bool {
    let mut keys = list.path.iter();
    keys.any(|key| key == place || normal(key) == normal(place))
}

/// Whether all keys of a path are usual names of lists, which no place has.
fn is_usual_path(path: &str) -> bool {
    path.split('.')
        .all(|key| key.is_empty() || LISTS.contains(&key))
}

/// Adds to each element the line on which it begins.
fn with_lines<'t>(text: &'t str, elements: Vec<&'t str>) -> Vec<Element<'t>> {
    // Line number and offset of the previous element.
    let mut line = 1;
    let mut before = 0;
    let mut found = Vec::with_capacity(elements.len());
    for json in elements {
        let at = json.as_ptr().addr() - text.as_ptr().addr();
        if at < before {
            line = 1;
            before = 0;
        }
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[before..at]).count() as u64;
        before = at;
        found.push(Element { line, json });
    }
    found
}

/// Tells whether an object is a review by its keys: it has a rating, and an author, a date or a text.
fn is_review(json: &str, mapping: &Mapping) -> bool {
    if json.len() > ELEMENT_BYTES_MAX {
        return false;
    }
    let Ok(mut value @ Value::Object(_)) = serde_json::from_str(json) else {
        return false;
    };
    join_comments(&mut value);
    looks_like_review(&value, mapping)
}

/// Gives a review of the Google Play API the members of its comments: that of the user, and that of the developer.
fn join_comments(review: &mut Value) {
    let Some(Value::Array(comments)) = review.get("comments") else {
        return;
    };
    let mut members = Map::new();
    for comment in comments.iter().filter_map(Value::as_object) {
        for key in ["userComment", "developerComment"] {
            if let Some(value) = comment.get(key) {
                members.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
    if let Value::Object(review) = review {
        review.extend(members);
    }
}

/// Tells whether an object has the keys of a review.
pub(super) fn looks_like_review(value: &Value, mapping: &Mapping) -> bool {
    let mut shape = Shape::default();
    shape.add(value);
    let is_recommendation = shape.has("recommendationtype") && shape.has("createdtime");
    let is_schema = shape.has("reviewrating.ratingvalue") || shape.has("reviewrating");
    let is_rated = has_field(&shape, Field::Rating, mapping)
        || is_schema
        || shape.has("usercomment.starrating");
    let others = [Field::Author, Field::Date, Field::Text]
        .into_iter()
        .filter(|field| has_field(&shape, *field, mapping));
    is_recommendation || (is_rated && others.count() >= 2)
}

/// Whether a column has a usual name of the field, or the one that the operator named.
fn has_field(shape: &Shape, field: Field, mapping: &Mapping) -> bool {
    let mut columns = shape.columns.iter();
    if columns.any(|column| is_usual(field, &column.normal)) {
        return true;
    }
    let mut mapped = mapping.iter().filter(|mapped| mapped.field == field);
    mapped.any(|mapped| shape.written(&mapped.column).is_some())
}

impl Element<'_> {
    /// Parses the element.
    pub(super) fn value(&self) -> Result<Value, ObjectError> {
        if self.json.len() > ELEMENT_BYTES_MAX {
            return Err(ObjectError::TooLong(ELEMENT_BYTES_MAX));
        }
        let mut value: Value =
            serde_json::from_str(self.json).map_err(|error| ObjectError::Json {
                reason: reason(&error).to_string(),
                column: error.column(),
            })?;
        join_comments(&mut value);
        Ok(value)
    }
}

/// Whether `name` is one of `names`, separated by white space.
fn has_word(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|other| other == name)
}

/// The keys of a review of another reviewd that no other export has.
pub(super) fn extra(value: &Value, keys: &str) -> Map<String, Value> {
    let mut extra = Map::new();
    for key in keys.split(' ') {
        if let Some(member) = value.get(key) {
            extra.insert(key.to_owned(), member.clone());
        }
    }
    extra
}
