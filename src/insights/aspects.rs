//! The mentions of each aspect, added up.

use super::derive::{Derived, Mention};
use super::polarity::Polarity;
use crate::model::{Concept, Dataset};

/// An aspect and what reviews say about it.
#[derive(Debug)]
pub(super) struct Aspect<'d> {
    pub(super) concept: &'d Concept,
    /// Mentions by polarity: negative, neutral, positive.
    pub(super) counts: [u64; 3],
    /// The newest [`EVIDENCE_MAX`] mentions and the examples, newest first.
    pub(super) evidence: Vec<Mention>,
    /// The clearest mentions, at most [`EXAMPLES_MAX`] of each sign and each of another review, praise first.
    pub(super) examples: Vec<Mention>,
    /// The sum of the stars of reviews that complain of it, and their number.
    pub(super) complaints: (u64, u64),
}

impl<'d> Aspect<'d> {
    /// Adds up the mentions of each aspect of the taxonomy, in its order.
    pub(super) fn all(dataset: &'d Dataset, derived: &Derived) -> Vec<Aspect<'d>> {
        let empty = |concept| Aspect {
            concept,
            counts: [0; 3],
            evidence: Vec::new(),
            examples: Vec::new(),
            complaints: (0, 0),
        };
        let mut aspects: Vec<Aspect<'d>> = dataset.taxonomy.aspects.iter().map(empty).collect();
        let mut clearest = vec![[const { Vec::new() }; 2]; aspects.len()];
        let mut complained = vec![None; aspects.len()];
        for mention in &derived.mentions {
            let place = usize::from(mention.aspect);
            let aspect = &mut aspects[place];
            aspect.counts[mention.polarity as usize] += 1;
            if aspect.evidence.len() < EVIDENCE_MAX {
                aspect.evidence.push(*mention);
            }
            match mention.polarity {
                Polarity::Positive => keep_clearest(&mut clearest[place][0], mention),
                Polarity::Negative => keep_clearest(&mut clearest[place][1], mention),
                Polarity::Neutral => {}
            }
            if mention.polarity == Polarity::Negative && complained[place] != Some(mention.row) {
                complained[place] = Some(mention.row);
                let stars = dataset.reviews[mention.row as usize].rating.stars();
                aspect.complaints.0 += u64::from(stars);
                aspect.complaints.1 += 1;
            }
        }
        for (aspect, clearest) in aspects.iter_mut().zip(clearest) {
            aspect.examples = clearest.concat();
            let newest = aspect.evidence.len();
            for example in &aspect.examples {
                if !aspect.evidence[..newest].contains(example) {
                    aspect.evidence.push(*example);
                }
            }
            aspect
                .evidence
                .sort_by_key(|mention| (mention.row, mention.start));
        }
        aspects
    }

    /// How many mentions there are.
    pub(super) fn mentions(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many mentions have the polarity.
    pub(super) fn count(&self, polarity: Polarity) -> u64 {
        self.counts[polarity as usize]
    }

    /// Positive less negative mentions, divided by all, in ten-thousandths.
    pub(super) fn score(&self) -> i64 {
        let balance = self.count(Polarity::Positive).cast_signed()
            - self.count(Polarity::Negative).cast_signed();
        super::number::ratio(balance, self.mentions(), 10_000)
    }
}

/// Puts `mention` among the clearest, unless its review is there already; newer ones win a tie.
fn keep_clearest(clearest: &mut Vec<Mention>, mention: &Mention) {
    if let Some(same) = clearest.iter_mut().find(|one| one.row == mention.row) {
        if mention.margin > same.margin {
            *same = *mention;
        }
    } else {
        clearest.push(*mention);
    }
    clearest.sort_by_key(|one| (std::cmp::Reverse(one.margin), one.row));
    clearest.truncate(EXAMPLES_MAX);
}

/// Mentions shown of each aspect, so that the document of a large dataset stays readable; the counts are of all.
pub(super) const EVIDENCE_MAX: usize = 200;
/// Examples of each sign.
pub(super) const EXAMPLES_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn mention(row: u32, margin: i32) -> Mention {
        Mention {
            row,
            aspect: 0,
            sentence: 0,
            start: 0,
            end: 1,
            polarity: Polarity::Positive,
            margin,
        }
    }

    #[test]
    fn the_clearest_mention_of_each_review_is_kept() {
        let mut clearest = Vec::new();
        for (row, margin) in [(1, 5), (1, 9), (2, 9), (3, 1), (4, 2), (5, 2)] {
            keep_clearest(&mut clearest, &mention(row, margin));
        }
        assert_eq!(clearest, [mention(1, 9), mention(2, 9), mention(4, 2)]);
    }
}
