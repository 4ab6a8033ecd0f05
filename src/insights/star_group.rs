//! The two groups of reviews whose phrases are compared: those of five stars, and those of at most three. Reviews of four
//! stars are in neither, as they praise and complain.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

use crate::model::Review;
use crate::model::insights::Polarity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StarGroup {
    /// Five stars.
    Five,
    /// At most three stars.
    Low,
}

impl StarGroup {
    pub(super) const ALL: [StarGroup; 2] = [StarGroup::Five, StarGroup::Low];

    /// The group of a review; `None` for four stars.
    pub(super) fn of_review(review: &Review) -> Option<StarGroup> {
        match review.rating.stars() {
            5 => Some(StarGroup::Five),
            4 => None,
            _ => Some(StarGroup::Low),
        }
    }

    pub(super) fn other(self) -> StarGroup {
        match self {
            StarGroup::Five => StarGroup::Low,
            StarGroup::Low => StarGroup::Five,
        }
    }

    /// What its reviews say of most things.
    pub(super) fn polarity(self) -> Polarity {
        match self {
            StarGroup::Five => Polarity::Positive,
            StarGroup::Low => Polarity::Negative,
        }
    }
}

/// A value of each group.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ByGroup<T> {
    pub(super) five: T,
    pub(super) low: T,
}

impl<T> Index<StarGroup> for ByGroup<T> {
    type Output = T;

    fn index(&self, group: StarGroup) -> &T {
        match group {
            StarGroup::Five => &self.five,
            StarGroup::Low => &self.low,
        }
    }
}

impl<T> IndexMut<StarGroup> for ByGroup<T> {
    fn index_mut(&mut self, group: StarGroup) -> &mut T {
        match group {
            StarGroup::Five => &mut self.five,
            StarGroup::Low => &mut self.low,
        }
    }
}
