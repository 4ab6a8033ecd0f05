//! Things that customers name again and again in reviews of five stars, or in those of at most three: "parking", "main
//! course", "no reply".
//!
//! Candidates are one to three consecutive content words, that is no function words, opinions, idioms or names, and a
//! single one after "no" ("no response"). Without its opinions, a phrase is the same in "great location" and "perfect
//! location". The inflections of a phrase are one phrase, which is shown in its most frequent spelling.
//!
//! There is no part-of-speech tagger: the free uses of a phrase tell whether it is a noun phrase. A use is free if the
//! phrase is a whole run of content words, and the words around it do not suggest a verb or an adverb. A free use looks
//! like a noun phrase if a determiner precedes it, with nothing but opinions and the like between ("the rude waiter"); in
//! German its last word must be capitalized, too. Enough of the free uses have to look so. The head of a phrase must not
//! be a word that rarely looks like a noun ("the car looked").
//!
//! A phrase is no topic if it says nothing by itself:
//!
//! - a word of every trade ("problem", `general.txt`);
//! - a word that many reviews of this business use, as "car" in those of a garage;
//! - a phrase that an aspect lists as its own.
//!
//! The weight says how improbable the difference between the two groups of reviews is by chance. We list fewer topics
//! rather than any that chance explains.
//!
//! The stars of a review are not what it says of each subject, so the sentences have to agree: a phrase of bad reviews
//! whose sentences are favorable is no topic.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use whatlang::Lang;

use super::aspect::Phrases;
use super::keys::{KeyMap, key};
use super::language::WordList;
use super::text::{Item, TextWords};
use crate::model::insights::{InsightsTopic, NameCandidate, Polarity};
use crate::model::{Dataset, Review};

/// Fewest reviews of the group of a topic that use it.
const COUNT_MIN: u32 = 5;
/// The least part of the group, in hundredths.
const PERCENT_MIN: u32 = 1;
/// Most reviews of both groups that use a topic, in hundredths: a phrase in more reviews describes the business itself.
const PERCENT_MAX: u32 = 20;
/// Least weight: 2.33 standard errors. About 1 in 50 phrases that both groups use equally passes by chance, and fewer
/// become topics, as the sentences must agree, too.
const WEIGHT_MIN: i64 = 233;
/// Most free uses of a single word for each one that looks like a noun phrase: at least a third must.
const FREE_PER_NOUN_SINGLE: u32 = 3;
/// The same for a phrase of several words: at least a quarter.
const FREE_PER_NOUN_PHRASE: u32 = 4;
/// The same for the head of a phrase, as a word of its own: at least a fifth.
const FREE_PER_NOUN_HEAD: u32 = 5;
/// A head with fewer free uses of its own passes without such a test.
const HEAD_USES_MIN: u32 = 3;
/// Languages whose noun phrases begin with their head ("carte bancaire").
const HEAD_FIRST: [Lang; 4] = [Lang::Fra, Lang::Spa, Lang::Ita, Lang::Por];
/// Most topics.
const TOPICS_MAX: usize = 10;
/// Most topics of praise, and most of complaint.
const TOPICS_OF_SIGN_MAX: usize = 7;
/// A longer phrase replaces a shorter one that shares a word with it, if the shorter one has at most 1.7 times its reviews.
const LONGER_TENTHS: u32 = 17;
/// Most reviews that a topic links to.
const REVIEWS_SHOWN: usize = 5;
/// Most bytes of a word of a phrase; a longer one ends the phrase.
const WORD_BYTES_MAX: usize = 40;
/// Most spellings of a phrase that are counted.
const SPELLINGS_MAX: usize = 6;
/// The least evidence for praise or complaint of a sentence that counts, in units of 1/64.
const TILT_MIN: i32 = 16;

/// The roles of words: see [`TopicRole`].
const ROLE_LINES: &str = include_str!("general.txt");

/// The uses of a phrase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PhraseCount {
    #[serde(with = "super::language::code")]
    lang: Lang,
    /// How it is written, in lower case: "main course", "main courses".
    spellings: Vec<PhraseSpelling>,
    /// Reviews of five stars, and of at most three.
    groups: [u32; 2],
    /// Uses that are part of a longer run of content words.
    parts: u32,
    /// Free uses: see the module.
    free: u32,
    /// Free uses that look like a noun phrase.
    nouns: u32,
    /// The hash of its head as a phrase of its own.
    head: u64,
    /// Whether it is a single general word, alone or after "no".
    is_general: bool,
    /// Sentences whose words are favorable.
    favorable: u32,
    /// Sentences whose words are critical.
    critical: u32,
    /// Uses after the first word of a sentence.
    within: u32,
    /// How many of these are capitalized.
    capitals: u32,
    /// Rows of the newest reviews that use it.
    rows: Vec<u32>,
    /// The last row counted.
    last: Option<u32>,
}

/// A spelling of a phrase, and how often it is used.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PhraseSpelling {
    text: String,
    hash: u64,
    uses: u32,
}

impl PhraseCount {
    fn new(lang: Lang) -> PhraseCount {
        PhraseCount {
            lang,
            spellings: Vec::new(),
            groups: [0; 2],
            parts: 0,
            free: 0,
            nouns: 0,
            head: 0,
            is_general: false,
            favorable: 0,
            critical: 0,
            within: 0,
            capitals: 0,
            rows: Vec::new(),
            last: None,
        }
    }

    /// Adds the count of other rows.
    fn add(&mut self, later: PhraseCount) {
        for group in 0..2 {
            self.groups[group] += later.groups[group];
        }
        self.parts += later.parts;
        self.free += later.free;
        self.nouns += later.nouns;
        self.is_general |= later.is_general;
        self.favorable += later.favorable;
        self.critical += later.critical;
        self.within += later.within;
        self.capitals += later.capitals;
        self.rows.extend(later.rows);
        self.rows.sort_unstable();
        self.rows.truncate(REVIEWS_SHOWN);
        for spelling in later.spellings {
            self.add_spelling(spelling.hash, spelling.uses, || spelling.text);
        }
    }

    fn add_spelling(&mut self, hash: u64, uses: u32, text: impl FnOnce() -> String) {
        let mut spellings = self.spellings.iter_mut();
        if let Some(known) = spellings.find(|spelling| spelling.hash == hash) {
            known.uses += uses;
        } else if self.spellings.len() < SPELLINGS_MAX {
            let text = text();
            // Most phrases have one spelling.
            self.spellings.reserve_exact(1);
            self.spellings.push(PhraseSpelling { text, hash, uses });
        }
    }

    /// The most frequent spelling; of equally frequent ones the first.
    fn phrase(&self) -> &str {
        let mut best: Option<&PhraseSpelling> = None;
        for spelling in &self.spellings {
            if best.is_none_or(|known| spelling.uses > known.uses) {
                best = Some(spelling);
            }
        }
        best.map_or("", |spelling| &spelling.text)
    }

    fn reviews(&self) -> u32 {
        self.groups.iter().sum()
    }

    /// Whether the sentences agree with the stars; sentences without evidence neither agree nor disagree.
    fn agrees(&self, weight: i64) -> bool {
        let (same, other) = if weight > 0 {
            (self.favorable, self.critical)
        } else {
            (self.critical, self.favorable)
        };
        same > other || (same == 0 && other == 0)
    }
}

/// Counts of phrases, by the hash of their language and the stems of their words.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    by_phrase: KeyMap<u64, PhraseCount>,
}

impl Counts {
    /// Adds the counts of a part, whose reviews have these `rows`.
    pub(super) fn add(&mut self, part: Counts, rows: &[u32]) {
        for (phrase, mut count) in part.by_phrase {
            for number in &mut count.rows {
                *number = rows[*number as usize];
            }
            match self.by_phrase.get_mut(&phrase) {
                Some(known) => known.add(count),
                None => {
                    self.by_phrase.insert(phrase, count);
                }
            }
        }
    }

    /// Drops the phrases that only one review uses, to bound memory.
    pub(super) fn retain_frequent(&mut self) {
        self.by_phrase.retain(|_, count| count.reviews() >= 2);
    }

    /// Counts the phrases of a sentence of the review of `row`; `tilt` is positive if the words of the sentence are
    /// favorable, negative if they are critical.
    pub(super) fn count(
        &mut self,
        row: u32,
        review: &Review,
        lang: Lang,
        words: &TextWords,
        tilt: i32,
    ) {
        let Some(group) = group(review) else {
            return;
        };
        let items = &words.items;
        let function_words = WordList::named(lang.code());
        let determiners = TopicRole::named(lang.code());
        let pronouns = TopicRole::named(&format!("{}-pronoun", lang.code()));
        let is_head_first = HEAD_FIRST.contains(&lang);
        let mut kinds = Vec::with_capacity(items.len());
        for item in items {
            kinds.push(kind(words, item, function_words));
        }
        for last in 0..items.len() {
            if !kinds[last].is_content() {
                continue;
            }
            // No content word follows: "course" in "main course was".
            let is_end = !kinds.get(last + 1).is_some_and(|kind| kind.is_content());
            // Of stems, so that all inflections are one phrase.
            let mut phrase_hash = key(lang.code());
            // Of the words as they are written.
            let mut spelling_hash = 0;
            for first in (last.saturating_sub(2)..=last).rev() {
                if !kinds[first].is_content() {
                    break;
                }
                phrase_hash = mixed(phrase_hash, items[first].form);
                spelling_hash = mixed(spelling_hash, items[first].key);
                // No content word precedes: "main" in "the main course".
                let is_start = first == 0 || !kinds[first - 1].is_content();
                // "Course" in "the main course".
                let is_part = !(is_start && is_end);
                // "Joindre" in "les joindre", "works" in "that works".
                let follows_pronoun = first > 0 && pronouns.has(items[first - 1].key);
                // "Surprisingly" in "a surprisingly good".
                let precedes_opinion = kinds.get(last + 1) == Some(&WordKind::Describing);
                let is_ambiguous = follows_pronoun || (precedes_opinion && !is_head_first);
                let is_free = !is_part && !is_ambiguous;
                // "Waiter" in "the rude waiter".
                let is_noun = is_free
                    && (lang != Lang::Deu || items[last].is_capital)
                    && is_determined(items, &kinds, first, determiners);
                // "Course" in "main course", "carte" in "carte bancaire".
                let head = if is_head_first { first } else { last };
                let mut phrase = PhraseUse {
                    words,
                    first,
                    last,
                    phrase_hash,
                    spelling_hash,
                    is_part,
                    is_free,
                    is_noun,
                    head: mixed(key(lang.code()), items[head].form),
                    is_general: first == last && kinds[first] == WordKind::General,
                };
                if first == last && first > 0 {
                    let before = items[first - 1].key;
                    // Only the language's own words for "no" are among its determiners.
                    if TopicRole::NEGATION.has(before) && determiners.has(before) {
                        phrase.include_negation();
                    }
                }
                let count = self.by_phrase.entry(phrase.phrase_hash);
                let count = count.or_insert_with(|| PhraseCount::new(lang));
                phrase.add_to(count, row, group, tilt);
            }
        }
    }

    /// Whether the words of a phrase are used as a noun phrase is.
    fn is_noun_phrase(&self, count: &PhraseCount, is_single: bool) -> bool {
        if count.nouns == 0 {
            return false;
        }
        if is_single {
            // Most often a part of others: "main" of "main course".
            let is_usually_part = count.free < count.parts;
            return !is_usually_part && count.free <= count.nouns * FREE_PER_NOUN_SINGLE;
        }
        let head = self.by_phrase.get(&count.head);
        let is_head_noun = head.is_none_or(|head| {
            head.free < HEAD_USES_MIN || head.free <= head.nouns * FREE_PER_NOUN_HEAD
        });
        is_head_noun && count.free <= count.nouns * FREE_PER_NOUN_PHRASE
    }
}

/// A phrase in a sentence; the fields with the names of those of [`PhraseCount`] say how this use counts there.
struct PhraseUse<'w> {
    words: &'w TextWords,
    /// Index of its first word in the sentence.
    first: usize,
    /// Index of its last word.
    last: usize,
    /// Hash of its language and the stems of its words.
    phrase_hash: u64,
    /// Hash of its words as they are written.
    spelling_hash: u64,
    is_part: bool,
    is_free: bool,
    is_noun: bool,
    head: u64,
    is_general: bool,
}

impl PhraseUse<'_> {
    /// Makes the word "no" before it its first word, as in "no reply": such a phrase needs no other determiner.
    fn include_negation(&mut self) {
        self.first -= 1;
        let negation = self.words.items[self.first].key;
        self.phrase_hash = mixed(self.phrase_hash, negation);
        self.spelling_hash = mixed(self.spelling_hash, negation);
        self.is_noun = self.is_free;
    }

    /// Adds the use to the `count` of its phrase.
    fn add_to(&self, count: &mut PhraseCount, row: u32, group: usize, tilt: i32) {
        let first = &self.words.items[self.first];
        count.head = self.head;
        count.is_general |= self.is_general;
        count.parts += u32::from(self.is_part);
        count.free += u32::from(self.is_free);
        count.nouns += u32::from(self.is_noun);
        count.favorable += u32::from(tilt >= TILT_MIN);
        count.critical += u32::from(tilt <= -TILT_MIN);
        count.within += u32::from(self.first > 0);
        count.capitals += u32::from(self.first > 0 && first.is_capital);
        count.add_spelling(self.spelling_hash, 1, || self.text());
        if count.last == Some(row) {
            return;
        }
        count.last = Some(row);
        count.groups[group] += 1;
        if count.rows.len() < REVIEWS_SHOWN {
            count.rows.push(row);
        }
    }

    /// The phrase in lower case.
    fn text(&self) -> String {
        let items = self.words.items[self.first..=self.last].iter();
        let words = items.map(|item| self.words.lower(item).trim_end_matches("'s"));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// What a word is for a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    Content,
    /// A word of every trade: part of a phrase, but no topic by itself.
    General,
    /// An opinion or the like: no part of a phrase, and may stand between a determiner and a noun.
    Describing,
    Other,
}

impl WordKind {
    fn is_content(self) -> bool {
        matches!(self, WordKind::Content | WordKind::General)
    }
}

fn kind(words: &TextWords, item: &Item, function_words: WordList) -> WordKind {
    let lower = words.lower(item);
    let is_word = item.is_word && (3..=WORD_BYTES_MAX).contains(&lower.len());
    let has_digit = lower.contains(|letter: char| letter.is_ascii_digit());
    if !is_word || has_digit || item.is_idiom || function_words.has(item.key) {
        return WordKind::Other;
    }
    let is_opinion = item.entry.valence.is_some_and(|valence| valence != 0);
    if is_opinion || TopicRole::DESCRIBING.has(item.key) {
        return WordKind::Describing;
    }
    if TopicRole::GENERAL.has(item.key) {
        return WordKind::General;
    }
    WordKind::Content
}

/// Whether a determiner precedes the phrase at `first`, directly or with up to two opinions and the like between.
fn is_determined(items: &[Item], kinds: &[WordKind], first: usize, determiners: TopicRole) -> bool {
    let start = first.saturating_sub(3);
    for at in (start..first).rev() {
        if determiners.has(items[at].key) {
            return true;
        }
        if kinds[at] != WordKind::Describing {
            return false;
        }
    }
    false
}

/// A role of words, as the bit of its line in `general.txt`. A line has the name of a role, then the words that have it:
///
/// - `none`: the word "no" before a noun, as in "no reply";
/// - `describing`: adjectives;
/// - `general`: nouns of every trade;
/// - the code of a language, such as `eng`: words that stand before its nouns;
/// - the same with `-pronoun`: those of them that may also stand before a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TopicRole(u16);

impl TopicRole {
    /// The word "no", on the line `none`.
    const NEGATION: TopicRole = TopicRole(1);
    const DESCRIBING: TopicRole = TopicRole(2);
    const GENERAL: TopicRole = TopicRole(4);

    /// The role of this name; if the file has no such line, a role that no word has.
    fn named(name: &str) -> TopicRole {
        let line = ROLE_LINES.lines().position(|line| role_name(line) == name);
        TopicRole(line.map_or(0, |line| 1 << line))
    }

    fn has(self, key: u64) -> bool {
        ROLES.get(&key).is_some_and(|roles| roles & self.0 != 0)
    }
}

fn role_name(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// The roles of each word, a bit for each line of the file.
static ROLES: LazyLock<KeyMap<u64, u16>> = LazyLock::new(|| {
    let mut roles: KeyMap<u64, u16> = KeyMap::default();
    for (line, words) in ROLE_LINES.lines().enumerate() {
        for word in words.split(' ').skip(1) {
            *roles.entry(key(word)).or_default() |= 1 << line;
        }
    }
    roles
});

fn mixed(hash: u64, part: u64) -> u64 {
    (hash.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// 0 for reviews of five stars, 1 for those of at most three, `None` for those of four.
fn group(review: &Review) -> Option<usize> {
    match review.rating.stars() {
        5 => Some(0),
        4 => None,
        _ => Some(1),
    }
}

/// A phrase that may be a topic.
struct TopicCandidate<'c> {
    phrase: &'c str,
    count: &'c PhraseCount,
    weight: i64,
}

/// Returns the strongest topics, praise first; `listed` returns the taxonomy's phrases in a language, and
/// `aspect_phrases` has the phrases that the aspects already list.
pub(super) fn topics<'p>(
    dataset: &Dataset,
    counts: &Counts,
    names: &[NameCandidate],
    aspect_phrases: &HashSet<&str>,
    listed: impl Fn(Lang) -> &'p Phrases,
) -> Vec<InsightsTopic> {
    let mut totals = [0; 2];
    let with_text = dataset.reviews.iter().filter(|one| !one.text.is_empty());
    for group in with_text.filter_map(group) {
        totals[group] += 1;
    }
    let name_words = known_names(dataset, counts, names);
    let mut candidates: Vec<TopicCandidate<'_>> = Vec::new();
    for count in counts.by_phrase.values() {
        let phrase = count.phrase();
        let weight = weight(count.groups, totals);
        let is_single = !phrase.contains(' ');
        if weight.abs() >= WEIGHT_MIN
            && is_frequent(count, weight, totals)
            && !count.is_general
            && !aspect_phrases.contains(phrase)
            && counts.is_noun_phrase(count, is_single)
            && count.agrees(weight)
            && !phrase.split(' ').any(|word| name_words.contains(word))
        {
            candidates.push(TopicCandidate {
                phrase,
                count,
                weight,
            });
        }
    }
    // Of phrases with equal weight the longer one is more specific.
    candidates.sort_by_key(|one| {
        let word_count = one.phrase.split(' ').count();
        let tie = (one.phrase, one.count.lang as u8);
        (Reverse(one.weight.abs()), Reverse(word_count), tie)
    });
    let mut words = TextWords::default();
    let mut topics: [Vec<InsightsTopic>; 2] = Default::default();
    for candidate in strongest(&candidates) {
        let TopicCandidate {
            phrase,
            count,
            weight,
        } = *candidate;
        words.read(phrase);
        let found = listed(count.lang).find(&mut words);
        let aspect = found.first().map(|found| usize::from(found.aspect));
        let reviews = count.rows.iter().map(|row| &dataset.reviews[*row as usize]);
        topics[usize::from(weight < 0)].push(InsightsTopic {
            phrase: phrase.to_owned(),
            polarity: polarity_of(weight),
            five_star_count: count.groups[0].into(),
            low_star_count: count.groups[1].into(),
            weight: weight.abs() as f64 / 100.0,
            aspect: aspect.map(|at| dataset.taxonomy.aspects[at].id.clone()),
            review_ids: reviews.map(|review| review.id.clone()).collect(),
        });
    }
    topics.concat()
}

/// Whether enough reviews of the group of a topic with this weight use it, and not too many of all.
fn is_frequent(count: &PhraseCount, weight: i64, totals: [u32; 2]) -> bool {
    let group = usize::from(weight < 0);
    let all: u32 = totals.iter().sum();
    count.groups[group] >= COUNT_MIN
        && count.groups[group] * 100 >= totals[group] * PERCENT_MIN
        && count.reviews() * 100 <= all * PERCENT_MAX
}

fn polarity_of(weight: i64) -> Polarity {
    if weight > 0 {
        Polarity::Positive
    } else {
        Polarity::Negative
    }
}

/// Chooses the candidates that become topics, the strongest first. No two of them have a word in common. A longer phrase
/// takes the place of a shorter one that is seldom used without it.
fn strongest<'c>(candidates: &'c [TopicCandidate<'c>]) -> Vec<&'c TopicCandidate<'c>> {
    let mut chosen: Vec<&TopicCandidate<'_>> = Vec::new();
    for one in candidates {
        let is_new = !chosen
            .iter()
            .any(|other| overlaps(other.phrase, one.phrase));
        let of_sign = chosen
            .iter()
            .filter(|other| (other.weight > 0) == (one.weight > 0));
        let is_full = of_sign.count() >= TOPICS_OF_SIGN_MAX;
        if !is_new || is_full || chosen.len() == TOPICS_MAX {
            continue;
        }
        let longer = candidates.iter().find(|other| {
            let is_longer = other.phrase.len() > one.phrase.len();
            let is_usual = one.count.reviews() * 10 <= other.count.reviews() * LONGER_TENTHS;
            let is_same_sign = (other.weight > 0) == (one.weight > 0);
            is_longer && is_usual && is_same_sign && overlaps(other.phrase, one.phrase)
        });
        let best = longer.unwrap_or(one);
        // The longer phrase may have a word of another topic.
        if !chosen
            .iter()
            .any(|other| overlaps(other.phrase, best.phrase))
        {
            chosen.push(best);
        }
    }
    chosen
}

/// Returns words of names, in lower case: of people in the taxonomy, the business, authors and candidates. Words that
/// mostly have a capital letter within sentences count as names, too, except in German, where every noun has one.
fn known_names(
    dataset: &Dataset,
    counts: &Counts,
    candidates: &[NameCandidate],
) -> HashSet<String> {
    let mut names = vec![&dataset.business.name];
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
    for count in counts.by_phrase.values() {
        let is_capital = count.within > 0 && count.capitals * 10 >= count.within * 6;
        let phrase = count.phrase();
        if is_capital && count.lang != Lang::Deu && !phrase.contains(' ') {
            words.insert(phrase.to_owned());
        }
    }
    words
}

/// Whether the two phrases have a word in common.
fn overlaps(one: &str, other: &str) -> bool {
    one.split(' ')
        .any(|word| other.split(' ').any(|same| same == word))
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
