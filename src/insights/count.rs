//! One pass over the reviews that counts what the document shows.

use std::collections::{HashMap, HashSet};

use super::Options;
use super::parallel::over_chunks;
use crate::dataset::mentions::{Comparable, Matcher};
use crate::model::{Dataset, Review};

/// Reviews counted, and the sum of their stars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) reviews: u64,
    pub(super) stars: u64,
}

impl Tally {
    pub(super) fn add(&mut self, review: &Review) {
        self.reviews += 1;
        self.stars += u64::from(review.rating.stars());
    }

    fn merge(&mut self, other: Tally) {
        self.reviews += other.reviews;
        self.stars += other.stars;
    }
}

/// The counts of a dataset; people, services and places in the order of the taxonomy, then of the business.
pub(super) struct Counts<'d> {
    pub(super) with_text: u64,
    pub(super) with_technician: u64,
    pub(super) with_service: u64,
    pub(super) with_service_area: u64,
    pub(super) technicians: Vec<(&'d str, Tally)>,
    pub(super) services: Vec<(&'d str, &'d str, Tally)>,
    pub(super) service_areas: Vec<(&'d str, &'d str, Tally)>,
}

impl<'d> Counts<'d> {
    /// Counts the reviews of `dataset`.
    pub(super) fn of(dataset: &'d Dataset, options: &Options) -> Counts<'d> {
        let names = Names::of(dataset);
        // The decoder built the same automata of the same taxonomy, so this succeeds; without them no place counts.
        let matcher = Matcher::new(&dataset.taxonomy).ok();
        let parts = over_chunks(
            dataset.reviews.len(),
            options.threads,
            Comparable::default,
            |text, rows| {
                let mut counts = Counts::none(dataset, &names);
                for review in &dataset.reviews[rows] {
                    counts.add(review, &names, matcher.as_ref(), text);
                }
                counts
            },
        );
        let mut whole = Counts::none(dataset, &names);
        parts.iter().for_each(|part| whole.merge(part));
        whole
    }

    fn none(dataset: &'d Dataset, names: &Names<'d>) -> Counts<'d> {
        let zero = Tally::default();
        Counts {
            with_text: 0,
            with_technician: 0,
            with_service: 0,
            with_service_area: 0,
            technicians: names.technicians.iter().map(|name| (*name, zero)).collect(),
            services: names
                .services
                .iter()
                .map(|(id, label)| (*id, *label, zero))
                .collect(),
            service_areas: concepts(dataset)
                .map(|(id, label)| (id, label, zero))
                .collect(),
        }
    }

    fn add(
        &mut self,
        review: &Review,
        names: &Names<'_>,
        matcher: Option<&Matcher>,
        text: &mut Comparable,
    ) {
        let people = places(&names.technician_places, &review.mentioned_technicians);
        people
            .iter()
            .for_each(|&at| self.technicians[at].1.add(review));
        let services = places(&names.service_places, &review.mentioned_services);
        services
            .iter()
            .for_each(|&at| self.services[at].2.add(review));
        text.set(&review.text);
        let areas = matcher
            .map(|matcher| matcher.service_areas(text))
            .unwrap_or_default();
        areas
            .iter()
            .for_each(|&at| self.service_areas[at].2.add(review));
        self.with_text += u64::from(!review.text.is_empty());
        self.with_technician += u64::from(!people.is_empty());
        self.with_service += u64::from(!services.is_empty());
        self.with_service_area += u64::from(!areas.is_empty());
    }

    fn merge(&mut self, other: &Counts<'d>) {
        self.with_text += other.with_text;
        self.with_technician += other.with_technician;
        self.with_service += other.with_service;
        self.with_service_area += other.with_service_area;
        let pairs = self.technicians.iter_mut().zip(&other.technicians);
        pairs.for_each(|((_, tally), (_, more))| tally.merge(*more));
        for (own, others) in [
            (&mut self.services, &other.services),
            (&mut self.service_areas, &other.service_areas),
        ] {
            let pairs = own.iter_mut().zip(others);
            pairs.for_each(|((.., tally), (.., more))| tally.merge(*more));
        }
    }
}

fn concepts(dataset: &Dataset) -> impl Iterator<Item = (&str, &str)> {
    dataset
        .taxonomy
        .service_areas
        .iter()
        .map(|area| (area.id.as_str(), area.label.as_str()))
}

/// The people and services that mentions may name, and where each name leads.
struct Names<'d> {
    technicians: Vec<&'d str>,
    technician_places: HashMap<Comparable, usize>,
    services: Vec<(&'d str, &'d str)>,
    service_places: HashMap<Comparable, usize>,
}

impl<'d> Names<'d> {
    fn of(dataset: &'d Dataset) -> Names<'d> {
        let mut names = Names {
            technicians: Vec::new(),
            technician_places: HashMap::new(),
            services: Vec::new(),
            service_places: HashMap::new(),
        };
        let known = dataset
            .taxonomy
            .technicians
            .iter()
            .map(|person| &person.name);
        for name in known.chain(
            dataset
                .business
                .technicians
                .iter()
                .map(|person| &person.name),
        ) {
            enter(
                &mut names.technicians,
                &mut names.technician_places,
                name,
                name,
            );
        }
        let known = dataset
            .taxonomy
            .services
            .iter()
            .map(|service| (&service.id, &service.label));
        let listed = dataset
            .business
            .services
            .iter()
            .map(|service| (&service.id, &service.label));
        for (id, label) in known.chain(listed) {
            enter(
                &mut names.services,
                &mut names.service_places,
                id,
                (id, label),
            );
        }
        names.enter_aliases(dataset);
        names
    }

    /// Lets each alias lead to its person, but those that fit two people.
    fn enter_aliases(&mut self, dataset: &'d Dataset) {
        let mut taken = HashSet::new();
        let mut doubtful = HashSet::new();
        for person in &dataset.taxonomy.technicians {
            for alias in person
                .aliases
                .iter()
                .map(|alias| Comparable::new(alias))
                .collect::<HashSet<_>>()
            {
                if !taken.insert(alias.clone()) {
                    doubtful.insert(alias);
                }
            }
        }
        for (at, person) in dataset.taxonomy.technicians.iter().enumerate() {
            for alias in person.aliases.iter().map(|alias| Comparable::new(alias)) {
                if !doubtful.contains(&alias) {
                    self.technician_places.entry(alias).or_insert(at);
                }
            }
        }
    }
}

/// Appends `value` and lets `name` lead to it, unless the name is known already.
fn enter<V>(values: &mut Vec<V>, places: &mut HashMap<Comparable, usize>, name: &str, value: V) {
    places.entry(Comparable::new(name)).or_insert_with(|| {
        values.push(value);
        values.len() - 1
    });
}

/// The places that `mentions` lead to, each once, ascending; names that lead nowhere are left out.
fn places(places: &HashMap<Comparable, usize>, mentions: &[String]) -> Vec<usize> {
    let mut found: Vec<usize> = mentions
        .iter()
        .filter_map(|name| places.get(&Comparable::new(name)).copied())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
