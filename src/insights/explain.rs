//! Why each mention of an aspect was judged as it was: the content words that spoke for praise or complaint, the phrase
//! where it is itself an opinion, and the stars.

use std::collections::BTreeMap;

use whatlang::Lang;

use super::Options;
use super::derive::{Basis, Judged, Reader};
use super::evidence::{OPINION, stars};
use super::language::is_function_word;
use super::text_model::UNIT;
use crate::model::insights::Polarity;
use crate::model::{Dataset, Review};

/// A mention, the sentence around it, and what decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'d> {
    /// The review.
    pub review: &'d Review,
    /// The sentence.
    pub sentence: &'d str,
    /// Byte range of the mention in the sentence.
    pub from: usize,
    /// Exclusive.
    pub to: usize,
    /// The answer.
    pub polarity: Polarity,
    /// What spoke for praise (above 0) or complaint (below), the strongest of either first. They add up to `total`.
    pub reasons: Vec<Reason>,
    /// Praise less complaint in tenths of the logarithm of odds: above 0 where the answer is positive, below 0 where it
    /// is negative.
    pub total: i32,
}

/// Something that spoke for praise or complaint.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// What spoke.
    pub term: Term,
    /// By how much, in tenths of the logarithm of odds.
    pub tenths: i32,
    /// Own reviews with the word: of one or two stars, and of four or five.
    pub counts: Option<[u32; 2]>,
}

/// What can speak for praise or complaint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A content word in lower case.
    Word(String),
    /// The mention itself, which is an opinion such as "late".
    Phrase(String),
    /// The stars of the review.
    Stars,
    /// Everything else in the sentence: weaker words, function words, and how they stand together.
    Rest,
}

/// Explains every mention of the aspect with this id or, without regard to case, this label, in the order of the
/// reviews; `None` if the taxonomy lists no such aspect. Reads all reviews.
#[must_use]
pub fn explain<'d>(
    dataset: &'d Dataset,
    options: &Options,
    id: &str,
) -> Option<Vec<Explanation<'d>>> {
    let mut aspects = dataset.taxonomy.aspects.iter();
    let lower = id.to_lowercase();
    let wanted = aspects.clone().position(|aspect| aspect.id == id);
    let wanted = wanted.or_else(|| aspects.position(|one| one.label.to_lowercase() == lower))?;
    let basis = Basis::of(dataset, options, &|| false)?;
    let mut reader = Reader::new(&basis);
    let mut explanations = Vec::new();
    for (row, review) in dataset.reviews.iter().enumerate() {
        reader.read(review, row, |judged| {
            if usize::from(judged.found.aspect) == wanted {
                explanations.push(explanation(review, row, judged, &basis));
            }
        });
    }
    Some(explanations)
}

fn explanation<'d>(
    review: &'d Review,
    row: usize,
    judged: Judged<'_>,
    basis: &Basis,
) -> Explanation<'d> {
    let (range, context) = (&judged.found.range, &judged.context);
    let sentence = &review.text[judged.sentence];
    let (total, features) = judged.judge.tilts(range, context);
    let words = &judged.judge.collector.words;
    let items = words.items();
    let lang = basis.languages[row].unwrap_or(Lang::Eng);
    // By word, as one may stand in the sentence twice.
    let mut by_word: BTreeMap<&str, (i32, Option<[u32; 2]>)> = BTreeMap::new();
    let mut add = |item: usize, tilt: i32, counts: Option<[u32; 2]>| {
        let word = words.lower(&items[item]);
        if items[item].is_word && !is_function_word(lang, word) {
            let known = by_word.entry(word).or_default();
            *known = (known.0 + tilt, known.1.or(counts));
        }
    };
    for (feature, tilt) in features {
        if let Some(item) = feature.item {
            add(usize::from(item), tilt, None);
        }
    }
    let own = basis.own(row).map(|own| own.grams(words));
    for (item, gram) in own.unwrap_or_default() {
        add(item, (gram.weight * UNIT as f32) as i32, Some(gram.counts));
    }
    let reason = |term, tilt: i32, counts| Reason {
        term,
        tenths: tilt * 10 / UNIT,
        counts,
    };
    let of_words = by_word.into_iter();
    let mut reasons: Vec<Reason> = of_words
        .map(|(word, (tilt, counts))| reason(Term::Word(word.to_owned()), tilt, counts))
        .collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.tenths.abs()));
    reasons.truncate(WORDS_MAX);
    let phrase = sentence[range.clone()].to_lowercase();
    let opinion = i32::from(context.opinion) * OPINION;
    reasons.push(reason(Term::Phrase(phrase), opinion, None));
    reasons.push(reason(Term::Stars, stars(context.rating), None));
    let total = total * 10 / UNIT;
    let shown: i32 = reasons.iter().map(|reason| reason.tenths).sum();
    reasons.push(Reason {
        term: Term::Rest,
        tenths: total - shown,
        counts: None,
    });
    reasons.retain(|reason| reason.tenths != 0);
    let side = if total < 0 { 1 } else { -1 };
    reasons.sort_by_key(|reason| (reason.tenths * side > 0, -reason.tenths.abs()));
    Explanation {
        review,
        sentence,
        from: range.start,
        to: range.end,
        polarity: judged.judgement.polarity,
        reasons,
        total,
    }
}

/// Words that an explanation names.
const WORDS_MAX: usize = 4;
