//! The reference implementation of `search::run`: every review is compared with every part of the query, one by one.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use regex::Regex;

use super::form::encode;
use reviewd::model::insights::{Aspect, Insights, Polarity};
use reviewd::model::{Concept, OwnerReply, Rating, Review, Row, Taxonomy, Technician};
use reviewd::search::Tuning;
use reviewd::search::filter::{Cursor, Filter, Query, ReviewId, Sort, is_of_word};
use reviewd::search::hints::{Advice, Hint, hints};
use reviewd::search::index::{Index, IndexOptions};
use reviewd::search::query::{Buffers, parse_query};
use reviewd::search::run::{Scratch, run};
use reviewd::wire::date::Date;

/// Checks ten searches over a small dataset, both made of `data`, with trees of several tunings and budgets.
///
/// # Panics
/// If an index takes more memory than it may, or answers otherwise than its reference.
pub fn check_search(data: &[u8]) {
    let mut source = Source { data };
    let tuning = Tuning {
        leaf_rows_max: 1 + source.below(8) as u32,
        bitmap_rows_min: 1 + source.below(24) as u32,
        union_steps_max: source.below(32) as u32,
    };
    let budget = source.below(256) as u64 * 64;
    let (reviews, taxonomy) = (source.reviews(), taxonomy());
    let mut indexes = [
        Index::build_tuned(&reviews, &taxonomy, tuning, &options(u64::MAX)),
        Index::build(&reviews, &taxonomy, &options(u64::MAX)),
        Index::build(&reviews, &taxonomy, &options(budget)),
    ];
    assert!(indexes[2].tree_bytes() <= budget);
    let insights = source.insights(reviews.len(), &taxonomy);
    for index in &mut indexes {
        *index = index.with_aspects(&insights, &taxonomy);
    }
    let searched = Searched::new(reviews, taxonomy, insights);
    for _ in 0..10 {
        let pairs = source.query(&searched);
        searched.check(&indexes, &pairs);
    }
}

fn options(memory_bytes: u64) -> IndexOptions {
    IndexOptions {
        memory_bytes,
        threads: NonZeroUsize::MIN,
    }
}

/// Parameters of a search and their values.
type Pairs = [(&'static str, String)];

/// Reviews, newest first, with what is known of them.
struct Searched {
    reviews: Vec<Review>,
    taxonomy: Taxonomy,
    insights: Insights,
    /// The text of each review.
    folded: Vec<String>,
}

impl Searched {
    fn new(reviews: Vec<Review>, taxonomy: Taxonomy, insights: Insights) -> Searched {
        let folded = reviews.iter().map(|review| fold(&review.text)).collect();
        Searched {
            reviews,
            taxonomy,
            insights,
            folded,
        }
    }

    /// Checks every page of `pairs`, from the first one or from their cursor, and the hints if nothing is found.
    fn check(&self, indexes: &[Index], pairs: &Pairs) {
        let (mut buffers, mut scratch) = (Buffers::default(), Scratch::default());
        let Some(query) = parse(pairs, &mut buffers) else {
            return;
        };
        let all = self.search(&query);
        if all.is_empty() {
            for hint in hints(&indexes[0], &query, &mut scratch) {
                self.check_hint(&hint, pairs);
            }
        }
        let is_after = |row: &&usize| {
            query.cursor.is_none_or(|last| {
                let last = (last.rating, last.date, last.id.as_str());
                compare(query.sort, self.place(**row), last).is_gt()
            })
        };
        let rows: Vec<usize> = all.iter().filter(is_after).copied().collect();
        for index in indexes {
            let (mut query, mut rest) = (query, &rows[..]);
            loop {
                let page = run(index, &query, &mut scratch);
                assert_eq!(page.matched as usize, all.len(), "matched of {query:?}");
                let (expected, after) = rest.split_at(rest.len().min(query.limit.into()));
                let found: Vec<usize> = page.rows.iter().map(|row| row.0 as usize).collect();
                assert_eq!(found, expected, "rows of {query:?}");
                assert_eq!(page.next.is_some(), !after.is_empty(), "next of {query:?}");
                (query.cursor, rest) = (page.next, after);
                if rest.is_empty() {
                    break;
                }
            }
        }
    }

    /// Checks how many reviews are found without a parameter, or without all bounds of the rating.
    fn check_hint(&self, hint: &Hint, pairs: &Pairs) {
        let name = hint.parameter.name();
        let mut rest = pairs.to_vec();
        rest.retain(|(other, _)| *other != name && !(name == "rating" && other.ends_with(name)));
        let mut buffers = Buffers::default();
        if let (Advice::Without(count), Some(rest)) = (&hint.advice, parse(&rest, &mut buffers)) {
            assert_eq!(
                *count as usize,
                self.search(&rest).len(),
                "{hint:?}: {pairs:?}"
            );
        }
    }

    /// Returns all rows that `query` selects, in its order.
    fn search(&self, query: &Query<'_>) -> Vec<usize> {
        let filter = &query.filter;
        let technicians = self.taxonomy.technicians.iter().map(|known| {
            let names = [&known.name].into_iter().chain(&known.aliases);
            (known.name.clone(), names.cloned().collect())
        });
        let services = self.taxonomy.services.iter().map(|known| {
            let names = vec![known.id.clone(), known.label.clone()];
            (known.id.clone(), names)
        });
        let aspects = self.insights.aspects.iter().map(|known| {
            let mut names = vec![known.id.clone(), known.label.clone()];
            let concepts = self.taxonomy.aspects.iter();
            let concepts = concepts.filter(|concept| concept.id == known.id);
            names.extend(concepts.flat_map(|concept| concept.phrases.clone()));
            (known.id.clone(), names)
        });
        let mentions = self
            .reviews
            .iter()
            .flat_map(|review| &review.mentioned_technicians);
        let technicians = meant(technicians.collect(), mentions, filter.technician);
        let mentions = self
            .reviews
            .iter()
            .flat_map(|review| &review.mentioned_services);
        let services = meant(services.collect(), mentions, filter.service);
        let aspects = meant(aspects.collect(), [], filter.aspect);
        let is_any = |meant: &Option<Vec<String>>, of: &[String]| {
            let meant = meant.as_ref();
            meant.is_none_or(|meant| of.iter().any(|name| meant.contains(name)))
        };
        let selects = |row: &usize| {
            let review = &self.reviews[*row];
            self.selects(*row, filter)
                && is_any(&technicians, &review.mentioned_technicians)
                && is_any(&services, &review.mentioned_services)
                && (!filter.needs_insights() || self.says(*row, &aspects, filter.polarity))
        };
        let mut rows: Vec<usize> = (0..self.reviews.len()).filter(selects).collect();
        rows.sort_by(|left, right| compare(query.sort, self.place(*left), self.place(*right)));
        rows
    }

    /// Tells whether the review meets all of `filter` but names and aspects.
    fn selects(&self, row: usize, filter: &Filter<'_>) -> bool {
        let (review, text) = (&self.reviews[row], &self.folded[row]);
        let is_language = |asked: &str| {
            let of = |tag: String| tag == asked || tag.split('-').next() == Some(asked);
            review.language.as_deref().map(fold).is_some_and(of)
        };
        filter.ratings.contains(review.rating)
            && filter.since.is_none_or(|since| review.date >= since)
            && filter.until.is_none_or(|until| review.date <= until)
            && filter.text.is_none_or(|needle| text.contains(needle))
            && filter
                .words
                .is_none_or(|words| holds_words(text, words.as_str()))
            && filter
                .has_reply
                .is_none_or(|has| review.owner_reply.is_some() == has)
            && filter
                .source
                .is_none_or(|source| fold(&review.source) == source)
            && filter.language.is_none_or(is_language)
    }

    /// Tells whether the review says something of one of the aspects, of any without a choice, and with this polarity.
    fn says(&self, row: usize, meant: &Option<Vec<String>>, polarity: Option<Polarity>) -> bool {
        let says = |aspect: &Aspect| {
            let of_polarity = polarity.map(|polarity| &aspect.rows_by_polarity[polarity as usize]);
            let rows = of_polarity.unwrap_or(&aspect.rows);
            rows.contains(&Row(row as u32))
                && meant
                    .as_ref()
                    .is_none_or(|meant| meant.contains(&aspect.id))
        };
        self.insights.aspects.iter().any(says)
    }

    fn place(&self, row: usize) -> (Rating, Date, &str) {
        let review = &self.reviews[row];
        (review.rating, review.date, &review.id)
    }
}

/// Compares two reviews by rating, date and id.
fn compare(sort: Sort, left: (Rating, Date, &str), right: (Rating, Date, &str)) -> Ordering {
    let newest = (right.1, right.2).cmp(&(left.1, left.2));
    let lowest = left.0.stars().cmp(&right.0.stars());
    match sort {
        Sort::Newest => newest,
        Sort::Oldest => newest.reverse(),
        Sort::Highest => lowest.reverse().then(newest),
        Sort::Lowest => lowest.then(newest),
    }
}

/// Parses the query string of `pairs`; `None` if their words are too many or too long.
fn parse<'b>(pairs: &Pairs, buffers: &'b mut Buffers) -> Option<Query<'b>> {
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)));
    let raw = pairs.collect::<Vec<_>>().join("&");
    let query = parse_query(raw.as_bytes(), buffers);
    if let Err(issues) = &query {
        let is_words = issues
            .iter()
            .all(|issue| issue.path.as_deref() == Some("words"));
        assert!(is_words, "{issues:?}");
    }
    query.ok()
}

/// Returns the entries that the folded `name` stands for: all that have it as a whole name, or else the one entry with a
/// name that holds all its words. A mention that is no entry is one by its own name.
fn meant<'m>(
    mut entries: Vec<(String, Vec<String>)>,
    mentions: impl IntoIterator<Item = &'m String>,
    name: Option<&str>,
) -> Option<Vec<String>> {
    let name = name?;
    for mention in mentions {
        if entries.iter().all(|(main, _)| main != mention) {
            entries.push((mention.clone(), vec![mention.clone()]));
        }
    }
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|character: char| !character.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let asked = words(name);
    let holds_all = |known: &String| {
        let of_name = words(&fold(known));
        !asked.is_empty() && asked.iter().all(|word| of_name.contains(word))
    };
    let of = |is_named: &dyn Fn(&String) -> bool| -> Vec<String> {
        let entries = entries
            .iter()
            .filter(|(_, names)| names.iter().any(is_named));
        entries.map(|(main, _)| main.clone()).collect()
    };
    let (whole, part) = (of(&|known| fold(known) == name), of(&holds_all));
    Some(match (whole.is_empty(), part.len()) {
        (false, _) => whole,
        (true, 1) => part,
        (true, _) => Vec::new(),
    })
}

/// Whether the folded `text` holds the terms of the folded `words`, character by character.
fn holds_words(text: &str, words: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let is_held = |term: &[char], is_quoted: bool| {
        let length: usize = term.iter().map(|character| character.len_utf8()).sum();
        let begins_word = is_of_word(term[0]) && (is_quoted || length <= 32);
        let ends_word = is_of_word(term[term.len() - 1]) && is_quoted;
        (0..text.len()).any(|start| {
            let end = start + term.len();
            text[start..].starts_with(term)
                && (!begins_word || start == 0 || !is_of_word(text[start - 1]))
                && (!ends_word || end == text.len() || !is_of_word(text[end]))
        })
    };
    let mut terms = terms(words).into_iter();
    terms.all(|(term, is_quoted, is_excluded)| is_held(&term, is_quoted) != is_excluded)
}

/// The terms of the folded `words`, and whether each is quoted and excluded.
pub(super) fn terms(words: &str) -> Vec<(Vec<char>, bool, bool)> {
    let signs = |character: char| "?!.,;:()&/-¿¡…".contains(character);
    let terms = TERM.captures_iter(words).map(|term| {
        let text = match term.name("quoted") {
            Some(quoted) => quoted.as_str().trim(),
            None => term["word"].trim_matches(signs),
        };
        let is_quoted = term.name("quoted").is_some();
        (text.chars().collect(), is_quoted, !term["not"].is_empty())
    });
    terms
        .filter(|(text, ..): &(Vec<char>, _, _)| !text.is_empty())
        .collect()
}

/// A quotation mark that is not closed ends with the text.
static TERM: LazyLock<Regex> = LazyLock::new(|| {
    let term = r#"(?<not>-?)(?:"(?<quoted>[^"]*)"?|(?<word>[^\s"]+))"#;
    Regex::new(term).expect("a regular expression")
});

/// Folds by the decomposed text, cluster by cluster: a base and the marks that follow it.
pub(super) fn fold(text: &str) -> String {
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let mapper = CaseMapperBorrowed::new();
    let mut out = String::new();
    let mut follows_latin = false;
    for character in DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars()) {
        let is_mark = classes.get_u8(character) != 0;
        let folded = match mapper.simple_fold(character) {
            'ø' => 'o',
            'ł' => 'l',
            'đ' => 'd',
            'ħ' => 'h',
            'ŧ' => 't',
            'ı' => 'i',
            '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | '‹' | '›' => '\'',
            '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
            '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
            other => other,
        };
        if !is_mark {
            follows_latin = matches!(folded, 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
                && !matches!(folded, '×' | '÷');
        } else if follows_latin {
            continue;
        }
        match folded {
            'ß' => out.push_str("ss"),
            folded => out.push(folded),
        }
    }
    let composer = ComposingNormalizerBorrowed::new_nfc();
    composer.normalize(&out).into_owned()
}

/// A review that has nothing but a text.
pub(super) fn review_of(id: String, rating: Rating, date: Date, text: String) -> Review {
    Review {
        id,
        author: String::new(),
        author_avatar_url: None,
        rating,
        date,
        text,
        source: String::new(),
        source_url: None,
        owner_reply: None,
        verified: true,
        mentioned_technicians: Vec::new(),
        mentioned_services: Vec::new(),
        verification: None,
        language: None,
        media: Vec::new(),
        translation: None,
    }
}

/// A technician with an alias that two share, and services whose label is another's id.
fn taxonomy() -> Taxonomy {
    let technician = |(name, aliases): (&str, &[&str])| Technician {
        name: name.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
    };
    let technicians: [(&str, &[&str]); 3] = [
        ("Ana Óses", &["ANA", "Ms Oses"]),
        ("Bo", &["ana", "B."]),
        ("Nobody", &[]),
    ];
    let concept = |(id, label): (&str, &str)| Concept {
        id: id.to_owned(),
        label: label.to_owned(),
        phrases: Vec::new(),
    };
    let services = [
        ("wills", "Wills"),
        ("tax", "WILLS"),
        ("none", ""),
        ("family", "Family law: divorce"),
    ];
    Taxonomy {
        technicians: technicians.map(technician).into(),
        services: services.map(concept).into(),
        aspects: [("fees", "Fees and billing"), ("staff", "Staff")]
            .map(concept)
            .into(),
        ..Taxonomy::default()
    }
}

/// Names that are asked for, some of which mean nothing or several.
const NAMES: &str = "oses|family law|divorce|law: family|fees|billing|staff|.|ana oses|ana|bo|b.|wills|tax|nobody|\
    not in the taxonomy";

/// Pieces of texts that meet again and again: cases that fold, marks that combine, and what must stay whole.
const PIECES: &str = "a|b|ab|aa|e|E\u{301}|é|\u{301}|ß|ẞ|ss|İ|ı|i|I|Σ|ς|σ|K|한|\u{1112}\u{1161}\u{11ab}|👩\u{200d}👩|👩|🏽|日本|本|\
    ǆ|Ǆ|\n| ||aaaaaaaa| a|-b|'|\u{2019}|\u{a0}|\u{201c}|\u{2014}|ø|Ł|1|\u{303}|й|\u{306}|. |क्या|\
    abaababaabaababaababaabaababaabaab";

/// Parameters besides `sort`, `limit`, `query` and `words`, with values to choose from; the day of a date is added.
const PARAMETERS: [(&str, &str); 12] = [
    ("rating", "1|2|3|4|5"),
    ("min_rating", "1|2|2.5|3|4.000001|5"),
    ("max_rating", "1|2|3|3.999999|4|5"),
    ("since", "2024-02-"),
    ("until", "2024-02-"),
    ("mentions_technician", NAMES),
    ("mentions_service", NAMES),
    ("aspect", NAMES),
    ("polarity", "positive|neutral|negative"),
    ("has_reply", "true|false"),
    ("language", "en|EN-gb|fr"),
    ("source", "google|yelp"),
];

/// Bytes read one after another; past their end there are zeros.
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

    fn text(&mut self, pieces_max: usize) -> String {
        let count = self.below(pieces_max);
        (0..count).map(|_| self.pick(PIECES)).collect()
    }

    /// Up to 48 reviews, or eight times as many, of which eight each have the same text.
    fn reviews(&mut self) -> Vec<Review> {
        let copies = if self.below(8) == 7 { 8 } else { 1 };
        let mut reviews: Vec<Review> = Vec::new();
        for number in 0..self.below(48) {
            let review = self.review(number);
            reviews.extend((0..copies).map(|copy| Review {
                id: format!("{}-{copy}", review.id),
                ..review.clone()
            }));
        }
        reviews.sort_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
        reviews
    }

    fn review(&mut self, number: usize) -> Review {
        let bits = self.below(256);
        let text = self.text(if bits & 1 == 0 { 20 } else { 5 });
        let id = format!("{:x}-{number}", self.below(256));
        let names = |names: [&str; 3], bits: usize| -> Vec<String> {
            let names = names.into_iter().enumerate();
            let names = names.filter(|(at, _)| bits >> at & 1 == 1);
            names.map(|(_, name)| name.to_owned()).collect()
        };
        let reply = |date| OwnerReply {
            text: "Thanks".to_owned(),
            date,
        };
        Review {
            source: ["google", "Yelp"][bits & 1].to_owned(),
            owner_reply: (bits & 12 == 12).then(|| reply(self.date())),
            mentioned_technicians: names(["Ana Óses", "Bo", "not in the taxonomy"], bits >> 1),
            mentioned_services: names(["wills", "tax", "family"], bits >> 3),
            language: [None, Some("en"), Some("en-GB"), Some("es")][bits >> 6].map(str::to_owned),
            ..review_of(id, self.rating(), self.date(), text)
        }
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
                if bits & 1 == 1 {
                    aspect.rows.push(row);
                    for polarity in Polarity::ALL.map(|polarity| polarity as usize) {
                        if bits >> (polarity + 1) & 1 == 1 {
                            aspect.rows_by_polarity[polarity].push(row);
                        }
                    }
                }
            }
            insights.aspects.push(aspect);
        }
        insights
    }

    fn rating(&mut self) -> Rating {
        Rating::new(1 + self.below(5) as u8).unwrap_or(Rating::MAX)
    }

    fn date(&mut self) -> Date {
        Date::new(2024, 2, 20 + self.below(10) as u8).expect("20 to 29 February of a leap year")
    }

    /// A part of a folded text, or pieces of our own.
    fn needle(&mut self, searched: &Searched) -> String {
        let choice = self.below(256);
        let Some(text) = searched.folded.get(choice % (searched.folded.len() + 1)) else {
            return self.text(6);
        };
        let text: Vec<char> = text.chars().collect();
        let start = self.below(text.len() + 1);
        let end = start + self.below(text.len() - start + 1);
        let needle = text[start..end].iter().collect::<String>();
        match choice < 200 {
            true => needle,
            false => needle + &self.text(3),
        }
    }

    /// Terms of texts and of pieces.
    fn words(&mut self, searched: &Searched) -> String {
        let mut words = String::new();
        for _ in 0..self.below(6) {
            words.push_str(self.pick("||-|\"|-\"| "));
            let needle = self.needle(searched);
            // Half of them without what may be cut off at both ends, so that phrases of whole words are among them.
            let ends = needle.find(' ').zip(needle.rfind(' '));
            let whole = ends.filter(|_| self.below(2) == 0);
            words.push_str(whole.map_or(&*needle, |(start, end)| &needle[start..end]));
            words.push_str(self.pick(" |\" |  "));
        }
        words
    }

    /// A search with some of the parameters.
    fn query(&mut self, searched: &Searched) -> Vec<(&'static str, String)> {
        let sort = Sort::ALL[self.below(4)];
        let limit = 1 + self.below(24);
        let mut pairs = vec![
            ("sort", sort.as_str().to_owned()),
            ("limit", limit.to_string()),
        ];
        let asked = self.below(8);
        if asked & 3 != 3 {
            pairs.push(("query", self.needle(searched)));
        }
        if asked & 5 != 0 {
            pairs.push(("words", self.words(searched)));
        }
        for _ in 0..self.below(5) {
            let (name, values) = PARAMETERS[self.below(PARAMETERS.len())];
            let mut value = self.pick(values).to_owned();
            if value.ends_with('-') {
                value = self.date().to_string();
            }
            if pairs.iter().all(|(known, _)| *known != name) {
                pairs.push((name, value));
            }
        }
        if self.below(2) == 1 {
            let known = searched.reviews.get(self.below(256));
            let id = known.map_or("5-gone", |review| review.id.as_str());
            let cursor = Cursor {
                sort,
                rating: self.rating(),
                date: self.date(),
                id: ReviewId::new(id).expect("an id of a review"),
            };
            pairs.push(("cursor", cursor.render().to_string()));
        }
        pairs
    }
}
