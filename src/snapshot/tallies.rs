//! Counts of the published reviews by source, language, service, person, location and kind of verification, for the filters
//! of the pages.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::model::Review;
use crate::search::filter::VerificationSet;

/// Largest number of values of a kind that are listed; further ones can still be searched.
const LISTED_MAX: usize = 30;

/// How many reviews each value of a filter selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// By source, most reviews first.
    pub sources: Vec<Tally>,
    /// By primary language of the text, most reviews first.
    pub languages: Vec<Tally>,
    /// By mentioned service, most reviews first.
    pub services: Vec<Tally>,
    /// By mentioned person, most reviews first.
    pub people: Vec<Tally>,
    /// By location, most reviews first.
    pub locations: Vec<Tally>,
    /// By how they were verified, in the words of the filter `verified_by`.
    pub verifications: Vec<Tally>,
    /// Reviews with a reply of the owner.
    pub with_reply: u64,
    /// Reviews with photos.
    pub with_photos: u64,
}

/// The reviews with one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The source, the language tag, the id of the service or location, the name of the person, or the word for how the
    /// reviews were verified.
    pub value: String,
    /// Number of reviews.
    pub count: u64,
    /// Sum of their stars.
    pub sum: u64,
}

impl Tallies {
    /// Counts `reviews`.
    pub(super) fn of(reviews: &[Review]) -> Tallies {
        let mut sources = Counter::default();
        let mut languages = Counter::default();
        let mut services = Counter::default();
        let mut people = Counter::default();
        let mut locations = Counter::default();
        let mut verifications = Counter::default();
        let mut with_reply = 0;
        let mut with_photos = 0;
        for review in reviews {
            sources.add(&review.source, review);
            if let Some(tag) = &review.language {
                let primary = tag.split('-').next().unwrap_or(tag);
                languages.add(primary, review);
            }
            for service in &review.mentioned_services {
                services.add(service, review);
            }
            for person in &review.mentioned_technicians {
                people.add(person, review);
            }
            if let Some(location) = &review.location {
                locations.add(location, review);
            }
            if let Some(state) = review.state() {
                verifications.add(VerificationSet::word(state), review);
            }
            if review.has_photos() {
                with_photos += 1;
            }
            if review.owner_reply.is_some() {
                with_reply += 1;
            }
        }
        Tallies {
            sources: sources.finish(),
            languages: languages.finish(),
            services: services.finish(),
            people: people.finish(),
            locations: locations.finish(),
            verifications: verifications.finish(),
            with_reply,
            with_photos,
        }
    }
}

/// Counts the reviews by one of their values.
#[derive(Default)]
struct Counter<'r> {
    counts: HashMap<&'r str, Tally>,
}

impl<'r> Counter<'r> {
    fn add(&mut self, value: &'r str, review: &Review) {
        let tally = self.counts.entry(value).or_insert_with(|| Tally {
            value: value.to_owned(),
            count: 0,
            sum: 0,
        });
        tally.count += 1;
        tally.sum += u64::from(review.rating.stars());
    }

    fn finish(self) -> Vec<Tally> {
        let mut tallies: Vec<Tally> = self.counts.into_values().collect();
        tallies.sort_unstable_by(|left, right| {
            let by_count = Reverse(left.count).cmp(&Reverse(right.count));
            by_count.then_with(|| left.value.cmp(&right.value))
        });
        tallies.truncate(LISTED_MAX);
        tallies
    }
}
