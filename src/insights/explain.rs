//! Why each mention of an aspect was judged as it was, as text: the content words that spoke for praise or complaint, the
//! phrase where it is itself an opinion, and the stars.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use whatlang::Lang;

use super::Options;
use super::evidence::{OPINION, stars};
use super::language::is_function_word;
use super::read::{Derived, Mention};
use super::text::sentences;
use super::text_model::{Sentence, UNIT};
use crate::model::Dataset;

/// Explains every mention of the aspect with this id or, without regard to case, this label, in the order of the
/// reviews, and adds them up in the last line; `None` if the taxonomy lists no such aspect. Reads all reviews.
pub(crate) fn explain(dataset: &Dataset, options: &Options, id: &str) -> Option<String> {
    let mut aspects = dataset.taxonomy.aspects.iter();
    let lower = id.to_lowercase();
    let wanted = aspects.clone().position(|aspect| aspect.id == id);
    let wanted = wanted.or_else(|| aspects.position(|one| one.label.to_lowercase() == lower))?;
    let derived = Derived::of(dataset, options, &|| false)?;
    let (mut text, mut counts) = (String::new(), [0; 3]);
    let mut read = Sentence::default();
    for mention in &derived.mentions {
        if usize::from(mention.aspect) == wanted {
            counts[mention.polarity as usize] += 1;
            text += &explanation(dataset, &derived, &mut read, mention);
        }
    }
    let [negative, neutral, positive] = counts;
    let id = printable(id);
    text +=
        &format!("{id}: {positive} positive, {neutral} neutral or unclear, {negative} negative\n");
    Some(text)
}

/// The mention in its sentence and what decided: first what spoke for the answer, the strongest first, then what spoke
/// against it.
fn explanation(
    dataset: &Dataset,
    derived: &Derived,
    read: &mut Sentence,
    mention: &Mention,
) -> String {
    let (row, context) = (mention.row as usize, &mention.context);
    let (review, lang) = (&dataset.reviews[row], derived.languages[row]);
    let rest = &review.text[mention.sentence..];
    let sentence = &rest[sentences(rest).next().unwrap_or_default()];
    let range = mention.range.start - mention.sentence..mention.range.end - mention.sentence;
    read.read(sentence);
    // Words with what they add, and the own reviews with them: of one or two stars, and of five.
    let mut of_items: Vec<(usize, i32, Option<[u32; 2]>)> = Vec::new();
    let total = read.tilt(Some(&range), context, |feature, tilt| {
        of_items.extend(feature.item.map(|item| (usize::from(item), tilt, None)));
    });
    let words = &read.words;
    let own = derived.known[&lang].own.iter();
    let own = own.flat_map(|own| own.reasons(row, words));
    of_items.extend(own.map(|(at, tilt, counts)| (at, tilt, Some(counts))));
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
    let tenths = |tilt: i32| tilt * 10 / UNIT;
    let word = |(word, (tilt, counts)): (&str, (i32, Option<[u32; 2]>))| {
        let of_reviews = |[low, high]: [u32; 2]| {
            let all = low + high;
            format!(" (in {all} reviews, {low} of them with one or two stars)")
        };
        let of_reviews = counts.map_or_else(String::new, of_reviews);
        (format!("\"{word}\""), tenths(tilt), of_reviews)
    };
    let mut reasons: Vec<(String, i32, String)> = by_word.into_iter().map(word).collect();
    reasons.sort_by_key(|(_, tenths, _)| Reverse(tenths.abs()));
    reasons.truncate(WORDS_MAX);
    let phrase = format!("the phrase \"{}\"", sentence[range.clone()].to_lowercase());
    let mut add = |what: String, tenths| reasons.push((what, tenths, String::new()));
    add(phrase, tenths(i32::from(context.opinion) * OPINION));
    add("the stars".to_owned(), tenths(stars(context.rating)));
    let (total, shown) = (tenths(total), reasons.iter().map(|one| one.1).sum::<i32>());
    let rest = "the rest of the sentence".to_owned();
    reasons.push((rest, total - shown, String::new()));
    reasons.retain(|(_, tenths, _)| *tenths != 0);
    let side = if total < 0 { 1 } else { -1 };
    reasons.sort_by_key(|(_, tenths, _)| (tenths * side > 0, Reverse(tenths.abs())));
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(what, tenths, counts)| format!("{} {}{counts}", printable(what), signed(*tenths)))
        .collect();
    format!(
        "{:8}  {}  {}  {} of 5\n  {}[{}]{}\n  for praise (+) or complaint (-), in log-odds: {}; together {}\n\n",
        mention.polarity.word(),
        review.id,
        review.date,
        review.rating.stars(),
        printable(&sentence[..range.start]),
        printable(&sentence[range.clone()]),
        printable(&sentence[range.end..]),
        reasons.join(", "),
        signed(total)
    )
}

/// Returns tenths with their sign.
fn signed(tenths: i32) -> String {
    let (sign, size) = (if tenths < 0 { '-' } else { '+' }, tenths.unsigned_abs());
    format!("{sign}{}.{}", size / 10, size % 10)
}

/// Returns the text with spaces for the characters that would move a terminal's cursor or change its colors.
fn printable(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Words that an explanation names.
const WORDS_MAX: usize = 4;
