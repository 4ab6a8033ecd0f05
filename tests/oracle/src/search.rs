//! Reference implementation of `search::run`: compares every review with every part of the query.

mod relevance;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::slice;
use std::sync::LazyLock;

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use regex::Regex;

use super::form::encode;
use super::service::sample;
use reviewd::model::insights::{Aspect, ByPolarity, Insights, Polarity};
use reviewd::model::{
    Concept, Media, OwnerReply, Rating, Review, Row, Taxonomy, Technician, Verification,
};
use reviewd::search::Tuning;
use reviewd::search::filter::{Cursor, ReviewId, Sort, is_of_word};
use reviewd::search::index::{Index, IndexOptions};
use reviewd::search::query::{Buffers, parse_query};
use reviewd::search::rank;
use reviewd::search::run::{Scratch, run};
use reviewd::wire::date::Date;

/// Checks ten searches over a small dataset, both derived from `data`, with indexes of several tunings and budgets.
///
/// # Panics
/// If an index exceeds its memory budget, or differs from the reference.
pub fn check_search(data: &[u8]) {
    let mut source = Source { data };
    let tuning = Tuning {
        leaf_rows_max: 1 + source.below(8) as u32,
        bitmap_rows_min: 1 + source.below(24) as u32,
        union_steps_max: source.below(32) as u32,
    };
    let budget = source.below(256) as u64 * 64;
    let reviews = source.reviews();
    let taxonomy = taxonomy();
    let mut indexes = [(u64::MAX, Some(tuning)), (u64::MAX, None), (budget, None)].map(
        |(memory_bytes, tuning)| {
            let options = IndexOptions {
                memory_bytes,
                threads: NonZeroUsize::MIN,
                tuning,
            };
            Index::build(&reviews, &taxonomy, &options)
        },
    );
    assert!(indexes[2].tree_bytes() <= budget);
    let insights = source.insights(reviews.len(), &taxonomy);
    for index in &mut indexes {
        *index = index.with_aspects(&insights, &taxonomy);
    }
    let searched = Searched::new(reviews, &taxonomy, insights);
    for _ in 0..10 {
        let pairs = source.query(&searched);
        searched.check(&indexes, &pairs);
    }
}

/// Parameters of a search and their values.
type Pairs = Vec<(&'static str, String)>;

/// Reviews, newest first, with their insights and all names that filters know.
struct Searched {
    reviews: Vec<Review>,
    insights: Insights,
    /// The folded text of each review.
    folded: Vec<String>,
    technicians: Vec<NamedEntry>,
    services: Vec<NamedEntry>,
    aspects: Vec<NamedEntry>,
}

/// A person, service or aspect.
struct NamedEntry {
    /// The name or id that reviews use.
    name: String,
    /// Aliases of a person, the label of a service or aspect.
    aliases: Vec<String>,
    phrases: Vec<String>,
    /// Whether titles before the name are ignored.
    is_person: bool,
}

impl NamedEntry {
    fn of_person(person: &Technician) -> NamedEntry {
        NamedEntry {
            name: person.name.clone(),
            aliases: person.aliases.clone(),
            phrases: Vec::new(),
            is_person: true,
        }
    }

    fn of_concept(concept: &Concept) -> NamedEntry {
        NamedEntry {
            name: concept.id.clone(),
            aliases: vec![concept.label.clone()],
            phrases: concept.phrases.clone(),
            is_person: false,
        }
    }

    fn names_and_aliases(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.aliases)
    }
}

impl Searched {
    fn new(reviews: Vec<Review>, taxonomy: &Taxonomy, insights: Insights) -> Searched {
        let people = taxonomy.technicians.iter();
        let mut technicians: Vec<NamedEntry> = people.map(NamedEntry::of_person).collect();
        let concepts = taxonomy.services.iter();
        let mut services: Vec<NamedEntry> = concepts.map(NamedEntry::of_concept).collect();
        for review in &reviews {
            add_mentions(&mut technicians, &review.mentioned_technicians, true);
            add_mentions(&mut services, &review.mentioned_services, false);
        }
        Searched {
            folded: reviews.iter().map(|review| fold(&review.text)).collect(),
            aspects: taxonomy
                .aspects
                .iter()
                .map(NamedEntry::of_concept)
                .collect(),
            reviews,
            insights,
            technicians,
            services,
        }
    }

    /// Checks every page of `pairs`, from the first one or from their cursor, unless their words are too many or too
    /// long.
    fn check(&self, indexes: &[Index], pairs: &Pairs) {
        let raw = pairs.iter();
        let raw = raw.map(|(name, value)| format!("{name}={}", encode(value)));
        let raw = raw.collect::<Vec<_>>().join("&");
        let mut buffers = Buffers::default();
        let mut scratch = Scratch::default();
        let query = match parse_query(raw.as_bytes(), &mut buffers) {
            Ok(query) => query,
            Err(issues) => {
                let mut paths = issues.iter().map(|issue| issue.path.as_deref());
                return assert!(paths.all(|path| path == Some("words")), "{issues:?}");
            }
        };
        let (all, rows, limit) = self.search(pairs);
        if query.sort == Sort::Relevance {
            let ranked = self.rank(pairs);
            for index in indexes {
                let page = rank::search(index, &query, &mut scratch);
                assert_eq!(page.matched as usize, all, "matched of {pairs:?}");
                assert_eq!(page.next, None, "next of {pairs:?}");
                let found: Vec<usize> = page.rows.iter().map(|row| row.0 as usize).collect();
                let (fitting, expected) = if ranked.fitting == 0 {
                    (rows.len(), &rows)
                } else {
                    (ranked.fitting, &ranked.listed)
                };
                assert_eq!(page.ranked, Some(fitting as u32), "ranked of {pairs:?}");
                let best = &expected[..expected.len().min(limit)];
                assert_eq!(found, best, "rows of {pairs:?}");
            }
            return;
        }
        for index in indexes {
            let mut query = query;
            let mut rest = &rows[..];
            loop {
                let page = run(index, &query, &mut scratch);
                assert_eq!(page.matched as usize, all, "matched of {pairs:?}");
                let (expected, after) = rest.split_at(rest.len().min(limit));
                let found: Vec<usize> = page.rows.iter().map(|row| row.0 as usize).collect();
                assert_eq!(found, expected, "rows of {pairs:?}");
                assert_eq!(page.next.is_some(), !after.is_empty(), "next of {pairs:?}");
                (query.cursor, rest) = (page.next, after);
                if rest.is_empty() {
                    break;
                }
            }
        }
    }

    /// Returns how many rows `pairs` select, those of them that come after the cursor in their order, and the limit.
    fn search(&self, pairs: &Pairs) -> (usize, Vec<usize>, usize) {
        let given = given(pairs);
        let value = |name: &str| given.get(name).map(String::as_str);
        let mut rows = self.select(&given);
        let sort = value("sort").and_then(Sort::parse).unwrap_or_default();
        rows.sort_by(|left, right| compare(sort, self.key(*left), self.key(*right)));
        let all = rows.len();
        let cursor = pairs.iter().find(|(name, _)| *name == "cursor");
        if let Some(last) = cursor.and_then(|(_, cursor)| Cursor::parse(cursor)) {
            let last = (last.rating, last.date, last.id.as_str());
            rows.retain(|row| compare(sort, self.key(*row), last).is_gt());
        }
        let limit = value("limit").map_or(20, |limit| limit.parse().expect("a number"));
        (all, rows, limit)
    }

    /// Returns the rows that the folded parameters `given` select.
    fn select(&self, given: &Given) -> Vec<usize> {
        let value = |name: &str| given.get(name).map(String::as_str);
        let meets = |name: &str, is_met: &dyn Fn(&str) -> bool| value(name).is_none_or(is_met);
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let meant = |name, entries| value(name).map(|name| meant(entries, name));
        let technicians = meant("mentions_technician", &self.technicians);
        let services = meant("mentions_service", &self.services);
        let aspects = meant("aspect", &self.aspects);
        // A name that means nothing, or several, selects nothing.
        let is_any = |meant: &Option<Option<&str>>, of: &[String]| match meant {
            None => true,
            Some(meant) => of.iter().any(|name| *meant == Some(name)),
        };
        // Mentions one of the selected aspects (any aspect, if none is selected) with the selected polarity.
        let says = |row: usize| {
            self.insights.aspects.iter().any(|aspect| {
                let mut polarities = Polarity::ALL.into_iter();
                let polarity = polarities.find(|one| value("polarity") == Some(one.word()));
                let of_polarity = polarity.map(|one| &aspect.rows_by_polarity[one]);
                let rows = of_polarity.unwrap_or(&aspect.rows);
                rows.contains(&Row(row as u32)) && is_any(&aspects, slice::from_ref(&aspect.id))
            })
        };
        let selects = |row: &usize| {
            let review = &self.reviews[*row];
            let text = &self.folded[*row];
            let stars = f64::from(review.rating.stars());
            let date = review.date.to_string();
            let language = fold(review.language.as_deref().unwrap_or_default());
            meets("rating", &|asked| stars == number(asked))
                && meets("min_rating", &|least| stars >= number(least))
                && meets("max_rating", &|most| stars <= number(most))
                && meets("since", &|since| &*date >= since)
                && meets("until", &|until| &*date <= until)
                && meets("query", &|needle| text.contains(needle))
                && meets("words", &|words| holds_words(text, words))
                && meets("location", &|asked| {
                    fold(review.location.as_deref().unwrap_or_default()) == asked
                })
                && meets("verified_by", &|asked| {
                    let state = match &review.verification {
                        None => "business",
                        Some(_) if review.verified => "platform",
                        Some(_) => "account",
                    };
                    asked.split(',').any(|part| part.trim() == state)
                })
                && meets("has_reply", &|has| {
                    review.owner_reply.is_some() == (has == "true")
                })
                && meets("has_photos", &|has| {
                    let mut media = review.media.iter();
                    let is_image = media.any(|one| one.media_type.starts_with("image/"));
                    is_image == (has == "true")
                })
                && meets("source", &|source| fold(&review.source) == source)
                && meets("language", &|asked| {
                    language == asked || language.split('-').next() == Some(asked)
                })
                && is_any(&technicians, &review.mentioned_technicians)
                && is_any(&services, &review.mentioned_services)
                && (value("aspect").or(value("polarity")).is_none() || says(*row))
        };
        (0..self.reviews.len()).filter(selects).collect()
    }

    /// Returns the sort key of the review.
    fn key(&self, row: usize) -> (Rating, Date, &str) {
        let review = &self.reviews[row];
        (review.rating, review.date, &review.id)
    }
}

/// The folded values of parameters that are not empty.
type Given = HashMap<&'static str, String>;

fn given(pairs: &Pairs) -> Given {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| (*name, fold(value))).collect()
}

/// Compares two reviews by rating, date and id.
fn compare(sort: Sort, left: (Rating, Date, &str), right: (Rating, Date, &str)) -> Ordering {
    let newest = (right.1, right.2).cmp(&(left.1, left.2));
    let lowest = left.0.stars().cmp(&right.0.stars());
    match sort {
        Sort::Newest | Sort::Relevance => newest,
        Sort::Oldest => newest.reverse(),
        Sort::Highest => lowest.reverse().then(newest),
        Sort::Lowest => lowest.then(newest),
    }
}

/// Adds each mention that is not in the taxonomy as an entry of its own.
fn add_mentions(entries: &mut Vec<NamedEntry>, mentions: &[String], is_person: bool) {
    for mention in mentions {
        if entries.iter().all(|entry| entry.name != *mention) {
            entries.push(NamedEntry {
                name: mention.clone(),
                aliases: Vec::new(),
                phrases: Vec::new(),
                is_person,
            });
        }
    }
}

/// Returns the name of the only entry that the folded `name` means: the rules are tried one after the other, and the
/// first one that an entry meets decides.
fn meant<'e>(entries: &'e [NamedEntry], name: &str) -> Option<&'e str> {
    let untitled = without_titles(name);
    let mut asked = vec![name];
    if untitled != name && entries.iter().any(|entry| entry.is_person) {
        asked.push(untitled);
    }
    for name in asked {
        let rules: [&dyn Fn(&NamedEntry) -> bool; 6] = [
            &|entry| fold(&entry.name) == name,
            &|entry| entry.aliases.iter().any(|alias| fold(alias) == name),
            &|entry| entry.is_person && is_untitled(entry, name),
            &|entry| entry.is_person && is_surname(entry, name),
            &|entry| entry.phrases.iter().any(|phrase| fold(phrase) == name),
            &|entry| {
                entry
                    .names_and_aliases()
                    .any(|one| has_all_words(one, name))
            },
        ];
        for rule in rules {
            let meeting: Vec<&NamedEntry> = entries.iter().filter(|entry| rule(entry)).collect();
            match meeting[..] {
                [] => {}
                [entry] => return Some(&entry.name),
                _ => return None,
            }
        }
    }
    None
}

/// Whether `name` is a name or alias of several words without its titles.
fn is_untitled(entry: &NamedEntry, name: &str) -> bool {
    entry.names_and_aliases().any(|known| {
        let known = fold(known);
        let untitled = without_titles(&known);
        untitled != known && untitled.contains(' ') && untitled == name
    })
}

/// Whether `name` is the last word of a name or alias that has other words before it.
fn is_surname(entry: &NamedEntry, name: &str) -> bool {
    entry.names_and_aliases().any(|known| {
        let known = fold(known);
        known.contains(' ') && known.rsplit(' ').next() == Some(name)
    })
}

/// Whether the folded `known` has all words of `name`, in any order.
fn has_all_words(known: &str, name: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|character: char| !character.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let known = words(&fold(known));
    let asked = words(name);
    !asked.is_empty() && asked.iter().all(|word| known.contains(word))
}

/// Returns `name` without the titles of [`TITLES`] before it.
fn without_titles(name: &str) -> &str {
    match name.split_once(' ') {
        Some((title, rest)) if TITLES.contains(&title.trim_end_matches('.')) => {
            without_titles(rest)
        }
        _ => name,
    }
}

/// The titles in names of the taxonomy and in [`NAMES`].
const TITLES: [&str; 3] = ["ms", "dr", "frau"];

/// Tells whether the folded `text` contains the terms of the folded `words`, character by character.
fn holds_words(text: &str, words: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    terms(words)
        .iter()
        .all(|term| term.is_in(&text) != term.is_excluded)
}

/// A word or a quotation of the parameter `words`.
pub(super) struct Term {
    /// The term without its quotation marks and the signs around it; never empty.
    pub(super) text: Vec<char>,
    pub(super) is_quoted: bool,
    pub(super) is_excluded: bool,
}

impl Term {
    /// Tells whether a text contains the term: a word at the beginning of one of the text, a quotation as whole words.
    fn is_in(&self, text: &[char]) -> bool {
        let term = &self.text;
        let bytes: usize = term.iter().map(|character| character.len_utf8()).sum();
        let begins_word = is_of_word(term[0]) && (self.is_quoted || bytes <= 32);
        let ends_word = is_of_word(term[term.len() - 1]) && self.is_quoted;
        (0..text.len()).any(|start| {
            let end = start + term.len();
            text[start..].starts_with(term)
                && (!begins_word || start == 0 || !is_of_word(text[start - 1]))
                && (!ends_word || end == text.len() || !is_of_word(text[end]))
        })
    }
}

/// The terms of the folded `words`.
pub(super) fn terms(words: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    for found in TERM.captures_iter(words) {
        let quoted = found.name("quoted");
        let text = match quoted {
            Some(quoted) => quoted.as_str().trim(),
            None => without_signs(found.name("word").map_or("", |word| word.as_str())),
        };
        if !text.is_empty() {
            terms.push(Term {
                text: text.chars().collect(),
                is_quoted: quoted.is_some(),
                is_excluded: !found["not"].is_empty(),
            });
        }
    }
    terms
}

/// Returns a word without the signs around it, or, if it has nothing else, without those that are ASCII or punctuation.
fn without_signs(word: &str) -> &str {
    let inner = |around: &'static Regex| {
        let found = around.captures(word).expect("every word matches");
        found.name("inner").map_or("", |inner| inner.as_str())
    };
    match inner(&AROUND) {
        "" => inner(&AROUND_SYMBOLS),
        inner => inner,
    }
}

static AROUND: LazyLock<Regex> = LazyLock::new(|| around(r"[\p{P}\p{S}]"));
static AROUND_SYMBOLS: LazyLock<Regex> = LazyLock::new(|| around(r"[\x00-\x7f\p{P}]"));

fn around(signs: &str) -> Regex {
    Regex::new(&format!("(?s)^{signs}*(?<inner>.*?){signs}*$")).expect("a regular expression")
}

/// A term; an unclosed quotation ends with the text.
static TERM: LazyLock<Regex> = LazyLock::new(|| {
    let term = r#"(?<not>-?)(?:"(?<quoted>[^"]*)"?|(?<word>[^\s"]+))"#;
    Regex::new(term).expect("a regular expression")
});

/// Folds the decomposed text by clusters: a base character and the marks that follow it.
pub(super) fn fold(text: &str) -> String {
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let mapper = CaseMapperBorrowed::new();
    let mut out = String::new();
    let mut follows_letter = false;
    let characters = text
        .chars()
        .filter(|character| !IGNORED.contains(character));
    let characters = characters.map(|character| match u32::from(character) {
        wide @ 0xff01..=0xff5e => char::from((wide - 0xff01 + 0x21) as u8),
        _ => character,
    });
    for character in DecomposingNormalizerBorrowed::new_nfd().normalize_iter(characters) {
        let is_mark = classes.get_u8(character) != 0;
        let folded = match mapper.simple_fold(character) {
            'ø' => 'o',
            'ł' => 'l',
            'đ' => 'd',
            'ħ' => 'h',
            'ŧ' => 't',
            'ı' => 'i',
            '`' | '´' | '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | '‹' | '›' => '\'',
            '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
            '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
            other => other,
        };
        if !is_mark {
            let is_latin = matches!(folded, 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
                && !matches!(folded, '×' | '÷');
            let is_greek = matches!(folded, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}');
            follows_letter = is_latin || is_greek && folded.is_alphabetic();
        } else if follows_letter {
            continue;
        }
        match folded {
            'ß' => out.push_str("ss"),
            folded => out.push(folded),
        }
    }
    let composer = ComposingNormalizerBorrowed::new_nfc();
    composer.normalize(&out).replace('ё', "е")
}

/// Characters that folding drops, those of the sample and of the pieces: soft hyphen, zero-width characters, selectors
/// of variants, Arabic vowel signs.
const IGNORED: [char; 6] = [
    '\u{ad}', '\u{200b}', '\u{200d}', '\u{feff}', '\u{fe0f}', '\u{64e}',
];

/// A review of the sample, from which others are made.
static TEMPLATE: LazyLock<Review> = LazyLock::new(|| sample().reviews.remove(0));

/// Returns a taxonomy with technicians that share an alias, services that share a phrase, and a service whose label is
/// another's id.
fn taxonomy() -> Taxonomy {
    let technicians = "Ana Óses=ANA=Ms Oses|Bo=ana=B.|Dr. Cy Lee|Nobody";
    let services = "wills=Wills=custody|tax=WILLS=last will=duties|none=|family=Family law: divorce=custody=bo";
    let aspects = "fees=Fees and billing=costs|staff=Staff=rude";
    Taxonomy {
        technicians: technicians.split('|').map(technician).collect(),
        services: services.split('|').map(concept).collect(),
        aspects: aspects.split('|').map(concept).collect(),
        ..Taxonomy::default()
    }
}

/// A technician's name and aliases, with equals signs between them.
fn technician(names: &str) -> Technician {
    let mut names = names.split('=').map(str::to_owned);
    let name = names.next().unwrap_or_default();
    let aliases = names.collect();
    Technician { name, aliases }
}

/// A concept's id, label and phrases, with equals signs between them.
fn concept(names: &str) -> Concept {
    let mut names = names.split('=').map(str::to_owned);
    Concept {
        id: names.next().unwrap_or_default(),
        label: names.next().unwrap_or_default(),
        phrases: names.collect(),
        not_phrases: Vec::new(),
    }
}

/// Names for filters, some of which are unknown or ambiguous.
const NAMES: &str = "oses|family law|divorce|law: family|fees|billing|staff|.|ana oses|ana|bo|b.|wills|tax|nobody|\
    not in the taxonomy|last will|custody|duties|will|rude|costs|dr. oses|frau dr. lee|lee|cy lee|dr. nobody";

/// Pieces of texts: letters that fold, combining marks, and sequences that must stay whole.
const PIECES: &str = "a|b|ab|aa|e|E\u{301}|é|\u{301}|ß|ẞ|ss|İ|ı|i|I|Σ|ς|σ|K|한|\u{1112}\u{1161}\u{11ab}|👩\u{200d}👩|👩|🏽|日本|本|\
    ǆ|Ǆ|\n| ||aaaaaaaa| a|-b|'|\u{2019}|\u{a0}|\u{201c}|\u{2014}|ø|Ł|1|\u{303}|й|\u{306}|. |क्या|\
    abaababaabaababaababaabaababaabaab|*a b|🏽a b|'a b|b a |\
    `|´|\u{ad}|a\u{200b}\u{301}|ａｂ|！|❤\u{fe0f}|و\u{64e}|άλφα|α|Ё|е\u{308}|[a]|#b|。|€|\
    sick |ill|Hospital |the |never |good|bad |Kinder |Söhne|rechnungen |Abrechnung|hijos |complaints |a b |fees |big |biggest |safe |safest |\
    spa |careful |más |por |für |even |evenings ";

/// Parameters besides `sort` and `limit`, with values to choose from, some more often than others.
const PARAMETERS: [(&str, &str); 22] = [
    ("query", ""),
    ("query", ""),
    ("query", ""),
    ("words", ""),
    ("words", ""),
    ("cursor", ""),
    ("cursor", ""),
    ("rating", "1|2|3|4|5"),
    ("min_rating", "1|2|2.5|3|4.000001|5"),
    ("max_rating", "1|2|3|3.999999|4|5"),
    ("since", ""),
    ("until", ""),
    ("mentions_technician", NAMES),
    ("mentions_service", NAMES),
    ("aspect", NAMES),
    ("polarity", "positive|neutral|negative"),
    ("has_reply", "true|false"),
    ("has_photos", "true|false"),
    ("language", "en|EN-gb|fr|de"),
    ("source", "google|yelp"),
    ("location", "north|SOUTH|east"),
    (
        "verified_by",
        "business|account|platform, account|business,platform,account",
    ),
];

/// Bytes read one after another; zeros after their end.
struct Source<'d> {
    data: &'d [u8],
}

impl Source<'_> {
    /// Reads a byte, as a number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        let first = self.data.split_off_first().copied().unwrap_or(0);
        usize::from(first) % bound
    }

    /// Chooses one of the words between the bars.
    fn pick(&mut self, words: &'static str) -> &'static str {
        let at = self.below(words.split('|').count());
        words.split('|').nth(at).unwrap_or_default()
    }

    /// Chooses one of the lists between the bars, of words between commas.
    fn list(&mut self, lists: &'static str) -> Vec<String> {
        let words = self.pick(lists).split(',').filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    fn text(&mut self, pieces_max: usize) -> String {
        let count = self.below(pieces_max);
        (0..count).map(|_| self.pick(PIECES)).collect()
    }

    /// Returns fewer than 48 reviews, or eight copies of each.
    fn reviews(&mut self) -> Vec<Review> {
        let copies = if self.below(8) == 7 { 8 } else { 1 };
        let mut reviews: Vec<Review> = Vec::new();
        for number in 0..self.below(48) {
            let review = self.review();
            reviews.extend((0..copies).map(|copy| Review {
                id: format!("{}-{number}-{copy}", review.id),
                ..review.clone()
            }));
        }
        reviews.sort_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
        reviews
    }

    fn review(&mut self) -> Review {
        let text = self.text(20);
        let id = format!("{:x}", self.below(256));
        let reply = OwnerReply {
            text: "Thanks".to_owned(),
            date: Date::MIN,
        };
        let by_platform = Verification {
            by: "Google".to_owned(),
            method: Some("account".to_owned()),
        };
        let verification = if self.below(3) > 0 {
            Some(by_platform)
        } else {
            None
        };
        Review {
            id,
            text,
            source: self.pick("google|Yelp").to_owned(),
            owner_reply: if self.below(4) == 0 {
                Some(reply)
            } else {
                None
            },
            mentioned_technicians: self
                .list("|Ana Óses|Bo|Ana Óses,not in the taxonomy|Dr. Cy Lee"),
            mentioned_services: self.list("|wills|tax|wills,family"),
            location: self.list("|North|south").pop(),
            media: self.media(),
            verified: verification.is_none() || self.below(2) == 0,
            verification,
            language: self.list("|en|en-GB|es|de").pop(),
            rating: self.rating(),
            date: self.date(),
            ..TEMPLATE.clone()
        }
    }

    /// Nothing, a picture, a video, or both.
    fn media(&mut self) -> Vec<Media> {
        let types = self.list("|image/jpeg|video/mp4|video/mp4,image/png");
        let media = types.into_iter().map(|media_type| Media {
            url: "https://a.example/1".to_owned(),
            alt: String::new(),
            media_type,
            thumbnail_url: None,
            source_url: None,
        });
        media.collect()
    }

    /// Aspects that some reviews mention, each with one polarity or several.
    fn insights(&mut self, reviews: usize, taxonomy: &Taxonomy) -> Insights {
        let mut insights = Insights::default();
        for concept in &taxonomy.aspects {
            let mut aspect = Aspect {
                id: concept.id.clone(),
                label: concept.label.clone(),
                ..Aspect::default()
            };
            for row in (0..reviews as u32).map(Row) {
                let bits = self.below(16);
                let ByPolarity {
                    negative,
                    neutral,
                    positive,
                } = &mut aspect.rows_by_polarity;
                let rows = [&mut aspect.rows, negative, neutral, positive];
                for (bit, rows) in rows.into_iter().enumerate() {
                    if bits & 1 == 1 && bits >> bit & 1 == 1 {
                        rows.push(row);
                    }
                }
            }
            insights.aspects.push(aspect);
        }
        insights
    }

    fn rating(&mut self) -> Rating {
        Rating::new(1 + self.below(5) as u8).expect("1 to 5")
    }

    fn date(&mut self) -> Date {
        Date::new(2024, 2, 20 + self.below(10) as u8).expect("20 to 29 February of a leap year")
    }

    /// Returns a part of a folded text, random pieces, or the one followed by the other.
    fn needle(&mut self, searched: &Searched) -> String {
        let choice = self.below(256);
        let Some(text) = searched.folded.get(choice % (searched.folded.len() + 1)) else {
            return self.text(6);
        };
        let text: Vec<char> = text.chars().collect();
        let start = self.below(text.len() + 1);
        let end = start + self.below(text.len() - start + 1);
        let mut needle: String = text[start..end].iter().collect();
        if choice >= 200 {
            needle.push_str(&self.text(3));
        }
        needle
    }

    /// Returns terms from texts and pieces.
    fn words(&mut self, searched: &Searched) -> String {
        let mut words = String::new();
        for _ in 0..self.below(6) {
            words.push_str(self.pick("||-|\"|-\"| "));
            let needle = self.needle(searched);
            // Half of the needles are cut at their outermost spaces, so that phrases of whole words are among them.
            let ends = needle.find(' ').zip(needle.rfind(' '));
            let whole = ends.filter(|_| self.below(2) == 0);
            words.push_str(whole.map_or(&*needle, |(start, end)| &needle[start..end]));
            words.push_str(self.pick(" |\" |  "));
        }
        words
    }

    /// A search with some of the parameters.
    fn query(&mut self, searched: &Searched) -> Pairs {
        let sort = Sort::ALL[self.below(4)];
        let is_ranked = self.below(4) == 0;
        let sorted = ("sort", sort.as_str().to_owned());
        let mut pairs = vec![sorted, ("limit", (1 + self.below(24)).to_string())];
        for _ in 0..self.below(7) {
            let (name, values) = PARAMETERS[self.below(PARAMETERS.len())];
            let value = match name {
                "query" => self.needle(searched),
                "words" => self.words(searched),
                "since" | "until" => self.date().to_string(),
                "cursor" => {
                    let known = searched.reviews.get(self.below(256));
                    let id = known.map_or("5-gone", |review| review.id.as_str());
                    let cursor = Cursor {
                        sort,
                        rating: self.rating(),
                        date: self.date(),
                        id: ReviewId::from(id).expect("an id of a review"),
                    };
                    cursor.render().to_string()
                }
                _ => self.pick(values).to_owned(),
            };
            if pairs.iter().all(|(known, _)| *known != name) {
                pairs.push((name, value));
            }
        }
        let has = |known: &str| {
            pairs
                .iter()
                .any(|(name, value)| *name == known && !value.is_empty())
        };
        if is_ranked && has("words") && !has("cursor") {
            pairs[0].1 = Sort::Relevance.as_str().to_owned();
        }
        pairs
    }
}
