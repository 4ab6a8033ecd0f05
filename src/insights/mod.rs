//! What the reviews say, derived offline: no service is asked, no sentence is made up, and every number leads back to
//! the words and stars that it came from.
//!
//! The way through: `derive` tells the language of each review, learns from the dataset's own stars (`own_stars`), then
//! reads each review once: sentences, aspects (`aspect`), the judgement of each mention (`evidence`, which holds the
//! formula, over `features` and `text_model`). `totals`, `topics` and `trends` add up; the result is the value
//! [`Insights`], written once by serde. `method` says how good all that is. It depends on nothing but the dataset, so
//! replicas agree.

mod aspect;
mod derive;
mod entities;
pub mod evidence;
pub mod explain;
pub mod features;
mod language;
mod lexicon;
mod method;
mod own_stars;
mod parallel;
mod sentence;
mod summary;
pub mod text_model;
mod topics;
mod totals;
mod trends;
mod words;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;

use whatlang::Lang;

use crate::model::insights::{
    Coverage, DateRange, Evidence, Insights, LanguageCoverage, Overall, PerReview, Polarity,
    ReviewInsights, Temporal,
};
use crate::model::{Dataset, Row};
use derive::Derived;
use evidence::sign;
pub use method::MODEL;
pub use totals::interval as share_interval;
use totals::rounded;

/// Version of the document's schema; keys are only ever added to it.
pub const SCHEMA_VERSION: u64 = 1;

/// Mentions from which on an aspect is scored, unless told otherwise.
pub const MENTIONS_MIN: u32 = 5;

/// How to derive.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many threads read reviews. The document does not depend on it.
    pub threads: NonZeroUsize,
    /// An aspect with fewer mentions is counted and not scored.
    pub mentions_min: u32,
}

/// The insights as they are published, and as a value.
#[derive(Clone, Debug)]
pub struct Document {
    /// The bytes of `/insights.json`.
    pub bytes: Vec<u8>,
    /// What they say, but for single reviews.
    pub insights: Insights,
}

/// Returns the insights: the operator's own document as it stands, else the derived one.
///
/// Reads every text a few times, about 0.3 ms for a review, shared by the threads, so off the request threads. The
/// document of 100,000 reviews is some 15 MB, mostly `per_review`: evidence is bounded for each aspect.
#[must_use]
pub fn document(dataset: &Dataset, options: &Options) -> Document {
    document_unless(dataset, options, &|| false).expect("nothing cancels it")
}

/// Returns what [`document`] returns; `None` where `cancelled` returned true before all reviews were read.
#[must_use]
pub fn document_unless(
    dataset: &Dataset,
    options: &Options,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Document> {
    let (bytes, mut insights) = match &dataset.insights {
        // The decoder checked it, so it can be read.
        Some(given) => (given.clone(), read(given, dataset)),
        None => {
            let derived = Derived::of(dataset, options, cancelled)?;
            let insights = insights(dataset, options, &derived);
            (serde_json::to_vec(&insights).unwrap_or_default(), insights)
        }
    };
    insights.per_review = None;
    Some(Document { bytes, insights })
}

/// Reads a document that was made elsewhere; what has another shape than ours is left out.
fn read(given: &[u8], dataset: &Dataset) -> Insights {
    let mut insights: Insights = serde_json::from_slice(given).unwrap_or_default();
    let ids = dataset.reviews.iter().map(|review| review.id.as_str());
    let rows: HashMap<&str, Row> = ids.zip((0..).map(Row)).collect();
    // Such a document may name more reviews in one of the two places than in the other.
    let mut by_aspect: HashMap<&str, BTreeSet<Row>> = HashMap::new();
    for (id, review) in insights.per_review.iter().flat_map(|all| &all.0) {
        for aspect in &review.aspects {
            let named = by_aspect.entry(aspect).or_default();
            named.extend(rows.get(id.as_str()));
        }
    }
    for aspect in &mut insights.aspects {
        let evidence = || aspect.evidence.iter().flatten();
        let row = |one: &Evidence| rows.get(one.review_id.as_str()).copied();
        aspect.rows_by_polarity = Polarity::ALL.map(|polarity| {
            let of_polarity = evidence().filter(|one| one.polarity == polarity);
            let rows: BTreeSet<Row> = of_polarity.filter_map(row).collect();
            rows.into_iter().collect()
        });
        let mut named = by_aspect.remove(aspect.id.as_str()).unwrap_or_default();
        named.extend(evidence().filter_map(row));
        aspect.rows = named.into_iter().collect();
    }
    insights
}

fn insights(dataset: &Dataset, options: &Options, derived: &Derived) -> Insights {
    let (reviews, editorial) = (&dataset.reviews, &dataset.editorial);
    let aspects = totals::aspects(dataset, derived, options);
    let (entities, named) = entities::entities(dataset, derived);
    let overall_sentiment = overall(&derived.scores);
    let own = match editorial.summary {
        Some(_) => None,
        None => summary::summary(reviews, overall_sentiment.as_ref(), &aspects),
    };
    let origin = match (&editorial.summary, &own) {
        (Some(_), _) => "editorial",
        (None, Some(_)) => "derived",
        (None, None) => "none",
    };
    Insights {
        version: SCHEMA_VERSION,
        generated_at: dataset.updated_at.to_string(),
        model: MODEL.to_owned(),
        method: method::card(origin, options.mentions_min),
        coverage: coverage(dataset, derived, named),
        limits: method::LIMITS.to_owned(),
        review_count: reviews.len() as u64,
        date_range: DateRange {
            earliest: reviews.last().map(|review| review.date.to_string()),
            latest: reviews.first().map(|review| review.date.to_string()),
        },
        overall_sentiment,
        aspects,
        entities,
        topics: topics::topics(dataset, derived, options),
        temporal: Temporal {
            monthly: trends::months(dataset, derived),
            trend: trends::trend(reviews).map(str::to_owned),
        },
        per_review: Some(per_review(dataset, derived)),
        faq: editorial.faq.clone(),
        summary: editorial.summary.clone().or(own),
        pull_quote: editorial.pull_quote.clone(),
    }
}

fn overall(scores: &[i32]) -> Option<Overall> {
    let count = scores.len() as f64;
    let share = |polarity| {
        let of_sign = scores.iter().filter(|score| sign(**score) == polarity);
        rounded(of_sign.count() as f64 * 100.0 / count, 1)
    };
    let sum: i64 = scores.iter().map(|score| i64::from(*score)).sum();
    (!scores.is_empty()).then(|| Overall {
        score: rounded(sum as f64 / count / 10_000.0, 4),
        positive_pct: share(Polarity::Positive),
        neutral_pct: share(Polarity::Neutral),
        negative_pct: share(Polarity::Negative),
    })
}

fn coverage(dataset: &Dataset, derived: &Derived, named: [u64; 3]) -> Coverage {
    let basis = &derived.basis;
    let mut rows: Vec<u32> = derived.mentions.iter().map(|mention| mention.row).collect();
    rows.dedup();
    let mut counts: BTreeMap<&str, (u64, Option<Lang>)> = BTreeMap::new();
    for (review, lang) in dataset.reviews.iter().zip(&basis.languages) {
        if !review.text.trim().is_empty() {
            let code = lang.map_or("und", |lang| lang.code());
            counts.entry(code).or_insert((0, *lang)).0 += 1;
        }
    }
    let language = |(code, (reviews, lang)): (&str, (u64, Option<Lang>))| {
        let is_trained = lang.is_some_and(|lang| basis.own.contains_key(&lang));
        let kinds = [
            ("text_model", lang == Some(Lang::Eng)),
            ("own_stars", is_trained),
            ("stars", true),
        ];
        let evidence = kinds.iter().filter(|(_, is_used)| *is_used);
        LanguageCoverage {
            language: code.to_owned(),
            reviews,
            evidence: evidence.map(|(name, _)| (*name).to_owned()).collect(),
        }
    };
    let mut languages: Vec<LanguageCoverage> = counts.into_iter().map(language).collect();
    languages.sort_by_key(|one| std::cmp::Reverse(one.reviews));
    Coverage {
        with_text: languages.iter().map(|one| one.reviews).sum(),
        scored: derived.scores.len() as u64,
        unscored: 0,
        with_aspect: rows.len() as u64,
        mentions: derived.mentions.len() as u64,
        unscored_mentions: 0,
        with_technician: named[0],
        with_service: named[1],
        with_service_area: named[2],
        languages,
    }
}

fn per_review(dataset: &Dataset, derived: &Derived) -> PerReview {
    let mut mentions = derived.mentions.iter().peekable();
    let mut all = Vec::with_capacity(dataset.reviews.len());
    for ((row, review), score) in (0..).zip(&dataset.reviews).zip(&derived.scores) {
        let mut aspects = BTreeSet::new();
        while let Some(mention) = mentions.next_if(|mention| mention.row == row) {
            aspects.insert(usize::from(mention.aspect));
        }
        let id = |at: usize| dataset.taxonomy.aspects[at].id.clone();
        let insights = ReviewInsights {
            sentiment: Some(sign(*score)),
            score: Some(rounded(f64::from(*score) / 10_000.0, 4)),
            aspects: aspects.into_iter().map(id).collect(),
            technicians: review.mentioned_technicians.clone(),
            services: review.mentioned_services.clone(),
        };
        all.push((review.id.clone(), insights));
    }
    PerReview(all)
}
