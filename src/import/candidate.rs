//! One review of a source, every value checked, ready to be laid over what is there.

use crate::model::{Media, OwnerReply, Rating, Verification};
use crate::wire::date::Date;

/// A review as its source has it.
///
/// The outer `Option` of a field is `None` where the source has no place for it: then what is there stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Ours: stable, and of the form that `reviews.json` asks for.
    pub id: String,
    /// The name that is published.
    pub author: String,
    /// Where the picture of the author is.
    pub author_avatar_url: Option<Option<String>>,
    /// One to five stars.
    pub rating: Rating,
    /// The day of the review.
    pub date: Date,
    /// What the author wrote.
    pub text: Option<String>,
    /// The platform, as `source` of `reviews.json`.
    pub source: String,
    /// Where the platform shows it.
    pub source_url: Option<Option<String>>,
    /// What the business answered.
    pub owner_reply: Option<Option<OwnerReply>>,
    /// What the source or the operator says of it.
    pub verified: Option<bool>,
    /// Whether the source does not publish it, so that it is not published here.
    pub hidden: bool,
    /// People and services.
    pub mentions: [Option<Vec<String>>; 2],
    /// Who verified it, where the source says so.
    pub verification: Option<Option<Verification>>,
    /// Language of the text, as BCP 47 has it.
    pub language: Option<Option<String>>,
    /// Pictures and videos.
    pub media: Option<Vec<Media>>,
    /// An English translation of the text.
    pub translation: Option<Option<String>>,
    /// When the source last changed it, in seconds and billionths; `None` where it does not say.
    pub updated: Option<(i64, u32)>,
}
