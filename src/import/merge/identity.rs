//! Which of two versions of a review counts, and whether two records mean one review.

use sha2::{Digest, Sha256};

use super::super::candidate::Candidate;
use super::super::record::{Field, Record};
use super::super::stored::Stored;
use super::super::text::quote;
use super::Rank;

/// What decides between two versions; it depends on what the source says alone, and not on what is there, so that the
/// same version wins at the next import.
pub(super) fn rank(candidate: &Candidate) -> Rank {
    let mut digest = [0; 16];
    let said = Candidate {
        updated: None,
        ..candidate.clone()
    };
    digest.copy_from_slice(&Sha256::digest(format!("{said:?}"))[..16]);
    (candidate.updated, digest)
}

/// Why the id that a reviewd gave to this review cannot be its id here: a review of someone else bears it.
pub(super) fn taken(
    record: &Record,
    candidate: &Candidate,
    kept: Option<&Stored>,
) -> Option<String> {
    let other = &kept?.review;
    let is_own = record.is_ours && record.filled(Field::Id) == Some(&candidate.id);
    // A name may be corrected, words edited, a day put right, but hardly all at once.
    let is_text = |text: &String| !text.is_empty() && *text == other.text;
    let is_same = other.source.to_lowercase() == candidate.source.to_lowercase()
        && (other.author == candidate.author
            || other.date == candidate.date
            || candidate.text.as_ref().is_some_and(is_text));
    (is_own && !is_same).then(|| {
        format!(
            "id: is that of the review by {} from {} that is there",
            quote(&other.author),
            quote(&other.source)
        )
    })
}
