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

use super::IsCancelled;
use super::keys::{KeyMap, key};
use super::known::KnownLanguages;
use super::stance::{Stance, StanceReader};
use super::star_group::{ByGroup, StarGroup};
use super::text::TextWords;
use super::topic_phrases::{Counts, NearWord, PhraseCount, PhraseKey};
use super::topic_words::{SharedWord, UsualWords, have_opinion};
use super::totals::sampling_interval;
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
const WEIGHT_MIN: u64 = 233;
/// How many times as often the words of a group must name a topic as those of the other.
const TIMES_MIN: u64 = 2;
/// Most candidates of which reviews are read again.
const CANDIDATES_MAX: usize = 100;
/// Fewest reviews of its group with an opinion of the sign of the topic.
const AGREEING_MIN: usize = 3;
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

/// A phrase that one of the groups of reviews names more often.
struct TopicCandidate<'c> {
    phrase: &'c str,
    key: PhraseKey,
    count: &'c PhraseCount,
    /// The group that names it more often.
    group: StarGroup,
    /// How sure this is, in hundredths of a standard error.
    weight: u64,
    /// What the reviews that are read again say of it, by their row.
    stances: BTreeMap<u32, Stance>,
}

/// A candidate about which its reviews agree: it may be a topic.
struct AgreedCandidate<'c> {
    candidate: &'c TopicCandidate<'c>,
    /// The reviews that agree, the newest first.
    agreeing: Vec<Agreeing<'c>>,
    /// The words that these reviews often have near it.
    words: Vec<SharedWord>,
}

/// A review of the group of a candidate with an opinion of its sign about it.
struct Agreeing<'c> {
    row: u32,
    stance: &'c Stance,
}

/// Returns the strongest topics, praise first; `aspect_phrases` has the phrases that the aspects already list. `None` if
/// `cancelled`, which is called for each review that is read again.
pub(super) fn topics(
    dataset: &Dataset,
    known: &KnownLanguages,
    counts: &Counts,
    names: &[NameCandidate],
    aspect_phrases: &HashSet<&str>,
    cancelled: IsCancelled<'_>,
) -> Option<Vec<InsightsTopic>> {
    let name_words = known_names(dataset, counts, names);
    let mut candidates = candidates(dataset, counts, &name_words, aspect_phrases);
    let mut reader = StanceReader::new(dataset, known);
    read_reviews(&mut candidates, &mut reader, cancelled)?;
    let usual = UsualWords::of(candidates.iter().flat_map(stances));
    let mut agreed = Vec::new();
    for candidate in &candidates {
        agreed.extend(agreed_candidate(candidate, &usual, &name_words));
    }
    let mut words = TextWords::default();
    let mut topics: ByGroup<Vec<InsightsTopic>> = ByGroup::default();
    for chosen in strongest(&agreed) {
        let group = chosen.candidate.group;
        topics[group].push(topic(chosen, dataset, known, &mut words));
    }
    Some([topics.five, topics.low].concat())
}

/// The topic that is published for a candidate; `words` is a buffer.
fn topic(
    chosen: &AgreedCandidate<'_>,
    dataset: &Dataset,
    known: &KnownLanguages,
    words: &mut TextWords,
) -> InsightsTopic {
    let candidate = chosen.candidate;
    words.read(candidate.phrase);
    let aspect_phrases = &known[&Some(candidate.key.lang)].phrases;
    let found = aspect_phrases.find(words);
    let aspect = found.first().map(|first| usize::from(first.aspect));
    let reviews = candidate.count.reviews_by_group();
    let mut review_ids = Vec::new();
    for row in rows_shown(chosen) {
        review_ids.push(dataset.reviews[row as usize].id.clone());
    }
    InsightsTopic {
        phrase: candidate.phrase.to_owned(),
        label: label(chosen),
        polarity: candidate.group.polarity(),
        five_star_count: reviews.five.into(),
        low_star_count: reviews.low.into(),
        weight: candidate.weight as f64 / 100.0,
        aspect: aspect.map(|at| dataset.taxonomy.aspects[at].id.clone()),
        review_ids,
    }
}

/// Returns the language of the candidate with each [`Stance`] of the reviews about it that were read.
fn stances<'c>(candidate: &'c TopicCandidate<'_>) -> impl Iterator<Item = (Lang, &'c Stance)> {
    let lang = candidate.key.lang;
    candidate.stances.values().map(move |stance| (lang, stance))
}

/// The phrase, and the words that its reviews often say of it: "puerta: embarque, cerrada".
fn label(chosen: &AgreedCandidate<'_>) -> String {
    let phrase = chosen.candidate.phrase;
    if chosen.words.is_empty() {
        return phrase.to_owned();
    }
    let words: Vec<&str> = chosen.words.iter().map(|word| &*word.text).collect();
    format!("{phrase}: {}", words.join(", "))
}

/// The phrases that one of the groups of reviews names more often, the strongest first.
fn candidates<'c>(
    dataset: &Dataset,
    counts: &'c Counts,
    name_words: &HashSet<String>,
    aspect_phrases: &HashSet<&str>,
) -> Vec<TopicCandidate<'c>> {
    let totals = reviews_with_text(dataset);
    let mut candidates: Vec<TopicCandidate<'_>> = Vec::new();
    for (key, count) in counts.phrases() {
        let phrase = count.phrase();
        let signed_weight = signed_weight(count.reviews_by_group(), totals);
        let group = if signed_weight < 0 {
            StarGroup::Low
        } else {
            StarGroup::Five
        };
        let weight = signed_weight.unsigned_abs();
        if weight >= WEIGHT_MIN
            && is_frequent(count, group, totals)
            && is_frequent_among_words(count, group, counts.words())
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
                group,
                weight,
                stances: BTreeMap::new(),
            });
        }
    }
    // Of phrases with equal weight the longer one is more specific.
    candidates.sort_by_key(|candidate| {
        let phrase = candidate.phrase;
        let word_count = phrase.split(' ').count();
        let tie = (phrase, candidate.key.lang as u8);
        (Reverse(candidate.weight), Reverse(word_count), tie)
    });
    candidates.truncate(CANDIDATES_MAX);
    candidates
}

/// The number of reviews with a text in each group.
fn reviews_with_text(dataset: &Dataset) -> ByGroup<u32> {
    let mut totals = ByGroup::default();
    for review in &dataset.reviews {
        if let Some(group) = StarGroup::of_review(review)
            && !review.text.is_empty()
        {
            totals[group] += 1;
        }
    }
    totals
}

/// Whether enough reviews of the group of a topic use it, and not too many of all.
fn is_frequent(count: &PhraseCount, group: StarGroup, totals: ByGroup<u32>) -> bool {
    let reviews = count.reviews_by_group()[group];
    reviews >= COUNT_MIN
        && reviews * 100 >= totals[group] * PERCENT_MIN
        && count.reviews() * 100 <= (totals.five + totals.low) * PERCENT_MAX
}

/// Whether it has at least [`TIMES_MIN`] times the part of the `words` of its group that it has of those of the other group.
fn is_frequent_among_words(count: &PhraseCount, group: StarGroup, words: ByGroup<u64>) -> bool {
    let other = group.other();
    let uses = u64::from(count.reviews_by_group()[group]);
    let other_uses = u64::from(count.reviews_by_group()[other]);
    // Half a use is added, as nothing is known to be never used.
    2 * uses * words[other] >= TIMES_MIN * (2 * other_uses + 1) * words[group]
}

/// Reads the newest reviews that name the candidates, each once for all of them. `None` if `cancelled`, which is called for
/// each review.
fn read_reviews(
    candidates: &mut [TopicCandidate<'_>],
    reader: &mut StanceReader<'_>,
    cancelled: IsCancelled<'_>,
) -> Option<()> {
    // The indexes of the candidates that the review of each row names.
    let mut named: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        for group in StarGroup::ALL {
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

/// The opinions of the reviews about a candidate.
struct TopicOpinions<'c> {
    /// The reviews of its group that have its sign, the newest first.
    agreeing: Vec<Agreeing<'c>>,
    /// Reviews of its group that were read.
    read: usize,
    /// How many of all reviews that name it would have its sign, if those that were not read have the same opinions.
    same_sign: f64,
    /// How many would have the other sign.
    other_sign: f64,
}

/// Returns the candidate with what its reviews say of it, if they agree, and if that tells something.
fn agreed_candidate<'c>(
    candidate: &'c TopicCandidate<'c>,
    usual: &UsualWords,
    name_words: &HashSet<String>,
) -> Option<AgreedCandidate<'c>> {
    let opinions = opinions(candidate);
    if !do_agree(&opinions) {
        return None;
    }
    let agreeing = opinions.agreeing;
    let mut said: Vec<&[NearWord]> = Vec::new();
    for review in &agreeing {
        said.push(&review.stance.words);
    }
    let polarity = candidate.group.polarity();
    let own = UsualWords::of(stances(candidate));
    let words = usual.shared(&own, candidate.key.lang, &said, polarity, name_words);
    // "No reply" tells something by itself.
    if words.is_empty() && !candidate.count.has_negation() && !have_opinion(&said, polarity) {
        return None;
    }
    Some(AgreedCandidate {
        candidate,
        agreeing,
        words,
    })
}

/// Collects the opinions of the reviews that were read.
fn opinions<'c>(candidate: &'c TopicCandidate<'c>) -> TopicOpinions<'c> {
    let polarity = candidate.group.polarity();
    let mut opinions = TopicOpinions {
        agreeing: Vec::new(),
        read: candidate.count.rows(candidate.group).len(),
        same_sign: 0.0,
        other_sign: 0.0,
    };
    for group in StarGroup::ALL {
        let rows = candidate.count.rows(group);
        let reviews = candidate.count.reviews_by_group()[group];
        // How many reviews one of those that are read stands for.
        let stands_for = f64::from(reviews) / rows.len().max(1) as f64;
        for row in rows {
            let Some(stance) = candidate.stances.get(row) else {
                continue;
            };
            if stance.polarity == Polarity::Neutral {
                continue;
            }
            if stance.polarity != polarity {
                opinions.other_sign += stands_for;
                continue;
            }
            opinions.same_sign += stands_for;
            if group == candidate.group {
                let row = *row;
                opinions.agreeing.push(Agreeing { row, stance });
            }
        }
    }
    opinions
}

/// Whether enough of the reviews of the group have the same opinion, and clearly more than half of all opinions are the same.
fn do_agree(opinions: &TopicOpinions<'_>) -> bool {
    let agreeing = opinions.agreeing.len();
    if agreeing < AGREEING_MIN || agreeing * 3 < opinions.read * 2 {
        return false;
    }
    let all = opinions.same_sign + opinions.other_sign;
    let [share_min, _] = sampling_interval(opinions.same_sign.round() as u64, all.round() as u64);
    share_min > 0.5
}

/// The rows of the reviews that a topic links to, the newest first: those that say most of the words of the label, and of
/// these those whose opinion is clearest; of equal ones the newer.
fn rows_shown(chosen: &AgreedCandidate<'_>) -> Vec<u32> {
    let mut reviews: Vec<&Agreeing<'_>> = chosen.agreeing.iter().collect();
    reviews.sort_by_key(|review| {
        let near = &review.stance.words;
        let said = chosen.words.iter().filter(|word| word.is_in(near));
        let clarity = review.stance.clarity;
        (Reverse(said.count()), Reverse(clarity), review.row)
    });
    reviews.truncate(REVIEWS_SHOWN);
    let mut rows: Vec<u32> = reviews.iter().map(|review| review.row).collect();
    rows.sort_unstable();
    rows
}

/// Chooses the candidates that become topics, the strongest first. No two of them are about one subject. A longer phrase
/// takes the place of a shorter one that is seldom used without it.
fn strongest<'c>(agreed: &'c [AgreedCandidate<'c>]) -> Vec<&'c AgreedCandidate<'c>> {
    let mut chosen: Vec<&AgreedCandidate<'_>> = Vec::new();
    for next in agreed {
        let group = next.candidate.group;
        let of_group = chosen.iter().filter(|known| known.candidate.group == group);
        let is_full = of_group.count() >= TOPICS_OF_SIGN_MAX;
        if is_full || chosen.len() == TOPICS_MAX || is_listed(next, &chosen) {
            continue;
        }
        // The longer phrase may be about the subject of another topic.
        let longer = agreed
            .iter()
            .find(|other| replaces(other.candidate, next.candidate) && !is_listed(other, &chosen));
        chosen.push(longer.unwrap_or(next));
    }
    chosen
}

/// Whether the phrase `longer` includes a word of `shorter`, which is seldom used without it.
fn replaces(longer: &TopicCandidate<'_>, shorter: &TopicCandidate<'_>) -> bool {
    longer.phrase.len() > shorter.phrase.len()
        && longer.group == shorter.group
        && shorter.count.reviews() * 10 <= longer.count.reviews() * LONGER_TENTHS
        && has_common_word(longer.phrase, shorter.phrase)
}

/// Whether one of the `chosen` candidates is about the same subject.
fn is_listed(agreed: &AgreedCandidate<'_>, chosen: &[&AgreedCandidate<'_>]) -> bool {
    chosen.iter().any(|listed| is_same_subject(agreed, listed))
}

fn is_same_subject(one: &AgreedCandidate<'_>, other: &AgreedCandidate<'_>) -> bool {
    let phrase = one.candidate.phrase;
    let other_phrase = other.candidate.phrase;
    has_common_word(phrase, other_phrase)
        || are_compounds(phrase, other_phrase)
        || have_common_meaning(one.candidate, other.candidate)
        || have_same_reviews(one, other)
}

/// Whether at least half of the agreeing reviews of the rarer candidate, and [`COMMON_MIN`], are also those of the other.
fn have_same_reviews(one: &AgreedCandidate<'_>, other: &AgreedCandidate<'_>) -> bool {
    let mut common = 0;
    for review in &one.agreeing {
        if other.agreeing.iter().any(|same| same.row == review.row) {
            common += 1;
        }
    }
    let fewer = one.agreeing.len().min(other.agreeing.len());
    common >= COMMON_MIN && 2 * common >= fewer
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
    let is_long = part.chars().count() >= COMPOUND_PART_MIN;
    is_long && (compound.starts_with(part) || compound.ends_with(part))
}

/// The number of letters with which both words begin.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(letter, same)| letter == same).count()
}

/// Whether `synonyms.txt` has one meaning for both phrases, or for words of them.
fn have_common_meaning(one: &TopicCandidate<'_>, other: &TopicCandidate<'_>) -> bool {
    let other_meanings = meanings(other);
    meanings(one)
        .iter()
        .any(|meaning| other_meanings.contains(meaning))
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
    words.extend(
        candidates
            .iter()
            .map(|candidate| candidate.name.to_lowercase()),
    );
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

/// The signed root of the log-likelihood ratio (Dunning, 1993) of a phrase that `reviews` of `totals` reviews use, in
/// hundredths of a standard error; valid also for a count of 0. Positive if the reviews of five stars use it more.
fn signed_weight(reviews: ByGroup<u32>, totals: ByGroup<u32>) -> i64 {
    let all_reviews = f64::from(reviews.five) + f64::from(reviews.low);
    let share = all_reviews / (f64::from(totals.five) + f64::from(totals.low));
    let mut ratio = 0.0;
    for group in StarGroup::ALL {
        let count = f64::from(reviews[group]);
        let total = f64::from(totals[group]);
        ratio += count * log_ratio(count, total * share);
        ratio += (total - count) * log_ratio(total - count, total * (1.0 - share));
    }
    let root = (2.0 * ratio).max(0.0).sqrt();
    // Rounded before any comparison, so that rounding errors of the logarithm have no effect.
    let weight = (root * 100.0).round() as i64;
    let five = u64::from(reviews.five) * u64::from(totals.low);
    let low = u64::from(reviews.low) * u64::from(totals.five);
    if five >= low { weight } else { -weight }
}

fn log_ratio(count: f64, expected: f64) -> f64 {
    if count > 0.0 {
        (count / expected).ln()
    } else {
        0.0
    }
}
