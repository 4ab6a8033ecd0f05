//! What is known of each language before its reviews are read: the phrases to look for, and the words that predict stars.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use whatlang::Lang;

use super::IsCancelled;
use super::aspect::{Phrases, has_opinions};
use super::evidence::Reader;
use super::own_stars::OwnStars;
use crate::dataset::language_of_tag;
use crate::model::{Dataset, Review};

/// Derived data about a language.
pub(super) struct Known {
    pub(super) reader: Reader,
    pub(super) phrases: Phrases,
    /// The model trained on the stars of its reviews, if there are enough.
    pub(super) own: Option<OwnStars>,
}

/// One entry for each language, `None` for reviews whose language is not known.
pub(super) type KnownLanguages = HashMap<Option<Lang>, Known>;

/// Prepares the `languages` of the rows of `dataset`; `None` if `cancelled`, which is called for each language.
pub(super) fn known_languages(
    dataset: &Dataset,
    languages: &[Option<Lang>],
    threads: NonZeroUsize,
    cancelled: IsCancelled<'_>,
) -> Option<KnownLanguages> {
    let mut known = HashMap::new();
    for lang in languages.iter().copied().collect::<HashSet<_>>() {
        if cancelled() {
            return None;
        }
        let reviews = dataset.reviews.iter().enumerate();
        let of_language = reviews.filter(|(row, _)| languages[*row] == lang && lang.is_some());
        let phrases = Phrases::new(&dataset.taxonomy, lang);
        let own = OwnStars::learn(of_language, threads);
        let reader = reader(lang, own.is_some());
        let of_lang = Known {
            reader,
            phrases,
            own,
        };
        known.insert(lang, of_lang);
    }
    Some(known)
}

/// The language of a review, stated or detected when its file was read.
pub(super) fn language(review: &Review) -> Option<Lang> {
    language_of_tag(review.language.as_deref()?)
}

/// The evidence of a language; `has_own_stars` says whether words were learned from the stars of its reviews.
fn reader(lang: Option<Lang>, has_own_stars: bool) -> Reader {
    if lang == Some(Lang::Eng) {
        return Reader::English;
    }
    if has_own_stars || lang.is_some_and(has_opinions) {
        Reader::Words
    } else {
        Reader::Stars
    }
}
