//! Why each mention of an aspect was judged as it was: the content words that spoke for praise or complaint, the phrase
//! where it is itself an opinion, and the stars.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use whatlang::Lang;

use super::Options;
use super::evidence::{OPINION, stars};
use super::language::is_function_word;
use super::read::{Basis, Derived, Mention};
use super::text::sentences;
use super::text_model::{Sentence, UNIT};
use crate::model::insights::Polarity;
use crate::model::{Dataset, Review};

/// A mention, the sentence around it, and what decided.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explanation<'d> {
    pub(crate) review: &'d Review,
    pub(crate) sentence: &'d str,
    /// Bytes of the mention in the sentence.
    pub(crate) mention: Range<usize>,
    pub(crate) polarity: Polarity,
    /// What spoke for the answer, the strongest first, and then what spoke against it. They add up to `total`.
    pub(crate) reasons: Vec<Reason>,
    /// Praise less complaint in tenths of the logarithm of odds.
    pub(crate) total: i32,
}

/// Something that spoke for praise (above 0) or complaint (below).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    /// A content word in quotation marks, the phrase, the stars, or the rest of the sentence: weaker words, function
    /// words, and how they stand together.
    pub(crate) what: String,
    /// By how much, in tenths of the logarithm of odds.
    pub(crate) tenths: i32,
    /// Own reviews with the word: of one or two stars, and of four or five.
    pub(crate) counts: Option<[u32; 2]>,
}

/// Explains every mention of the aspect with this id or, without regard to case, this label, in the order of the
/// reviews; `None` if the taxonomy lists no such aspect. Reads all reviews.
pub(crate) fn explain<'d>(
    dataset: &'d Dataset,
    options: &Options,
    id: &str,
) -> Option<Vec<Explanation<'d>>> {
    let mut aspects = dataset.taxonomy.aspects.iter();
    let lower = id.to_lowercase();
    let wanted = aspects.clone().position(|aspect| aspect.id == id);
    let wanted = wanted.or_else(|| aspects.position(|one| one.label.to_lowercase() == lower))?;
    let derived = Derived::of(dataset, options, &|| false)?;
    let mentions = derived.mentions.iter();
    let mentions = mentions.filter(|one| usize::from(one.aspect) == wanted);
    let mut read = Sentence::default();
    let explained = mentions.map(|one| explanation(dataset, &derived.basis, &mut read, one));
    Some(explained.collect())
}

fn explanation<'d>(
    dataset: &'d Dataset,
    basis: &Basis,
    read: &mut Sentence,
    mention: &Mention,
) -> Explanation<'d> {
    let (review, context) = (&dataset.reviews[mention.row as usize], &mention.context);
    let lang = basis.languages[mention.row as usize];
    let rest = &review.text[mention.sentence..];
    let sentence = &rest[sentences(rest).next().unwrap_or_default()];
    let range = mention.range.start - mention.sentence..mention.range.end - mention.sentence;
    read.read(sentence);
    // Tilts and counts of words, by item.
    let mut of_items: Vec<(usize, i32, Option<[u32; 2]>)> = Vec::new();
    let total = read.tilt(Some(&range), context, |feature, tilt| {
        of_items.extend(feature.item.map(|item| (usize::from(item), tilt, None)));
    });
    let words = &read.words;
    let own = basis.known(lang).own.iter();
    of_items.extend(own.flat_map(|own| own.reasons(words)));
    // By word, as one may stand in the sentence twice.
    let mut by_word: BTreeMap<&str, (i32, Option<[u32; 2]>)> = BTreeMap::new();
    for (item, tilt, counts) in of_items {
        let item = &words.items()[item];
        let word = words.lower(item);
        if item.is_word && !is_function_word(lang.unwrap_or(Lang::Eng), word) {
            let known = by_word.entry(word).or_default();
            *known = (known.0 + tilt, known.1.or(counts));
        }
    }
    let reason = |what, tilt: i32, counts| Reason {
        what,
        tenths: tilt * 10 / UNIT,
        counts,
    };
    let words = by_word.into_iter();
    let mut reasons: Vec<Reason> = words
        .map(|(word, (tilt, counts))| reason(format!("\"{word}\""), tilt, counts))
        .collect();
    reasons.sort_by_key(|reason| Reverse(reason.tenths.abs()));
    reasons.truncate(WORDS_MAX);
    let phrase = format!("the phrase \"{}\"", sentence[range.clone()].to_lowercase());
    reasons.push(reason(phrase, i32::from(context.opinion) * OPINION, None));
    reasons.push(reason("the stars".to_owned(), stars(context.rating), None));
    let total = total * 10 / UNIT;
    let shown: i32 = reasons.iter().map(|reason| reason.tenths).sum();
    reasons.push(Reason {
        what: "the rest of the sentence".to_owned(),
        tenths: total - shown,
        counts: None,
    });
    reasons.retain(|reason| reason.tenths != 0);
    let side = if total < 0 { 1 } else { -1 };
    reasons.sort_by_key(|reason| (reason.tenths * side > 0, Reverse(reason.tenths.abs())));
    Explanation {
        review,
        sentence,
        mention: range,
        polarity: mention.polarity,
        reasons,
        total,
    }
}

/// Words that an explanation names.
const WORDS_MAX: usize = 4;
