//! The reference implementation of `search::run`: folds the text of every review for every query and looks at them one by one.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroUsize;

use icu_casemap::CaseMapperBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

use reviewd::model::insights::{Aspect, Insights, Polarity};
use reviewd::model::{Concept, OwnerReply, Rating, Review, Row, Taxonomy, Technician};
use reviewd::search::Tuning;
use reviewd::search::filter::{
    Cursor, Filter, Query, RatingSet, ReviewId, Sort, Words, is_of_word,
};
use reviewd::search::index::{Index, IndexOptions};
use reviewd::search::run::{Scratch, run};
use reviewd::wire::date::Date;

/// The number of reviews that `query` selects, and those of its page followed by all later ones.
fn search_naively(
    reviews: &[Review],
    taxonomy: &Taxonomy,
    insights: &Insights,
    query: &Query<'_>,
) -> (u32, Vec<Row>) {
    let mut rows: Vec<usize> = (0..reviews.len())
        .filter(|row| selects(&reviews[*row], taxonomy, insights, &query.filter))
        .collect();
    let matched = rows.len() as u32;
    let place = |row: usize| (reviews[row].date, reviews[row].id.as_str());
    let stars = |row: usize| reviews[row].rating.stars();
    match query.sort {
        Sort::Newest => rows.sort_by_key(|row| Reverse(place(*row))),
        Sort::Oldest => rows.sort_by_key(|row| place(*row)),
        Sort::Highest => rows.sort_by_key(|row| (Reverse(stars(*row)), Reverse(place(*row)))),
        Sort::Lowest => rows.sort_by_key(|row| (stars(*row), Reverse(place(*row)))),
    }
    if let Some(cursor) = &query.cursor {
        let last = (cursor.date, cursor.id.as_str());
        let last_stars = cursor.rating.stars();
        rows.retain(|row| match query.sort {
            Sort::Newest => place(*row) < last,
            Sort::Oldest => place(*row) > last,
            Sort::Highest if stars(*row) == last_stars => place(*row) < last,
            Sort::Highest => stars(*row) < last_stars,
            Sort::Lowest if stars(*row) == last_stars => place(*row) < last,
            Sort::Lowest => stars(*row) > last_stars,
        });
    }
    (
        matched,
        rows.into_iter().map(|row| Row(row as u32)).collect(),
    )
}

fn selects(review: &Review, taxonomy: &Taxonomy, insights: &Insights, filter: &Filter<'_>) -> bool {
    let technicians = taxonomy.technicians.iter().map(|known| {
        let names = [&known.name].into_iter().chain(&known.aliases);
        (known.name.clone(), names.cloned().collect())
    });
    let services = taxonomy.services.iter().map(|known| {
        let names = vec![known.id.clone(), known.label.clone()];
        (known.id.clone(), names)
    });
    let aspects = insights.aspects.iter().map(|known| {
        let of_taxonomy = taxonomy.aspects.iter().filter(|one| one.id == known.id);
        let phrases = of_taxonomy.flat_map(|one| one.phrases.clone());
        let names = [known.id.clone(), known.label.clone()];
        (known.id.clone(), names.into_iter().chain(phrases).collect())
    });
    let is_aspect_named = |aspect: &Aspect, name: &str| {
        is_named(aspects.clone(), std::slice::from_ref(&aspect.id), name)
    };
    let says = |aspect: &Aspect| {
        let rows = match filter.polarity {
            None => &aspect.rows,
            Some(polarity) => &aspect.rows_by_polarity[polarity as usize],
        };
        let is_meant = filter
            .aspect
            .is_none_or(|name| is_aspect_named(aspect, name));
        is_meant && rows.iter().any(|row| row.0 as usize == number(review))
    };
    let text = fold(&review.text);
    let language = review.language.as_deref().map(fold);
    filter.ratings.contains(review.rating)
        && filter.since.is_none_or(|since| review.date >= since)
        && filter.until.is_none_or(|until| review.date <= until)
        && filter.text.is_none_or(|needle| text.contains(needle))
        && filter
            .words
            .is_none_or(|words| holds_words(&text, words.as_str()))
        && filter
            .technician
            .is_none_or(|name| is_named(technicians.clone(), &review.mentioned_technicians, name))
        && filter
            .service
            .is_none_or(|name| is_named(services.clone(), &review.mentioned_services, name))
        && filter
            .has_reply
            .is_none_or(|has| review.owner_reply.is_some() == has)
        && filter
            .source
            .is_none_or(|source| fold(&review.source) == source)
        && filter.language.is_none_or(|asked| {
            let of = |tag: &String| tag == asked || tag.split('-').next() == Some(asked);
            language.as_ref().is_some_and(of)
        })
        && (!filter.needs_insights() || insights.aspects.iter().any(says))
}

/// The row that the datasets of these checks write into the author's name.
fn number(review: &Review) -> usize {
    review.author.parse().unwrap_or(usize::MAX)
}

/// Whether the folded `name` is a whole name of one of the entries `of`, or words of the names of one entry, which is
/// among `of`. An entry that is only mentioned goes by its own name.
fn is_named(
    known: impl Iterator<Item = (String, Vec<String>)> + Clone,
    of: &[String],
    name: &str,
) -> bool {
    let mut known: Vec<(String, Vec<String>)> = known.collect();
    // One dataset of the tests mentions a person who is not in its taxonomy.
    if known.iter().any(|(main, _)| main == "Nobody") {
        let mention = "not in the taxonomy".to_owned();
        known.push((mention.clone(), vec![mention]));
    }
    let is_whole = |names: &[String]| names.iter().any(|known| fold(known) == name);
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|character: char| !character.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let asked = words(name);
    let is_part = |names: &[String]| {
        let holds = |known: &String| {
            let of_name = words(&fold(known));
            asked.iter().all(|word| of_name.contains(word))
        };
        !asked.is_empty() && names.iter().any(holds)
    };
    let named = |is_named: &dyn Fn(&[String]) -> bool| -> Vec<&String> {
        let entries = known.iter().filter(|(_, names)| is_named(names));
        entries.map(|(main, _)| main).collect()
    };
    let (whole, parts) = (named(&is_whole), named(&is_part));
    match (whole.len(), parts.len()) {
        (1.., _) => whole.iter().any(|main| of.contains(main)),
        (0, 1) => of.contains(parts[0]),
        _ => false,
    }
}

/// Whether the folded `text` holds the terms of the folded `words`, character by character.
fn holds_words(text: &str, words: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    terms(words)
        .into_iter()
        .all(|(term, is_quoted, is_excluded)| {
            let length: usize = term.iter().map(|character| character.len_utf8()).sum();
            let begins_word = is_of_word(term[0]) && (is_quoted || length <= 32);
            let ends_word = is_of_word(term[term.len() - 1]) && is_quoted;
            let is_bound = |place: usize| {
                let end = place + term.len();
                (!begins_word || place == 0 || !is_of_word(text[place - 1]))
                    && (!ends_word || end == text.len() || !is_of_word(text[end]))
            };
            let mut places = 0..(text.len() + 1).saturating_sub(term.len());
            let is_held = places.any(|place| text[place..].starts_with(&term) && is_bound(place));
            is_held != is_excluded
        })
}

/// The terms of the folded `words`, and whether each is quoted and excluded.
pub(super) fn terms(words: &str) -> Vec<(Vec<char>, bool, bool)> {
    let words: Vec<char> = words.chars().collect();
    let mut terms = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at].is_whitespace() {
            at += 1;
            continue;
        }
        let after = words.get(at + 1);
        let is_excluded = words[at] == '-' && after.is_some_and(|next| !next.is_whitespace());
        at += usize::from(is_excluded);
        let is_quoted = words[at] == '"';
        at += usize::from(is_quoted);
        let mut term = Vec::new();
        while at < words.len() && words[at] != '"' && (is_quoted || !words[at].is_whitespace()) {
            term.push(words[at]);
            at += 1;
        }
        at += usize::from(is_quoted && at < words.len());
        let around = |character: char| match is_quoted {
            true => character.is_whitespace(),
            false => "?!.,;:()&/-¿¡…".contains(character),
        };
        let term: String = term.into_iter().collect();
        let term: Vec<char> = term.trim_matches(around).chars().collect();
        if !term.is_empty() {
            terms.push((term, is_quoted, is_excluded));
        }
    }
    terms
}

/// Folds a text, or remembers what it folded to: the same reviews are searched many times.
fn fold(text: &str) -> String {
    FOLDED.with_borrow_mut(|folded| {
        if folded.len() > FOLDED_MAX {
            folded.clear();
        }
        let folded = folded.entry(text.to_owned());
        folded.or_insert_with(|| fold_anew(text)).clone()
    })
}

thread_local! {
    static FOLDED: RefCell<HashMap<String, String>> = RefCell::default();
}

/// Texts that are remembered.
const FOLDED_MAX: usize = 10_000;

/// Folds by the decomposed text, cluster by cluster: a base and the marks that follow it.
fn fold_anew(text: &str) -> String {
    let decomposer = DecomposingNormalizerBorrowed::new_nfd();
    let composer = ComposingNormalizerBorrowed::new_nfc();
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let mapper = CaseMapperBorrowed::new();
    let mut out = String::new();
    let mut follows_latin = false;
    for character in decomposer.normalize_iter(text.chars()) {
        let is_mark = classes.get_u8(character) != 0;
        let folded = match mapper.simple_fold(character) {
            'ß' => "ss".to_owned(),
            'ø' => "o".to_owned(),
            'ł' => "l".to_owned(),
            'đ' => "d".to_owned(),
            'ħ' => "h".to_owned(),
            'ŧ' => "t".to_owned(),
            'ı' => "i".to_owned(),
            '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | '‹' | '›' => "'".to_owned(),
            '“' | '”' | '„' | '‟' | '″' | '«' | '»' => "\"".to_owned(),
            '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => "-".to_owned(),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                " ".to_owned()
            }
            other => other.to_string(),
        };
        if !is_mark {
            let first = folded.chars().next().unwrap_or(' ');
            follows_latin = matches!(first, 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
                && !matches!(first, '×' | '÷');
        } else if follows_latin {
            continue;
        }
        out.push_str(&folded);
    }
    composer.normalize(&out).into_owned()
}

/// Checks that `index`, which was given these aspects, and the reference give the same answer to `query`, and that the next
/// page goes on where this one ends; returns where that begins.
fn check_page(
    reviews: &[Review],
    taxonomy: &Taxonomy,
    insights: &Insights,
    index: &Index,
    query: &Query<'_>,
    scratch: &mut Scratch,
) -> Option<Cursor> {
    let (matched, rows) = search_naively(reviews, taxonomy, insights, query);
    let page = run(index, query, scratch);
    let returned = rows.len().min(usize::from(query.limit));
    assert_eq!(page.matched, matched, "matched of {query:?}");
    assert_eq!(*page.rows, rows[..returned], "rows of {query:?}");
    let next = rows[..returned]
        .last()
        .filter(|_| rows.len() > returned)
        .map(|row| {
            let review = &reviews[row.0 as usize];
            let id = ReviewId::new(&review.id).expect("the reviews of a check have ids");
            Cursor {
                sort: query.sort,
                rating: review.rating,
                date: review.date,
                id,
            }
        });
    assert_eq!(page.next, next, "the cursor after {query:?}");
    next
}

/// Checks ten searches over a small dataset, both made of `data`, with trees of several tunings and budgets.
///
/// # Panics
/// If an index and its reference differ.
pub fn check_search(data: &[u8]) {
    let mut source = Source { data };
    let tuning = source.tuning();
    let budget = u64::from(source.next()) * 64;
    let taxonomy = taxonomy();
    let reviews = source.reviews(&taxonomy);
    let options = |memory_bytes| IndexOptions {
        memory_bytes,
        threads: NonZeroUsize::MIN,
    };
    let indexes = [
        Index::build_tuned(&reviews, &taxonomy, tuning, &options(u64::MAX)),
        Index::build(&reviews, &taxonomy, &options(u64::MAX)),
        Index::build(&reviews, &taxonomy, &options(budget)),
    ];
    let insights = source.insights(&reviews, &taxonomy);
    let mut scratch = Scratch::default();
    for index in &indexes {
        index.set_aspects(&insights, &taxonomy);
    }
    for _ in 0..10 {
        let needle = source.needle(&reviews);
        let words = source.words(&reviews);
        let names = [source.name(), source.name(), source.name()];
        let mut query = source.query(&needle, &words, &names, &reviews);
        for index in &indexes {
            check_page(&reviews, &taxonomy, &insights, index, &query, &mut scratch);
        }
        // Alone, and to the last page.
        query.filter = match source.next() % 2 {
            0 => Filter {
                text: query.filter.text,
                ..Filter::ALL
            },
            _ => Filter {
                words: query.filter.words,
                ..Filter::ALL
            },
        };
        query.cursor = None;
        for _ in 0..=reviews.len() {
            query.cursor = check_page(
                &reviews,
                &taxonomy,
                &insights,
                &indexes[0],
                &query,
                &mut scratch,
            );
            if query.cursor.is_none() {
                break;
            }
        }
    }
}

/// A review that has nothing but a text.
fn review_of(id: String, rating: Rating, date: Date, text: String) -> Review {
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
pub(super) fn taxonomy() -> Taxonomy {
    let technician = |name: &str, aliases: &[&str]| Technician {
        name: name.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
    };
    let service = |id: &str, label: &str| Concept {
        id: id.to_owned(),
        label: label.to_owned(),
        phrases: Vec::new(),
    };
    Taxonomy {
        technicians: vec![
            technician("Ana Óses", &["ANA", "Ms Oses"]),
            technician("Bo", &["ana", "B."]),
            technician("Nobody", &[]),
        ],
        services: vec![
            service("wills", "Wills"),
            service("tax", "WILLS"),
            service("none", ""),
            service("family", "Family law: divorce"),
        ],
        aspects: vec![
            service("fees", "Fees and billing"),
            service("staff", "Staff"),
        ],
        ..Taxonomy::default()
    }
}

/// Pieces of texts that meet again and again: cases that fold, marks that combine, and what must stay whole.
const PIECES: [&str; 48] = [
    "a",
    "b",
    "ab",
    "aa",
    "e",
    "E\u{301}",
    "é",
    "\u{301}",
    "ß",
    "ẞ",
    "ss",
    "İ",
    "ı",
    "i",
    "I",
    "Σ",
    "ς",
    "σ",
    "K",
    "한",
    "\u{1112}\u{1161}\u{11ab}",
    "👩\u{200d}👩",
    "👩",
    "🏽",
    "日本",
    "本",
    "ǆ",
    "Ǆ",
    "\n",
    " ",
    "",
    "aaaaaaaa",
    " a",
    "-b",
    "'",
    "\u{2019}",
    "\u{a0}",
    "\u{201c}",
    "\u{2014}",
    "ø",
    "Ł",
    "1",
    "\u{303}",
    "й",
    "\u{306}",
    ". ",
    "क्या",
    "abaababaabaababaababaabaababaabaab",
];

/// Bytes read one after another; past their end there are zeros.
pub(super) struct Source<'d> {
    pub(super) data: &'d [u8],
}

impl Source<'_> {
    pub(super) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.data.split_first() else {
            return 0;
        };
        self.data = rest;
        *first
    }

    pub(super) fn tuning(&mut self) -> Tuning {
        let first = u32::from(self.next());
        Tuning {
            leaf_rows_max: 1 + first % 8,
            bitmap_rows_min: 1 + u32::from(self.next() % 24),
            union_steps_max: u32::from(self.next() % 32),
        }
    }

    fn text(&mut self, pieces_max: u8) -> String {
        let count = self.next() % pieces_max;
        (0..count)
            .map(|_| PIECES[usize::from(self.next()) % PIECES.len()])
            .collect()
    }

    pub(super) fn reviews(&mut self, taxonomy: &Taxonomy) -> Vec<Review> {
        let count = self.next() % 48;
        let mut reviews: Vec<Review> = (0..count)
            .map(|number| self.review(number, taxonomy))
            .collect();
        reviews.sort_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
        for (row, review) in reviews.iter_mut().enumerate() {
            review.author = row.to_string();
        }
        reviews
    }

    /// Aspects that some reviews mention, each with one polarity or several.
    fn insights(&mut self, reviews: &[Review], taxonomy: &Taxonomy) -> Insights {
        let mut aspects: Vec<Aspect> = taxonomy
            .aspects
            .iter()
            .map(|concept| Aspect {
                id: concept.id.clone(),
                label: concept.label.clone(),
                ..Aspect::default()
            })
            .collect();
        for row in (0..reviews.len() as u32).map(Row) {
            let bits = self.next();
            for (number, aspect) in aspects.iter_mut().enumerate() {
                let bits = bits >> (number * 4);
                if bits & 1 == 1 {
                    aspect.rows.push(row);
                }
                for polarity in Polarity::ALL {
                    if bits & 1 == 1 && bits >> (polarity as usize + 1) & 1 == 1 {
                        aspect.rows_by_polarity[polarity as usize].push(row);
                    }
                }
            }
        }
        Insights {
            aspects,
            ..Insights::default()
        }
    }

    fn review(&mut self, number: u8, taxonomy: &Taxonomy) -> Review {
        let bits = self.next();
        let technicians = taxonomy.technicians.iter().take(2).enumerate();
        let services = taxonomy.services.iter().take(2).enumerate();
        let text = self.text(if bits & 1 == 0 { 20 } else { 5 });
        let id = format!("{:x}-{number}", self.next());
        Review {
            source: ["google", "Yelp"][usize::from(bits & 1)].to_owned(),
            owner_reply: (bits & 12 == 12).then(|| OwnerReply {
                text: "Thanks".to_owned(),
                date: self.date(),
            }),
            mentioned_technicians: technicians
                .filter(|(place, _)| bits >> (place + 1) & 1 == 1)
                .map(|(_, technician)| technician.name.clone())
                .chain((bits >> 6 == 0).then(|| "not in the taxonomy".to_owned()))
                .collect(),
            mentioned_services: services
                .filter(|(place, _)| bits >> (place + 3) & 1 == 1)
                .map(|(_, service)| service.id.clone())
                .collect(),
            language: [None, Some("en"), Some("en-GB"), Some("es")][usize::from(bits >> 5 & 3)]
                .map(str::to_owned),
            ..review_of(id, self.rating(), self.date(), text)
        }
    }

    fn rating(&mut self) -> Rating {
        Rating::new(1 + self.next() % 5).unwrap_or(Rating::MAX)
    }

    fn date(&mut self) -> Date {
        Date::new(2024, 2, 20 + self.next() % 10).expect("20 to 29 February of a leap year")
    }

    /// A part of a text, or pieces of our own; folded.
    pub(super) fn needle(&mut self, reviews: &[Review]) -> String {
        let choice = usize::from(self.next());
        let Some(review) = reviews.get(choice % (reviews.len() + 1)) else {
            return fold(&self.text(6));
        };
        let folded: Vec<char> = fold(&review.text).chars().collect();
        let start = usize::from(self.next()) % (folded.len() + 1);
        let end = start + usize::from(self.next()) % (folded.len() - start + 1);
        let needle = folded[start..end].iter().collect::<String>();
        if choice < 200 {
            needle
        } else {
            needle + &fold(&self.text(3))
        }
    }

    /// Terms of texts and of pieces, folded.
    fn words(&mut self, reviews: &[Review]) -> String {
        let mut words = String::new();
        for _ in 0..self.next() % 6 {
            words.push_str(["", "", "-", "\"", "-\"", " "][usize::from(self.next() % 6)]);
            let needle = self.needle(reviews);
            // Half of them without what may be cut off at both ends, so that phrases of whole words are among them.
            let ends = needle.find(' ').zip(needle.rfind(' '));
            let whole = ends.filter(|_| self.next().is_multiple_of(2));
            words.push_str(whole.map_or(&*needle, |(start, end)| &needle[start..end]));
            words.push_str([" ", "\" ", "  "][usize::from(self.next() % 3)]);
        }
        words
    }

    pub(super) fn name(&mut self) -> String {
        const NAMES: [&str; 16] = [
            "oses",
            "family law",
            "divorce",
            "law: family",
            "fees",
            "billing",
            "staff",
            ".",
            "ana oses",
            "ana",
            "bo",
            "b.",
            "wills",
            "tax",
            "nobody",
            "not in the taxonomy",
        ];
        NAMES[usize::from(self.next()) % NAMES.len()].to_owned()
    }

    pub(super) fn query<'a>(
        &mut self,
        needle: &'a str,
        words: &'a str,
        names: &'a [String; 3],
        reviews: &[Review],
    ) -> Query<'a> {
        let bits = self.next();
        let more = self.next();
        let ratings = match self.next() % 9 {
            8 => RatingSet::at_most(self.rating()).and(RatingSet::at_least(self.rating())),
            0 | 1 => RatingSet::only(self.rating()),
            2 | 3 => RatingSet::at_least(self.rating()),
            4 => RatingSet::only(self.rating()).and(RatingSet::at_least(self.rating())),
            _ => RatingSet::ALL,
        };
        let sort = Sort::ALL[usize::from(self.next() % 4)];
        let cursor = (bits & 1 == 1).then(|| {
            let known = reviews.get(usize::from(self.next()));
            let id = known.map_or("5-gone", |review| review.id.as_str());
            let id = ReviewId::new(id).expect("an id of a review");
            Cursor {
                sort,
                rating: self.rating(),
                date: self.date(),
                id,
            }
        });
        Query {
            filter: Filter {
                ratings,
                since: (bits & 6 == 6).then(|| self.date()),
                until: (bits & 24 == 24).then(|| self.date()),
                text: Some(needle).filter(|needle| !needle.is_empty() && more & 3 != 3),
                technician: (bits & 96 == 96).then_some(&*names[0]),
                service: (bits & 160 == 160).then_some(&*names[1]),
                words: Words::parse(words).filter(|_| more & 1 == 1),
                aspect: (more & 6 == 6).then_some(&*names[2]),
                polarity: (more & 24 == 24).then(|| Polarity::ALL[usize::from(more % 3)]),
                has_reply: (more & 48 == 48).then_some(more & 64 == 0),
                language: (more & 130 == 130)
                    .then_some(["en", "en-gb", "fr"][usize::from(more % 3)]),
                source: (more & 136 == 136).then_some(["google", "yelp"][usize::from(more % 2)]),
            },
            sort,
            limit: 1 + self.next() % 8,
            cursor,
            ignored: &[],
        }
    }
}
