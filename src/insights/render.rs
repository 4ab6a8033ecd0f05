//! The document: everything that was added up, written once.

use super::aspects::Aspect;
use super::card::{self, LIMITS, MODEL};
use super::count::{Counts, Tally};
use super::derive::{Derived, Outcome, sign};
use super::number::{push_decimal, ratio, wilson};
use super::phrases::Phrases;
use super::polarity::Polarity;
use super::summary::summary;
use super::temporal::{months, trend};
use super::{Options, SCHEMA_VERSION};
use crate::dataset::publish::push_mean;
use crate::model::{Dataset, Question, Review};
use crate::wire::json::{Array, Object};

/// Everything that the document shows.
pub(super) struct Document<'d> {
    dataset: &'d Dataset,
    options: Options,
    derived: &'d Derived,
    counts: Counts<'d>,
    aspects: Vec<Aspect<'d>>,
    phrases: Phrases,
    /// Scored reviews by sign: negative, neutral, positive.
    signs: [u64; 3],
}

impl<'d> Document<'d> {
    /// Counts what was derived of `dataset`.
    pub(super) fn of(
        dataset: &'d Dataset,
        options: &Options,
        derived: &'d Derived,
    ) -> Document<'d> {
        let mut signs = [0; 3];
        let scores = derived
            .outcomes
            .iter()
            .filter_map(|outcome| outcome.score());
        scores.for_each(|score| signs[sign(score) as usize] += 1);
        tracing::debug!(
            reviews = dataset.reviews.len(),
            mentions = derived.mentions.len(),
            "insights: reviews read"
        );
        Document {
            counts: Counts::of(dataset, options),
            aspects: Aspect::all(dataset, derived),
            phrases: Phrases::of(dataset, derived, options),
            dataset,
            options: *options,
            derived,
            signs,
        }
    }

    /// The bytes.
    pub(super) fn render(&self) -> Vec<u8> {
        let dataset = self.dataset;
        let editorial = &dataset.editorial;
        let derived = match editorial.summary {
            Some(_) => None,
            None => summary(
                &dataset.reviews,
                self.signs,
                &self.aspects,
                self.options.mentions_min,
            ),
        };
        let origin = match (&editorial.summary, &derived) {
            (Some(_), _) => "editorial",
            (None, Some(_)) => "derived",
            (None, None) => "none",
        };
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        object
            .u64("version", SCHEMA_VERSION)
            .string("generated_at", &dataset.updated_at.to_string())
            .string("model", MODEL);
        card::render(object.key("method"), origin, self.options.mentions_min);
        self.render_coverage(object.key("coverage"));
        object
            .string("limits", LIMITS)
            .u64("review_count", dataset.reviews.len() as u64);
        let mut range = Object::begin(object.key("date_range"));
        let day = |review: Option<&Review>| review.map(|review| review.date.to_string());
        range.opt_string("earliest", day(dataset.reviews.last()).as_deref());
        range.opt_string("latest", day(dataset.reviews.first()).as_deref());
        range.end();
        self.render_overall(object.key("overall_sentiment"));
        self.render_aspects(object.key("aspects"));
        self.render_entities(object.key("entities"));
        self.render_topics(object.key("topics"));
        self.render_temporal(object.key("temporal"));
        self.render_per_review(object.key("per_review"));
        render_faq(object.key("faq"), &editorial.faq);
        object
            .opt_string(
                "summary",
                editorial.summary.as_deref().or(derived.as_deref()),
            )
            .opt_string("pull_quote", editorial.pull_quote.as_deref());
        object.end();
        out
    }

    fn render_coverage(&self, out: &mut Vec<u8>) {
        let mut unscored = 0;
        let mut unscored_mentions = 0;
        for outcome in &self.derived.outcomes {
            if let Outcome::Unscored { mentions } = outcome {
                unscored += 1;
                unscored_mentions += u64::from(*mentions);
            }
        }
        let mut rows = self
            .derived
            .mentions
            .iter()
            .map(|mention| mention.row)
            .collect::<Vec<_>>();
        rows.dedup();
        let mut coverage = Object::begin(out);
        coverage
            .u64("with_text", self.counts.with_text)
            .u64("scored", self.signs.iter().sum())
            .u64("unscored", unscored)
            .u64("with_aspect", rows.len() as u64)
            .u64("mentions", self.derived.mentions.len() as u64)
            .u64("unscored_mentions", unscored_mentions)
            .u64("with_technician", self.counts.with_technician)
            .u64("with_service", self.counts.with_service)
            .u64("with_service_area", self.counts.with_service_area);
        coverage.end();
    }

    fn render_overall(&self, out: &mut Vec<u8>) {
        let scored: u64 = self.signs.iter().sum();
        if scored == 0 {
            out.extend_from_slice(b"null");
            return;
        }
        let sum: i64 = self
            .derived
            .outcomes
            .iter()
            .filter_map(|outcome| outcome.score())
            .map(i64::from)
            .sum();
        let mut overall = Object::begin(out);
        push_decimal(overall.key("score"), ratio(sum, scored, 1), 4);
        for (key, polarity) in [
            ("positive_pct", Polarity::Positive),
            ("neutral_pct", Polarity::Neutral),
            ("negative_pct", Polarity::Negative),
        ] {
            let count = self.signs[polarity as usize];
            push_decimal(
                overall.key(key),
                ratio(count.cast_signed(), scored, 1_000),
                1,
            );
        }
        overall.end();
    }

    fn render_aspects(&self, out: &mut Vec<u8>) {
        let mut list = Array::begin(out);
        for (aspect, phrases) in self.aspects.iter().zip(&self.phrases.aspects) {
            self.render_aspect(list.item(), aspect, phrases);
        }
        list.end();
    }

    fn render_aspect(&self, out: &mut Vec<u8>, aspect: &Aspect<'_>, phrases: &[String]) {
        let (mentions, positive) = (aspect.mentions(), aspect.count(Polarity::Positive));
        let scored = mentions >= u64::from(self.options.mentions_min) && mentions > 0;
        let id = |row: u32| self.dataset.reviews[row as usize].id.as_str();
        let mut object = Object::begin(out);
        object
            .string("id", &aspect.concept.id)
            .string("label", &aspect.concept.label)
            .u64("mention_count", mentions)
            .u64("positive_count", positive)
            .u64("neutral_count", aspect.count(Polarity::Neutral))
            .u64("negative_count", aspect.count(Polarity::Negative));
        if scored {
            push_decimal(
                object.key("positive_pct"),
                ratio(positive.cast_signed(), mentions, 1_000),
                1,
            );
            push_decimal(object.key("score"), aspect.score(), 4);
        } else {
            object.null("positive_pct").null("score");
        }
        object
            .strings("top_phrases", phrases.iter().map(String::as_str))
            .strings(
                "example_review_ids",
                distinct(aspect.examples.iter().map(|example| id(example.row))),
            );
        if scored {
            let mut interval = Array::begin(object.key("interval"));
            for bound in wilson(positive, mentions) {
                push_decimal(interval.item(), bound, 4);
            }
            interval.end();
        } else {
            object.null("interval");
        }
        let mut evidence = Array::begin(object.key("evidence"));
        for mention in &aspect.evidence {
            let mut each = Object::begin(evidence.item());
            each.string("review_id", id(mention.row))
                .u64("start", mention.start.into())
                .u64("end", mention.end.into())
                .string("polarity", mention.polarity.word());
            each.end();
        }
        evidence.end();
        object.end();
    }

    fn render_entities(&self, out: &mut Vec<u8>) {
        let mut entities = Object::begin(out);
        let mut people = Array::begin(entities.key("technicians"));
        for (name, tally) in &self.counts.technicians {
            let mut each = Object::begin(people.item());
            each.string("name", name);
            render_tally(each, "mention_count", *tally);
        }
        people.end();
        render_concepts(entities.key("services"), &self.counts.services);
        let mut problems: Vec<&Aspect<'_>> = self
            .aspects
            .iter()
            .filter(|aspect| aspect.complaints.1 >= PROBLEM_REVIEWS_MIN)
            .collect();
        problems.sort_by_key(|aspect| std::cmp::Reverse(aspect.complaints.1));
        let tally = |&(stars, reviews): &(u64, u64)| Tally { reviews, stars };
        let problems: Vec<(&str, &str, Tally)> = problems
            .iter()
            .map(|aspect| {
                (
                    aspect.concept.id.as_str(),
                    aspect.concept.label.as_str(),
                    tally(&aspect.complaints),
                )
            })
            .collect();
        render_concepts(entities.key("problems"), &problems);
        render_concepts(entities.key("service_areas"), &self.counts.service_areas);
        entities.end();
    }

    fn render_topics(&self, out: &mut Vec<u8>) {
        let mut list = Array::begin(out);
        for topic in &self.phrases.topics {
            let mut each = Object::begin(list.item());
            each.string("phrase", &topic.phrase)
                .string("polarity", topic.polarity.word())
                .u64("five_star_count", topic.high.into())
                .u64("low_star_count", topic.low.into());
            push_decimal(each.key("weight"), topic.weight, 2);
            each.end();
        }
        list.end();
    }

    /// Months in which a review was written, oldest first.
    fn render_temporal(&self, out: &mut Vec<u8>) {
        let mut temporal = Object::begin(out);
        let mut list = Array::begin(temporal.key("monthly"));
        for ((year, number), month) in months(self.dataset, self.derived) {
            let mut each = Object::begin(list.item());
            each.string("month", &format!("{year:04}-{number:02}"))
                .u64("scored_count", month.scored);
            match month.scored {
                0 => {
                    each.null("sentiment");
                }
                scored => push_decimal(each.key("sentiment"), ratio(month.score_sum, scored, 1), 4),
            }
            render_tally(each, "review_count", month.tally);
        }
        list.end();
        temporal.opt_string("trend", trend(&self.dataset.reviews));
        temporal.end();
    }

    fn render_per_review(&self, out: &mut Vec<u8>) {
        let mut reviews = Object::begin(out);
        let mut mentions = self.derived.mentions.as_slice();
        for (row, (review, outcome)) in self
            .dataset
            .reviews
            .iter()
            .zip(&self.derived.outcomes)
            .enumerate()
        {
            let own = mentions.partition_point(|mention| mention.row as usize <= row);
            let (of_review, rest) = mentions.split_at(own);
            mentions = rest;
            let mut aspects: Vec<u16> = of_review.iter().map(|mention| mention.aspect).collect();
            aspects.sort_unstable();
            aspects.dedup();
            let aspects = aspects
                .iter()
                .map(|&at| self.aspects[usize::from(at)].concept.id.as_str());
            let mut each = Object::begin(reviews.key(&review.id));
            each.opt_string("sentiment", outcome.score().map(|score| sign(score).word()));
            match outcome.score() {
                Some(score) => push_decimal(each.key("score"), score.into(), 4),
                None => {
                    each.null("score");
                }
            }
            each.strings("aspects", aspects)
                .strings(
                    "technicians",
                    review.mentioned_technicians.iter().map(String::as_str),
                )
                .strings(
                    "services",
                    review.mentioned_services.iter().map(String::as_str),
                );
            each.end();
        }
        reviews.end();
    }
}

/// The values in order, each where it comes first.
fn distinct<'s>(values: impl Iterator<Item = &'s str>) -> Vec<&'s str> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

fn render_concepts(out: &mut Vec<u8>, concepts: &[(&str, &str, Tally)]) {
    let mut list = Array::begin(out);
    for (id, label, tally) in concepts {
        let mut each = Object::begin(list.item());
        each.string("id", id).string("label", label);
        render_tally(each, "mention_count", *tally);
    }
    list.end();
}

/// Closes an object with a count under `key` and the mean rating of the reviews counted, null where there is none.
fn render_tally(mut object: Object<'_>, key: &str, tally: Tally) {
    object.u64(key, tally.reviews);
    push_mean(object.key("mean_rating"), tally.stars, tally.reviews);
    object.end();
}

fn render_faq(out: &mut Vec<u8>, faq: &[Question]) {
    let mut list = Array::begin(out);
    for question in faq {
        let mut each = Object::begin(list.item());
        each.string("question", &question.question)
            .string("answer", &question.answer)
            .strings("review_ids", question.review_ids.iter().map(String::as_str));
        each.end();
    }
    list.end();
}

/// Reviews that have to complain of an aspect before it is called a problem.
const PROBLEM_REVIEWS_MIN: u64 = 2;
