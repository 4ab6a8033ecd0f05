//! Counts the phrases that may become topics, as each review is read: one to three consecutive content words, that is no
//! function words, opinions or idioms, and a single one after "no" ("no response").
//!
//! Without its opinions, a phrase is the same in "great location" and "perfect location". The inflections of a phrase are one
//! phrase, which is shown in its most frequent spelling.
//!
//! There is no part-of-speech tagger: the free uses of a phrase tell whether it is a noun phrase. A use is free if the
//! phrase is a whole run of content words, and the words around it do not suggest a verb or an adverb. A free use looks
//! like a noun phrase if a determiner precedes it, with nothing but opinions and the like between ("the rude waiter"); in
//! German its last word must be capitalized, too. Enough of the free uses have to look so. The head of a phrase must not
//! be a word that rarely looks like a noun ("the car looked").

use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use whatlang::Lang;

use super::keys::{KeyMap, key, mix};
use super::language::WordList;
use super::star_group::{ByGroup, StarGroup};
use super::text::{Item, TextWords};
use crate::model::Review;

/// A word is a measure if at least one in so many of its uses follows a number.
const USES_PER_NUMBERED: u32 = 3;
/// A word is usually written in a way if at least so many of ten of its uses are.
const USUAL_TENTHS: u32 = 6;
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
/// Newest reviews of each group that are kept for a phrase: those that a candidate is judged by.
const ROWS_MAX: usize = 24;
/// Most bytes of a word of a phrase; a longer one ends the phrase.
const WORD_BYTES_MAX: usize = 40;
/// Most words of a phrase, without a "no" before it.
const WORDS_MAX: usize = 3;
/// Most words between a phrase and a word near it.
const NEAR_MAX: usize = 6;
/// Most spellings of a phrase that are counted.
const SPELLINGS_MAX: usize = 6;

/// The roles of words: see [`TopicRole`].
const ROLE_LINES: &str = include_str!("general.txt");

/// A phrase, in any inflection.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhraseKey {
    pub(super) lang: Lang,
    /// Hash of its language and the stems of its words.
    pub(super) hash: u64,
}

/// The uses of a phrase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PhraseCount {
    #[serde(with = "super::language::code")]
    lang: Lang,
    /// How it is written, in lower case: "main course", "main courses".
    spellings: Vec<PhraseSpelling>,
    /// Reviews of each group that use it.
    reviews: ByGroup<u32>,
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
    /// Whether it is a single word after "no".
    has_negation: bool,
    /// Uses after the first word of a sentence.
    within: u32,
    /// How many of these are capitalized.
    capitals: u32,
    /// Uses in capital letters only ("MHH").
    all_capitals: u32,
    /// Uses right after a number ("50 euros").
    numbered: u32,
    /// Rows of the newest reviews of each group that use it.
    rows: ByGroup<Vec<u32>>,
    /// The last row counted.
    last_row: Option<u32>,
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
            reviews: ByGroup::default(),
            parts: 0,
            free: 0,
            nouns: 0,
            head: 0,
            is_general: false,
            has_negation: false,
            within: 0,
            capitals: 0,
            all_capitals: 0,
            numbered: 0,
            rows: ByGroup::default(),
            last_row: None,
        }
    }

    /// Adds the count of other rows.
    fn add(&mut self, later: PhraseCount) {
        for group in StarGroup::ALL {
            self.reviews[group] += later.reviews[group];
            let rows = &mut self.rows[group];
            rows.extend(&later.rows[group]);
            rows.sort_unstable();
            rows.truncate(ROWS_MAX);
        }
        self.parts += later.parts;
        self.free += later.free;
        self.nouns += later.nouns;
        self.is_general |= later.is_general;
        self.has_negation |= later.has_negation;
        self.within += later.within;
        self.capitals += later.capitals;
        self.all_capitals += later.all_capitals;
        self.numbered += later.numbered;
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

    /// Reviews of each group that use it.
    pub(super) fn reviews_by_group(&self) -> ByGroup<u32> {
        self.reviews
    }

    /// Reviews of both groups that use it.
    pub(super) fn reviews(&self) -> u32 {
        self.reviews.five + self.reviews.low
    }

    /// Rows of the newest reviews of a group that use it, ascending.
    pub(super) fn rows(&self, group: StarGroup) -> &[u32] {
        &self.rows[group]
    }

    /// Whether it is a single general word, alone or after "no".
    pub(super) fn is_general(&self) -> bool {
        self.is_general
    }

    /// Whether a third of its uses follow a number ("50 euros", "two hours").
    pub(super) fn is_measure(&self) -> bool {
        self.numbered * USES_PER_NUMBERED >= self.uses()
    }

    fn uses(&self) -> u32 {
        self.spellings.iter().map(|spelling| spelling.uses).sum()
    }

    /// Whether it is a single word after "no".
    pub(super) fn has_negation(&self) -> bool {
        self.has_negation
    }

    /// Whether it is usually written like a name: with a capital letter within sentences, but in German, where every noun
    /// has one; or in capital letters only, unless it is a usual abbreviation of a thing ("WLAN").
    pub(super) fn is_like_name(&self) -> bool {
        if TopicRole::ABBREVIATION.has(key(self.phrase())) {
            return false;
        }
        let is_acronym = is_usual(self.all_capitals, self.uses());
        let is_capital = self.within > 0 && is_usual(self.capitals, self.within);
        is_acronym || (is_capital && self.lang != Lang::Deu)
    }

    /// The most frequent spelling; of equally frequent ones the first.
    pub(super) fn phrase(&self) -> &str {
        let mut best: Option<&PhraseSpelling> = None;
        for spelling in &self.spellings {
            if best.is_none_or(|known| spelling.uses > known.uses) {
                best = Some(spelling);
            }
        }
        best.map_or("", |spelling| &spelling.text)
    }
}

/// Whether a word is usually written as it is in `some` of `all` uses.
fn is_usual(some: u32, all: u32) -> bool {
    some * 10 >= all * USUAL_TENTHS
}

/// Counts of phrases, by the hash of their language and the stems of their words.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    by_phrase: KeyMap<u64, PhraseCount>,
    /// The different words that a review uses, added up over the reviews of each group.
    words: ByGroup<u64>,
}

impl Counts {
    /// Adds the counts of a part, whose reviews have these `rows`.
    pub(super) fn add(&mut self, part: Counts, rows: &[u32]) {
        for group in StarGroup::ALL {
            self.words[group] += part.words[group];
        }
        for (phrase, mut count) in part.by_phrase {
            for group in StarGroup::ALL {
                for number in &mut count.rows[group] {
                    *number = rows[*number as usize];
                }
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

    /// Counts the phrases of a sentence of the review of `row`.
    pub(super) fn count(&mut self, row: u32, review: &Review, lang: Lang, words: &TextWords) {
        let Some(group) = StarGroup::of_review(review) else {
            return;
        };
        visit_uses(words, lang, |phrase| {
            let count = self.by_phrase.entry(phrase.hash);
            let count = count.or_insert_with(|| PhraseCount::new(lang));
            let is_new = phrase.add_to(count, row, group);
            if is_new && phrase.is_single_word() {
                self.words[group] += 1;
            }
        });
    }

    /// The phrases, in no order.
    pub(super) fn phrases(&self) -> impl Iterator<Item = (PhraseKey, &PhraseCount)> {
        let phrases = self.by_phrase.iter();
        phrases.map(|(hash, count)| {
            let key = PhraseKey {
                lang: count.lang,
                hash: *hash,
            };
            (key, count)
        })
    }

    /// The different words that a review uses, added up over the reviews of each group.
    pub(super) fn words(&self) -> ByGroup<u64> {
        self.words
    }

    /// Whether the words of a phrase are used as a noun phrase is.
    pub(super) fn is_noun_phrase(&self, count: &PhraseCount) -> bool {
        if count.nouns == 0 {
            return false;
        }
        if !count.phrase().contains(' ') {
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

/// Calls `visit` with each use of a phrase in a sentence.
pub(super) fn visit_uses<'w>(
    words: &'w TextWords,
    lang: Lang,
    mut visit: impl FnMut(PhraseUse<'w>),
) {
    let sentence = PhraseSentence::new(words, lang);
    for last_word in 0..words.items.len() {
        // Of stems, so that all inflections are one phrase.
        let mut hash = key(lang.code());
        // Of the words as they are written.
        let mut spelling_hash = 0;
        for first_word in (last_word.saturating_sub(WORDS_MAX - 1)..=last_word).rev() {
            if !sentence.kinds[first_word].is_content() {
                break;
            }
            let item = &words.items[first_word];
            hash = mix(hash, item.form);
            spelling_hash = mix(spelling_hash, item.key);
            visit(sentence.use_of(first_word, last_word, hash, spelling_hash));
        }
    }
}

/// A sentence whose phrases are counted.
struct PhraseSentence<'w> {
    words: &'w TextWords,
    lang: Lang,
    roles: LanguageRoles,
    /// Of each word.
    kinds: Vec<WordKind>,
}

impl<'w> PhraseSentence<'w> {
    fn new(words: &'w TextWords, lang: Lang) -> PhraseSentence<'w> {
        let function_words = WordList::named(lang.code());
        let roles = LanguageRoles::of(lang);
        let mut kinds = Vec::with_capacity(words.items.len());
        for item in &words.items {
            kinds.push(kind(words, item, function_words, roles));
        }
        PhraseSentence {
            words,
            lang,
            roles,
            kinds,
        }
    }

    /// The phrase from `first_word` to `last_word`, which are content words, as are those between. Its hash includes the
    /// language; both hashes are of its words from the last to the first.
    fn use_of(
        &self,
        first_word: usize,
        last_word: usize,
        hash: u64,
        spelling_hash: u64,
    ) -> PhraseUse<'w> {
        let items = &self.words.items;
        let before = self.kind_before(first_word);
        let after = self.kind_after(last_word);
        let is_single_word = first_word == last_word;
        // "Main" and "course" in "the main course".
        let is_part =
            before.is_some_and(WordKind::is_content) || after.is_some_and(WordKind::is_content);
        let is_free = !is_part && !self.is_ambiguous(first_word, last_word);
        let is_noun = is_free && self.looks_like_noun(first_word, last_word);
        // "Course" in "main course", "carte" in "carte bancaire".
        let head = if self.is_head_first() {
            first_word
        } else {
            last_word
        };
        let mut phrase = PhraseUse {
            words: self.words,
            first_word,
            last_word,
            hash,
            spelling_hash,
            is_part,
            is_free,
            is_noun,
            head: mix(key(self.lang.code()), items[head].form),
            is_general: is_single_word && self.kinds[first_word] == WordKind::General,
            has_negation: false,
            follows_number: before == Some(WordKind::Number),
        };
        // "Keinem" is not listed before nouns: "Teppich" is the topic, not "keinem Teppich".
        if is_single_word
            && let Some(negation) = phrase.negation(self.roles)
            && self.roles.determiners.has(negation.key)
        {
            phrase.include_negation();
        }
        phrase
    }

    /// The kind of the word before `at`; `None` at the beginning of the sentence.
    fn kind_before(&self, at: usize) -> Option<WordKind> {
        Some(self.kinds[at.checked_sub(1)?])
    }

    /// The kind of the word after `at`; `None` at the end of the sentence.
    fn kind_after(&self, at: usize) -> Option<WordKind> {
        self.kinds.get(at + 1).copied()
    }

    fn is_head_first(&self) -> bool {
        HEAD_FIRST.contains(&self.lang)
    }

    /// Whether the words around a phrase suggest that it is a verb or an adverb.
    fn is_ambiguous(&self, first_word: usize, last_word: usize) -> bool {
        let items = &self.words.items;
        // "Joindre" in "les joindre", "works" in "that works".
        if first_word > 0 && self.roles.pronouns.has(items[first_word - 1].key) {
            return true;
        }
        match self.kind_after(last_word) {
            // "Nearly" in "a nearly 2 hours late".
            Some(WordKind::Number) => true,
            // "Surprisingly" in "a surprisingly good".
            Some(WordKind::Describing) => !self.is_head_first(),
            _ => false,
        }
    }

    /// Whether a free use looks like a noun phrase: "waiter" in "the rude waiter".
    fn looks_like_noun(&self, first_word: usize, last_word: usize) -> bool {
        if self.lang == Lang::Deu && !self.words.items[last_word].is_capital {
            return false;
        }
        self.is_determined(first_word)
    }

    /// Whether a determiner precedes `first_word`, directly or with up to two opinions and the like between.
    fn is_determined(&self, first_word: usize) -> bool {
        let start = first_word.saturating_sub(3);
        for at in (start..first_word).rev() {
            if self.roles.determiners.has(self.words.items[at].key) {
                return true;
            }
            if self.kinds[at] != WordKind::Describing {
                return false;
            }
        }
        false
    }
}

/// A phrase in a sentence; the fields with the names of those of [`PhraseCount`] say how this use counts there.
pub(super) struct PhraseUse<'w> {
    words: &'w TextWords,
    /// Index of its first word in the sentence.
    first_word: usize,
    /// Index of its last word.
    last_word: usize,
    /// Hash of its language and the stems of its words.
    pub(super) hash: u64,
    /// Hash of its words as they are written.
    spelling_hash: u64,
    is_part: bool,
    is_free: bool,
    is_noun: bool,
    head: u64,
    is_general: bool,
    /// Whether its first word is the word "no" before its only other word.
    has_negation: bool,
    /// Whether a number precedes it.
    follows_number: bool,
}

impl PhraseUse<'_> {
    /// The word "no" before it in its clause, if there is one.
    fn negation(&self, roles: LanguageRoles) -> Option<&Item> {
        let items = &self.words.items;
        let before = &items[self.first_word.checked_sub(1)?];
        if before.clause != items[self.first_word].clause || !roles.negations.has(before.key) {
            return None;
        }
        Some(before)
    }

    fn is_single_word(&self) -> bool {
        self.first_word == self.last_word
    }

    /// Makes the word "no" before it its first word, as in "no reply": such a phrase needs no other determiner.
    fn include_negation(&mut self) {
        self.first_word -= 1;
        self.has_negation = true;
        let negation = self.words.items[self.first_word].key;
        self.hash = mix(self.hash, negation);
        self.spelling_hash = mix(self.spelling_hash, negation);
        self.is_noun = self.is_free;
    }

    /// The byte range of its last word in the sentence, and of those before it, but for a "no".
    pub(super) fn range(&self) -> Range<usize> {
        let items = &self.words.items;
        // Not by the words: a phrase may begin with a word that is "no" in another language.
        let first = self.first_word + usize::from(self.has_negation);
        items[first].start..items[self.last_word].end
    }

    /// Adds the use to the `count` of its phrase; whether it is the first in the review of `row`.
    fn add_to(&self, count: &mut PhraseCount, row: u32, group: StarGroup) -> bool {
        let first = &self.words.items[self.first_word];
        count.head = self.head;
        count.is_general |= self.is_general;
        count.has_negation |= self.has_negation;
        count.parts += u32::from(self.is_part);
        count.free += u32::from(self.is_free);
        count.nouns += u32::from(self.is_noun);
        count.within += u32::from(self.first_word > 0);
        count.capitals += u32::from(self.first_word > 0 && first.is_capital);
        count.all_capitals += u32::from(self.is_single_word() && first.is_all_capital);
        count.numbered += u32::from(self.follows_number);
        count.add_spelling(self.spelling_hash, 1, || self.text());
        if count.last_row == Some(row) {
            return false;
        }
        count.last_row = Some(row);
        count.reviews[group] += 1;
        let rows = &mut count.rows[group];
        if rows.len() < ROWS_MAX {
            rows.push(row);
        }
        true
    }

    /// The words near it in its clause that may tell what is said of it.
    pub(super) fn words_near(&self, lang: Lang) -> Vec<NearWord> {
        let items = &self.words.items;
        let function_words = WordList::named(lang.code());
        let roles = LanguageRoles::of(lang);
        let own = &items[self.first_word..=self.last_word];
        let clause = items[self.last_word].clause;
        let start = self.first_word.saturating_sub(NEAR_MAX);
        let end = self.last_word + 1 + NEAR_MAX;
        let mut near: Vec<NearWord> = Vec::new();
        for (at, item) in items.iter().enumerate().take(end).skip(start) {
            // A second use of one of its words tells nothing of it.
            let is_own = own.iter().any(|one| one.form == item.form);
            if is_own || item.clause != clause {
                continue;
            }
            let kind = kind(self.words, item, function_words, roles);
            if matches!(kind, WordKind::General | WordKind::Number | WordKind::Other) {
                continue;
            }
            let word = NearWord::new(self.words, at, roles);
            if near.iter().all(|known| known.form != word.form) {
                near.push(word);
            }
        }
        // "No" in "no parking garage".
        if let Some(negation) = self.negation(roles) {
            near.push(NearWord {
                form: negation.key,
                text: self.words.lower(negation).to_owned(),
                sign: -1,
            });
        }
        near
    }

    /// The phrase in lower case.
    fn text(&self) -> String {
        let items = self.words.items[self.first_word..=self.last_word].iter();
        let words = items.map(|item| self.words.lower(item).trim_end_matches("'s"));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A word near a phrase.
#[derive(Clone, Debug)]
pub(super) struct NearWord {
    /// Hash of its stem, another one if it is negated.
    pub(super) form: u64,
    /// In lower case, after its negation if it has one.
    pub(super) text: String,
    /// The sign of its valence, which a negation inverts; 0 if it is no opinion.
    pub(super) sign: i8,
}

impl NearWord {
    fn new(words: &TextWords, at: usize, roles: LanguageRoles) -> NearWord {
        let item = &words.items[at];
        let mut word = NearWord {
            form: item.form,
            text: words.lower(item).to_owned(),
            sign: item.entry.valence.unwrap_or(0).signum() as i8,
        };
        let mut before = words.items[..at].iter().rev();
        let negation = before.find(|one| one.negates());
        if let Some(negation) = negation
            && item.negated
            && !roles.plain.has(negation.key)
        {
            word.form = mix(word.form, 1);
            word.text = format!("{} {}", words.lower(negation), word.text);
            word.sign = -word.sign;
        }
        word
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
    /// A number, in digits or as a word: what follows it is a measure.
    Number,
    Other,
}

impl WordKind {
    fn is_content(self) -> bool {
        matches!(self, WordKind::Content | WordKind::General)
    }
}

fn kind(
    words: &TextWords,
    item: &Item,
    function_words: WordList,
    of_language: LanguageRoles,
) -> WordKind {
    let lower = words.lower(item);
    let roles = TopicRole::of(item.key);
    let has_digit_first = lower.starts_with(|character: char| character.is_ascii_digit());
    if has_digit_first || roles.has(of_language.numbers) {
        return WordKind::Number;
    }
    let is_word = item.is_word && (3..=WORD_BYTES_MAX).contains(&lower.len());
    let has_digit = lower.contains(|character: char| character.is_ascii_digit());
    if !is_word || has_digit || item.is_idiom || function_words.has(item.key) {
        return WordKind::Other;
    }
    let is_opinion = item.entry.valence.is_some_and(|valence| valence != 0);
    if is_opinion || roles.has(TopicRole::DESCRIBING) {
        return WordKind::Describing;
    }
    if roles.has(TopicRole::GENERAL) || roles.has(TopicRole::BUSINESS) {
        return WordKind::General;
    }
    WordKind::Content
}

/// A role of words, as the bit of its line in `general.txt`. A line has the name of a role, then the words that have it:
///
/// - `describing`: adjectives;
/// - `general`: nouns of every trade;
/// - `business`: kinds of business, which are general words, too;
/// - `abbreviation`: things that are written in capital letters;
/// - the code of a language, such as `eng`: words that stand before its nouns;
/// - the same with `-pronoun`: those of them that may also stand before a verb;
/// - with `-none`: the word "no" before a noun, as in "no reply";
/// - with `-number`: numbers, after which a word is a measure;
/// - with `-plain`: words that are no negation here but are one in another language. Portuguese "no" means "in the".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TopicRole(u64);

impl TopicRole {
    const DESCRIBING: TopicRole = TopicRole(1);
    const GENERAL: TopicRole = TopicRole(2);
    const BUSINESS: TopicRole = TopicRole(4);
    const ABBREVIATION: TopicRole = TopicRole(8);

    /// The role of this name; if the file has no such line, a role that no word has.
    fn named(name: &str) -> TopicRole {
        let line = ROLE_NAMES.iter().position(|listed| *listed == name);
        TopicRole(line.map_or(0, |line| 1 << line))
    }

    fn has(self, key: u64) -> bool {
        TopicRole::of(key).has(self)
    }

    /// All roles of a word.
    fn of(key: u64) -> TopicRoles {
        TopicRoles(ROLES.get(&key).copied().unwrap_or_default())
    }
}

/// The roles of a word, a bit for each line of the file.
#[derive(Clone, Copy, Debug)]
struct TopicRoles(u64);

impl TopicRoles {
    fn has(self, role: TopicRole) -> bool {
        self.0 & role.0 != 0
    }
}

/// The roles of words of one language: a word may have another role in another language, as Portuguese "dos" ("of the"),
/// which is Spanish for "two".
#[derive(Clone, Copy, Debug)]
struct LanguageRoles {
    determiners: TopicRole,
    pronouns: TopicRole,
    negations: TopicRole,
    numbers: TopicRole,
    plain: TopicRole,
}

impl LanguageRoles {
    fn of(lang: Lang) -> LanguageRoles {
        LANGUAGE_ROLES[lang as usize]
    }

    fn named(lang: Lang) -> LanguageRoles {
        let code = lang.code();
        let role = |name: &str| TopicRole::named(&format!("{code}-{name}"));
        LanguageRoles {
            determiners: TopicRole::named(code),
            pronouns: role("pronoun"),
            negations: role("none"),
            numbers: role("number"),
            plain: role("plain"),
        }
    }
}

/// The roles of each language. They are made once, as each sentence is read by them.
static LANGUAGE_ROLES: LazyLock<Vec<LanguageRoles>> = LazyLock::new(|| {
    let languages = Lang::all().iter();
    languages.map(|lang| LanguageRoles::named(*lang)).collect()
});

/// The name of each line of the file.
static ROLE_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let names = ROLE_LINES.lines().filter_map(|line| line.split(' ').next());
    names.collect()
});

/// The roles of each word, a bit for each line of the file.
static ROLES: LazyLock<KeyMap<u64, u64>> = LazyLock::new(|| {
    let mut roles: KeyMap<u64, u64> = KeyMap::default();
    for (line, words) in ROLE_LINES.lines().enumerate() {
        for word in words.split(' ').skip(1) {
            *roles.entry(key(word)).or_default() |= 1 << line;
        }
    }
    roles
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The phrases of a sentence, each with the texts of the words near it.
    fn phrases(lang: Lang, sentence: &str) -> Vec<(String, Vec<String>)> {
        let mut words = TextWords::default();
        words.read(sentence);
        let mut phrases = Vec::new();
        visit_uses(&words, lang, |phrase| {
            let near = phrase.words_near(lang).into_iter().map(|word| word.text);
            phrases.push((phrase.text(), near.collect()));
        });
        phrases
    }

    fn named(lang: Lang, sentence: &str) -> Vec<String> {
        let phrases = phrases(lang, sentence).into_iter();
        phrases.map(|(phrase, _)| phrase).collect()
    }

    #[test]
    fn languages_are_listed_by_their_number() {
        for lang in Lang::all() {
            let listed = LanguageRoles::of(*lang).determiners;
            assert_eq!(listed, TopicRole::named(lang.code()), "{lang:?}");
        }
        assert!(LanguageRoles::of(Lang::Por).determiners.has(key("dos")));
    }

    #[test]
    fn a_number_is_one_of_its_language() {
        for (word, lang, other) in [
            ("dos", Lang::Spa, Lang::Por),
            ("neuf", Lang::Fra, Lang::Eng),
            ("due", Lang::Ita, Lang::Eng),
        ] {
            let is_number = |lang| LanguageRoles::of(lang).numbers.has(key(word));
            assert_eq!([lang, other].map(is_number), [true, false], "{word}");
        }
        let mut words = TextWords::default();
        words.read("O atendimento dos garotos demora.");
        let mut measures = 0;
        visit_uses(&words, Lang::Por, |phrase| {
            measures += usize::from(phrase.follows_number);
        });
        assert_eq!(measures, 0);
    }

    #[test]
    fn a_negation_is_one_of_its_language_and_clause() {
        let portuguese = phrases(Lang::Por, "Esperei no elevador bonito.");
        assert!(!portuguese.is_empty());
        for (phrase, near) in portuguese {
            let words = [&[phrase][..], &near].concat().join(" ");
            assert!(!words.split(' ').any(|word| word == "no"), "{words}");
        }
        let english = named(Lang::Eng, "There is no elevator.");
        assert!(english.contains(&"no elevator".to_owned()), "{english:?}");
        let german = phrases(Lang::Deu, "Mit keinem Aufzug.");
        assert_eq!(german, [("aufzug".to_owned(), vec!["keinem".to_owned()])]);
        // "Nevertheless" begins a clause.
        let apart = named(Lang::Eng, "They said no nevertheless.");
        assert_eq!(apart.last().map(String::as_str), Some("nevertheless"));
    }

    #[test]
    fn a_word_of_the_phrase_is_not_near_it() {
        for (phrase, near) in phrases(Lang::Eng, "The gate, the gate was closed.") {
            assert!(!near.contains(&phrase), "{phrase}: {near:?}");
        }
    }
}
