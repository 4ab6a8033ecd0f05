use std::num::NonZeroUsize;

use super::*;
use crate::dataset::sample;
use crate::insights::{Document, document, document_after};
use crate::model::{Concept, Rating};

const TEXTS: [&str; 4] = [
    "Thanks to Marta, the fees were fair. The waiting room was clean.",
    "Nobody called back, and the waiting room was cold. Thanks for nothing.",
    "The parking garage was full. Marta was kind and quick.",
    "They answered every question about the fees in Springfield.",
];

/// This many reviews in English, in several parts if there are more than 2,048. Of eight, one has a text, so that a build
/// without optimization reads them quickly.
fn dataset_of(count: usize) -> Dataset {
    let mut dataset = written_dataset_of(count);
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        if row % 8 > 0 {
            review.text.clear();
        }
    }
    dataset
}

/// The same with a text in each.
fn written_dataset_of(count: usize) -> Dataset {
    let mut dataset = sample();
    let mut reviews = Vec::with_capacity(count);
    for number in 0..count {
        let kind = number / 8 % 4;
        let stars = if kind == 1 { 1 } else { 5 };
        reviews.push(Review {
            id: format!("review-{number}"),
            rating: Rating::new(stars).expect("1 to 5"),
            text: format!("{} Visit {number}.", TEXTS[kind]),
            language: Some("en".to_owned()),
            ..dataset.reviews[0].clone()
        });
    }
    dataset.reviews = reviews;
    dataset
}

fn derived(dataset: &Dataset, previous: Option<&Document>) -> Document {
    let threads = NonZeroUsize::new(2).expect("not zero");
    let previous = previous.and_then(|document| document.readings.as_deref());
    document_after(dataset, previous, threads, &|| false).expect("nothing cancels it")
}

fn reviews_read(document: &Document) -> usize {
    document.readings.as_ref().expect("derived").reviews_read()
}

/// Asserts that `changed` has the same document after `before` as without it; returns how many reviews were read.
fn read_after(before: &Dataset, changed: &Dataset) -> usize {
    let first = derived(before, None);
    let after = derived(changed, Some(&first));
    let fresh = document(changed, NonZeroUsize::MIN, &|| false).expect("nothing cancels it");
    assert!(after.bytes == fresh.bytes, "the documents differ");
    reviews_read(&after)
}

#[test]
fn a_changed_text_has_one_part_read_again() {
    let before = dataset_of(2_500);
    let mut changed = before.clone();
    changed.reviews[1_200].text = "The parking garage was dirty, said Marta.".to_owned();
    let read = read_after(&before, &changed);
    assert!((1..=1_500).contains(&read), "{read}");
}

#[test]
fn a_new_first_review_has_one_part_read_again() {
    let before = dataset_of(2_500);
    let mut changed = before.clone();
    let mut new = before.reviews[0].clone();
    new.id = "new".to_owned();
    changed.reviews.insert(0, new);
    let read = read_after(&before, &changed);
    assert!((1..=1_500).contains(&read), "{read}");
}

#[test]
fn changed_stars_and_languages_have_their_parts_read_again() {
    let before = dataset_of(2_500);
    let mut stars = before.clone();
    stars.reviews[8].rating = Rating::new(3).expect("1 to 5");
    assert_ne!(read_after(&before, &stars), 0);
    let mut language = before.clone();
    language.reviews[8].language = Some("de".to_owned());
    assert_ne!(read_after(&before, &language), 0);
    let mut translation = before.clone();
    translation.reviews[8].language = Some("de".to_owned());
    translation.reviews[8].translation = Some("It was terrible.".to_owned());
    assert_ne!(read_after(&language, &translation), 0);
}

#[test]
fn a_language_whose_words_become_known_has_its_reviews_read_again() {
    // Of a language without a list of opinions, with one review of one star less than its words are learned from.
    let mut before = dataset_of(2_500);
    for (number, review) in before.reviews.iter_mut().take(250).enumerate() {
        let stars = if number < 19 { 1 } else { 5 };
        review.rating = Rating::new(stars).expect("1 to 5");
        review.language = Some("fi".to_owned());
        review.text = format!("Ei huono: fees olivat ok. Käynti {number}.");
    }
    let mut changed = before.clone();
    changed.reviews[19].rating = Rating::new(1).expect("1 to 5");
    assert_eq!(read_after(&before, &changed), 2_500);
}

#[test]
fn unchanged_reviews_are_not_read_again() {
    let dataset = dataset_of(2_500);
    assert_eq!(read_after(&dataset, &dataset), 0);
}

#[test]
fn a_changed_taxonomy_has_every_review_read_again() {
    let before = dataset_of(2_500);
    let mut changed = before.clone();
    changed.taxonomy.aspects.push(Concept {
        id: "parking".to_owned(),
        label: "Parking".to_owned(),
        phrases: vec!["parking garage".to_owned()],
        not_phrases: Vec::new(),
    });
    assert_eq!(read_after(&before, &changed), 2_500);
}

#[test]
fn up_to_2048_reviews_keep_nothing_in_memory() {
    let kept = derived(&dataset_of(2_048), None).readings;
    assert_eq!(kept.map(|kept| kept.memory()), Some(0));
}

#[test]
fn readings_of_ordinary_reviews_take_less_than_300_bytes_each() {
    let kept = derived(&written_dataset_of(2_049), None).readings;
    let bytes = kept.expect("derived").memory();
    assert!((1..300 * 2_049).contains(&bytes), "{bytes}");
}
