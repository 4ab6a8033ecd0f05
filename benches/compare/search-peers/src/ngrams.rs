//! tantivy in memory: grams of one and two characters by review, and grams of three with their positions.
//!
//! Reviews are added newest first to a single segment, so a document's number is its row and the newest come first. A
//! needle is a phrase of every third of its trigrams and the last one, which cover it, so no text is looked at.

use std::ops::Range;

use tantivy::collector::Count;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, EnableScoring, Occur, PhraseQuery, Query as Wanted, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{NgramTokenizer, RawTokenizer, Token, TokenStream, Tokenizer};
use tantivy::{
    DocSet, Index, IndexSettings, Searcher, SingleSegmentIndexWriter, TERMINATED, TantivyDocument,
    Term,
};

use crate::plain::{names_of, range, stars, tokens};
use crate::support::{Data, fold};
use crate::{Answer, PAGE};
use reviewd::search::filter::{Filter, Query, RatingSet};
use reviewd::wire::date::Date;

/// The index, and the dates by which a filter's days become rows, as for all engines.
pub(crate) struct Ngrams {
    searcher: Searcher,
    bytes: u64,
    fields: Fields,
    dates: Vec<Date>,
}

#[derive(Clone, Copy)]
struct Fields {
    short: Field,
    three: Field,
    names: Field,
}

impl Ngrams {
    pub(crate) fn new(data: &Data) -> Ngrams {
        let (searcher, fields, bytes) = build(data).expect("tantivy takes the reviews");
        Ngrams {
            searcher,
            bytes,
            fields,
            dates: data.reviews.iter().map(|review| review.date).collect(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn answer(&self, query: &Query<'_>) -> Answer {
        self.try_answer(&query.filter).expect("tantivy answers")
    }

    fn try_answer(&self, filter: &Filter<'_>) -> tantivy::Result<Answer> {
        let wanted = self.wanted(filter);
        let rows = range(&self.dates, filter);
        let (first, end) = (rows.start as u32, rows.end as u32);
        let Some(wanted) = wanted else {
            return Ok(Answer {
                matched: end - first,
                newest: (first..end).take(PAGE).collect(),
            });
        };
        newest_and_count(&self.searcher, &wanted, first..end)
    }

    /// Returns what all documents must have, but for the days; `None` where that is nothing.
    fn wanted(&self, filter: &Filter<'_>) -> Option<Box<dyn Wanted>> {
        let Fields {
            short,
            three,
            names,
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
pub(crate) fn newest_and_count(
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
            // Counting without the numbers is faster, and immediate where it is one gram's.
            answer.matched = searcher.search(wanted, &Count)? as u32;
            return Ok(answer);
        }
        answer.matched += 1;
        row = documents.advance();
    }
    Ok(answer)
}

/// The name that reviews of a set of ratings have: those of one rating, and those of a least rating.
fn rating_name(set: RatingSet) -> String {
    let (least, most) = stars(set).unwrap_or((9, 9));
    format!("r{least}{most}")
}

fn build(data: &Data) -> tantivy::Result<(Searcher, Fields, u64)> {
    let mut schema = Schema::builder();
    let mut field = |name, tokenizer, option| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_fieldnorms(false)
            .set_index_option(option);
        schema.add_text_field(name, TextOptions::default().set_indexing_options(indexing))
    };
    let fields = Fields {
        short: field("short", "short", IndexRecordOption::Basic),
        three: field("three", "three", IndexRecordOption::WithFreqsAndPositions),
        names: field("names", "whole", IndexRecordOption::Basic),
    };
    let index = Index::create(
        RamDirectory::create(),
        schema.build(),
        IndexSettings::default(),
    )?;
    index
        .tokenizers()
        .register("short", NgramTokenizer::all_ngrams(1, 2)?);
    index.tokenizers().register("three", Trigrams);
    index
        .tokenizers()
        .register("whole", RawTokenizer::default());
    let mut writer = SingleSegmentIndexWriter::new(index, 1 << 30)?;
    for review in &data.reviews {
        let folded = fold(&review.text);
        let mut document = TantivyDocument::new();
        for name in names_of(review, &data.taxonomy) {
            document.add_text(fields.names, name);
        }
        let own = review.rating.stars();
        document.add_text(fields.names, format!("r{own}{own}"));
        for least in 2..=own.min(4) {
            document.add_text(fields.names, format!("r{least}5"));
        }
        document.add_text(fields.short, &folded);
        document.add_text(fields.three, folded);
        writer.add_document(document)?;
    }
    let index = writer.finalize()?;
    let searcher = index.reader()?.searcher();
    assert_eq!(searcher.segment_readers().len(), 1, "one segment");
    let bytes = searcher.space_usage()?.total().get_bytes();
    Ok((searcher, fields, bytes))
}

/// Cuts texts into all grams of three characters; unlike the tokenizer of tantivy it tells their positions.
#[derive(Clone, Copy)]
struct Trigrams;

struct Grams<'a> {
    text: &'a str,
    /// Where the characters of the next gram begin, and where the last one ends.
    ends: [usize; 4],
    token: Token,
}

impl Tokenizer for Trigrams {
    type TokenStream<'a> = Grams<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Grams<'a> {
        let mut ends = [0; 4];
        for place in 1..4 {
            ends[place] = next(text, ends[place - 1]);
        }
        Grams {
            text,
            ends,
            token: Token::default(),
        }
    }
}

/// Returns where the character at `at` ends; past the text there is one that never does.
fn next(text: &str, at: usize) -> usize {
    let character = text.get(at..).and_then(|rest| rest.chars().next());
    character.map_or(usize::MAX, |character| at + character.len_utf8())
}

impl TokenStream for Grams<'_> {
    fn advance(&mut self) -> bool {
        let [start, _, _, end] = self.ends;
        if end == usize::MAX {
            return false;
        }
        self.token.position = self.token.position.wrapping_add(1);
        self.token.offset_from = start;
        self.token.offset_to = end;
        self.token.text.clear();
        self.token.text.push_str(&self.text[start..end]);
        self.ends.rotate_left(1);
        self.ends[3] = next(self.text, end);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
