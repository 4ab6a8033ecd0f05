//! `/reviews/{id}`: the page of one review. It is rendered for each request, as there may be a million reviews.

use askama::Template;

use super::json_ld;
use super::layout::{Frame, rendered};
use super::messages::Messages;
use super::review::{MentionKind, MentionLink, ReviewView, VerificationLevel};
use super::text::{percent_encoded, without_direction};
use super::{PageLanguage, Pages, text as filters};
use crate::model::Row;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::fold::fold;
use crate::search::run::{self, Scratch};
use crate::wire::json::escape_for_script;

/// Longest description of the page, in characters: what previews show.
const DESCRIPTION_CHARS_MAX: usize = 200;

/// Longest excerpt of another review, in characters.
const NEIGHBOR_CHARS_MAX: usize = 90;

/// Most mentions that get a count of reviews; further ones are linked without a count.
const COUNTED_MAX: usize = 8;

/// Reviews with the same mention among which there is one besides the review itself, the next newer and the next older.
const CANDIDATES: u8 = 4;

impl Pages {
    /// Renders the page of the review in `row`.
    pub(crate) fn review(&self, row: Row, language: PageLanguage, scratch: &mut Scratch) -> String {
        let t = language.chosen.messages();
        let snapshot = &self.snapshot;
        let review = ReviewView::read(snapshot, row);
        let business_name = &snapshot.business.name;
        let who = t.who(snapshot.site.clientele);
        let title = t.review_title.fill(&[
            ("author", &without_direction(&review.author)),
            ("name", &self.layout.title),
            ("stars", &review.rating.to_string()),
        ]);
        let url = snapshot.review_url(&review.id);
        let data = json_ld::review_page(snapshot, &review, &url);
        let Subjects { counted, related } = self.subjects(&review, row, t, scratch);
        rendered(&ReviewPage {
            frame: Frame::new(&self.layout, language),
            t,
            description: description(&review, t),
            picture: review.photos.first().map(|photo| &*photo.url),
            json_ld: escape_for_script(&data.to_string()),
            mail: mail_url(&title, &url),
            confirmation: confirmation(&review, t, business_name),
            check: review.verification_text(t, who, business_name),
            owner: business_name,
            all: t.counted(&t.all_reviews, self.stats.count),
            title,
            url,
            subjects: counted,
            neighbors: self.neighbors(row, related, language),
            review: &review,
        })
    }

    /// Returns what the review in `row` mentions, and another review that mentions one of these services.
    fn subjects<'r>(
        &self,
        review: &'r ReviewView,
        row: Row,
        t: &Messages,
        scratch: &mut Scratch,
    ) -> Subjects<'r> {
        let mut counted = Vec::new();
        let mut related = None;
        for mention in &review.mentions {
            let mut count = String::new();
            if counted.len() < COUNTED_MAX {
                let found = self.mentioned_in(mention, row, scratch);
                count = t.counted(&t.review_count, u64::from(found.matched));
                if related.is_none() && mention.kind == MentionKind::Service {
                    related = found.other.map(|other| Related {
                        label: t.also_on.fill(&[("subject", &mention.label)]),
                        row: other,
                    });
                }
            }
            counted.push(CountedMention { mention, count });
        }
        Subjects { counted, related }
    }

    /// Counts the reviews with the same mention, and finds the newest one that is neither the review in `row` nor next
    /// to it, as the page shows these anyway.
    fn mentioned_in(&self, mention: &MentionLink, row: Row, scratch: &mut Scratch) -> MentionedIn {
        let value = fold(&mention.value);
        if value.is_empty() {
            return MentionedIn::default();
        }
        let mut filter = Filter::default();
        match mention.kind {
            MentionKind::Person => filter.technician = Some(&value),
            MentionKind::Service => filter.service = Some(&value),
        }
        let query = Query::new(filter, Sort::Newest, CANDIDATES);
        let page = run::run(&self.snapshot.index, &query, scratch);
        let mut rows = page.rows.iter().copied();
        MentionedIn {
            matched: page.matched,
            other: rows.find(|other| other.0.abs_diff(row.0) > 1),
        }
    }

    /// Returns the next newer review, the next older one and a related one, as far as they exist.
    fn neighbors(
        &self,
        row: Row,
        related: Option<Related>,
        language: PageLanguage,
    ) -> Vec<Neighbor> {
        let t = language.chosen.messages();
        let mut neighbors = Vec::new();
        if let Some(newer) = row.0.checked_sub(1) {
            neighbors.push(self.neighbor(Row(newer), t.newer_review.clone()));
        }
        if row.0 + 1 < self.snapshot.len() {
            neighbors.push(self.neighbor(Row(row.0 + 1), t.older_review.clone()));
        }
        if let Some(related) = related {
            neighbors.push(self.neighbor(related.row, related.label));
        }
        neighbors
    }

    fn neighbor(&self, row: Row, label: String) -> Neighbor {
        let review = ReviewView::read(&self.snapshot, row);
        Neighbor {
            label,
            words: review.excerpt(NEIGHBOR_CHARS_MAX),
            review,
        }
    }
}

/// Returns the description of the page: the first words of the review, or its stars if it has no text.
fn description(review: &ReviewView, t: &Messages) -> String {
    let excerpt = review.excerpt(DESCRIPTION_CHARS_MAX);
    if excerpt.is_empty() {
        return review.stars_label(t);
    }
    without_direction(&excerpt)
}

/// Returns the `mailto:` URL of a message with the address of the page.
fn mail_url(title: &str, url: &str) -> String {
    let subject = percent_encoded(title);
    let body = percent_encoded(url);
    format!("mailto:?subject={subject}&body={body}")
}

/// Returns a sentence that says who confirmed that the author is a customer, and how.
fn confirmation(review: &ReviewView, t: &Messages, business_name: &str) -> String {
    match review.verification_level() {
        VerificationLevel::Business => t.confirmed.fill(&[("name", business_name)]),
        VerificationLevel::Other(by, None) => t.confirmed.fill(&[("name", by)]),
        VerificationLevel::Other(by, Some(method)) => t
            .confirmed_by_method
            .fill(&[("name", by), ("method", method)]),
        VerificationLevel::Account => t.not_confirmed.fill(&[("source", &review.source_name(t))]),
    }
}

/// What a review mentions.
struct Subjects<'r> {
    counted: Vec<CountedMention<'r>>,
    related: Option<Related>,
}

/// The reviews with the same mention.
#[derive(Default)]
struct MentionedIn {
    matched: u32,
    /// One of them that the page does not show otherwise.
    other: Option<Row>,
}

/// A review on the same subject.
struct Related {
    label: String,
    row: Row,
}

/// A person or service that the review mentions.
struct CountedMention<'r> {
    mention: &'r MentionLink,
    /// How many reviews mention it; "" if they were not counted.
    count: String,
}

/// Another review, in a few words.
struct Neighbor {
    label: String,
    words: String,
    review: ReviewView,
}

#[derive(Template)]
#[template(path = "review_page.html")]
struct ReviewPage<'p> {
    frame: Frame<'p>,
    t: &'static Messages,
    title: String,
    description: String,
    url: String,
    /// The path of the first photo.
    picture: Option<&'p str>,
    json_ld: String,
    review: &'p ReviewView,
    owner: &'p str,
    check: String,
    confirmation: String,
    subjects: Vec<CountedMention<'p>>,
    /// A `mailto:` URL.
    mail: String,
    all: String,
    neighbors: Vec<Neighbor>,
}
