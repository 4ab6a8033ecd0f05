//! Datasets and queries for the benches of search.
//!
//! `REVIEWD_CORPUS` names a directory with the files of a large dataset; without it, the sentences are the sample's.
//! `REVIEWD_BENCH_REVIEWS` sets the number of reviews (default 10,000 and 100,000, or 1,000 as a test).

#[path = "../../examples/generate/recombine.rs"]
pub(crate) mod recombine;

#[path = "files.rs"]
mod files;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use files::{corpus, decoded};
use recombine::{Random, Recombined};
use reviewd::dataset::embedded;
use reviewd::model::{Review, Taxonomy, sort_newest_first};
use reviewd::search::filter::Query;
use reviewd::search::fold::fold_into;
use reviewd::search::index::IndexOptions;
use reviewd::search::query::{Buffers, parse_query};
use reviewd::wire::date::Date;

/// Reviews to search, newest first.
pub(crate) struct Data {
    pub(crate) reviews: Vec<Review>,
    pub(crate) taxonomy: Taxonomy,
}

/// Returns `count` reviews: every n-th one of the corpus, or recombined ones if it has too few.
pub(crate) fn data(count: usize) -> Data {
    let given = decoded(corpus().unwrap_or_else(embedded));
    let mut reviews = given.reviews;
    if reviews.len() < count {
        reviews = Recombined::new(&reviews, 1).take(count).collect();
    } else {
        // Every n-th, so that all days and languages remain.
        let step = reviews.len() / count;
        reviews = reviews.into_iter().step_by(step).take(count).collect();
    }
    sort_newest_first(&mut reviews);
    Data {
        reviews,
        taxonomy: given.taxonomy,
    }
}

/// Returns the numbers of reviews to measure with.
pub(crate) fn sizes() -> Vec<usize> {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    match std::env::var("REVIEWD_BENCH_REVIEWS") {
        Ok(numbers) => numbers
            .split(',')
            .map(|number| number.parse().expect("a number of reviews"))
            .collect(),
        // `cargo bench -- --test` gives both; without either it is `cargo test --benches`.
        Err(_) if given("--bench") && !given("--test") => vec![10_000, 100_000],
        Err(_) => vec![1_000],
    }
}

/// Returns the index options of the benches.
pub(crate) fn options(memory_bytes: u64) -> IndexOptions {
    let threads = std::env::var("REVIEWD_BENCH_THREADS")
        .ok()
        .and_then(|threads| threads.parse().ok());
    IndexOptions {
        memory_bytes,
        threads: threads.unwrap_or(NonZeroUsize::MIN.saturating_add(1)),
        tuning: None,
    }
}

/// The kinds of searches that cost differently.
pub(crate) const CLASSES: [&str; 18] = [
    "one letter",
    "two letters",
    "common word",
    "rare word",
    "phrase",
    "infix",
    "unicode",
    "nothing matches",
    "long",
    "filters",
    "filters and text",
    "other orders",
    "three words",
    "one word",
    "three letters",
    "sixteen words",
    "quoted phrase",
    "ranked words",
];

/// A search of a class, as a query string.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) class: &'static str,
    raw: String,
}

impl Search {
    fn new(class: &'static str, pairs: &[(&str, String)]) -> Search {
        let escape =
            |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let pairs = pairs
            .iter()
            .map(|(name, value)| format!("{name}={}", escape(value)));
        let raw = pairs.collect::<Vec<_>>().join("&");
        Search { class, raw }
    }

    /// Returns the query, for the first 20 reviews.
    pub(crate) fn query<'b>(&self, buffers: &'b mut Buffers) -> Query<'b> {
        let query = parse_query(self.raw.as_bytes(), buffers);
        query.unwrap_or_else(|issues| panic!("{}: {issues:?}", self.raw))
    }
}

/// Draws searches of all classes from the texts, names and dates of a dataset.
pub(crate) struct Searches<'d> {
    data: &'d Data,
    random: Random,
    words: Vec<String>,
    unicode: Vec<usize>,
}

impl<'d> Searches<'d> {
    pub(crate) fn new(data: &'d Data, seed: u64) -> Searches<'d> {
        let mut random = Random(seed);
        let mut words = BTreeSet::new();
        for _ in 0..20_000.min(data.reviews.len()) {
            let text = fold(&data.reviews[random.below(data.reviews.len())].text);
            words.extend(text.split_whitespace().map(str::to_owned));
        }
        let unicode = |row: &usize| {
            data.reviews[*row]
                .text
                .chars()
                .filter(|character| !character.is_ascii())
                .count()
                > 3
        };
        let unicode = (0..data.reviews.len()).filter(unicode).collect();
        Searches {
            data,
            random,
            words: words.into_iter().collect(),
            unicode,
        }
    }

    /// Draws a search of `class`.
    pub(crate) fn draw(&mut self, class: &'static str) -> Search {
        let mut pairs = match class {
            "filters" | "filters and text" => self.filters(),
            _ => Vec::new(),
        };
        match class {
            "filters" => {}
            "filters and text" | "other orders" => {
                let kind = CLASSES[self.random.below(9)];
                pairs.push(("query", self.needle(kind)));
            }
            "one word" => pairs.push(("words", self.words(1))),
            "ranked words" => {
                let count = 2 + self.random.below(6);
                pairs.push(("words", self.words(count)));
                pairs.push(("sort", "relevance".to_owned()));
            }
            "three words" => pairs.push(("words", self.words(3))),
            "sixteen words" => pairs.push(("words", self.words(16))),
            "three letters" => {
                let words = self.words(3);
                let letters = words.split(' ').map(|word| word.chars().take(1).collect());
                pairs.push(("words", letters.collect::<Vec<String>>().join(" ")));
            }
            "quoted phrase" => {
                let phrase = self.needle("phrase").replace('"', "");
                pairs.push(("words", format!("\"{phrase}\"")));
            }
            text => pairs.push(("query", self.needle(text))),
        }
        if class == "other orders" {
            let sort = ["oldest", "highest", "lowest"][self.random.below(3)];
            pairs.push(("sort", sort.to_owned()));
        }
        Search::new(class, &pairs)
    }

    /// Words of reviews, each cut at the first sign within it.
    fn words(&mut self, count: usize) -> String {
        let mut words = Vec::new();
        while words.len() < count {
            let needle = self.needle("common word");
            let mut parts = needle.split(|character: char| !character.is_alphanumeric());
            words.extend(parts.find(|word| !word.is_empty()).map(str::to_owned));
        }
        words.join(" ")
    }

    fn filters(&mut self) -> Vec<(&'static str, String)> {
        let review = &self.data.reviews[self.random.below(self.data.reviews.len())];
        let bits = 1 + self.random.below(15);
        let mut pairs = Vec::new();
        if bits & 1 != 0 {
            let name = ["min_rating", "rating"][bits >> 1 & 1];
            pairs.push((name, (2 + self.random.below(4)).to_string()));
        }
        if bits & 2 != 0 {
            let name = review.mentioned_technicians.first();
            pairs.extend(name.map(|name| ("mentions_technician", name.clone())));
        }
        if bits & 4 != 0 {
            let id = review.mentioned_services.first();
            pairs.extend(id.map(|id| ("mentions_service", id.clone())));
        }
        if bits & 8 != 0 {
            let until = Date::from_days(review.date.days() + 1 + self.random.below(400) as u32);
            pairs.push(("since", review.date.to_string()));
            pairs.extend(until.map(|until| ("until", until.to_string())));
        }
        pairs
    }

    fn needle(&mut self, class: &str) -> String {
        loop {
            let needle = self.attempt(class);
            if !needle.trim().is_empty() {
                return needle;
            }
        }
    }

    fn attempt(&mut self, class: &str) -> String {
        let rows = self.data.reviews.len();
        let row = match class {
            "unicode" if !self.unicode.is_empty() => {
                self.unicode[self.random.below(self.unicode.len())]
            }
            _ => self.random.below(rows),
        };
        let text = fold(&self.data.reviews[row].text);
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return String::new();
        }
        let word = self.random.below(words.len());
        let drawn = self.random.below(self.words.len());
        match class {
            "one letter" => self.part(&text, 1),
            "two letters" => self.part(&text, 2),
            "common word" => words[word].to_owned(),
            "rare word" => self.words[drawn].clone(),
            "phrase" => {
                let end = (word + 2 + self.random.below(3)).min(words.len());
                words[word..end].join(" ")
            }
            "infix" => {
                let length = 3 + self.random.below(6);
                self.part(&text, length)
            }
            "unicode" => {
                let marks: Vec<usize> = text
                    .char_indices()
                    .filter(|(_, c)| !c.is_ascii())
                    .map(|(at, _)| at)
                    .collect();
                let length = 1 + self.random.below(6);
                let start = marks
                    .get(self.random.below(marks.len().max(1)))
                    .copied()
                    .unwrap_or(0);
                text[start..].chars().take(length).collect()
            }
            "nothing matches" => format!("{}zq{}", words[word], self.random.below(100)),
            _ => {
                let length = 60 + self.random.below(140);
                self.part(&text, length)
            }
        }
    }

    fn part(&mut self, text: &str, length: usize) -> String {
        let count = text.chars().count();
        let start = self.random.below(count.saturating_sub(length) + 1);
        text.chars().skip(start).take(length).collect()
    }
}

/// Folds as the index does.
pub(crate) fn fold(text: &str) -> String {
    let mut out = String::new();
    fold_into(text, &mut out);
    out
}
