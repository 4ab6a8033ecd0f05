//! The rules of a search request, once for query strings and for the arguments of tools.
//!
//! Bytes become a [`Query`] here or every reason why they cannot: later code never sees a refused value. A value
//! is judged by [`Builder`], which REST feeds with decoded text and MCP with JSON values, so both have one set
//! of bounds, messages and codes. An empty value counts as not given, because HTML forms send them.

use super::builder::Builder;
use super::filter::Query;
use super::issue::{Code, Issue, Issues};
use crate::wire::date::{Date, parse_date};
use crate::wire::form::{decode_into, decode_path, pairs};
use crate::wire::text::{cut, cut_lossy};

/// Memory that parsing reuses, so that a query that is accepted allocates nothing in the steady state.
#[derive(Debug, Default)]
pub struct Buffers {
    /// The decoded value at hand.
    pub(super) decoded: String,
    /// The folded texts of the query, one after the other.
    pub(super) folded: String,
    /// Names of unknown parameters; kept when unused, so that their capacity is too.
    pub(super) ignored: Vec<String>,
}

/// Parses a raw query string, without its `?`.
///
/// Unknown parameters are listed in `ignored` (the first 8 names, each once, cut at 64 bytes) and their values
/// are not looked at: caches and campaign links add them. At most 64 pairs are read.
///
/// # Errors
/// Every issue that the first 64 pairs have, and `too_many` if there are more.
pub fn parse_query<'b>(raw: &[u8], buffers: &'b mut Buffers) -> Result<Query<'b>, Issues> {
    let mut name = std::mem::take(&mut buffers.decoded);
    let mut builder = Builder::new(buffers);
    let (mut all, mut count) = (pairs(raw), 0);
    for pair in all.by_ref().take(PAIRS_MAX) {
        count += 1;
        name.clear();
        if let Err(error) = decode_into(pair.name, &mut name) {
            let received = cut_lossy(pair.name);
            let path = Some(received.clone().into());
            let message = error.to_string();
            builder.refuse(Issue::new(path, Code::InvalidEncoding, message, &received));
        } else if pair.value.is_empty() {
            continue;
        } else if let Some(parameter) = Parameter::named(&name) {
            builder.encoded(parameter, pair.value, &mut name);
        } else {
            builder.ignore(&name);
        }
    }
    count += all.count();
    if count > PAIRS_MAX {
        let message = "must have at most 64 parameters";
        let received = count.to_string();
        builder.refuse(Issue::new(None, Code::TooMany, message, &received));
    }
    builder.keep(name);
    builder.finish()
}

/// Parses the path segment of `/api/reviews/since/{date}`, percent-encoded or not; allocates only for escapes and
/// refusals.
///
/// # Errors
/// One issue with the path `date`.
pub fn parse_since(segment: &[u8]) -> Result<Date, Issues> {
    if let Ok(date) = parse_date(segment) {
        return Ok(date);
    }
    let mut decoded = String::new();
    // A date has ten characters, so thirty bytes are enough even with every one of them escaped.
    let message = match decode_path(&segment[..segment.len().min(31)], &mut decoded) {
        Ok(()) => match parse_date(decoded.as_bytes()) {
            Ok(date) if segment.len() <= 30 => return Ok(date),
            Ok(_) => "must be a date of the form YYYY-MM-DD".into(),
            Err(error) => error.to_string(),
        },
        Err(_) => "must be a date of the form YYYY-MM-DD".into(),
    };
    let received = cut_lossy(segment);
    let path = Some("date".into());
    Err(Issue::new(path, Code::InvalidDate, message, &received).into())
}

/// Returns the names of the parameters in `raw`, for an answer that depends on none: the first 8, each once, cut at 64
/// bytes. What has no value or cannot be decoded is left out, as is all behind the first 64 pairs.
#[must_use]
pub fn parameter_names(raw: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for pair in pairs(raw).take(PAIRS_MAX) {
        let mut name = String::new();
        let is_known = !pair.value.is_empty() && decode_into(pair.name, &mut name).is_ok();
        let name = cut(&name);
        if is_known && names.len() < IGNORED_MAX && !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// A parameter of a search, or the argument of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Exactly this rating.
    Rating,
    /// This rating or a higher one.
    MinRating,
    /// This rating or a lower one.
    MaxRating,
    /// This day or a later one.
    Since,
    /// This day or an earlier one.
    Until,
    /// A substring of the text.
    Query,
    /// Words of the text, in any order.
    Words,
    /// A person whom the review mentions.
    MentionsTechnician,
    /// A service that the review mentions.
    MentionsService,
    /// A subject of the insights that the review mentions.
    Aspect,
    /// What the review says of it.
    Polarity,
    /// Whether the owner has replied.
    HasReply,
    /// The language of the text.
    Language,
    /// Where the review was left.
    Source,
    /// Most reviews of a page.
    Limit,
    /// The order.
    Sort,
    /// Where the page begins.
    Cursor,
}

impl Parameter {
    /// Every parameter, in the order of the documentation.
    pub const ALL: [Parameter; NAMES.len()] = {
        let mut all = [Parameter::Rating; NAMES.len()];
        let mut number = 0;
        while number < NAMES.len() {
            all[number] = NAMES[number].0;
            number += 1;
        }
        all
    };

    /// Returns the name in requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Returns the parameter of this name, which is compared byte by byte.
    #[must_use]
    pub fn named(name: &str) -> Option<Parameter> {
        let found = NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(parameter, _)| *parameter)
    }

    /// Tells whether the value is a number, in JSON too.
    pub(super) fn is_number(self) -> bool {
        use Parameter::{Limit, MaxRating, MinRating, Rating};
        matches!(self, Rating | MinRating | MaxRating | Limit)
    }

    pub(super) fn bit(self) -> u32 {
        1 << self as u16
    }
}

/// The parameters in the order of their numbers.
const NAMES: [(Parameter, &str); 17] = [
    (Parameter::Rating, "rating"),
    (Parameter::MinRating, "min_rating"),
    (Parameter::MaxRating, "max_rating"),
    (Parameter::Since, "since"),
    (Parameter::Until, "until"),
    (Parameter::Query, "query"),
    (Parameter::Words, "words"),
    (Parameter::MentionsTechnician, "mentions_technician"),
    (Parameter::MentionsService, "mentions_service"),
    (Parameter::Aspect, "aspect"),
    (Parameter::Polarity, "polarity"),
    (Parameter::HasReply, "has_reply"),
    (Parameter::Language, "language"),
    (Parameter::Source, "source"),
    (Parameter::Limit, "limit"),
    (Parameter::Sort, "sort"),
    (Parameter::Cursor, "cursor"),
];

/// Most pairs of a query string; the pairs after them are not read and the answer is a refusal.
pub const PAIRS_MAX: usize = 64;
/// Most names of unknown parameters that an answer lists; later ones are left out.
pub const IGNORED_MAX: usize = 8;
/// Longest text, such as `query` or a name, in bytes after decoding; longer ones are refused.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Longest cursor in bytes after decoding; longer ones are refused before they are looked at.
pub const CURSOR_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests;
