//! Things that customers name again and again in reviews of five stars, or in those of at most three: "parking", "main
//! course", "no reply".
//!
//! Candidates are the noun phrases of `topic_phrases` that one of the two groups of reviews names more often than chance
//! explains, and at least twice as often for the length of its texts: unhappy customers write longer reviews, so they name
//! everything more often. A phrase is no candidate if it says nothing by itself:
//!
//! - a word of every trade ("problem") or a kind of business ("store"), both of `general.txt`;
//! - a word that many reviews of this business use, as "car" in those of a garage;
//! - a phrase that an aspect lists as its own;
//! - a measure, which numbers precede ("50 euros");
//! - a name of a person, a place or a business, also a short form of the name of this business.
//!
//! A candidate becomes a topic by what reviews say of it (`stance`). The newest reviews that name it are read again: at least
//! two of three of those of its group must have an opinion of its sign about it, and of all opinions about it clearly more
//! than half must have that sign. Those with an opinion of its sign must also agree in what they say (`topic_words`), else
//! they name it in passing. A topic links to those of them that say most of the words of its label, and whose opinion is clearest.
//!
//! Of several candidates for one subject only the strongest is listed: phrases with a common word, words with one meaning
//! (`synonyms.txt`), compounds ("Klantendienst", "Klantenservice"), and phrases of which at least half of the reviews, and
//! three of them, are the same ("claim", "compensation"). We list fewer topics rather than any that chance explains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use whatlang::Lang;

use super::keys::{KeyMap, key};
use super::known::KnownLanguages;
use super::stance::{Stance, StanceReader};
use super::text::TextWords;
use super::topic_phrases::{Counts, NearWord, PhraseCount, PhraseKey, group};
use super::topic_words::{SharedWord, UsualWords, have_opinion};
use super::totals::interval;
use crate::model::Dataset;
use crate::model::insights::{InsightsTopic, NameCandidate, Polarity};

/// Fewest reviews of the group of a topic that use it.
const COUNT_MIN: u32 = 6;
/// The least part of the group, in hundredths.
const PERCENT_MIN: u32 = 1;
/// Most reviews of both groups that use a topic, in hundredths: a phrase in more reviews describes the business itself.
const PERCENT_MAX: u32 = 20;
/// Least weight: 2.33 standard errors. About 1 in 50 phrases that both groups use equally passes by chance, and fewer
/// become topics, as the reviews must have an opinion about it, too.
const WEIGHT_MIN: i64 = 233;
/// How many times as often the words of a group must name a topic as those of the other.
const TIMES_MIN: u64 = 2;
/// Most candidates of which reviews are read again.
const CANDIDATES_MAX: usize = 100;
/// Fewest reviews of its group with an opinion of the sign of the topic.
const AGREEING_MIN: u32 = 3;
/// Fewest agreeing reviews that two candidates have in common if they are about one subject: long reviews name much, and two of
/// them may name the same two things by chance.
const COMMON_MIN: usize = 3;
/// Most topics.
const TOPICS_MAX: usize = 10;
/// Most topics of praise, and most of complaint.
const TOPICS_OF_SIGN_MAX: usize = 7;
/// A longer phrase replaces a shorter one that shares a word with it, if the shorter one has at most 1.7 times its reviews.
const LONGER_TENTHS: u32 = 17;
/// Most reviews that a topic links to.
const REVIEWS_SHOWN: usize = 5;
/// Fewest letters that a short form has in common with the name of the business.
const SHORT_FORM_MIN: usize = 4;
/// Fewest letters of a word that is the beginning or the end of a compound of the same meaning.
const COMPOUND_PART_MIN: usize = 5;
/// Fewest letters of the beginning that two compounds of one meaning have in common.
const COMPOUND_START_MIN: usize = 6;

/// Words and phrases with one meaning. Each line has the code of a language, the name of the meaning, which is the same in all
/// languages, and the words, separated by commas.
const SYNONYM_LINES: &str = include_str!("synonyms.txt");

/// A phrase that may be a topic.
struct TopicCandidate<'c> {
    phrase: &'c str,
    key: PhraseKey,
    count: &'c PhraseCount,
    weight: i64,
    /// What the reviews that are read again say of it, by their row.
    stances: BTreeMap<u32, Stance>,
    /// Reviews of its group with an opinion of its sign about it, the newest first.
    agreeing: Vec<Agreeing>,
    /// The words that these reviews often have near it.
    words: Vec<SharedWord>,
}

impl TopicCandidate<'_> {
    /// 0 if it is named in reviews of five stars, 1 if in those of at most three.
    fn group(&self) -> usize {
        usize::from(self.weight < 0)
    }

    fn polarity(&self) -> Polarity {
        if self.weight > 0 {
            Polarity::Positive
        } else {
            Polarity::Negative
        }
    }
}

/// A review with an opinion of the sign of a candidate about it.
#[derive(Clone)]
struct Agreeing {
    row: u32,
    clarity: u32,
    /// The words near the phrase.
    words: Vec<NearWord>,
}

/// Returns the strongest topics, praise first; `aspect_phrases` has the phrases that the aspects already list. `None` if
/// `cancelled`, which is called for each review that is read again.
pub(super) fn topics(
    dataset: &Dataset,
    known: &KnownLanguages,
    counts: &Counts,
    names: &[NameCandidate],
    aspect_phrases: &HashSet<&str>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<InsightsTopic>> {
    let name_words = known_names(dataset, counts, names);
    let mut candidates = candidates(dataset, counts, &name_words, aspect_phrases);
    let mut reader = StanceReader::new(dataset, known);
    read_reviews(&mut candidates, &mut reader, cancelled)?;
    let usual = UsualWords::of(candidates.iter().flat_map(stances));
    candidates.retain_mut(|candidate| judge(candidate, &usual, &name_words));
    let mut words = TextWords::default();
    let mut topics: [Vec<InsightsTopic>; 2] = Default::default();
    for candidate in strongest(&candidates) {
        words.read(candidate.phrase);
        let phrases = &known[&Some(candidate.key.lang)].phrases;
        let found = phrases.find(&mut words);
        let aspect = found.first().map(|found| usize::from(found.aspect));
        let shown = clearest(candidate);
        let reviews = shown.iter().map(|one| &dataset.reviews[one.row as usize]);
        let [five_stars, low_stars] = candidate.count.groups();
        topics[candidate.group()].push(InsightsTopic {
            phrase: candidate.phrase.to_owned(),
            label: label(candidate),
            polarity: candidate.polarity(),
            five_star_count: five_stars.into(),
            low_star_count: low_stars.into(),
            weight: candidate.weight.abs() as f64 / 100.0,
            aspect: aspect.map(|at| dataset.taxonomy.aspects[at].id.clone()),
            review_ids: reviews.map(|review| review.id.clone()).collect(),
        });
    }
    Some(topics.concat())
}

/// Returns the language of the candidate with each [`Stance`] of the reviews about it that were read.
fn stances<'c>(candidate: &'c TopicCandidate<'_>) -> impl Iterator<Item = (Lang, &'c Stance)> {
    let lang = candidate.key.lang;
    candidate.stances.values().map(move |stance| (lang, stance))
}

/// The phrase, and the words that its reviews often say of it: "puerta: embarque, cerrada".
fn label(candidate: &TopicCandidate<'_>) -> String {
    if candidate.words.is_empty() {
        return candidate.phrase.to_owned();
    }
    let words: Vec<&str> = candidate.words.iter().map(|word| &*word.text).collect();
    format!("{}: {}", candidate.phrase, words.join(", "))
}

/// The phrases that one of the groups of reviews names more often, the strongest first.
fn candidates<'c>(
    dataset: &Dataset,
    counts: &'c Counts,
    name_words: &HashSet<String>,
    aspect_phrases: &HashSet<&str>,
) -> Vec<TopicCandidate<'c>> {
    let mut totals = [0; 2];
    let with_text = dataset.reviews.iter().filter(|one| !one.text.is_empty());
    for group in with_text.filter_map(group) {
        totals[group] += 1;
    }
    let mut candidates: Vec<TopicCandidate<'_>> = Vec::new();
    for (key, count) in counts.phrases() {
        let phrase = count.phrase();
        let weight = weight(count.groups(), totals);
        if weight.abs() >= WEIGHT_MIN
            && is_frequent(count, weight, totals)
            && is_frequent_among_words(count, weight, counts.words())
            && !count.is_general()
            && !count.is_measure()
            && !aspect_phrases.contains(phrase)
            && counts.is_noun_phrase(count)
            && !phrase.split(' ').any(|word| name_words.contains(word))
            && !is_short_form(phrase, &dataset.business.name)
        {
            candidates.push(TopicCandidate {
                phrase,
                key,
                count,
                weight,
                stances: BTreeMap::new(),
                agreeing: Vec::new(),
                words: Vec::new(),
            });
        }
    }
    // Of phrases with equal weight the longer one is more specific.
    candidates.sort_by_key(|one| {
        let word_count = one.phrase.split(' ').count();
        let tie = (one.phrase, one.key.lang as u8);
        (Reverse(one.weight.abs()), Reverse(word_count), tie)
    });
    candidates.truncate(CANDIDATES_MAX);
    candidates
}

/// Whether enough reviews of the group of a topic with this weight use it, and not too many of all.
fn is_frequent(count: &PhraseCount, weight: i64, totals: [u32; 2]) -> bool {
    let group = usize::from(weight < 0);
    let all: u32 = totals.iter().sum();
    count.groups()[group] >= COUNT_MIN
        && count.groups()[group] * 100 >= totals[group] * PERCENT_MIN
        && count.reviews() * 100 <= all * PERCENT_MAX
}

/// Whether it has at least [`TIMES_MIN`] times the part of the `words` of its group that it has of those of the other group.
fn is_frequent_among_words(count: &PhraseCount, weight: i64, words: [u64; 2]) -> bool {
    let group = usize::from(weight < 0);
    let other = 1 - group;
    let uses = count.groups().map(u64::from);
    // Half a use is added, as nothing is known to be never used.
    2 * uses[group] * words[other] >= TIMES_MIN * (2 * uses[other] + 1) * words[group]
}

/// Reads the newest reviews that name the candidates, each once for all of them. `None` if `cancelled`, which is called for
/// each review.
fn read_reviews(
    candidates: &mut [TopicCandidate<'_>],
    reader: &mut StanceReader<'_>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<()> {
    // The indexes of the candidates that the review of each row names.
    let mut named: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        for group in 0..2 {
            for row in candidate.count.rows(group) {
                named.entry(*row).or_default().push(at);
            }
        }
    }
    for (row, of_row) in named {
        if cancelled() {
            return None;
        }
        // All of the language of the review.
        let phrases: Vec<PhraseKey> = of_row.iter().map(|at| candidates[*at].key).collect();
        let stances = reader.stances(row, &phrases);
        for (at, stance) in of_row.into_iter().zip(stances) {
            candidates[at].stances.insert(row, stance);
        }
    }
    Some(())
}

/// Whether enough of the reviews that were read have an opinion of its sign about the candidate.
fn judge(
    candidate: &mut TopicCandidate<'_>,
    usual: &UsualWords,
    name_words: &HashSet<String>,
) -> bool {
    let sign = candidate.polarity();
    // Opinions of its sign, and of the other, as many as all reviews that name it would have.
    let mut same = 0.0;
    let mut opposite = 0.0;
    for group in 0..2 {
        let rows = candidate.count.rows(group);
        // How many reviews one of those that are read stands for.
        let stands_for = f64::from(candidate.count.groups()[group]) / rows.len().max(1) as f64;
        for row in rows {
            let Some(stance) = candidate.stances.get(row) else {
                continue;
            };
            if stance.polarity == sign {
                same += stands_for;
            } else if stance.polarity != Polarity::Neutral {
                opposite += stands_for;
            }
            if stance.polarity == sign && group == candidate.group() {
                candidate.agreeing.push(Agreeing {
                    row: *row,
                    clarity: stance.clarity,
                    words: stance.words.clone(),
                });
            }
        }
    }
    let agreeing = candidate.agreeing.len() as u32;
    let read = candidate.count.rows(candidate.group()).len() as u32;
    if agreeing < AGREEING_MIN || agreeing * 3 < read * 2 {
        return false;
    }
    let [share_min, _] = interval(same.round() as u64, (same + opposite).round() as u64, 0.0);
    if share_min <= 0.5 {
        return false;
    }
    let said: Vec<&[NearWord]> = candidate.agreeing.iter().map(|one| &*one.words).collect();
    let own = UsualWords::of(stances(candidate));
    candidate.words = usual.shared(&own, candidate.key.lang, &said, sign, name_words);
    // "No reply" tells something by itself.
    candidate.count.has_negation() || !candidate.words.is_empty() || have_opinion(&said, sign)
}

/// The reviews that say most of the words of the label, and of these those whose opinion is clearest, the newest first; of
/// equal ones the newer are chosen.
fn clearest<'c>(candidate: &'c TopicCandidate<'_>) -> Vec<&'c Agreeing> {
    let mut shown: Vec<&Agreeing> = candidate.agreeing.iter().collect();
    shown.sort_by_key(|one| {
        let said = candidate.words.iter().filter(|word| word.is_in(&one.words));
        (Reverse(said.count()), Reverse(one.clarity), one.row)
    });
    shown.truncate(REVIEWS_SHOWN);
    shown.sort_by_key(|one| one.row);
    shown
}

/// Chooses the candidates that become topics, the strongest first. No two of them are about one subject. A longer phrase
/// takes the place of a shorter one that is seldom used without it.
fn strongest<'c>(candidates: &'c [TopicCandidate<'c>]) -> Vec<&'c TopicCandidate<'c>> {
    let mut chosen: Vec<&TopicCandidate<'_>> = Vec::new();
    for one in candidates {
        let of_sign = chosen.iter().filter(|other| other.group() == one.group());
        let is_full = of_sign.count() >= TOPICS_OF_SIGN_MAX;
        if is_full || chosen.len() == TOPICS_MAX || is_listed(one, &chosen) {
            continue;
        }
        let longer = candidates.iter().find(|other| {
            let is_longer = other.phrase.len() > one.phrase.len();
            let is_usual = one.count.reviews() * 10 <= other.count.reviews() * LONGER_TENTHS;
            let is_same_sign = other.group() == one.group();
            is_longer
                && is_usual
                && is_same_sign
                && has_common_word(other.phrase, one.phrase)
                // The longer phrase may be about the subject of another topic.
                && !is_listed(other, &chosen)
        });
        chosen.push(longer.unwrap_or(one));
    }
    chosen
}

/// Whether one of the `chosen` candidates is about the same subject.
fn is_listed(one: &TopicCandidate<'_>, chosen: &[&TopicCandidate<'_>]) -> bool {
    chosen.iter().any(|other| is_same_subject(one, other))
}

fn is_same_subject(one: &TopicCandidate<'_>, other: &TopicCandidate<'_>) -> bool {
    if has_common_word(one.phrase, other.phrase) || are_compounds(one.phrase, other.phrase) {
        return true;
    }
    let meanings = meanings(one);
    let others = self::meanings(other);
    meanings.iter().any(|meaning| others.contains(meaning)) || have_same_reviews(one, other)
}

/// Whether at least half of the agreeing reviews of the rarer candidate, and [`COMMON_MIN`], are also those of the other.
fn have_same_reviews(one: &TopicCandidate<'_>, other: &TopicCandidate<'_>) -> bool {
    let mut common = 0;
    for agreeing in &one.agreeing {
        let is_common = other.agreeing.iter().any(|same| same.row == agreeing.row);
        common += usize::from(is_common);
    }
    common >= COMMON_MIN && 2 * common >= one.agreeing.len().min(other.agreeing.len())
}

/// Whether the two phrases have a word in common.
fn has_common_word(one: &str, other: &str) -> bool {
    one.split(' ')
        .any(|word| other.split(' ').any(|same| same == word))
}

/// Whether the phrases are words of which one begins or ends with the other, as "T-Shirt" and "Shirt", or both begin with the
/// same half, as "Klantendienst" and "Klantenservice".
fn are_compounds(one: &str, other: &str) -> bool {
    if one.contains(' ') || other.contains(' ') {
        return false;
    }
    if is_edge(one, other) || is_edge(other, one) {
        return true;
    }
    let start = common_start(one, other);
    let letters = one.chars().count().max(other.chars().count());
    start >= COMPOUND_START_MIN && 2 * start >= letters
}

/// Whether `compound` begins or ends with `part`.
fn is_edge(part: &str, compound: &str) -> bool {
    let is_word = part.chars().count() >= COMPOUND_PART_MIN;
    is_word && (compound.starts_with(part) || compound.ends_with(part))
}

/// The number of letters with which both words begin.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(letter, same)| letter == same).count()
}

/// The meanings that `synonyms.txt` has for the phrase or one of its words.
fn meanings(candidate: &TopicCandidate<'_>) -> Vec<&'static str> {
    let code = candidate.key.lang.code();
    let words = candidate.phrase.split(' ').chain([candidate.phrase]);
    let mut meanings = Vec::new();
    for word in words {
        meanings.extend(SYNONYMS.get(&synonym_key(code, word)));
    }
    meanings
}

/// The meaning of each synonym, by its language and itself.
static SYNONYMS: LazyLock<KeyMap<u64, &str>> = LazyLock::new(|| {
    let mut synonyms = KeyMap::default();
    for line in SYNONYM_LINES.lines() {
        let (name, listed) = line.split_once(": ").unwrap_or_default();
        let (code, meaning) = name.split_once(' ').unwrap_or_default();
        for synonym in listed.split(", ") {
            synonyms.insert(synonym_key(code, synonym), meaning);
        }
    }
    synonyms
});

fn synonym_key(code: &str, synonym: &str) -> u64 {
    key(code) ^ key(synonym).rotate_left(1)
}

/// Returns words of names, in lower case: of people in the taxonomy, the business, its places, authors and candidates, and
/// words that are usually written like a name.
fn known_names(
    dataset: &Dataset,
    counts: &Counts,
    candidates: &[NameCandidate],
) -> HashSet<String> {
    let business = &dataset.business;
    let mut names = vec![
        &business.name,
        &business.address.locality,
        &business.address.region,
    ];
    names.extend(&business.service_areas);
    for place in &dataset.taxonomy.service_areas {
        names.extend(&place.phrases);
    }
    for person in &dataset.taxonomy.technicians {
        names.push(&person.name);
        names.extend(&person.aliases);
    }
    names.extend(dataset.reviews.iter().map(|review| &review.author));
    let mut words = HashSet::new();
    for name in names {
        for word in name.split(|character: char| !character.is_alphanumeric()) {
            if word.starts_with(char::is_uppercase) {
                words.insert(word.to_lowercase());
            }
        }
    }
    words.extend(candidates.iter().map(|one| one.name.to_lowercase()));
    for (_, count) in counts.phrases() {
        let phrase = count.phrase();
        if !phrase.contains(' ') && count.is_like_name() {
            words.insert(phrase.to_owned());
        }
    }
    words
}

/// Whether a word is short for a word of the name of the business, as "Clemi" for "Clementinenhaus": all its letters but the
/// last begin that word.
fn is_short_form(phrase: &str, name: &str) -> bool {
    let letters = phrase.chars().count();
    name.to_lowercase().split(' ').any(|word| {
        let common = common_start(phrase, word);
        common >= SHORT_FORM_MIN && common + 1 >= letters
    })
}

/// The signed root of the log-likelihood ratio (Dunning, 1993) of a phrase that `counts` of `totals` reviews use, in
/// hundredths of a standard error; valid also for a count of 0. Positive if the first group uses it more.
fn weight(counts: [u32; 2], totals: [u32; 2]) -> i64 {
    let counts = counts.map(f64::from);
    let totals = totals.map(f64::from);
    let uses = counts[0] + counts[1];
    let share = uses / (totals[0] + totals[1]);
    let mut ratio = 0.0;
    for (count, total) in counts.into_iter().zip(totals) {
        ratio += count * log_ratio(count, total * share);
        ratio += (total - count) * log_ratio(total - count, total * (1.0 - share));
    }
    let sign = if counts[0] * totals[1] >= counts[1] * totals[0] {
        1.0
    } else {
        -1.0
    };
    // Rounded before any comparison, so that rounding errors of the logarithm have no effect.
    (sign * (2.0 * ratio).max(0.0).sqrt() * 100.0).round() as i64
}

fn log_ratio(count: f64, expected: f64) -> f64 {
    if count > 0.0 {
        (count / expected).ln()
    } else {
        0.0
    }
}
