//! Why each mention of an aspect was judged as it was: the content words that spoke for the answer, and the stars.

use std::collections::BTreeMap;

use whatlang::Lang;

use super::Options;
use super::derive::Basis;
use super::evidence::{Context, Judge, Judgement, stars};
use super::language::is_function_word;
use super::sentence::sentences;
use super::text_model::{self, UNIT};
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
    /// What spoke for praise (above 0) or complaint (below), the strongest first.
    pub reasons: Vec<Reason>,
}

/// Something that spoke for praise or complaint.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// A word in lower case; `None` for the stars.
    pub word: Option<String>,
    /// By how much, in tenths of the logarithm of odds.
    pub tenths: i32,
    /// Own reviews with the word: of one or two stars, and of four or five.
    pub counts: Option<[u32; 2]>,
}

/// Explains every mention of the aspect with this id or, without regard to case, this label, in the order of the
/// reviews; `None` if the taxonomy lists no such aspect.
#[must_use]
pub fn explain<'d>(
    dataset: &'d Dataset,
    options: &Options,
    id: &str,
) -> Option<Vec<Explanation<'d>>> {
    let aspects = &dataset.taxonomy.aspects;
    let by_label = || {
        aspects
            .iter()
            .position(|one| one.label.to_lowercase() == id.to_lowercase())
    };
    let wanted = aspects
        .iter()
        .position(|aspect| aspect.id == id)
        .or_else(by_label)?;
    let basis = Basis::of(dataset, options, &|| false)?;
    let (mut judge, mut found) = (Judge::default(), Vec::new());
    let mut explanations = Vec::new();
    for (row, review) in dataset.reviews.iter().enumerate() {
        let lang = basis.languages[row];
        for range in sentences(&review.text) {
            let sentence = &review.text[range];
            judge.read(sentence);
            basis.finder.find(lang, &judge.collector.words, &mut found);
            for one in found.iter().filter(|one| usize::from(one.aspect) == wanted) {
                let context = Context {
                    is_english: lang == Some(Lang::Eng),
                    rating: Some(review.rating),
                    opinion: one.opinion,
                    own: basis
                        .own(row)
                        .map_or(0, |own| own.score(&judge.collector.words)),
                };
                let Judgement { polarity, .. } = judge.mention(one.range.clone(), &context);
                explanations.push(Explanation {
                    review,
                    sentence,
                    from: one.range.start,
                    to: one.range.end,
                    polarity,
                    reasons: reasons(&mut judge, one.range.clone(), &context, &basis, row),
                });
            }
        }
    }
    Some(explanations)
}

/// The strongest of what spoke for praise or complaint: each content word by the features about it, and the stars.
fn reasons(
    judge: &mut Judge,
    target: std::ops::Range<usize>,
    context: &Context,
    basis: &Basis,
    row: usize,
) -> Vec<Reason> {
    let lang = basis.languages[row].unwrap_or(Lang::Eng);
    let mut tilts: BTreeMap<usize, (i32, Option<[u32; 2]>)> = BTreeMap::new();
    if context.is_english {
        let target = (context.opinion == 0).then_some(target);
        for feature in judge.collector.collect(target).to_vec() {
            if let (Some(item), Some(weights)) = (feature.item, text_model::find(feature.hash)) {
                tilts.entry(usize::from(item)).or_default().0 +=
                    i32::from(weights[2]) - i32::from(weights[0]);
            }
        }
    }
    let words = &judge.collector.words;
    for (item, gram) in basis
        .own(row)
        .map(|own| own.grams(words))
        .unwrap_or_default()
    {
        let tilt = tilts.entry(item).or_default();
        tilt.0 += (gram.weight * UNIT as f32).round() as i32;
        tilt.1 = tilt.1.or(Some(gram.counts));
    }
    let mut by_word: BTreeMap<&str, (i32, Option<[u32; 2]>)> = BTreeMap::new();
    for (item, (tilt, counts)) in tilts {
        let item = &words.items()[item];
        let lower = words.lower(item);
        if item.is_word && !is_function_word(lang, lower) {
            let known = by_word.entry(lower).or_default();
            known.0 += tilt;
            known.1 = known.1.or(counts);
        }
    }
    let tenths = |tilt: i32| tilt * 10 / UNIT;
    let reason = |(word, (tilt, counts)): (&str, (i32, Option<[u32; 2]>))| Reason {
        word: Some(word.to_owned()),
        tenths: tenths(tilt),
        counts,
    };
    let mut reasons: Vec<Reason> = by_word.into_iter().map(reason).collect();
    reasons.push(Reason {
        word: None,
        tenths: tenths(stars(context.rating)),
        counts: None,
    });
    reasons.retain(|reason| reason.tenths != 0);
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.tenths.abs()));
    reasons.truncate(REASONS_MAX);
    reasons
}

/// Reasons that an explanation gives.
const REASONS_MAX: usize = 4;
