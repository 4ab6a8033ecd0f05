//! One review of a source, every value checked, ready to be laid over what is there.

use crate::model::{Media, OwnerReply, Rating, Verification};
use crate::wire::date::Date;

/// A review as its source has it.
///
/// The outer `Option` of a field is `None` where the source has no place for it: then what is there stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Ours: stable, and of the form that `reviews.json` asks for.
    pub(crate) id: String,
    pub(crate) author: String,
    pub(crate) author_avatar_url: Option<Option<String>>,
    pub(crate) rating: Rating,
    pub(crate) date: Date,
    pub(crate) text: Option<String>,
    pub(crate) source: String,
    pub(crate) source_url: Option<Option<String>>,
    pub(crate) owner_reply: Option<Option<OwnerReply>>,
    pub(crate) verified: Option<bool>,
    /// Whether the source does not publish it, so that it is not published here.
    pub(crate) hidden: bool,
    /// People and services.
    pub(crate) mentions: [Option<Vec<String>>; 2],
    /// Who verified it, where the source says so.
    pub(crate) verification: Option<Option<Verification>>,
    pub(crate) language: Option<Option<String>>,
    pub(crate) media: Option<Vec<Media>>,
    /// An English translation of the text.
    pub(crate) translation: Option<Option<String>>,
    /// When the source last changed it, in seconds and billionths; `None` where it does not say.
    pub(crate) updated: Option<(i64, u32)>,
}
