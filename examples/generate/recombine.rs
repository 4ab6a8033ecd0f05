//! Reviews made of the sentences of other reviews.

use reviewd::model::{Rating, Review};

/// An endless iterator of reviews that resemble given ones: each takes author, rating, date and mentions from reviews
/// drawn at random, and as many sentences as one of them has, from reviews of the same rating and kind of script.
///
/// The same reviews and seed give the same sequence on every machine.
#[derive(Debug)]
pub(crate) struct Recombined<'d> {
    reviews: &'d [Review],
    /// Sentences by rating, then by whether they are ASCII.
    sentences: [[Vec<&'d str>; 2]; 5],
    random: Random,
    /// How many reviews were made.
    made: u64,
}

impl<'d> Recombined<'d> {
    /// Creates the iterator; it is empty if `reviews` is empty.
    pub(crate) fn new(reviews: &'d [Review], seed: u64) -> Recombined<'d> {
        let mut sentences: [[Vec<&str>; 2]; 5] = Default::default();
        for review in reviews {
            let of_rating =
                &mut sentences[usize::from(review.rating.stars() - Rating::MIN.stars())];
            for sentence in split(&review.text) {
                of_rating[usize::from(sentence.is_ascii())].push(sentence);
            }
        }
        Recombined {
            reviews,
            sentences,
            random: Random(seed),
            made: 0,
        }
    }

    fn text(&mut self, base: &Review) -> String {
        let of_rating = &self.sentences[usize::from(base.rating.stars() - Rating::MIN.stars())];
        let mut text = String::with_capacity(base.text.len() + base.text.len() / 2);
        for sentence in split(&base.text) {
            let alike = &of_rating[usize::from(sentence.is_ascii())];
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(alike[self.random.below(alike.len())]);
        }
        text
    }
}

impl Iterator for Recombined<'_> {
    type Item = Review;

    fn next(&mut self) -> Option<Review> {
        if self.reviews.is_empty() {
            return None;
        }
        let reviews = self.reviews;
        let [base, author, mentions, day] =
            [(); 4].map(|()| &reviews[self.random.below(reviews.len())]);
        let text = self.text(base);
        let id = id(day.date.timestamp().unix(), self.made, self.random.next());
        self.made += 1;
        Some(Review {
            id,
            author: author.author.clone(),
            author_avatar_url: None,
            rating: base.rating,
            date: day.date,
            text,
            source: base.source.clone(),
            source_url: None,
            owner_reply: None,
            verified: true,
            mentioned_technicians: mentions.mentioned_technicians.clone(),
            mentioned_services: mentions.mentioned_services.clone(),
            verification: None,
            // It is detected when the file is read.
            language: None,
            media: Vec::new(),
            translation: None,
            language_source: None,
            location: None,
            date_precision: None,
            rating_original: None,
            added_at: None,
            changed_at: None,
        })
    }
}

/// Splits `text` after full stops, exclamation and question marks and line breaks; pieces are trimmed and not empty.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['.', '!', '?', '\n', '。', '！', '？', '।'];
    text.split_inclusive(ends)
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Creates a ULID from a time, a unique number, and random bits.
fn id(seconds: i64, number: u64, random: u64) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let milliseconds = u128::try_from(seconds).unwrap_or(0) * 1000;
    let value = milliseconds << 80
        | u128::from(random & 0xff_ffff_ffff) << 40
        | u128::from(number & 0xff_ffff_ffff);
    (0..26)
        .rev()
        .map(|place| char::from(DIGITS[(value >> (5 * place) & 31) as usize]))
        .collect()
}

/// SplitMix64: good enough to draw sentences, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns 64 random bits.
    #[allow(
        clippy::should_implement_trait,
        reason = "it never ends, so it is no iterator of options"
    )]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
