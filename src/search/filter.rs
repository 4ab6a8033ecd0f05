//! What a search asks for: a filter, an order, a limit and a place to go on from, all checked.

use crate::model::Rating;
use crate::model::insights::Polarity;
use crate::search::cursor::Cursor;
use crate::search::words::Words;
use crate::wire::date::Date;

/// A checked search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'b> {
    /// Which reviews.
    pub filter: Filter<'b>,
    /// In which order.
    pub sort: Sort,
    /// How many at most, 1 to 100.
    pub limit: u8,
    /// Only what comes after this place; its order is `sort`.
    pub cursor: Option<Cursor>,
    /// Names of unknown parameters, at most 8, each cut at 64 bytes.
    pub ignored: &'b [String],
}

impl<'b> Query<'b> {
    /// Returns a search for the first page of at most `limit` reviews.
    pub fn new(filter: Filter<'b>, sort: Sort, limit: u8) -> Query<'b> {
        Query {
            filter,
            sort,
            limit,
            cursor: None,
            ignored: &[],
        }
    }

    /// The limit where none is given.
    pub const LIMIT_DEFAULT: u8 = 20;
    /// The largest limit.
    pub const LIMIT_MAX: u8 = 100;
}

/// Which reviews a search selects; every part narrows, and contradictory parts select nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter<'b> {
    /// The ratings asked for.
    pub ratings: RatingSet,
    /// Reviews of this day or later.
    pub since: Option<Date>,
    /// Reviews of this day or earlier.
    pub until: Option<Date>,
    /// A substring of the review's text: folded, never empty.
    pub text: Option<&'b str>,
    /// Words that all have to occur, and those that must not.
    pub words: Option<Words<'b>>,
    /// A technician's name or alias, or a part of it that names one person: folded, never empty.
    pub technician: Option<&'b str>,
    /// A service's id or label, or a part of it that names one service: folded, never empty.
    pub service: Option<&'b str>,
    /// The id or label of an aspect of the insights, or a part of it that names one: folded, never empty.
    pub aspect: Option<&'b str>,
    /// What the review says of the aspect, or of any where none is asked for.
    pub polarity: Option<Polarity>,
    /// Whether the owner has replied.
    pub has_reply: Option<bool>,
    /// The language of the text, such as `en`, which regional forms such as `en-GB` are of as well: folded, never empty.
    pub language: Option<&'b str>,
    /// Where the review was left: folded, never empty.
    pub source: Option<&'b str>,
}

impl Filter<'_> {
    /// Selects every review.
    pub const ALL: Filter<'static> = Filter {
        ratings: RatingSet::ALL,
        since: None,
        until: None,
        text: None,
        words: None,
        technician: None,
        service: None,
        aspect: None,
        polarity: None,
        has_reply: None,
        language: None,
        source: None,
    };

    /// Tells whether the answer depends on the insights, which are derived after the index is built.
    pub fn needs_insights(&self) -> bool {
        self.aspect.is_some() || self.polarity.is_some()
    }
}

/// A set of ratings, one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatingSet(u8);

impl RatingSet {
    /// All five.
    pub const ALL: RatingSet = RatingSet(0b11_1110);
    /// None, as in a filter that contradicts itself.
    pub const EMPTY: RatingSet = RatingSet(0);

    /// Returns the set of one rating.
    pub const fn only(rating: Rating) -> RatingSet {
        RatingSet(1 << rating.stars())
    }

    /// Returns the set of `rating` and all above it.
    pub const fn at_least(rating: Rating) -> RatingSet {
        RatingSet(RatingSet::ALL.0 & !((1 << rating.stars()) - 1))
    }

    /// Returns the set of `rating` and all below it.
    pub const fn at_most(rating: Rating) -> RatingSet {
        RatingSet(RatingSet::ALL.0 & ((2 << rating.stars()) - 1))
    }

    /// Returns what both sets hold.
    pub const fn and(self, other: RatingSet) -> RatingSet {
        RatingSet(self.0 & other.0)
    }

    /// Tells whether `rating` is in the set.
    pub const fn contains(self, rating: Rating) -> bool {
        self.0 >> rating.stars() & 1 == 1
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
}

impl Sort {
    /// Every order, in the order in which messages name them; cursors count on it.
    pub const ALL: [Sort; 4] = [Sort::Newest, Sort::Oldest, Sort::Highest, Sort::Lowest];

    /// Returns the word that stands for the order in requests.
    pub fn as_str(self) -> &'static str {
        ["newest", "oldest", "highest", "lowest"][self as usize]
    }

    /// Returns the order that `word` stands for, in lower case only.
    pub fn parse(word: &str) -> Option<Sort> {
        Sort::ALL.into_iter().find(|sort| sort.as_str() == word)
    }
}
