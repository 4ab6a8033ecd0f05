//! The JSON of the operator's files, parsed onto simd-json's tape and read value by value.
//!
//! Reading does not stop at an error: a method that cannot read its value records a problem with the value's path and
//! returns a default, so that one pass finds every problem. The result is used only if no problem was recorded.
//! A [`JsonObject`] rejects unknown keys and duplicate keys.
//!
//! simd-json unescapes strings in place, so it gets a copy of the bytes. A file that it rejects is parsed again by
//! serde_json, which reports the line and the reason. [`Problems::locate`] finds the positions of other problems.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;

use arrayvec::ArrayVec;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Number;
use simd_json::{Buffers, INPUT_PADDING, Node, StaticNode, Tape};

use super::names::comparable;
use super::problem::{Problem, Problems, line_and_column};
use super::similar::similar_name;
use crate::model::{Rating, photo_digest};
use reviewd_wire::date::{Date, parse_date};
use reviewd_wire::text::quote;

/// Names, labels, ids, phrases and other short strings: at most 1,024 bytes, as no filter accepts longer ones.
pub const NAME_BYTES_MAX: usize = 1_024;

/// URLs: at most 2,048 bytes.
pub const URL_BYTES_MAX: usize = 2_048;

/// Reviews, replies, answers and other prose: at most 65,536 bytes each.
pub const PROSE_BYTES_MAX: usize = 65_536;

/// Ids of reviews: at most 64 characters.
pub const ID_BYTES_MAX: usize = 64;

/// Lists other than the reviews: at most 10,000 entries.
pub const LIST_MAX: usize = 10_000;

/// The required format of a time, for messages.
pub(super) const TIME: &str = "a time in whole seconds such as \"2026-11-21T09:00:00Z\"";

/// Largest number of levels of arrays and objects, as in serde_json.
const DEPTH_MAX: usize = 127;

/// The message about a text for which no other error is found.
pub(super) const UNREADABLE: &str = "is not readable JSON";

/// Largest number of keys that an object may have by its schema.
const KEYS_MAX: usize = 24;

/// A file and the limit on its size.
#[derive(Clone, Copy, Debug)]
pub struct FileSpec {
    /// The file's name within the data directory.
    pub name: &'static str,
    /// A larger file is rejected without parsing.
    pub bytes_max: usize,
}

impl FileSpec {
    pub(super) const fn new(name: &'static str, bytes_max: usize) -> FileSpec {
        FileSpec { name, bytes_max }
    }
}

/// Reads a file by `read`, and appends the problems found in it to `problems`; `None` if the file is absent or has a
/// problem.
pub(super) fn read_file<T>(
    file: FileSpec,
    bytes: &Option<impl AsRef<[u8]>>,
    problems: &mut Problems,
    read: impl FnOnce(JsonItem<'_>) -> T,
) -> Option<T> {
    let bytes = bytes.as_ref()?.as_ref();
    let file_problems = FileProblems::new(file);
    let value = parse(bytes, &file_problems, read);
    let is_valid = file_problems.finish(bytes, problems);
    if is_valid { value } else { None }
}

/// Reads a file by `read`; `None`, and a problem, if it is too large or not JSON. The problems stay in `file_problems`: the
/// caller finishes it.
pub(super) fn parse<T>(
    bytes: &[u8],
    file_problems: &FileProblems,
    read: impl FnOnce(JsonItem<'_>) -> T,
) -> Option<T> {
    let bytes_max = file_problems.file.bytes_max;
    if bytes.len() > bytes_max {
        let message = format_args!("has {} bytes, more than {bytes_max}", bytes.len());
        file_problems.push_problem(JsonPath::Root, None, message);
        return None;
    }
    let parsed = with_tape(&[bytes], |nodes| {
        read(JsonItem::new(nodes, JsonPath::Root, file_problems))
    });
    if parsed.is_err() {
        diagnose(file_problems, bytes);
    }
    parsed.ok()
}

/// Parses the concatenated `parts` by simd-json, and returns the result of `read` for the tape.
pub(super) fn with_tape<T>(
    parts: &[&[u8]],
    read: impl FnOnce(&[Node<'_>]) -> T,
) -> Result<T, simd_json::Error> {
    let length = parts.iter().map(|part| part.len()).sum();
    let mut input = Vec::with_capacity(length + INPUT_PADDING);
    for part in parts {
        input.extend_from_slice(part);
    }
    input.resize(length + INPUT_PADDING, b' ');
    let mut buffers = Buffers::with_max_depth(0, DEPTH_MAX);
    let mut tape = Tape(Vec::new());
    simd_json::fill_tape_padded(&mut input, length, &mut buffers, &mut tape)?;
    Ok(read(&tape.0))
}

/// Records why a file is not JSON.
fn diagnose(file_problems: &FileProblems, bytes: &[u8]) {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return file_problems.push_problem(JsonPath::Root, None, "is empty");
    }
    let message = match bytes {
        [0xEF, 0xBB, 0xBF, ..] => "begins with a byte order mark: save it as UTF-8 without one",
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "is UTF-16: save it as UTF-8",
        _ => return diagnose_text(file_problems, bytes),
    };
    file_problems.push_problem(JsonPath::Root, None, message);
}

/// Records where a file is not UTF-8, or not JSON.
fn diagnose_text(file_problems: &FileProblems, bytes: &[u8]) {
    if let Err(error) = str::from_utf8(bytes) {
        let (line, column) = line_and_column(bytes, error.valid_up_to());
        let path = format_args!("line {line}, column {column}");
        return file_problems.push_problem(path, None, "is not UTF-8");
    }
    let Some(error) = syntax_error(bytes) else {
        return file_problems.push_problem(JsonPath::Root, None, UNREADABLE);
    };
    let path = format_args!("line {}, column {}", error.line(), error.column());
    file_problems.push_problem(path, None, unreadable(&error));
}

/// Any value, read to find a syntax error.
///
/// For an untagged enum, serde first reads the whole value into a buffer, which checks depth, numbers and escapes;
/// [`IgnoredAny`] alone skips them. The buffer takes several times the memory of the text. Unlike [`serde_json::Value`],
/// it gives no key a special meaning.
#[derive(Deserialize)]
#[serde(untagged)]
enum Whole {
    Value(IgnoredAny),
}

/// Returns why serde_json cannot parse a text; `None` if it can. Large texts are checked less thoroughly.
pub(super) fn syntax_error(bytes: &[u8]) -> Option<serde_json::Error> {
    if bytes.len() > super::LISTS_BYTES_MAX {
        return serde_json::from_slice::<IgnoredAny>(bytes).err();
    }
    serde_json::from_slice::<Whole>(bytes).err()
}

/// Renders the error of serde_json for a text as a message.
pub fn unreadable(error: &serde_json::Error) -> String {
    let reason = reason(error);
    if error.is_eof() {
        return format!("is truncated, like a partially written file ({reason})");
    }
    format!("{UNREADABLE}: {reason}")
}

/// The message of an error, without its position.
pub fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    reason.to_owned()
}

/// The problems of one file, which are collected while it is read.
pub(super) struct FileProblems {
    file: FileSpec,
    pub(super) problems: RefCell<Problems>,
}

impl FileProblems {
    pub(super) fn new(file: FileSpec) -> FileProblems {
        FileProblems {
            file,
            problems: RefCell::default(),
        }
    }

    /// Appends the problems of the file, with their positions, to `others`; returns whether there were none.
    pub(super) fn finish(self, bytes: &[u8], others: &mut Problems) -> bool {
        let mut problems = self.problems.into_inner();
        let is_valid = problems.is_empty();
        problems.locate(bytes);
        others.append(problems);
        is_valid
    }

    /// Records a problem at `path`, with the `value` if it helps.
    pub(super) fn push_problem(
        &self,
        path: impl fmt::Display,
        value: Option<String>,
        message: impl fmt::Display,
    ) {
        self.problems.borrow_mut().push(|| Problem {
            path: path.to_string(),
            value,
            ..Problem::of_file(self.file.name, message.to_string())
        });
    }
}

/// The path of a value in a file: a chain of borrowed steps, rendered only to report a problem.
#[derive(Clone, Copy)]
pub(super) enum JsonPath<'a> {
    /// The whole file.
    Root,
    /// A value of an object.
    Key(&'a JsonPath<'a>, &'a str),
    /// An entry of an array, counted from 0.
    Index(&'a JsonPath<'a>, usize),
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonPath::Root => Ok(()),
            JsonPath::Index(parent, index) => write!(f, "{parent}[{index}]"),
            // A key that is not a plain word may have any characters, so it is quoted like a value.
            JsonPath::Key(parent, key) if !is_id(key) => write!(f, "{parent}[{}]", quote(key)),
            JsonPath::Key(JsonPath::Root, key) => f.write_str(key),
            JsonPath::Key(parent, key) => write!(f, "{parent}.{key}"),
        }
    }
}

/// The rule for a string.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextRule {
    /// Short, one line, not blank.
    Name,
    /// Short, one line, may be empty.
    LineOrEmpty,
    /// Long, not blank.
    Prose,
    /// Long, may be empty.
    ProseOrEmpty,
    /// An absolute http or https URL with a host.
    Url,
    /// Such a URL, or the path of one of our own pictures.
    Picture,
}

/// What happens to the keys of an object that were not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FurtherKeys {
    /// Each is a problem.
    Rejected,
    Ignored,
}

/// A value with its path; reading it records its problems.
#[derive(Clone, Copy)]
pub(super) struct JsonItem<'a> {
    /// The value, then its contents; empty within a value that was rejected already, so that no more is recorded.
    nodes: &'a [Node<'a>],
    path: JsonPath<'a>,
    file_problems: &'a FileProblems,
}

impl<'a> JsonItem<'a> {
    pub(super) fn new(
        nodes: &'a [Node<'a>],
        path: JsonPath<'a>,
        file_problems: &'a FileProblems,
    ) -> JsonItem<'a> {
        JsonItem {
            nodes,
            path,
            file_problems,
        }
    }

    /// Records a problem of the value, and quotes the value.
    pub(super) fn push_problem(self, message: impl fmt::Display) {
        let value = self.nodes.first().map(quote_node);
        self.file_problems.push_problem(self.path, value, message);
    }

    /// Records that the value is not `wanted`, unless a problem was recorded already.
    fn push_mismatch(self, wanted: impl fmt::Display) {
        if !self.nodes.is_empty() {
            self.push_problem(format_args!("is not {wanted}"));
        }
    }

    /// Returns the item unless it is null.
    pub(super) fn non_null(self) -> Option<JsonItem<'a>> {
        match self.nodes.first() {
            Some(Node::Static(StaticNode::Null)) => None,
            _ => Some(self),
        }
    }

    /// The keys and values of an object.
    fn pairs(self) -> &'a [Node<'a>] {
        self.nodes.get(1..).unwrap_or_default()
    }

    /// Reads an object with `read`, which requests each of its keys.
    pub(super) fn object<T>(self, read: impl FnOnce(&mut JsonObject<'_>) -> T) -> T {
        self.members(FurtherKeys::Rejected, read)
    }

    /// Reads an object with `read`; the object may have further keys, which are ignored.
    pub(super) fn open_object<T>(self, read: impl FnOnce(&mut JsonObject<'_>) -> T) -> T {
        self.members(FurtherKeys::Ignored, read)
    }

    fn members<T>(
        mut self,
        further_keys: FurtherKeys,
        read: impl FnOnce(&mut JsonObject<'_>) -> T,
    ) -> T {
        let mut unread = 0;
        if let Some(Node::Object { len, .. }) = self.nodes.first() {
            unread = *len;
        } else {
            self.push_mismatch("an object");
            self.nodes = &[];
        }
        let mut object = JsonObject {
            item: &self,
            next: self.pairs(),
            asked: ArrayVec::new(),
            unread,
        };
        let value = read(&mut object);
        object.end(further_keys);
        value
    }

    /// Reads an object with any keys: calls `read` with each value.
    pub(super) fn each_member(self, mut read: impl FnMut(JsonItem<'_>)) {
        if !matches!(self.nodes.first(), Some(Node::Object { .. })) {
            return self.push_mismatch("an object");
        }
        let mut rest = self.pairs();
        while let Some((key, nodes)) = next_pair(&mut rest) {
            read(JsonItem::new(
                nodes,
                JsonPath::Key(&self.path, key),
                self.file_problems,
            ));
        }
    }

    /// Whether the value is an array.
    pub(super) fn is_list(self) -> bool {
        matches!(self.nodes.first(), Some(Node::Array { .. }))
    }

    /// Reads an array of any length: calls `read` with each entry.
    pub(super) fn each_item(self, read: impl FnMut(JsonItem<'_>)) {
        self.each_item_from(0, read);
    }

    /// Reads a part of an array: calls `read` with each entry; `first` is the index of the first entry in the file.
    pub(super) fn each_item_from(self, first: usize, mut read: impl FnMut(JsonItem<'_>)) {
        let Some((Node::Array { .. }, mut rest)) = self.nodes.split_first() else {
            return self.push_mismatch("an array");
        };
        let mut index = first;
        while let Some(nodes) = next_value(&mut rest) {
            read(JsonItem::new(
                nodes,
                JsonPath::Index(&self.path, index),
                self.file_problems,
            ));
            index += 1;
        }
    }

    /// Reads an array of at most `max` entries: returns what `read` returns for each.
    pub(super) fn items<T>(self, max: usize, mut read: impl FnMut(JsonItem<'_>) -> T) -> Vec<T> {
        let len = match self.nodes.first() {
            Some(Node::Array { len, .. }) => *len,
            _ => 0,
        };
        if len > max {
            let message = format_args!("has {len} entries, more than {max}");
            self.file_problems.push_problem(self.path, None, message);
            return Vec::new();
        }
        let mut values = Vec::with_capacity(len);
        self.each_item(|item| values.push(read(item)));
        values
    }

    /// Records the entries of an array whose `key` equals that of an earlier entry, compared like names. `values` has
    /// the value of each entry.
    pub(super) fn push_duplicates<'v>(self, key: &str, values: impl Iterator<Item = &'v String>) {
        let mut seen = HashMap::new();
        // A rejected value is empty.
        for (index, value) in values.enumerate().filter(|(_, value)| !value.is_empty()) {
            let first = *seen.entry(comparable(value)).or_insert(index);
            if first < index {
                let message = format_args!("is also the {key} of entry {first}");
                let path = JsonPath::Key(&JsonPath::Index(&self.path, index), key);
                self.file_problems
                    .push_problem(path, Some(quote(value)), message);
            }
        }
    }

    /// Reads an array of strings.
    pub(super) fn strings(self, rule: TextRule) -> Vec<String> {
        self.items(LIST_MAX, |item| item.string(rule))
    }

    /// Reads a string.
    pub(super) fn string(self, rule: TextRule) -> String {
        let Some(Node::String(text)) = self.nodes.first() else {
            self.push_mismatch("a string");
            return String::new();
        };
        if let Some(fault) = text_fault(rule, text) {
            self.push_problem(fault);
            return String::new();
        }
        (*text).to_owned()
    }

    /// Reads a string or null.
    pub(super) fn nullable_string(self, rule: TextRule) -> Option<String> {
        Some(self.non_null()?.string(rule))
    }

    /// Reads a value with `parse`; `wanted` describes valid values.
    fn value<T>(
        self,
        wanted: impl fmt::Display,
        parse: impl FnOnce(&Node<'_>) -> Option<T>,
    ) -> Option<T> {
        let value = self.nodes.first().and_then(parse);
        if value.is_none() {
            self.push_mismatch(wanted);
        }
        value
    }

    /// Reads a string with `parse`; `wanted` describes valid strings.
    pub(super) fn parsed_string<T>(
        self,
        wanted: impl fmt::Display,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.value(wanted, |node| match node {
            Node::String(text) => parse(text),
            _ => None,
        })
    }

    /// Reads a string for which `is_permitted` returns true; `wanted` describes these strings.
    pub(super) fn permitted_string(
        self,
        wanted: impl fmt::Display,
        is_permitted: fn(&str) -> bool,
    ) -> Option<String> {
        self.value(wanted, |node| match node {
            Node::String(text) if is_permitted(text) => Some((*text).to_owned()),
            _ => None,
        })
    }

    /// Records a problem of a value that is or has a secret, and does not quote it.
    pub(super) fn push_hidden_problem(self, message: &str) {
        self.file_problems.push_problem(self.path, None, message);
    }

    /// Reads a string that is a secret. If it is not permitted, records `message`, which does not quote it.
    pub(super) fn hidden_string(self, message: &str, is_permitted: fn(&str) -> bool) -> String {
        match self.nodes.first() {
            Some(Node::String(text)) if is_permitted(text) => return (*text).to_owned(),
            // Within a value that was rejected already.
            None => {}
            Some(_) => self.push_hidden_problem(message),
        }
        String::new()
    }

    /// Reads true or false.
    pub(super) fn boolean(self) -> bool {
        let value = self.value("true or false", |node| match node {
            Node::Static(StaticNode::Bool(value)) => Some(*value),
            _ => None,
        });
        value.unwrap_or_default()
    }

    /// Reads a number of stars; `5.0` is 5, as in JSON Schema and in the arguments of the tools.
    pub(super) fn rating(self) -> Rating {
        let value = self.value("a whole number from 1 to 5", |node| {
            let stars = number(node)?.as_u64()?;
            Rating::new(u8::try_from(stars).ok()?)
        });
        value.unwrap_or(Rating::MIN)
    }

    /// Checks that the value is a whole number from 0 to `max`.
    pub(super) fn check_count(self, max: u64) {
        let wanted = format_args!("a whole number from 0 to {max}");
        self.value(wanted, |node| {
            number(node)?.as_u64().filter(|count| *count <= max)
        });
    }

    /// Checks that the value is a number.
    pub(super) fn check_number(self) {
        self.value("a number", number);
    }

    /// Checks that the value is a string, of any length.
    pub(super) fn check_string(self) {
        self.parsed_string("a string", |_| Some(()));
    }

    /// Reads a number within `range`.
    pub(super) fn number(self, range: RangeInclusive<f64>) -> Number {
        let wanted = format_args!("a number from {} to {}", range.start(), range.end());
        let value = self.value(wanted, |node| {
            let number = number(node)?;
            if !range.contains(&number.as_f64()?) {
                return None;
            }
            Some(number)
        });
        value.unwrap_or_else(|| Number::from(0))
    }

    /// Reads a day, exactly `YYYY-MM-DD`.
    pub(super) fn date(self) -> Date {
        let wanted = "a day that exists, such as \"2026-11-21\"";
        let date = self.parsed_string(wanted, |text| parse_date(text.as_bytes()).ok());
        date.unwrap_or(Date::MIN)
    }

    /// Reads the id of a review.
    pub(super) fn review_id(self) -> String {
        let wanted = "an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -, but not \"search\", \"since\" or \"changes\"";
        let id = self.permitted_string(wanted, is_review_id);
        id.unwrap_or_default()
    }
}

/// An object whose keys are read one by one.
pub(super) struct JsonObject<'a> {
    item: &'a JsonItem<'a>,
    /// The nodes after the last key found.
    next: &'a [Node<'a>],
    asked: ArrayVec<&'static str, KEYS_MAX>,
    /// Keys that were not found yet.
    unread: usize,
}

impl<'a> JsonObject<'a> {
    /// The value of a required key.
    pub(super) fn key(&mut self, key: &'static str) -> JsonItem<'a> {
        let nodes = self.find(key).unwrap_or_default();
        let item = JsonItem::new(
            nodes,
            JsonPath::Key(&self.item.path, key),
            self.item.file_problems,
        );
        if nodes.is_empty() && !self.item.nodes.is_empty() {
            item.push_problem("is missing");
        }
        item
    }

    /// Checks that the object has a key, whose value may be anything.
    pub(super) fn require(&mut self, key: &'static str) {
        self.key(key);
    }

    /// The value of an optional key.
    pub(super) fn optional_key(&mut self, key: &'static str) -> Option<JsonItem<'a>> {
        let nodes = self.find(key)?;
        let path = JsonPath::Key(&self.item.path, key);
        Some(JsonItem::new(nodes, path, self.item.file_problems))
    }

    /// The value of an optional key; `None` also for null.
    pub(super) fn non_null_key(&mut self, key: &'static str) -> Option<JsonItem<'a>> {
        self.optional_key(key).and_then(JsonItem::non_null)
    }

    /// The value of `key`, searched for from the last key found to the end, then from the beginning.
    fn find(&mut self, key: &'static str) -> Option<&'a [Node<'a>]> {
        self.asked.push(key);
        // Keys are usually written in the order of the documentation, which is the order of reading.
        for mut rest in [self.next, self.item.pairs()] {
            while let Some((name, value)) = next_pair(&mut rest) {
                if name == key {
                    self.next = rest;
                    self.unread -= 1;
                    return Some(value);
                }
            }
        }
        None
    }

    /// Records duplicate keys, and further ones if they are rejected.
    fn end(&self, further_keys: FurtherKeys) {
        if self.unread == 0 {
            return;
        }
        let mut seen: ArrayVec<&str, KEYS_MAX> = ArrayVec::new();
        let mut rest = self.item.pairs();
        while let Some((key, _)) = next_pair(&mut rest) {
            if seen.contains(&key) {
                self.push_problem(key, "is given twice");
                continue;
            }
            if self.asked.contains(&key) {
                seen.push(key);
                continue;
            }
            if further_keys == FurtherKeys::Ignored {
                continue;
            }
            match similar_name(key, self.asked.iter().copied()) {
                Some(name) => {
                    let message = format_args!("is not a known key; did you mean \"{name}\"?");
                    self.push_problem(key, message);
                }
                None => self.push_problem(key, "is not a known key"),
            }
        }
    }

    /// Records a problem of a key.
    fn push_problem(&self, key: &str, message: impl fmt::Display) {
        let path = JsonPath::Key(&self.item.path, key);
        self.item.file_problems.push_problem(path, None, message);
    }
}

/// Takes a value, with its contents, from the front of `rest`.
fn next_value<'a>(rest: &mut &'a [Node<'a>]) -> Option<&'a [Node<'a>]> {
    let length = match rest.first()? {
        Node::Object { count, .. } | Node::Array { count, .. } => count + 1,
        Node::String(_) | Node::Static(_) => 1,
    };
    let (value, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(value)
}

/// Takes a key and its value from the front of `rest`.
fn next_pair<'a>(rest: &mut &'a [Node<'a>]) -> Option<(&'a str, &'a [Node<'a>])> {
    let Node::String(key) = next_value(rest)?.first()? else {
        return None;
    };
    Some((key, next_value(rest)?))
}

/// Returns the number in a node, as an integer if it has no fraction.
fn number(node: &Node<'_>) -> Option<Number> {
    match node {
        Node::Static(StaticNode::U64(value)) => Some(Number::from(*value)),
        Node::Static(StaticNode::I64(value)) => Some(Number::from(*value)),
        // Below 2^53 every integral float is exact; larger ones are outside of every range that we check.
        Node::Static(StaticNode::F64(value))
            if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 =>
        {
            Some(Number::from(*value as i64))
        }
        Node::Static(StaticNode::F64(value)) => Number::from_f64(*value),
        _ => None,
    }
}

/// Renders a value for a message: a scalar as its text, an array or object as its type.
fn quote_node(node: &Node<'_>) -> String {
    match node {
        Node::String(text) => quote(text),
        Node::Array { .. } => "an array".to_owned(),
        Node::Object { .. } => "an object".to_owned(),
        Node::Static(value) => number(node).map_or_else(|| value.to_string(), |n| n.to_string()),
    }
}

/// Whether a text is a valid id of a review: part of a URL path, in which some names are reserved for other routes.
pub fn is_review_id(text: &str) -> bool {
    is_id(text) && !matches!(text, "search" | "since" | "changes")
}

/// Whether a text has the characters and the length of an id.
pub fn is_id(text: &str) -> bool {
    if text.is_empty() || text.len() > ID_BYTES_MAX {
        return false;
    }
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Returns how `text` breaks `rule`, as a message; `None` if it is valid.
fn text_fault(rule: TextRule, text: &str) -> Option<String> {
    let bytes_max = match rule {
        TextRule::Name | TextRule::LineOrEmpty => NAME_BYTES_MAX,
        TextRule::Prose | TextRule::ProseOrEmpty => PROSE_BYTES_MAX,
        TextRule::Url | TextRule::Picture => URL_BYTES_MAX,
    };
    if text.len() > bytes_max {
        return Some(format!("is longer than {bytes_max} bytes"));
    }
    if matches!(rule, TextRule::Name | TextRule::Prose) && text.trim().is_empty() {
        return Some("is empty".to_owned());
    }
    let is_line = matches!(rule, TextRule::Name | TextRule::LineOrEmpty);
    if is_line && text.contains(char::is_control) {
        return Some("has a control character".to_owned());
    }
    let is_right_address = match rule {
        TextRule::Url => is_absolute_url(text),
        TextRule::Picture => is_absolute_url(text) || photo_digest(text).is_some(),
        // Not an address.
        _ => true,
    };
    if !is_right_address {
        return Some("is not an absolute http or https URL".to_owned());
    }
    None
}

/// Whether `text` is a URL that can be published unchanged: http or https, with a host, without invalid characters.
pub fn is_absolute_url(text: &str) -> bool {
    let after_scheme = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    // The url crate takes the x of `https:///x` for the host.
    let names_host = after_scheme.is_some_and(|rest| !rest.starts_with(['/', '\\', '?', '#']));
    // The url crate silently removes blanks and control characters; the published text would keep them.
    let is_clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    names_host && is_clean && url::Url::parse(text).is_ok_and(|url| url.has_host())
}
