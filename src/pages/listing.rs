//! A list of reviews: the cards and how wide each is, the filters, the order, and the way to more reviews.

use super::filters::{Chip, Menus, OrderEntry};
use super::form::QueryParams;
use super::messages::Messages;
use super::review::ReviewView;
use crate::snapshot::Snapshot;

/// The longest text of a narrow card, in characters.
const NARROW_CHARS_MAX: usize = 400;

/// With fewer reviews in all, every card is wide.
const NARROW_FROM: u32 = 3;

/// The section with the reviews.
pub(super) struct Listing<'p> {
    pub(super) cards: Vec<Card>,
    /// The filters and the order are shown from ten reviews on.
    pub(super) has_tools: bool,
    pub(super) has_search: bool,
    pub(super) params: &'p QueryParams,
    pub(super) chips: Vec<Chip>,
    pub(super) menus: Menus,
    pub(super) orders: Vec<OrderEntry>,
    /// How many reviews match; "" on the page of all.
    pub(super) found: String,
    pub(super) note: String,
    /// The label of the link to all reviews, where no review matches.
    pub(super) show_all: String,
    pub(super) more: Option<More>,
    /// The address of the first page of the same reviews; `None` on the first page.
    pub(super) first: Option<String>,
}

/// The link to the next reviews.
pub(super) struct More {
    pub(super) href: String,
    /// How many of all are shown.
    pub(super) shown: String,
}

/// A review in the list.
pub(super) struct Card {
    pub(super) review: ReviewView,
    pub(super) check: String,
    pub(super) is_wide: bool,
    pub(super) is_pinned: bool,
}

impl Card {
    /// The CSS classes that arrange the parts of a wide card.
    pub(super) fn arrangement(&self) -> &'static str {
        if !self.review.photos.is_empty() {
            "review with-photos"
        } else if self.review.owner_reply.is_some() {
            "review pair"
        } else {
            "review"
        }
    }
}

/// Arranges `reviews` in cards; the first `pinned_count` of them are pinned.
///
/// A card with photos, a reply or a long text is wide. The others stand side by side in twos; one that would stand
/// alone is made wide, so the order of the page is the order of reading.
pub(super) fn cards(
    snapshot: &Snapshot,
    t: &Messages,
    reviews: Vec<ReviewView>,
    pinned_count: usize,
) -> Vec<Card> {
    let who = t.who(snapshot.site.clientele);
    let are_few = snapshot.len() < NARROW_FROM;
    let mut cards = Vec::with_capacity(reviews.len());
    for (at, review) in reviews.into_iter().enumerate() {
        let is_long = review.text.text.chars().count() > NARROW_CHARS_MAX;
        let has_more = !review.photos.is_empty() || review.owner_reply.is_some();
        cards.push(Card {
            check: review.verification_text(t, who, &snapshot.business.name),
            is_wide: are_few || is_long || has_more,
            is_pinned: at < pinned_count,
            review,
        });
    }
    widen_single_cards(&mut cards);
    cards
}

/// Widens the last card of each run of narrow cards whose number is odd.
fn widen_single_cards(cards: &mut [Card]) {
    for run in cards.chunk_by_mut(|left, right| left.is_wide == right.is_wide) {
        let is_odd = run.len() % 2 == 1;
        // In a run of wide cards this changes nothing.
        if is_odd && let Some(last) = run.last_mut() {
            last.is_wide = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_narrow_card_stands_alone() {
        let cases = [
            ("n", "w"),
            ("nn", "nn"),
            ("nnn", "nnw"),
            ("nwn", "www"),
            ("wnnw", "wnnw"),
        ];
        for (shape, expected) in cases {
            let mut cards = Vec::new();
            for width in shape.chars() {
                cards.push(Card {
                    review: ReviewView::default(),
                    check: String::new(),
                    is_wide: width == 'w',
                    is_pinned: false,
                });
            }
            widen_single_cards(&mut cards);
            let widths = cards
                .iter()
                .map(|card| if card.is_wide { 'w' } else { 'n' });
            assert_eq!(widths.collect::<String>(), expected, "{shape}");
        }
    }
}
