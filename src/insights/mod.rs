//! Insights derived from the reviews offline: no external service, no generated text, and every number can be traced
//! to the words and stars that it is computed from.
//!
//! Data flow: `known` learns from the dataset's own stars (`own_stars`). `parts` reads each review once, in the language
//! that it states or that was detected with its file: sentences and words (`text`), aspects (`aspect`), the evidence about
//! each mention (`evidence`, which has the formula, and `text_model`), phrases (`topic_phrases`). `read` adds what was learned.
//! `totals`, `topics`, `entities` and `summary` aggregate it into the value [`Insights`], serialized once by serde. The dataset is the
//! only input, so replicas agree. What unchanged reviews gave before a reload is used again ([`ReviewReadings`]); it never
//! changes the result.

mod aspect;
mod change;
mod entities;
pub mod evidence;
pub(crate) mod explain;
mod inflection;
mod keys;
mod known;
mod language;
mod own_stars;
mod parts;
mod people;
mod read;
mod sentences;
mod stance;
mod star_group;
mod star_weights;
mod summary;
mod text;
pub mod text_model;
mod topic_phrases;
mod topic_words;
mod topics;
mod totals;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use whatlang::Lang;

use crate::dataset::tag_of_language;
use crate::model::insights::{
    ByPolarity, Coverage, DateRange, Figure, Insights, LanguageCoverage, Method, ReviewInsights,
    Temporal,
};
use crate::model::{Dataset, Row};
use crate::wire::text::hex;
use aspect::has_opinions;
use evidence::{Reader, sign};
use known::Known;
pub use parts::ReviewReadings;
pub use people::{is_greeting, is_usual_word, name_candidates};
use read::Derived;
use sentences::Sentences;
use star_weights::{
    COMPLAINT_MARGIN_BY_STARS, NEUTRAL_BY_STARS, PART_OF_DOUBT, PRAISE_MARGIN_BY_STARS,
    TILT_BY_STARS,
};
use text_model::UNIT;
pub use totals::interval as share_interval;
use totals::rounded;

/// Version of the document's schema; keys are added to it, never removed.
pub const SCHEMA_VERSION: u64 = 1;

/// Name and version of the method.
const MODEL: &str = "reviewd-evidence-16";

/// The insights as published bytes and as a parsed value.
#[derive(Clone, Debug)]
pub struct Document {
    /// The bytes of `/insights.json`.
    pub bytes: Vec<u8>,
    /// The parsed document without `per_review`.
    pub insights: Insights,
    /// What single reviews gave; `None` for a document that the operator made.
    pub readings: Option<Arc<ReviewReadings>>,
}

/// Tells whether a computation is cancelled, so that its result is not needed any more. It is called again and again, on any
/// thread; once it has returned true, it must go on to.
pub type IsCancelled<'c> = &'c (dyn Fn() -> bool + Sync);

/// Returns the operator's own insights document unchanged, or else derives one, which does not depend on the number of
/// `threads`; `None` if it is cancelled before all reviews were read.
///
/// Reads each text a few times, about 0.1 ms per review divided among the threads: not to be called on request threads.
/// For 100,000 reviews the document has about 15 MB, mostly `per_review`; evidence is bounded for each aspect.
#[must_use]
pub fn document(
    dataset: &Dataset,
    threads: NonZeroUsize,
    cancelled: IsCancelled<'_>,
) -> Option<Document> {
    document_after(dataset, None, threads, cancelled)
}

/// Returns the same document as [`document`], which takes less time if most reviews are those of the `previous` readings.
#[must_use]
pub fn document_after(
    dataset: &Dataset,
    previous: Option<&ReviewReadings>,
    threads: NonZeroUsize,
    cancelled: IsCancelled<'_>,
) -> Option<Document> {
    if let Some(given) = &dataset.insights {
        let mut insights = read(given, dataset);
        insights.per_review = None;
        return Some(Document {
            bytes: given.clone(),
            insights,
            readings: None,
        });
    }
    let mut derived = Derived::of(dataset, previous, threads, cancelled)?;
    let readings = Arc::new(std::mem::take(&mut derived.readings));
    let mut insights = insights(dataset, &derived, cancelled)?;
    let bytes = serde_json::to_vec(&insights).expect("strings and finite numbers are JSON");
    insights.per_review = None;
    Some(Document {
        bytes,
        insights,
        readings: Some(readings),
    })
}

/// Parses a document that another program wrote; parts that do not match our schema are left out.
fn read(given: &[u8], dataset: &Dataset) -> Insights {
    let mut insights: Insights = serde_json::from_slice(given).expect("the decoder has parsed it");
    let ids = dataset.reviews.iter().map(|review| review.id.as_str());
    let rows: HashMap<&str, Row> = ids.zip((0..).map(Row)).collect();
    for aspect in &mut insights.aspects {
        // In such a document, `per_review` and `evidence` may name different reviews; both count.
        let reviews = insights.per_review.iter().flatten();
        let naming = reviews.filter(|(_, review)| review.aspects.contains(&aspect.id));
        let naming = naming.filter_map(|(id, _)| rows.get(id.as_str()));
        let mut all: BTreeSet<Row> = naming.copied().collect();
        let mut by_polarity = ByPolarity::<BTreeSet<Row>>::default();
        for shown in aspect.evidence.iter().flatten() {
            let row = rows.get(shown.review_id.as_str());
            all.extend(row);
            by_polarity[shown.polarity].extend(row);
        }
        aspect.rows = all.into_iter().collect();
        aspect.rows_by_polarity =
            ByPolarity::from_fn(|polarity| by_polarity[polarity].iter().copied().collect());
    }
    insights
}

/// `None` if `cancelled`, which is called for each review that is read for the topics.
fn insights(dataset: &Dataset, derived: &Derived, cancelled: IsCancelled<'_>) -> Option<Insights> {
    let reviews = &dataset.reviews;
    let editorial = &dataset.editorial;
    let words = Sentences::of(dataset);
    let aspects = totals::aspects(dataset, derived, words);
    let (entities, named) = entities::entities(dataset, &derived.places, &aspects);
    let overall_sentiment = summary::overall(&derived.scores);
    let derived_summary =
        || summary::summary(reviews, overall_sentiment.as_ref()?, &aspects, words);
    let summary = editorial.summary.clone().or_else(derived_summary);
    let name_candidates = derived.names.candidates(dataset);
    let shown = aspects.iter().flat_map(|aspect| &aspect.top_phrases);
    let shown: HashSet<&str> = shown.map(String::as_str).collect();
    let topics = topics::topics(
        dataset,
        &derived.known,
        &derived.phrases,
        &name_candidates,
        &shown,
        cancelled,
    )?;
    let origin = match (&editorial.summary, &summary) {
        (Some(_), _) => "editorial",
        (None, Some(_)) => "derived",
        (None, None) => "none",
    };
    Some(Insights {
        version: SCHEMA_VERSION,
        generated_at: dataset.updated_at.to_string(),
        model: MODEL.to_owned(),
        method: method(origin),
        coverage: coverage(dataset, derived, named),
        limits: include_str!("limits.txt").trim_end().to_owned(),
        review_count: reviews.len() as u64,
        date_range: DateRange {
            earliest: reviews.last().map(|review| review.date.to_string()),
            latest: reviews.first().map(|review| review.date.to_string()),
        },
        overall_sentiment,
        aspects,
        entities,
        topics,
        name_candidates,
        temporal: Temporal {
            monthly: summary::months(reviews, &derived.scores),
            trend: summary::trend(reviews).map(str::to_owned),
        },
        per_review: Some(per_review(dataset, derived)),
        faq: editorial.faq.clone(),
        summary,
        pull_quote: editorial.pull_quote.clone(),
    })
}

/// The method and its measured accuracy; `summary` is the source of the document's summary. The figures, written by the
/// test `insights_accuracy`, become `measured` (the first) and `further`.
fn method(summary: &str) -> Method {
    let rules = serde_json::from_str(include_str!("method.json"));
    let rules: Method = rules.expect("method.json has the keys of a method");
    let figures = serde_json::from_str(include_str!("figures.json"));
    let figures: Vec<Figure> = figures.expect("figures.json is a list of figures");
    let mut figures = figures.into_iter();
    Method {
        measured: figures.next().unwrap_or_default(),
        further: figures.collect(),
        text_model_sha256: hex(&Sha256::digest(text_model::BYTES)),
        mentions_min: totals::SCORED_MIN,
        summary: summary.to_owned(),
        formula: with_constants(&rules.formula),
        polarity_rule: with_constants(&rules.polarity_rule),
        interval_rule: with_constants(&rules.interval_rule),
        trend_rule: with_constants(&rules.trend_rule),
        ..rules
    }
}

/// Returns a rule of method.json with the constants of the code in the place of their names, so that none is out of date.
fn with_constants(rule: &str) -> String {
    let mut rule = rule.to_owned();
    for (name, value) in [
        ("{tilts}", by_stars(TILT_BY_STARS)),
        ("{neutrals}", by_stars(NEUTRAL_BY_STARS)),
        ("{complaint_margins}", by_stars(COMPLAINT_MARGIN_BY_STARS)),
        ("{praise_margins}", by_stars(PRAISE_MARGIN_BY_STARS)),
        ("{neutral_without_stars}", log_odds(evidence::NEUTRAL)),
        ("{neutral_words}", log_odds(evidence::NEUTRAL_WORDS)),
        (
            "{neutral_words_one_star}",
            log_odds(evidence::NEUTRAL_WORDS_ONE_STAR),
        ),
        ("{opinion}", log_odds(evidence::OPINION)),
        // It counts against praise and for complaint.
        ("{negation}", log_odds(2 * evidence::NEGATION)),
        ("{request}", log_odds(evidence::REQUEST)),
        ("{part_of_doubt}", PART_OF_DOUBT.to_string()),
        ("{change_level}", change::LEVEL.to_string()),
    ] {
        rule = rule.replace(name, &value);
    }
    rule
}

/// Lists the constants of one to five stars, in natural logarithms.
fn by_stars(units: [i32; 5]) -> String {
    units.map(log_odds).join(", ")
}

/// A constant in natural logarithms.
fn log_odds(units: i32) -> String {
    format!("{:.3}", f64::from(units) / f64::from(UNIT))
}

fn coverage(dataset: &Dataset, derived: &Derived, named: [u64; 3]) -> Coverage {
    let mut rows: Vec<u32> = derived.mentions.iter().map(|mention| mention.row).collect();
    rows.dedup();
    let mut counts: HashMap<Option<Lang>, u64> = HashMap::new();
    for (review, lang) in dataset.reviews.iter().zip(&derived.languages) {
        if !review.text.trim().is_empty() {
            *counts.entry(*lang).or_default() += 1;
        }
    }
    let mut languages = Vec::with_capacity(counts.len());
    for (lang, reviews) in counts {
        languages.push(LanguageCoverage {
            language: lang.map_or("und", tag_of_language).to_owned(),
            reviews,
            evidence: evidence_kinds(lang, &derived.known[&lang]),
        });
    }
    languages.sort_by_key(|one| (Reverse(one.reviews), one.language.clone()));
    Coverage {
        with_text: languages.iter().map(|one| one.reviews).sum(),
        scored: derived.scores.len() as u64,
        with_aspect: rows.len() as u64,
        mentions: derived.mentions.len() as u64,
        with_technician: named[0],
        with_service: named[1],
        with_service_area: named[2],
        languages,
        ..Coverage::default()
    }
}

/// The kinds of evidence used for a language.
fn evidence_kinds(lang: Option<Lang>, known: &Known) -> Vec<String> {
    let mut kinds = Vec::new();
    if known.reader == Reader::English {
        kinds.push("text_model".to_owned());
    } else if lang.is_some_and(has_opinions) {
        kinds.push("opinions".to_owned());
    }
    if known.own.is_some() {
        kinds.push("own_stars".to_owned());
    }
    kinds.push("stars".to_owned());
    kinds
}

fn per_review(dataset: &Dataset, derived: &Derived) -> BTreeMap<String, ReviewInsights> {
    let mut aspects = vec![BTreeSet::new(); dataset.reviews.len()];
    for mention in &derived.mentions {
        aspects[mention.row as usize].insert(usize::from(mention.aspect));
    }
    let concepts = &dataset.taxonomy.aspects;
    let rows = dataset.reviews.iter().zip(&derived.scores).zip(aspects);
    rows.map(|((review, score), aspects)| {
        let aspects = aspects.into_iter().map(|at| concepts[at].id.clone());
        let insights = ReviewInsights {
            sentiment: Some(sign(*score)),
            score: Some(rounded(f64::from(*score) / 10_000.0, 4)),
            aspects: aspects.collect(),
            technicians: review.mentioned_technicians.clone(),
            services: review.mentioned_services.clone(),
        };
        (review.id.clone(), insights)
    })
    .collect()
}
