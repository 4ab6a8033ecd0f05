//! Finds the month since which an aspect has been praised more or less often, if the difference is too large for chance
//! and still holds.
//!
//! For some months before the newest review, the reviews since that month are compared with those before it: by the number
//! of favorable ones, and by the number of critical ones, as complaints are rare in most data and say more.
//!
//! - Each comparison is Fisher's exact test, one-sided, so that few mentions do not look like a change.
//! - It must reject chance at a level that is divided among all aspects of the dataset: of 200 datasets without a change,
//!   at most one tells any.
//! - The newer half of the later reviews must differ from the reviews before by itself, so that a change that was taken
//!   back is not told.
//!
//! A review counts once, however many sentences of it name the aspect, as they are no independent opinions.

use std::cmp::Ordering;

/// Fewest reviews before a change.
const BEFORE_MIN: usize = 8;
/// Fewest reviews after it.
const AFTER_MIN: usize = 4;
/// The least change of a share that is told.
const DIFFERENCE_MIN: f64 = 0.1;
/// Months before that of the newest review in which a change may have begun. Only these, as each further one adds chance
/// findings.
const MONTHS_AGO: [i32; 8] = [1, 2, 3, 5, 8, 11, 17, 23];
/// The level of all tests of a dataset together. Chosen by simulation, with the tests below: an aspect has up to 16
/// tests, most of which agree.
pub(super) const LEVEL: f64 = 0.002;
/// The level at which the newer half of the later reviews must differ.
const LEVEL_STILL: f64 = 0.05;

/// What the sentences of one review say about an aspect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opinions {
    /// Its month: see `Date::month_number`.
    pub(super) month: i32,
    pub(super) favorable: u32,
    pub(super) critical: u32,
    pub(super) all: u32,
}

/// A change of the share of favorable mentions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// The first month after it: see `Date::month_number`.
    pub(super) since: i32,
    pub(super) before: Mentions,
    pub(super) after: Mentions,
}

impl Change {
    pub(super) fn is_rise(&self) -> bool {
        self.after.share() > self.before.share()
    }
}

/// Counts of mentions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mentions {
    pub(super) favorable: u32,
    pub(super) all: u32,
}

impl Mentions {
    fn of(reviews: &[Opinions]) -> Mentions {
        Mentions {
            favorable: reviews.iter().map(|review| review.favorable).sum(),
            all: reviews.iter().map(|review| review.all).sum(),
        }
    }

    pub(super) fn share(&self) -> f64 {
        f64::from(self.favorable) / f64::from(self.all)
    }
}

/// Whether an aspect with these reviews can have a change.
pub(super) fn is_tested(reviews: &[Opinions]) -> bool {
    reviews.len() >= BEFORE_MIN + AFTER_MIN
}

/// Returns the clearest change in the `reviews` of an aspect, which are ordered newest first. `newest` is the month of the
/// newest review of the dataset, and `aspects` is how many of its aspects are tested.
pub(super) fn find_change(reviews: &[Opinions], newest: i32, aspects: usize) -> Option<Change> {
    let mut least = LEVEL / aspects as f64;
    let mut found = None;
    for ago in MONTHS_AGO {
        let since = newest - ago;
        let count = reviews.partition_point(|review| review.month >= since);
        let (after, before) = reviews.split_at(count);
        if after.len() < AFTER_MIN || before.len() < BEFORE_MIN {
            continue;
        }
        let change = Change {
            since,
            before: Mentions::of(before),
            after: Mentions::of(after),
        };
        let difference = change.after.share() - change.before.share();
        if difference.abs() < DIFFERENCE_MIN {
            continue;
        }
        let chance = chance_of(after, before, change.is_rise());
        let newer_half = &after[..count.div_ceil(2)];
        let still_holds = chance_of(newer_half, before, change.is_rise()) <= LEVEL_STILL;
        if chance < least && still_holds {
            least = chance;
            found = Some(change);
        }
    }
    found
}

/// How probable a rise is by chance alone. The smaller of two probabilities: that so many more of the reviews `after` are
/// favorable, and that so many fewer are critical. For a fall, the other way round.
fn chance_of(after: &[Opinions], before: &[Opinions], is_rise: bool) -> f64 {
    let [favorable, critical] = [Ordering::Greater, Ordering::Less].map(|sign| FourfoldTable {
        with_after: count_of(after, sign),
        all_after: after.len(),
        with_before: count_of(before, sign),
        all_before: before.len(),
    });
    if is_rise {
        favorable.chance_of_more().min(critical.chance_of_fewer())
    } else {
        favorable.chance_of_fewer().min(critical.chance_of_more())
    }
}

/// The reviews with more favorable than critical sentences (`Greater`), or with fewer (`Less`).
fn count_of(reviews: &[Opinions], sign: Ordering) -> usize {
    let mut count = 0;
    for review in reviews {
        count += usize::from(review.favorable.cmp(&review.critical) == sign);
    }
    count
}

/// Counts of reviews before and after, and of those with some property.
struct FourfoldTable {
    with_after: usize,
    all_after: usize,
    with_before: usize,
    all_before: usize,
}

impl FourfoldTable {
    /// The probability that so few or fewer of the reviews with the property are among those after.
    fn chance_of_fewer(&self) -> f64 {
        let with = self.with_after + self.with_before;
        let least = with.saturating_sub(self.all_before);
        let most = with.min(self.all_after);
        // The probabilities of each number, as multiples of that of `with_after`: only products and sums, so every machine
        // gets the same result. What overflows is infinitely larger than the rest.
        let mut tail = 1.0;
        let mut weight = 1.0;
        for number in (least..self.with_after).rev() {
            weight /= self.growth(number, with);
            tail += weight;
        }
        let mut all = tail;
        weight = 1.0;
        for number in self.with_after..most {
            weight *= self.growth(number, with);
            all += weight;
        }
        tail / all
    }

    /// The probability that so many or more are among those after: so few or fewer of those without the property.
    fn chance_of_more(&self) -> f64 {
        let without = FourfoldTable {
            with_after: self.all_after - self.with_after,
            with_before: self.all_before - self.with_before,
            ..*self
        };
        without.chance_of_fewer()
    }

    /// The probability of `number + 1` of `with` after, divided by that of `number` (hypergeometric distribution).
    fn growth(&self, number: usize, with: usize) -> f64 {
        let to_take = (with - number) as f64 * (self.all_after - number) as f64;
        to_take / ((number + 1) as f64 * (self.all_before + number + 1 - with) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often reviews mention an aspect, and how often they praise it if so; of the others, half are complaints.
    struct Subject {
        mentioned: f64,
        praised: f64,
    }

    /// Thirteen aspects, as many as the sample's taxonomy has.
    const SUBJECTS: [Subject; 13] = [
        subject(0.8, 0.9),
        subject(0.5, 0.85),
        subject(0.4, 0.8),
        subject(0.3, 0.95),
        subject(0.3, 0.7),
        subject(0.2, 0.9),
        subject(0.2, 0.6),
        subject(0.15, 0.85),
        subject(0.1, 0.5),
        subject(0.1, 0.9),
        subject(0.05, 0.8),
        subject(0.05, 0.95),
        subject(0.03, 0.75),
    ];
    const REVIEWS: usize = 200;
    /// The last month of simulated data.
    const NEWEST: i32 = 24_000;

    const fn subject(mentioned: f64, praised: f64) -> Subject {
        Subject { mentioned, praised }
    }

    /// xorshift64*.
    struct Random(u64);

    impl Random {
        /// A number from 0 to 1.
        fn share(&mut self) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f64 / f64::from(1 << 24)
        }
    }

    /// What 200 reviews from `span` months say about a subject. In the last `bad` months, praise is half as frequent, and
    /// complaints take its place.
    fn reviews(random: &mut Random, subject: &Subject, span: i32, bad: i32) -> Vec<Opinions> {
        let mut reviews = Vec::new();
        for _ in 0..REVIEWS {
            let ago = (random.share() * f64::from(span)) as i32;
            let is_named = random.share() < subject.mentioned;
            let share = random.share();
            if !is_named {
                continue;
            }
            let critical = (1.0 - subject.praised) / 2.0;
            let lost = if ago < bad {
                subject.praised / 2.0
            } else {
                0.0
            };
            let is_favorable = share < subject.praised - lost;
            let is_critical = !is_favorable && share < subject.praised + critical;
            reviews.push(Opinions {
                month: NEWEST - ago,
                favorable: u32::from(is_favorable),
                critical: u32::from(is_critical),
                all: 1,
            });
        }
        reviews.sort_by_key(|review| std::cmp::Reverse(review.month));
        reviews
    }

    /// Simulates 200 reviews about all subjects, without a change; returns how many of these datasets tell one.
    fn false_alarms(datasets: usize, span: i32) -> usize {
        let mut random = Random(0x5eed_2026);
        let mut alarms = 0;
        for _ in 0..datasets {
            let mut all = Vec::new();
            for subject in &SUBJECTS {
                all.push(reviews(&mut random, subject, span, 0));
            }
            let tested = all.iter().filter(|one| is_tested(one)).count();
            let is_told = |one: &Vec<Opinions>| find_change(one, NEWEST, tested).is_some();
            alarms += usize::from(all.iter().any(is_told));
        }
        alarms
    }

    #[test]
    fn of_200_datasets_without_a_change_199_are_silent() {
        for span in [12, 24, 36, 48] {
            let alarms = false_alarms(2_000, span);
            println!("{span} months: {alarms} of 2000");
            assert!(alarms <= 10, "{span} months: {alarms} of 2000");
        }
    }

    /// In how many of 100 datasets a change of the last six months is told, and by one test for which the months are known.
    struct Power {
        told: usize,
        by_one_test: usize,
    }

    /// The level of one test if 13 aspects have two each, of praise and of complaints, and one of 200 datasets may tell a
    /// change by chance.
    const LEVEL_OF_ONE_TEST: f64 = 0.005 / 26.0;

    fn power(span: i32, subject: &Subject) -> Power {
        let datasets = 1_000;
        let mut random = Random(0x5eed_2027);
        let mut told = 0;
        let mut by_one_test = 0;
        for _ in 0..datasets {
            let reviews = reviews(&mut random, subject, span, 6);
            told += usize::from(find_change(&reviews, NEWEST, SUBJECTS.len()).is_some());
            let count = reviews.partition_point(|review| review.month > NEWEST - 6);
            let (after, before) = reviews.split_at(count);
            by_one_test += usize::from(chance_of(after, before, false) <= LEVEL_OF_ONE_TEST);
        }
        Power {
            told: told * 100 / datasets,
            by_one_test: by_one_test * 100 / datasets,
        }
    }

    #[test]
    fn as_many_changes_are_told_as_one_test_of_the_known_months_can_tell() {
        let page = include_str!("../../docs/design/insights.md");
        let mut rows = String::new();
        for span in [12, 24, 36] {
            rows += &format!("| {span} months |");
            for subject in &SUBJECTS[..6] {
                let power = power(span, subject);
                assert!(power.told + 5 >= power.by_one_test, "{span} months");
                rows += &format!(" {} % ({} %) |", power.told, power.by_one_test);
            }
            rows += "\n";
        }
        println!("{rows}");
        assert!(
            page.contains(&rows),
            "docs/design/insights.md has no rows\n{rows}"
        );
    }

    #[test]
    fn a_halved_aspect_of_half_the_reviews_is_told_in_nine_of_twelve() {
        for (span, subject) in [(12, 0), (12, 1), (24, 0), (24, 1)] {
            let power = power(span, &SUBJECTS[subject]);
            assert!(
                power.told >= 75,
                "{span} months, {subject}: {} %",
                power.told
            );
        }
    }

    #[test]
    fn the_exact_test_has_the_probabilities_of_the_tea_tasting() {
        let table = FourfoldTable {
            with_after: 3,
            all_after: 4,
            with_before: 1,
            all_before: 4,
        };
        // Fisher (1935): 17 of 70 ways to guess three or four cups of four.
        assert!((table.chance_of_more() - 17.0 / 70.0).abs() < 1e-12);
        assert!((table.chance_of_fewer() - 69.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn a_table_too_large_for_numbers_is_no_chance_finding() {
        let table = FourfoldTable {
            with_after: 60_000,
            all_after: 100_000,
            with_before: 50_000,
            all_before: 100_000,
        };
        assert!(table.chance_of_more() < 1e-9);
        // Not a number, which is below no level.
        let order = table.chance_of_fewer().partial_cmp(&LEVEL_STILL);
        assert_ne!(order, Some(Ordering::Less));
    }
}
