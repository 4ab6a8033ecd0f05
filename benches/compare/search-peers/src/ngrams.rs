//! tantivy in memory: grams of one and two characters by review, and grams of three with their positions.
//!
//! Reviews are added newest first to a single segment, so a document's number is its row and the newest come first. A
//! needle is searched as a phrase of every third trigram and the last one, which cover it, so no text is scanned.
//!
//! Searches for words use another index, in which every prefix of every run of letters and digits is a term, so that a
//! word is one term.

use std::collections::BTreeSet;
use std::ops::Range;

use tantivy::collector::Count;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, EnableScoring, Occur, PhraseQuery, Query as Wanted, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    DocSet, Index, IndexSettings, Searcher, SingleSegmentIndexWriter, TERMINATED, TantivyDocument,
    Term,
};

use crate::plain::{names_of, range, runs, stars, tokens};
use crate::support::{Data, fold};
use crate::{Answer, Engine, PAGE};
use reviewd::model::Review;
use reviewd::search::filter::{Filter, Query, RatingSet};
use reviewd::wire::date::Date;

/// Longest prefix of a word that is a term, in characters; longer words are not drawn.
pub(crate) const PREFIX_MAX: usize = 32;

/// The index, and the dates that map a filter's days to rows, as in all engines.
pub(crate) struct Ngrams {
    searcher: Searcher,
    fields: Fields,
    dates: Vec<Date>,
}

#[derive(Clone, Copy)]
struct Fields {
    short: Field,
    three: Field,
    names: Field,
    words: Field,
}

impl Engine for Ngrams {
    fn new(data: &Data, is_for_words: bool) -> Ngrams {
        let (searcher, fields) = build(data, is_for_words).expect("tantivy takes the reviews");
        Ngrams {
            searcher,
            fields,
            dates: data.reviews.iter().map(|review| review.date).collect(),
        }
    }

    fn bytes(&self) -> u64 {
        let usage = self.searcher.space_usage().expect("tantivy knows its size");
        usage.total().get_bytes()
    }

    fn answer(&mut self, query: &Query<'_>) -> Answer {
        self.try_answer(&query.filter).expect("tantivy answers")
    }
}

impl Ngrams {
    fn try_answer(&self, filter: &Filter<'_>) -> tantivy::Result<Answer> {
        let wanted = self.wanted(filter);
        let rows = range(&self.dates, filter);
        let first = rows.start as u32;
        let end = rows.end as u32;
        let Some(wanted) = wanted else {
            return Ok(Answer {
                matched: end - first,
                newest: (first..end).take(PAGE).collect(),
            });
        };
        newest_and_count(&self.searcher, &wanted, first..end)
    }

    /// Returns the query for all conditions except the days; `None` if there are none.
    fn wanted(&self, filter: &Filter<'_>) -> Option<Box<dyn Wanted>> {
        let Fields {
            short,
            three,
            names,
            words,
        } = self.fields;
        let has = |field, text: &str| -> Box<dyn Wanted> {
            let term = Term::from_field_text(field, text);
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        let mut all: Vec<Box<dyn Wanted>> =
            tokens(filter).iter().map(|name| has(names, name)).collect();
        if filter.ratings != RatingSet::ALL {
            all.push(has(names, &rating_name(filter.ratings)));
        }
        let terms = filter.words.iter().flat_map(|words| words.terms());
        all.extend(terms.map(|term| has(words, term.text)));
        if let Some(text) = filter.text {
            let ends: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            let gram = |from: usize| &text[ends[from]..ends[from + 3]];
            match ends.len() - 1 {
                0..3 => all.push(has(short, text)),
                3 => all.push(has(three, text)),
                length => {
                    let last = length - 3;
                    let starts = (0..last).step_by(3).chain([last]);
                    let terms = starts
                        .map(|start| (start, Term::from_field_text(three, gram(start))))
                        .collect();
                    all.push(Box::new(PhraseQuery::new_with_offset(terms)));
                }
            }
        }
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Box::new(BooleanQuery::new(
                all.into_iter().map(|one| (Occur::Must, one)).collect(),
            ))),
        }
    }
}

/// Returns how many of `rows` the query selects, and the first of them, in a single segment.
fn newest_and_count(
    searcher: &Searcher,
    wanted: &dyn Wanted,
    rows: Range<u32>,
) -> tantivy::Result<Answer> {
    let mut answer = Answer {
        matched: 0,
        newest: Vec::with_capacity(PAGE),
    };
    let weight = wanted.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let reader = searcher.segment_reader(0);
    let mut documents = weight.scorer(reader, 1.0)?;
    let mut row = documents.doc();
    if row < rows.start {
        row = documents.seek(rows.start);
    }
    let is_whole = rows == (0..reader.max_doc());
    while row != TERMINATED && row < rows.end {
        if answer.newest.len() < PAGE {
            answer.newest.push(row);
        } else if is_whole {
            // Counting without row numbers is faster, and immediate for a single gram.
            answer.matched = searcher.search(wanted, &Count)? as u32;
            return Ok(answer);
        }
        answer.matched += 1;
        row = documents.advance();
    }
    Ok(answer)
}

/// The term of a set of ratings: either a single rating, or all from a lowest rating on.
fn rating_name(set: RatingSet) -> String {
    let (least, most) = stars(set).unwrap_or((9, 9));
    format!("r{least}{most}")
}

fn build(data: &Data, is_for_words: bool) -> tantivy::Result<(Searcher, Fields)> {
    let mut schema = Schema::builder();
    let mut field = |name, option| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(option);
        schema.add_text_field(name, TextOptions::default().set_indexing_options(indexing))
    };
    let fields = Fields {
        short: field("short", IndexRecordOption::Basic),
        three: field("three", IndexRecordOption::WithFreqsAndPositions),
        names: field("names", IndexRecordOption::Basic),
        words: field("words", IndexRecordOption::Basic),
    };
    let directory = RamDirectory::create();
    let settings = IndexSettings::default();
    let index = Index::create(directory, schema.build(), settings)?;
    let mut writer = SingleSegmentIndexWriter::new(index, 1 << 30)?;
    for review in &data.reviews {
        let folded = fold(&review.text);
        let mut document = TantivyDocument::new();
        if is_for_words {
            add_words(&mut document, &fields, &folded)
        } else {
            add_grams(&mut document, &fields, &folded, review, data)
        }
        writer.add_document(document)?;
    }
    let searcher = writer.finalize()?.reader()?.searcher();
    assert_eq!(searcher.segment_readers().len(), 1, "one segment");
    Ok((searcher, fields))
}

fn add_grams(
    document: &mut TantivyDocument,
    fields: &Fields,
    folded: &str,
    review: &Review,
    data: &Data,
) {
    for name in names_of(review, &data.taxonomy) {
        document.add_text(fields.names, name);
    }
    let own = review.rating.stars();
    document.add_text(fields.names, format!("r{own}{own}"));
    for least in 2..=own.min(4) {
        document.add_text(fields.names, format!("r{least}5"));
    }
    let short_grams = grams(folded, 1).chain(grams(folded, 2));
    document.add_pre_tokenized_text(fields.short, tokens_of(short_grams));
    document.add_pre_tokenized_text(fields.three, tokens_of(grams(folded, 3)));
}

/// Adds the prefixes, up to [`PREFIX_MAX`] characters long, of all runs.
fn add_words(document: &mut TantivyDocument, fields: &Fields, folded: &str) {
    let beginnings = |run| {
        let run: &str = run;
        let ends = run.char_indices().skip(1).map(|(at, _)| at);
        let ends = ends.chain([run.len()]).take(PREFIX_MAX);
        ends.map(|end| &run[..end])
    };
    let all: BTreeSet<&str> = runs(folded).flat_map(beginnings).collect();
    let terms = all.into_iter().map(|text| (0, text));
    document.add_pre_tokenized_text(fields.words, tokens_of(terms));
}

/// Terms of a document with their positions.
fn tokens_of<'t>(terms: impl Iterator<Item = (usize, &'t str)>) -> PreTokenizedString {
    let tokens = terms.map(|(position, text)| Token {
        position,
        text: text.to_owned(),
        ..Token::default()
    });
    PreTokenizedString {
        text: String::new(),
        tokens: tokens.collect(),
    }
}

/// All grams of `length` characters, with their positions.
fn grams(text: &str, length: usize) -> impl Iterator<Item = (usize, &str)> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = starts.clone().chain([text.len()]).skip(length);
    let grams = starts.zip(ends).map(|(start, end)| &text[start..end]);
    grams.enumerate()
}
