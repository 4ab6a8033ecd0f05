//! A validated search: a filter (including the words that must occur), an order, a limit, and a cursor from which to
//! continue.

use std::fmt;

use arrayvec::ArrayString;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

use crate::dataset::is_id;
use crate::model::insights::Polarity;
use crate::model::{Rating, VerificationState};
use crate::wire::date::Date;
pub use substring_index::words::is_of_word;
pub(super) use substring_index::words::{WORD_BYTES_MAX, listed_part};

/// First byte of every cursor; a new layout gets a new value, and old cursors then become invalid.
const VERSION: u8 = 1;
/// Version, sort, rating and four bytes of the date.
const HEAD_BYTES: usize = 7;
/// Longest key before base64.
const KEY_BYTES_MAX: usize = HEAD_BYTES + ID_BYTES_MAX;
/// Longest id of a review.
const ID_BYTES_MAX: usize = 64;
/// Longest text, 95 characters.
const TEXT_BYTES_MAX: usize = (KEY_BYTES_MAX * 4).div_ceil(3);

/// Largest number of terms in `words`; more are rejected.
pub const TERMS_MAX: usize = 16;

/// A validated search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'b> {
    /// The conditions on reviews.
    pub filter: Filter<'b>,
    /// The order of the result.
    pub sort: Sort,
    /// Largest number of reviews on the page, 1 to 100.
    pub limit: u8,
    /// Only reviews after this cursor; its order is `sort`.
    pub cursor: Option<Cursor>,
    /// What the response has in addition.
    pub include: Include,
    /// Names of unknown parameters, at most 8.
    pub ignored: &'b [IgnoredName],
}

impl<'b> Query<'b> {
    /// Returns a search for the first page of at most `limit` reviews.
    pub fn new(filter: Filter<'b>, sort: Sort, limit: u8) -> Query<'b> {
        Query {
            filter,
            sort,
            limit,
            cursor: None,
            include: Include::default(),
            ignored: &[],
        }
    }

    /// The default limit.
    pub const LIMIT_DEFAULT: u8 = 20;
    /// The largest limit.
    pub const LIMIT_MAX: u8 = 100;
}

/// What a response has in addition, as a request asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// Where the words and the text of the search are in each review.
    pub matches: bool,
    /// How many of the matching reviews have each number of stars.
    pub distribution: bool,
}

impl Include {
    /// Parses `matches`, `distribution`, or both separated by a comma.
    pub fn parse(text: &str) -> Option<Include> {
        let mut include = Include::default();
        for part in text.split(',') {
            match part.trim() {
                "matches" => include.matches = true,
                "distribution" => include.distribution = true,
                _ => return None,
            }
        }
        Some(include)
    }
}

/// The name of an unknown parameter, cut at 64 bytes.
pub type IgnoredName = ArrayString<64>;

/// The conditions of a search, none by default. All must hold; contradictory conditions select nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter<'b> {
    /// The requested ratings.
    pub ratings: RatingSet,
    /// Reviews of this day or later.
    pub since: Option<Date>,
    /// Reviews of this day or earlier.
    pub until: Option<Date>,
    /// A substring of the review's text: folded, never empty.
    pub text: Option<&'b str>,
    /// Words that must all occur, and words that must not occur.
    pub words: Option<Words<'b>>,
    /// A technician's name or alias, or a part of it that names one person: folded, never empty.
    pub technician: Option<&'b str>,
    /// A service's id or label, or a part of it that names one service: folded, never empty.
    pub service: Option<&'b str>,
    /// The id or label of an aspect of the insights, or a part of it that names one: folded, never empty.
    pub aspect: Option<&'b str>,
    /// The polarity of the review's mention of the aspect, or of any aspect if none is requested.
    pub polarity: Option<Polarity>,
    /// Whether the owner has replied.
    pub has_reply: Option<bool>,
    /// Whether it has photos.
    pub has_photos: Option<bool>,
    /// The language of the text, such as `en`, which also matches regional forms such as `en-GB`: folded, never empty.
    pub language: Option<&'b str>,
    /// The source of the review: folded, never empty.
    pub source: Option<&'b str>,
    /// The id or label of a location of the business: folded, never empty.
    pub location: Option<&'b str>,
    /// How the review was verified.
    pub verified_by: VerificationSet,
}

impl Filter<'_> {
    /// Tells whether the answer depends on the insights, which are derived after the index is built.
    pub fn needs_insights(&self) -> bool {
        self.aspect.is_some() || self.polarity.is_some()
    }
}

/// A set of ratings, one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatingSet(u8);

impl Default for RatingSet {
    fn default() -> RatingSet {
        RatingSet::ALL
    }
}

impl RatingSet {
    /// All five.
    pub const ALL: RatingSet = RatingSet(0b11_1110);
    /// No rating, as in a contradictory filter.
    pub const EMPTY: RatingSet = RatingSet(0);

    /// Returns the set of one rating.
    pub const fn only(rating: Rating) -> RatingSet {
        RatingSet(1 << rating.stars())
    }

    /// Returns the set of `rating` and all higher ones.
    pub const fn at_least(rating: Rating) -> RatingSet {
        RatingSet(RatingSet::ALL.0 & !((1 << rating.stars()) - 1))
    }

    /// Returns the set of `rating` and all lower ones.
    pub const fn at_most(rating: Rating) -> RatingSet {
        RatingSet(RatingSet::ALL.0 & ((2 << rating.stars()) - 1))
    }

    /// Returns the intersection.
    pub const fn and(self, other: RatingSet) -> RatingSet {
        RatingSet(self.0 & other.0)
    }

    /// Tells whether `rating` is in the set.
    pub const fn contains(self, rating: Rating) -> bool {
        self.0 >> rating.stars() & 1 == 1
    }
}

/// A set of the ways in which reviews were verified, one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationSet(u8);

impl Default for VerificationSet {
    fn default() -> VerificationSet {
        VerificationSet::ALL
    }
}

impl VerificationSet {
    /// All three.
    pub const ALL: VerificationSet = VerificationSet(0b111);

    const STATES: [VerificationState; 3] = [
        VerificationState::Business,
        VerificationState::Platform,
        VerificationState::Account,
    ];

    /// Parses one of the words `business`, `platform` and `account`, or several separated by commas.
    pub fn parse(text: &str) -> Option<VerificationSet> {
        let mut set = VerificationSet(0);
        for part in text.split(',') {
            let mut states = VerificationSet::STATES.into_iter();
            let state = states.find(|state| VerificationSet::word(*state) == part.trim())?;
            set.0 |= VerificationSet::bit(state);
        }
        Some(set)
    }

    /// Returns the word for `state`.
    pub fn word(state: VerificationState) -> &'static str {
        match state {
            VerificationState::Business => "business",
            VerificationState::Platform => "platform",
            VerificationState::Account => "account",
        }
    }

    /// Tells whether `state` is in the set.
    pub fn contains(self, state: VerificationState) -> bool {
        self.0 & VerificationSet::bit(state) != 0
    }

    /// Returns every set that is neither empty nor all.
    pub(super) fn proper() -> impl Iterator<Item = VerificationSet> {
        (1..VerificationSet::ALL.0).map(VerificationSet)
    }

    const fn bit(state: VerificationState) -> u8 {
        match state {
            VerificationState::Business => 1,
            VerificationState::Platform => 2,
            VerificationState::Account => 4,
        }
    }
}

/// The order of a result; every order is total, since ids are unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By date descending, then id descending: the order of rows.
    #[default]
    Newest,
    /// By date ascending, then id ascending.
    Oldest,
    /// By rating descending, then newest first.
    Highest,
    /// By rating ascending, then newest first.
    Lowest,
    /// Best first, also reviews that lack some of the words; a single page without a cursor.
    Relevance,
}

impl Sort {
    /// All orders, as listed in messages; cursors encode the index, so it must not change.
    pub const ALL: [Sort; 5] = [
        Sort::Newest,
        Sort::Oldest,
        Sort::Highest,
        Sort::Lowest,
        Sort::Relevance,
    ];

    /// Returns the word for the order in requests.
    pub fn as_str(self) -> &'static str {
        ["newest", "oldest", "highest", "lowest", "relevance"][self as usize]
    }

    /// Returns the order of `word`, in lower case only.
    pub fn parse(word: &str) -> Option<Sort> {
        Sort::ALL.into_iter().find(|sort| sort.as_str() == word)
    }
}

/// The last review of a page; the next page begins after it in the same order. A cursor has values, not a row, so that
/// it stays valid when reviews are added or removed between two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The order in which the page was made.
    pub sort: Sort,
    /// Rating of the last review.
    pub rating: Rating,
    /// Date of the last review.
    pub date: Date,
    /// Id of the last review.
    pub id: ReviewId,
}

impl Cursor {
    /// Returns the cursor's text, 11 to 95 characters of `[A-Za-z0-9_-]`.
    pub fn render(&self) -> ArrayString<TEXT_BYTES_MAX> {
        let [day0, day1, day2, day3] = self.date.days().to_be_bytes();
        let sort = self.sort as u8;
        let stars = self.rating.stars();
        let end = HEAD_BYTES + self.id.len();
        let mut key = [0; KEY_BYTES_MAX];
        key[..HEAD_BYTES].copy_from_slice(&[VERSION, sort, stars, day0, day1, day2, day3]);
        key[HEAD_BYTES..end].copy_from_slice(self.id.as_bytes());
        let mut text = [0; TEXT_BYTES_MAX];
        let len = URL_SAFE_NO_PAD.encode_slice(&key[..end], &mut text);
        let text = len.ok().and_then(|len| str::from_utf8(&text[..len]).ok());
        let text = text.and_then(|text| ArrayString::from(text).ok());
        text.expect("base64 is ASCII, and the longest key fits")
    }

    /// Parses the output of `render`, else returns `None`: each cursor has exactly one text.
    pub fn parse(text: &str) -> Option<Cursor> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        // The decoder needs a buffer of three bytes for every four characters, rounded up.
        let mut key = [0u8; KEY_BYTES_MAX + 3];
        let len = URL_SAFE_NO_PAD.decode_slice(text, &mut key).ok()?;
        let (head, id) = key[..len].split_at_checked(HEAD_BYTES)?;
        if head[0] != VERSION {
            return None;
        }
        let days = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        Some(Cursor {
            sort: *Sort::ALL
                .get(usize::from(head[1]))
                .filter(|sort| **sort != Sort::Relevance)?,
            rating: Rating::new(head[2])?,
            date: Date::from_days(days)?,
            id: ArrayString::from(str::from_utf8(id).ok().filter(|id| is_id(id))?).ok()?,
        })
    }
}

/// A review's id, stored inline; the decoder of the dataset rejects longer ones.
pub type ReviewId = ArrayString<ID_BYTES_MAX>;

/// The terms of `words` that must or must not occur in a text: a folded text of at most [`TERMS_MAX`] terms.
///
/// A word matches at the start of a word, so `miss` finds "missed" but not "dismiss". A quoted phrase matches whole
/// words, so `"art of"` finds "art of" but not "smart office". An end of a term that is not a letter or digit, or is in
/// a script without spaces, needs no word boundary there; a word of more than 32 bytes may begin anywhere. A `-` before
/// a term excludes it. Punctuation and symbols (Unicode categories P and S) around a word are ignored; an emoji alone is
/// a word. Everything is folded, so typographic quotes and dashes work as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'b>(&'b str);

/// One search term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term<'b> {
    /// The text to find: folded, not empty.
    pub text: &'b str,
    /// Whether it must begin at the start of a word.
    pub begins_word: bool,
    /// Whether it must end at the end of a word.
    pub ends_word: bool,
    /// Whether it must not occur.
    pub is_excluded: bool,
    /// Whether it stands in quotation marks.
    pub(super) is_quoted: bool,
}

impl<'b> Words<'b> {
    /// Parses a folded text; a text without terms, such as `""`, selects every review. `None` for too many terms.
    pub fn parse(folded: &'b str) -> Option<Words<'b>> {
        let words = Words(folded);
        Some(words).filter(|words| words.terms().count() <= TERMS_MAX)
    }

    /// Returns the folded text.
    pub fn as_str(&self) -> &'b str {
        self.0
    }

    /// Returns the terms in their order.
    pub fn terms(&self) -> impl Iterator<Item = Term<'b>> + use<'b> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            loop {
                rest = rest.trim_start();
                if rest.is_empty() {
                    return None;
                }
                let excluded = rest.strip_prefix('-');
                let excluded =
                    excluded.filter(|after| after.starts_with(|next: char| !next.is_whitespace()));
                let after = excluded.unwrap_or(rest);
                let quoted = after.strip_prefix('"');
                let mut text;
                match quoted {
                    // An unclosed quotation mark extends to the end of the text.
                    Some(quoted) => {
                        (text, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
                        text = text.trim();
                    }
                    None => {
                        let end = after.find(|next: char| next.is_whitespace() || next == '"');
                        (text, rest) = after.split_at(end.unwrap_or(after.len()));
                        text = trim_signs(text);
                    }
                }
                if !text.is_empty() {
                    let is_quoted = quoted.is_some();
                    let is_short = is_quoted || text.len() <= WORD_BYTES_MAX;
                    return Some(Term {
                        text,
                        begins_word: is_short && text.starts_with(is_of_word),
                        ends_word: is_quoted && text.ends_with(is_of_word),
                        is_excluded: excluded.is_some(),
                        is_quoted,
                    });
                }
            }
        })
    }
}

/// Returns `word` without the punctuation and symbols around it. If nothing else is left, symbols other than ASCII stay,
/// so that an emoji is found, and a `&` or a dash between words is ignored.
fn trim_signs(word: &str) -> &str {
    let trimmed = word.trim_matches(is_sign);
    if !trimmed.is_empty() {
        return trimmed;
    }
    word.trim_matches(|sign: char| sign.is_ascii() || is_punctuation(sign))
}

/// Tells whether `character` is punctuation or a symbol.
fn is_sign(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    is_punctuation(character) || GeneralCategoryGroup::Symbol.contains(category(character))
}

fn is_punctuation(character: char) -> bool {
    GeneralCategoryGroup::Punctuation.contains(category(character))
}

fn category(character: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(character)
}

impl<'b> Term<'b> {
    /// Returns the term of the parameter `query`, which matches `text` anywhere.
    pub fn anywhere(text: &'b str) -> Term<'b> {
        Term {
            text,
            ..Term::default()
        }
    }

    /// Tells whether the occurrence at `at` in the folded `text` has the word boundaries that the term needs.
    pub(super) fn fits_at(&self, text: &[u8], at: usize) -> bool {
        let end = at + self.text.len();
        (!self.begins_word || !last_character(&text[..at]).is_some_and(is_of_word))
            && (!self.ends_word || !first_character(&text[end..]).is_some_and(is_of_word))
    }
}

impl fmt::Display for Term<'_> {
    /// Writes the term as [`Words`] reads it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minus = if self.is_excluded { "-" } else { "" };
        let quote = if self.is_quoted { "\"" } else { "" };
        write!(formatter, "{minus}{quote}{}{quote}", self.text)
    }
}

fn last_character(text: &[u8]) -> Option<char> {
    let start = text.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    first_character(&text[start..])
}

fn first_character(text: &[u8]) -> Option<char> {
    let text = &text[..text.len().min(4)];
    text.utf8_chunks().next()?.valid().chars().next()
}
