//! A query in the making: each value is judged here, whether it came in a query string or as a JSON argument.

use std::borrow::Cow;
use std::ops::Range;

use super::cursor::Cursor;
use super::filter::{Filter, Query, RatingSet, Sort};
use super::fold::fold_into;
use super::issue::{Code, Issue, Issues};
use super::query::{Buffers, CURSOR_BYTES_MAX, IGNORED_MAX, Parameter, TEXT_BYTES_MAX};
use super::words::{TERMS_MAX, Words};
use crate::model::Rating;
use crate::model::insights::Polarity;
use crate::wire::date::{Date, parse_date};
use crate::wire::form::decode_into;
use crate::wire::text::{cut, cut_lossy};

/// A JSON value as far as the rules need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`, which counts as not given.
    Null,
    /// A number in decimal without an exponent and without zeros at the end of its fraction: `5.0` comes as `5`.
    Number(&'a str),
    /// A string.
    Text(&'a str),
    /// Anything else, in a form to quote.
    Other(&'a str),
}

/// A query in the making: values go in one by one, in any order, and all refusals are kept.
#[derive(Debug)]
pub struct Builder<'b> {
    buffers: &'b mut Buffers,
    issues: Issues,
    given: u32,
    repeated: u32,
    ratings: RatingSet,
    since: Option<Date>,
    until: Option<Date>,
    polarity: Option<Polarity>,
    has_reply: Option<bool>,
    /// Where the folded text of each parameter stands in the buffer.
    texts: [Option<Range<usize>>; Parameter::ALL.len()],
    limit: u8,
    sort: Sort,
    cursor: Option<Cursor>,
    ignored: usize,
}

impl<'b> Builder<'b> {
    /// Begins with a query that selects everything, newest first, 20 a page.
    pub fn new(buffers: &'b mut Buffers) -> Builder<'b> {
        buffers.folded.clear();
        Builder {
            buffers,
            issues: Issues::default(),
            given: 0,
            repeated: 0,
            ratings: RatingSet::ALL,
            since: None,
            until: None,
            polarity: None,
            has_reply: None,
            texts: [const { None }; Parameter::ALL.len()],
            limit: Query::LIMIT_DEFAULT,
            sort: Sort::Newest,
            cursor: None,
            ignored: 0,
        }
    }

    /// Takes the decoded value of a query string: every kind of value is written as text there.
    pub fn text(&mut self, parameter: Parameter, text: &str) {
        if !text.is_empty() && self.is_first(parameter, text) {
            match parameter {
                Parameter::Rating => self.rating(text),
                Parameter::MinRating | Parameter::MaxRating => self.rating_bound(parameter, text),
                Parameter::Limit => self.limit(text),
                _ => self.word(parameter, text),
            }
        }
    }

    /// Takes the value of a JSON argument: the same rules, but a number must be a number and a text a string.
    pub fn json(&mut self, parameter: Parameter, value: Value<'_>) {
        match value {
            Value::Null => {}
            Value::Other(text @ ("true" | "false")) if parameter == Parameter::HasReply => {
                self.text(parameter, text);
            }
            Value::Text(text) if parameter == Parameter::HasReply && !text.is_empty() => {
                self.refuse_at(parameter, Code::InvalidType, text);
            }
            Value::Number(number) if parameter.is_number() => {
                let is_negative = number.starts_with('-');
                let text = number.strip_prefix('-').unwrap_or(number);
                match (is_negative, parameter) {
                    (true, Parameter::MinRating | Parameter::MaxRating) => {
                        self.refuse_at(parameter, Code::OutOfRange, number);
                    }
                    (true, _) if !text.contains('.') => {
                        self.refuse_at(parameter, Code::OutOfRange, number);
                    }
                    (true, _) => self.refuse_at(parameter, Code::InvalidType, number),
                    (false, _) => self.text(parameter, text),
                }
            }
            Value::Text(text) if !parameter.is_number() => self.text(parameter, text),
            Value::Text("") => {}
            Value::Text(text) => {
                let quoted = format!("\"{}\"", cut(text));
                self.refuse_at(parameter, Code::InvalidType, &quoted);
            }
            Value::Number(text) | Value::Other(text) => {
                let message = type_message(parameter);
                self.refuse_with(parameter, Code::InvalidType, message, text);
            }
        }
    }

    /// Adds a refusal from outside the rules of values, such as an unknown argument.
    pub fn refuse(&mut self, issue: Issue) {
        self.issues.push(issue);
    }

    /// Returns the query, which borrows the buffers.
    ///
    /// # Errors
    /// Every issue found, in the order in which the values came; a cursor made for another order comes last.
    pub fn finish(mut self) -> Result<Query<'b>, Issues> {
        self.check_cursor_order();
        self.issues.into_result()?;
        let buffers: &'b Buffers = self.buffers;
        let folded = |parameter: Parameter| -> Option<&'b str> {
            let range = self.texts[parameter as usize].clone()?;
            Some(&buffers.folded[range])
        };
        Ok(Query {
            filter: Filter {
                ratings: self.ratings,
                since: self.since,
                until: self.until,
                text: folded(Parameter::Query),
                words: folded(Parameter::Words).and_then(|text| Words::parse(text).ok()),
                technician: folded(Parameter::MentionsTechnician),
                service: folded(Parameter::MentionsService),
                aspect: folded(Parameter::Aspect),
                polarity: self.polarity,
                has_reply: self.has_reply,
                language: folded(Parameter::Language),
                source: folded(Parameter::Source),
            },
            sort: self.sort,
            limit: self.limit,
            cursor: self.cursor,
            ignored: &buffers.ignored[..self.ignored],
        })
    }

    /// Takes a raw value of a query string; `scratch` is overwritten.
    pub(super) fn encoded(&mut self, parameter: Parameter, raw: &[u8], scratch: &mut String) {
        scratch.clear();
        match decode_into(raw, scratch) {
            Ok(()) => self.text(parameter, scratch),
            Err(error) => {
                let received = cut_lossy(raw);
                if self.is_first(parameter, &received) {
                    let message = error.to_string();
                    self.refuse_with(parameter, Code::InvalidEncoding, message, &received);
                }
            }
        }
    }

    /// Gives the caller's scratch back to the buffers.
    pub(super) fn keep(&mut self, decoded: String) {
        self.buffers.decoded = decoded;
    }

    /// Notes the name of an unknown parameter, if there is room and it is not there yet.
    pub(super) fn ignore(&mut self, name: &str) {
        let name = cut(name);
        let known = &self.buffers.ignored[..self.ignored];
        if self.ignored == IGNORED_MAX || known.iter().any(|other| other == name) {
            return;
        }
        if self.ignored == self.buffers.ignored.len() {
            self.buffers.ignored.push(String::new());
        }
        let slot = &mut self.buffers.ignored[self.ignored];
        slot.clear();
        slot.push_str(name);
        self.ignored += 1;
    }

    /// Tells whether this is the parameter's first value; reports a repetition once, however often it comes.
    fn is_first(&mut self, parameter: Parameter, received: &str) -> bool {
        if self.given & parameter.bit() == 0 {
            self.given |= parameter.bit();
            return true;
        }
        if self.repeated & parameter.bit() == 0 {
            self.repeated |= parameter.bit();
            self.refuse_with(parameter, Code::Duplicate, "must be given once", received);
        }
        false
    }

    fn rating(&mut self, text: &str) {
        match whole(text) {
            None => self.refuse_at(Parameter::Rating, Code::InvalidType, text),
            Some(stars) => match u8::try_from(stars).ok().and_then(Rating::new) {
                None => self.refuse_at(Parameter::Rating, Code::OutOfRange, text),
                Some(rating) => self.ratings = self.ratings.and(RatingSet::only(rating)),
            },
        }
    }

    /// A minimum of 4.5 means 5, and a maximum of 4.5 means 4: ratings are whole, so that says the same.
    fn rating_bound(&mut self, parameter: Parameter, text: &str) {
        let (number, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let fraction_value = whole(fraction).filter(|_| fraction.len() <= FRACTION_DIGITS_MAX);
        let (Some(number), Some(fraction)) = (whole(number), fraction_value) else {
            return self.refuse_at(parameter, Code::InvalidType, text);
        };
        let is_between = (1..5).contains(&number) || (number == 5 && fraction == 0);
        let is_minimum = parameter == Parameter::MinRating;
        let stars = number.saturating_add(u32::from(is_minimum && fraction > 0));
        match u8::try_from(stars).ok().and_then(Rating::new) {
            Some(rating) if is_between => {
                let set = if is_minimum {
                    RatingSet::at_least(rating)
                } else {
                    RatingSet::at_most(rating)
                };
                self.ratings = self.ratings.and(set);
            }
            _ => self.refuse_at(parameter, Code::OutOfRange, text),
        }
    }

    fn limit(&mut self, text: &str) {
        match whole(text).map(u8::try_from) {
            None => self.refuse_at(Parameter::Limit, Code::InvalidType, text),
            Some(Ok(limit)) if (1..=Query::LIMIT_MAX).contains(&limit) => self.limit = limit,
            Some(_) => self.refuse_at(Parameter::Limit, Code::OutOfRange, text),
        }
    }

    /// The parameters that are strings in JSON as well.
    fn word(&mut self, parameter: Parameter, text: &str) {
        match parameter {
            Parameter::Since => self.since = self.date(parameter, text),
            Parameter::Until => self.until = self.date(parameter, text),
            Parameter::Query
            | Parameter::Words
            | Parameter::MentionsTechnician
            | Parameter::MentionsService
            | Parameter::Aspect
            | Parameter::Language
            | Parameter::Source => self.fold(parameter, text),
            Parameter::Polarity => match Polarity::parse(text) {
                Some(polarity) => self.polarity = Some(polarity),
                None => self.refuse_at(parameter, Code::UnknownValue, text),
            },
            Parameter::HasReply => match text.parse() {
                Ok(has_reply) => self.has_reply = Some(has_reply),
                Err(_) => self.refuse_at(parameter, Code::UnknownValue, text),
            },
            Parameter::Sort => match Sort::parse(text) {
                Some(sort) => self.sort = sort,
                None => self.refuse_at(parameter, Code::UnknownValue, text),
            },
            Parameter::Cursor if text.len() > CURSOR_BYTES_MAX => {
                let message = "must be at most 256 bytes";
                self.refuse_with(parameter, Code::TooLong, message, text);
            }
            Parameter::Cursor => match Cursor::parse(text) {
                Some(cursor) => self.cursor = Some(cursor),
                None => self.refuse_at(parameter, Code::InvalidCursor, text),
            },
            Parameter::Rating | Parameter::MinRating | Parameter::MaxRating | Parameter::Limit => {}
        }
    }

    fn date(&mut self, parameter: Parameter, text: &str) -> Option<Date> {
        match parse_date(text.as_bytes()) {
            Ok(date) => Some(date),
            Err(error) => {
                self.refuse_with(parameter, Code::InvalidDate, error.to_string(), text);
                None
            }
        }
    }

    /// Appends the folded text to the buffer and remembers where it stands.
    fn fold(&mut self, parameter: Parameter, text: &str) {
        if text.len() > TEXT_BYTES_MAX {
            let message = "must be at most 1024 bytes";
            return self.refuse_with(parameter, Code::TooLong, message, text);
        }
        let start = self.buffers.folded.len();
        fold_into(text, &mut self.buffers.folded);
        let folded = &self.buffers.folded[start..];
        if parameter == Parameter::Words && Words::parse(folded).is_err() {
            let message = format!("must have at most {TERMS_MAX} words and phrases");
            return self.refuse_with(parameter, Code::TooMany, message, text);
        }
        self.texts[parameter as usize] = Some(start..self.buffers.folded.len());
    }

    /// A mark in one order means nothing in another, so going on from it would repeat and skip reviews.
    fn check_cursor_order(&mut self) {
        let is_sort_known = !self
            .issues
            .iter()
            .any(|issue| issue.path.as_deref() == Some("sort") && issue.code != Code::Duplicate);
        if let Some(cursor) = self.cursor
            && is_sort_known
            && cursor.sort != self.sort
        {
            let message = format!(
                "must be used with sort={}, the order it was made for",
                cursor.sort.as_str()
            );
            let received = cursor.render();
            self.refuse_with(Parameter::Cursor, Code::InvalidCursor, message, &received);
        }
    }

    /// Refuses with the message that says what the parameter must be.
    fn refuse_at(&mut self, parameter: Parameter, code: Code, received: &str) {
        self.refuse_with(parameter, code, must_be(parameter), received);
    }

    fn refuse_with(
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

/// The value of a run of decimal digits, held at the largest `u32`; `None` if it is anything else.
fn whole(text: &str) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0u32, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        Some(value.saturating_mul(10).saturating_add(digit))
    })
}

/// What a value must be, as messages say it.
fn must_be(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Rating => "must be an integer from 1 to 5",
        Parameter::MinRating | Parameter::MaxRating => {
            "must be a number from 1 to 5 with at most six decimal places"
        }
        Parameter::Limit => "must be an integer from 1 to 100",
        Parameter::Since | Parameter::Until => "must be a date of the form YYYY-MM-DD",
        Parameter::Polarity => "must be one of positive, neutral, negative",
        Parameter::HasReply => "must be true or false",
        Parameter::Sort => "must be one of newest, oldest, highest, lowest",
        Parameter::Cursor => "must be the next_cursor of an earlier answer",
        Parameter::Query
        | Parameter::Words
        | Parameter::MentionsTechnician
        | Parameter::MentionsService
        | Parameter::Aspect
        | Parameter::Language
        | Parameter::Source => "must be a text of at most 1024 bytes",
    }
}

/// What a JSON value of the wrong type should have been.
fn type_message(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Since | Parameter::Until => "must be a string of the form YYYY-MM-DD",
        Parameter::Cursor => "must be a string, the next_cursor of an earlier answer",
        other => match must_be(other) {
            "must be a text of at most 1024 bytes" => "must be a string of at most 1024 bytes",
            message => message,
        },
    }
}

/// Most digits after the point of `min_rating`; more are refused.
const FRACTION_DIGITS_MAX: usize = 6;
