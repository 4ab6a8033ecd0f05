//! Validation of search requests, shared by query strings and tool arguments.
//!
//! The result is a [`Query`] or the list of all issues; later code never sees an invalid value. [`Builder`] validates
//! values; REST passes decoded text to it and MCP passes JSON values, so both have the same bounds, messages and codes.
//! An empty value counts as absent, because HTML forms send empty values.

use std::borrow::Cow;
use std::ops::Range;

use arrayvec::ArrayVec;
use serde_json::Value;

use super::filter::{
    Cursor, Filter, IgnoredName, Include, Query, RatingSet, Sort, TERMS_MAX, VerificationSet, Words,
};
use super::fold::fold_into;
use super::issue::{Code, Issue, Issues};
use crate::model::Rating;
use crate::model::insights::Polarity;
use crate::wire::date::{Date, parse_date};
use crate::wire::form::{decode_into, decode_path, pairs};
use crate::wire::json::value_text;
use crate::wire::text::{cut, cut_lossy};

/// Largest number of pairs in a query string; with more pairs the request is rejected.
pub const PAIRS_MAX: usize = 64;
/// Largest number of unknown parameters that a response lists; later ones are left out.
pub const IGNORED_MAX: usize = 8;
/// Longest text, such as `query` or a name, in bytes after decoding; longer ones are rejected.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Longest cursor in bytes after decoding; longer ones are rejected before parsing.
pub const CURSOR_BYTES_MAX: usize = 256;
/// Most digits after the decimal point of `min_rating`; more are rejected.
const FRACTION_DIGITS_MAX: usize = 6;

/// Buffers that parsing reuses, so that a valid query allocates nothing in the steady state.
#[derive(Debug, Default)]
pub struct Buffers {
    /// The decoded value that is being parsed.
    decoded: String,
    /// The folded texts of the query, one after the other.
    folded: String,
    /// Names of unknown parameters.
    ignored: ArrayVec<IgnoredName, IGNORED_MAX>,
}

/// Parses a raw query string, without its `?`.
///
/// Unknown parameters are listed in `ignored` (the first 8 names, each once, cut at 64 bytes) and their values are
/// ignored, as caches and campaign links add parameters.
///
/// # Errors
/// All issues of the first 64 pairs, and `too_many` if there are more pairs.
pub fn parse_query<'b>(raw: &[u8], buffers: &'b mut Buffers) -> Result<Query<'b>, Issues> {
    // The name of a parameter, then its value.
    let mut decoded = std::mem::take(&mut buffers.decoded);
    let mut builder = Builder::new(buffers);
    let mut all = pairs(raw);
    let mut count = 0;
    for pair in all.by_ref().take(PAIRS_MAX) {
        count += 1;
        decoded.clear();
        if let Err(error) = decode_into(pair.name, &mut decoded) {
            let received = cut_lossy(pair.name);
            let path = Some(received.clone().into());
            let message = error.to_string();
            builder.push_issue_with(|| Issue::new(path, Code::InvalidEncoding, message, &received));
        } else if pair.value.is_empty() {
            continue;
        } else if let Some(parameter) = Parameter::named(&decoded) {
            decoded.clear();
            match decode_into(pair.value, &mut decoded) {
                Ok(()) => builder.text(parameter, &decoded),
                Err(error) => {
                    let received = cut_lossy(pair.value);
                    if builder.record_value(parameter, &received) {
                        let message = error.to_string();
                        builder.refuse_value(parameter, Code::InvalidEncoding, message, &received);
                    }
                }
            }
        } else {
            builder.ignore(&decoded);
        }
    }
    count += all.count();
    if count > PAIRS_MAX {
        builder.push_issue_with(|| too_many_parameters(count));
    }
    builder.buffers.decoded = decoded;
    builder.finish()
}

/// Returns the issue of a request with `count` parameters, more than [`PAIRS_MAX`].
pub(super) fn too_many_parameters(count: usize) -> Issue {
    let message = format!("must have at most {PAIRS_MAX} parameters");
    Issue::new(None, Code::TooMany, message, &count.to_string())
}

/// Parses the path segment of `/api/reviews/since/{date}`, percent-encoded or not.
///
/// # Errors
/// One issue, with the path `date`.
pub fn parse_since(segment: &[u8]) -> Result<Date, Issues> {
    let mut decoded = String::new();
    let parsed = parse_date(segment).or_else(|error| {
        // A date has ten characters, so thirty bytes suffice even if all of them are escaped.
        if segment.len() <= 30 && decode_path(segment, &mut decoded).is_ok() {
            parse_date(decoded.as_bytes())
        } else {
            Err(error)
        }
    });
    parsed.map_err(|error| {
        let path = Some("date".into());
        let message = error.to_string();
        Issue::new(path, Code::InvalidDate, message, &cut_lossy(segment)).into()
    })
}

/// Returns the names of the parameters in `raw`, for a response that depends on none: the first 8, each once, cut at 64
/// bytes. Parameters without a value, malformed ones, and those after the first 64 pairs are left out.
pub fn parameter_names(raw: &[u8]) -> ArrayVec<IgnoredName, IGNORED_MAX> {
    let mut buffers = Buffers::default();
    let mut builder = Builder::new(&mut buffers);
    for pair in pairs(raw).take(PAIRS_MAX) {
        let mut name = String::new();
        if !pair.value.is_empty() && decode_into(pair.name, &mut name).is_ok() {
            builder.ignore(&name);
        }
    }
    buffers.ignored
}

/// A parameter of a search, or the argument of the same name; [`Filter`] and [`Query`] document each.
#[allow(missing_docs, reason = "they are named as in requests")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    Rating,
    MinRating,
    MaxRating,
    Since,
    Until,
    Query,
    Words,
    MentionsTechnician,
    MentionsService,
    Aspect,
    Polarity,
    HasReply,
    HasPhotos,
    Language,
    Source,
    Location,
    VerifiedBy,
    Limit,
    Sort,
    Cursor,
    Include,
}

impl Parameter {
    /// Returns every parameter, in the order of the documentation.
    pub fn all() -> [Parameter; NAMES.len()] {
        NAMES.map(|(parameter, _)| parameter)
    }

    /// Returns the name in requests.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Returns the parameter with exactly this name.
    pub fn named(name: &str) -> Option<Parameter> {
        let found = NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(parameter, _)| *parameter)
    }

    /// Tells whether the value is a number, in JSON too.
    fn is_number(self) -> bool {
        use Parameter::{Limit, MaxRating, MinRating, Rating};
        matches!(self, Rating | MinRating | MaxRating | Limit)
    }

    /// Tells whether the value is a boolean, in JSON too.
    fn is_flag(self) -> bool {
        matches!(self, Parameter::HasReply | Parameter::HasPhotos)
    }

    /// Returns the rule for the value, as in messages.
    fn must_be(self) -> &'static str {
        match self {
            Parameter::Rating => "must be an integer from 1 to 5",
            Parameter::MinRating | Parameter::MaxRating => {
                "must be a number from 1 to 5 with at most six decimal places"
            }
            Parameter::Limit => "must be an integer from 1 to 100",
            Parameter::Since | Parameter::Until => "must be a date of the form YYYY-MM-DD",
            Parameter::Polarity => "must be one of positive, neutral, negative",
            Parameter::HasReply | Parameter::HasPhotos => "must be a boolean, true or false",
            Parameter::VerifiedBy => {
                "must be business, platform or account, or several of them separated by commas"
            }
            Parameter::Sort => "must be one of newest, oldest, highest, lowest, relevance",
            Parameter::Include => "must be matches, distribution, or both separated by a comma",
            Parameter::Cursor => "must be the next_cursor of an earlier response",
            _ => "must be a text of at most 1024 bytes",
        }
    }
}

impl<'b> Filter<'b> {
    /// Returns the requested names of a technician, a service and an aspect.
    pub fn names(&self) -> impl Iterator<Item = (Parameter, &'b str)> {
        let names = [
            (Parameter::MentionsTechnician, self.technician),
            (Parameter::MentionsService, self.service),
            (Parameter::Aspect, self.aspect),
        ];
        names
            .into_iter()
            .filter_map(|(parameter, name)| Some((parameter, name?)))
    }
}

/// The parameters in the order of their numbers.
const NAMES: [(Parameter, &str); 21] = {
    use Parameter::*;
    [
        (Rating, "rating"),
        (MinRating, "min_rating"),
        (MaxRating, "max_rating"),
        (Since, "since"),
        (Until, "until"),
        (Query, "query"),
        (Words, "words"),
        (MentionsTechnician, "mentions_technician"),
        (MentionsService, "mentions_service"),
        (Aspect, "aspect"),
        (Polarity, "polarity"),
        (HasReply, "has_reply"),
        (HasPhotos, "has_photos"),
        (Language, "language"),
        (Source, "source"),
        (Location, "location"),
        (VerifiedBy, "verified_by"),
        (Limit, "limit"),
        (Sort, "sort"),
        (Cursor, "cursor"),
        (Include, "include"),
    ]
};

/// Builds a query from values, given one by one in any order, and collects all issues.
#[derive(Debug)]
pub struct Builder<'b> {
    buffers: &'b mut Buffers,
    issues: Issues,
    /// How often each parameter has a value.
    times: [u32; NAMES.len()],
    /// The query without its texts, which are in the buffer.
    query: Query<'static>,
    texts: [Option<Range<usize>>; NAMES.len()],
}

/// Why a value is rejected.
type Fault = (Code, Cow<'static, str>);

/// The folded texts of parameters.
struct FoldedTexts<'a, 'b> {
    text: &'b str,
    /// The range of each parameter in `text`.
    ranges: &'a [Option<Range<usize>>; NAMES.len()],
}

impl<'b> FoldedTexts<'_, 'b> {
    fn of(&self, parameter: Parameter) -> Option<&'b str> {
        let range = self.ranges[parameter as usize].clone()?;
        Some(&self.text[range])
    }
}

impl<'b> Builder<'b> {
    /// Starts with a query that selects everything, newest first, 20 per page.
    pub fn new(buffers: &'b mut Buffers) -> Builder<'b> {
        buffers.folded.clear();
        buffers.ignored.clear();
        Builder {
            buffers,
            issues: Issues::default(),
            times: [0; NAMES.len()],
            query: Query::new(Filter::default(), Sort::Newest, Query::LIMIT_DEFAULT),
            texts: [const { None }; NAMES.len()],
        }
    }

    /// Sets a parameter to a decoded value of a query string, in which all values are text.
    pub fn text(&mut self, parameter: Parameter, text: &str) {
        if text.is_empty() || !self.record_value(parameter, text) {
            return;
        }
        if let Err((code, message)) = self.set(parameter, text) {
            self.refuse_value(parameter, code, message, text);
        }
    }

    /// Sets a parameter to a JSON value. The rules of [`Builder::text`] apply. A string is read as what the parameter
    /// wants, as some clients and models send all values as strings; any other JSON type must match. `null` and an
    /// empty string count as absent.
    pub fn json(&mut self, parameter: Parameter, value: &Value) {
        let fits = match value {
            Value::Null => return,
            Value::String(_) => true,
            Value::Bool(_) => parameter.is_flag(),
            Value::Number(_) => parameter.is_number(),
            Value::Array(_) | Value::Object(_) => false,
        };
        let received = value_text(value);
        if fits {
            return self.text(parameter, &received);
        }
        let message = parameter.must_be();
        self.refuse_value(parameter, Code::InvalidType, message, &received);
    }

    /// Adds an issue that is not about a value, such as an unknown argument, like [`Issues::push_with`].
    pub fn push_issue_with(&mut self, make: impl FnOnce() -> Issue) {
        self.issues.push_with(make);
    }

    /// Returns the query, which borrows the buffers.
    ///
    /// # Errors
    /// All issues, in the order of the values; a cursor for another order comes last.
    pub fn finish(mut self) -> Result<Query<'b>, Issues> {
        self.check_cursor_order();
        self.check_relevance();
        self.issues.into_result()?;
        let buffers: &'b Buffers = self.buffers;
        let folded = FoldedTexts {
            text: &buffers.folded,
            ranges: &self.texts,
        };
        Ok(Query {
            filter: Filter {
                text: folded.of(Parameter::Query),
                words: folded.of(Parameter::Words).and_then(Words::parse),
                technician: folded.of(Parameter::MentionsTechnician),
                service: folded.of(Parameter::MentionsService),
                aspect: folded.of(Parameter::Aspect),
                language: folded.of(Parameter::Language),
                source: folded.of(Parameter::Source),
                location: folded.of(Parameter::Location),
                ..self.query.filter
            },
            ignored: &buffers.ignored,
            ..self.query
        })
    }

    /// Records the name of an unknown parameter, unless the list is full or contains it.
    fn ignore(&mut self, name: &str) {
        let name = cut(name);
        let ignored = &mut self.buffers.ignored;
        if !ignored.is_full() && ignored.iter().all(|other| **other != *name) {
            ignored.extend(IgnoredName::from(name));
        }
    }

    /// Records that the parameter has a value, and whether this is its first; the first repetition is an issue.
    fn record_value(&mut self, parameter: Parameter, received: &str) -> bool {
        self.times[parameter as usize] += 1;
        let times = self.times[parameter as usize];
        if times == 2 {
            self.refuse_value(parameter, Code::Duplicate, "must be given once", received);
        }
        times == 1
    }

    /// Sets the parameter to the value of `text`.
    fn set(&mut self, parameter: Parameter, text: &str) -> Result<(), Fault> {
        let fault = |code| (code, parameter.must_be().into());
        let filter = &mut self.query.filter;
        match parameter {
            Parameter::Rating => {
                let stars = whole(text).ok_or(fault(Code::InvalidType))?;
                let rating = rating(stars).ok_or(fault(Code::OutOfRange))?;
                filter.ratings = filter.ratings.and(RatingSet::only(rating));
            }
            // Ratings are whole numbers, so a minimum of 4.5 equals 5, and a maximum of 4.5 equals 4.
            Parameter::MinRating | Parameter::MaxRating => {
                let (number, fraction) = text.split_once('.').unwrap_or((text, "0"));
                if fraction.len() > FRACTION_DIGITS_MAX {
                    return Err(fault(Code::InvalidType));
                }
                let number = whole(number).ok_or(fault(Code::InvalidType))?;
                let fraction = whole(fraction).ok_or(fault(Code::InvalidType))?;
                let is_least = parameter == Parameter::MinRating;
                let stars = number.saturating_add(u32::from(is_least && fraction > 0));
                let is_between = (1..5).contains(&number) || (number, fraction) == (5, 0);
                if !is_between {
                    return Err(fault(Code::OutOfRange));
                }
                let rating = rating(stars).ok_or(fault(Code::OutOfRange))?;
                let bound = if is_least {
                    RatingSet::at_least(rating)
                } else {
                    RatingSet::at_most(rating)
                };
                filter.ratings = filter.ratings.and(bound);
            }
            Parameter::Limit => {
                let limit = whole(text).ok_or(fault(Code::InvalidType))?;
                let limit = u8::try_from(limit).ok();
                let limit = limit.filter(|limit| (1..=Query::LIMIT_MAX).contains(limit));
                self.query.limit = limit.ok_or(fault(Code::OutOfRange))?;
            }
            Parameter::Since | Parameter::Until => {
                let date = parse_date(text.as_bytes())
                    .map_err(|error| (Code::InvalidDate, error.to_string().into()))?;
                match parameter {
                    Parameter::Since => filter.since = Some(date),
                    _ => filter.until = Some(date),
                }
            }
            Parameter::Polarity => {
                filter.polarity = Some(Polarity::parse(text).ok_or(fault(Code::UnknownValue))?);
            }
            Parameter::HasReply => {
                filter.has_reply = Some(parse_flag(text).ok_or(fault(Code::UnknownValue))?);
            }
            Parameter::HasPhotos => {
                filter.has_photos = Some(parse_flag(text).ok_or(fault(Code::UnknownValue))?);
            }
            Parameter::VerifiedBy => {
                let set = VerificationSet::parse(text);
                filter.verified_by = set.ok_or(fault(Code::UnknownValue))?;
            }
            Parameter::Sort => {
                self.query.sort = Sort::parse(text).ok_or(fault(Code::UnknownValue))?;
            }
            Parameter::Include => {
                self.query.include = Include::parse(text).ok_or(fault(Code::UnknownValue))?;
            }
            Parameter::Cursor if text.len() > CURSOR_BYTES_MAX => {
                let message = format!("must be at most {CURSOR_BYTES_MAX} bytes");
                return Err((Code::TooLong, message.into()));
            }
            Parameter::Cursor => {
                self.query.cursor = Some(Cursor::parse(text).ok_or(fault(Code::InvalidCursor))?);
            }
            _ => return self.fold(parameter, text),
        }
        Ok(())
    }

    /// Appends the folded text to the buffer and records its range.
    fn fold(&mut self, parameter: Parameter, text: &str) -> Result<(), Fault> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("must be at most {TEXT_BYTES_MAX} bytes");
            return Err((Code::TooLong, message.into()));
        }
        let start = self.buffers.folded.len();
        fold_into(text, &mut self.buffers.folded);
        let folded = &self.buffers.folded[start..];
        if parameter == Parameter::Words && Words::parse(folded).is_none() {
            let message = format!("must have at most {TERMS_MAX} words and phrases");
            return Err((Code::TooMany, message.into()));
        }
        self.texts[parameter as usize] = Some(start..self.buffers.folded.len());
        Ok(())
    }

    /// A cursor of another order is invalid: continuing from it would repeat and skip reviews.
    fn check_cursor_order(&mut self) {
        let is_of_sort =
            |issue: &Issue| issue.path.as_deref() == Some("sort") && issue.code != Code::Duplicate;
        if let Some(cursor) = self.query.cursor
            && cursor.sort != self.query.sort
            && !self.issues.iter().any(is_of_sort)
        {
            let sort = cursor.sort.as_str();
            let message = format!("must be used with sort={sort}, the order of its search");
            let received = cursor.render();
            self.refuse_value(Parameter::Cursor, Code::InvalidCursor, message, &received);
        }
    }

    /// Without words there is nothing to compare reviews with.
    fn check_relevance(&mut self) {
        if self.query.sort == Sort::Relevance && self.times[Parameter::Words as usize] == 0 {
            let message = "must not be relevance without the parameter words";
            self.refuse_value(Parameter::Sort, Code::UnknownValue, message, "relevance");
        }
    }

    fn refuse_value(
        &mut self,
        parameter: Parameter,
        code: Code,
        message: impl Into<Cow<'static, str>>,
        received: &str,
    ) {
        let path = Some(parameter.name().into());
        self.issues.push(Issue::new(path, code, message, received));
    }
}

/// Parses `true` or `false`, in any case, as Python writes them `True` and `False`.
fn parse_flag(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Some(false);
    }
    None
}

/// The value of a run of decimal digits, clamped to the largest `u32`; `None` for any other text.
fn whole(text: &str) -> Option<u32> {
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_whole {
        return None;
    }
    Some(text.parse().unwrap_or(u32::MAX))
}

fn rating(stars: u32) -> Option<Rating> {
    Rating::new(u8::try_from(stars).ok()?)
}

#[cfg(test)]
mod tests;
