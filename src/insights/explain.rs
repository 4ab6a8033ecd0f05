//! Explains the classification of each mention of an aspect as text: the content words that count as praise or
//! complaint, the phrase if it is itself an opinion, and the stars.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use whatlang::Lang;

use super::evidence::{Context, OPINION, stars};
use super::language::is_function_word;
use super::own_stars::GramReader;
use super::read::{Derived, Mention};
use super::text::TextWords;
use super::text_model::{Sentence, UNIT};
use crate::model::Dataset;
use crate::model::insights::ByPolarity;
use crate::wire::sentence::sentences;

/// Most words listed in an explanation.
const WORDS_MAX: usize = 4;

/// Explains every mention of the aspect with this id or, without regard to case, this label, in the order of the
/// reviews; the last line has the totals; `None` if the taxonomy lists no such aspect. Reads all reviews.
pub(crate) fn explain(dataset: &Dataset, threads: NonZeroUsize, id: &str) -> Option<String> {
    let mut aspects = dataset.taxonomy.aspects.iter();
    let lower = id.to_lowercase();
    let wanted = aspects.position(|one| one.id == id || one.label.to_lowercase() == lower)?;
    let derived = Derived::of(dataset, None, threads, &|| false)?;
    let mut text = String::new();
    let mut counts = ByPolarity::<u32>::default();
    for mention in &derived.mentions {
        if usize::from(mention.aspect) == wanted {
            counts[mention.polarity] += 1;
            text += &explanation(dataset, &derived, mention);
        }
    }
    text += &format!(
        "{id}: {} positive, {} neutral or unclear, {} negative\n",
        counts.positive, counts.neutral, counts.negative
    );
    // Control characters could move the cursor of a terminal or change its colors.
    Some(text.replace(|letter: char| letter.is_control() && letter != '\n', " "))
}

/// Shows the mention in its sentence and the reasons for its class: first those in favour, strongest first, then those
/// against. The contribution of a word is the change of the score when a word without meaning replaces it.
fn explanation(dataset: &Dataset, derived: &Derived, mention: &Mention) -> String {
    let row = mention.row as usize;
    let context = &mention.context;
    let review = &dataset.reviews[row];
    let lang = derived.languages[row];
    let rest = &review.text[mention.sentence..];
    let sentence = &rest[sentences(rest).next().unwrap_or_default()];
    let range = mention.range.start - mention.sentence..mention.range.end - mention.sentence;
    let known = &derived.known[&lang];
    let own = known.own.as_ref();
    let mut read = Sentence::default();
    let mut grams = GramReader::default();
    let mut tenths = |sentence: &str| {
        read.read(sentence);
        known.phrases.find(&mut read.words);
        let own = own.map_or(0, |own| own.log_odds(own.sum(row, sentence, &mut grams)));
        read.tilt(Some(&range), &Context { own, ..*context }) * 10 / UNIT
    };
    let total = tenths(sentence);
    let mut words = TextWords::default();
    words.read(sentence);
    // Keyed by word, as a word may occur twice in the sentence.
    let mut by_word: BTreeMap<&str, i32> = BTreeMap::new();
    for item in &words.items {
        let word = words.lower(item);
        if item.is_word && !is_function_word(lang.unwrap_or(Lang::Eng), word) {
            let mut without = sentence.to_owned();
            without.replace_range(item.start..item.end, &"x".repeat(item.end - item.start));
            *by_word.entry(word).or_default() += total - tenths(&without);
        }
    }
    // The contribution of each reason, in tenths, and its text.
    let mut reasons: Vec<(i32, String)> = Vec::new();
    for (word, tenths) in by_word {
        let mut reason = format!("\"{word}\" {}", signed(tenths));
        if let Some([low, high]) = own.and_then(|own| own.counts(word)) {
            let all = low + high;
            reason += &format!(" (in {all} reviews, {low} of them with one or two stars)");
        }
        reasons.push((tenths, reason));
    }
    reasons.sort_by_key(|(tenths, _)| Reverse(tenths.abs()));
    reasons.truncate(WORDS_MAX);
    let phrase = format!("the phrase \"{}\"", sentence[range.clone()].to_lowercase());
    let opinion = i32::from(context.opinion) * OPINION * 10 / UNIT;
    let stars = stars(context.rating) * 10 / UNIT;
    let shown: i32 = reasons.iter().map(|(tenths, _)| tenths).sum();
    for (what, tenths) in [
        (&*phrase, opinion),
        ("the stars", stars),
        ("the rest of the sentence", total - shown - opinion - stars),
    ] {
        reasons.push((tenths, format!("{what} {}", signed(tenths))));
    }
    reasons.retain(|(tenths, _)| *tenths != 0);
    let side = if total < 0 { 1 } else { -1 };
    reasons.sort_by_key(|(tenths, _)| (tenths * side > 0, Reverse(tenths.abs())));
    let reasons: Vec<String> = reasons.into_iter().map(|(_, reason)| reason).collect();
    format!(
        "{:8}  {}  {}  {} of 5\n  {}[{}]{}\n  for praise (+) or complaint (-), in log-odds: {}; together {}\n\n",
        mention.polarity.word(),
        review.id,
        review.date,
        review.rating.stars(),
        &sentence[..range.start],
        &sentence[range.clone()],
        &sentence[range.end..],
        reasons.join(", "),
        signed(total)
    )
}

/// Formats a number of tenths with its sign.
fn signed(tenths: i32) -> String {
    format!("{:+.1}", f64::from(tenths) / 10.0)
}
