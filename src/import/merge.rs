//! Candidates laid over the reviews that are there, by id; what comes of it, and the new file.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::value::RawValue;

use super::identity::of_content;
use super::normalise::{Rules, Vouched, normalise, unusable};
use super::record::Found;
use super::stored::Stored;
use crate::dataset::{REVIEWS_BYTES_MAX, REVIEWS_MAX};
use crate::wire::date::Date;

mod identity;
mod outcome;
mod removal;
mod tally;
mod twins;

use identity::{rank, taken};
pub use outcome::{BusinessFacts, MISSING_MAX};
pub use tally::{Note, Tally};

/// Refusals that are kept with their reasons; further ones are counted.
pub const REFUSALS_MAX: usize = 100;

/// Remarks that are shown; further ones are counted.
pub const REMARKS_MAX: usize = 10;

/// What stands between two reviews of the file.
const SEPARATOR: &str = ",\n    ";
const SEPARATOR_BYTES: usize = SEPARATOR.len();

/// The bounds of the result.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of the new file.
    pub bytes_max: u64,
    /// Reviews in it.
    pub reviews_max: usize,
}

impl Bounds {
    /// The bounds for a file of at most `bytes_max`, and of at most what the check takes.
    pub fn of(bytes_max: u64) -> Bounds {
        Bounds {
            bytes_max: bytes_max.min(REVIEWS_BYTES_MAX as u64),
            reviews_max: REVIEWS_MAX,
        }
    }
}

/// The reviews that are there, and what an import makes of them.
#[derive(Debug)]
pub struct Merge<'f> {
    /// The other parts of the file as they stand, by key; empty where there is no file.
    parts: BTreeMap<String, &'f RawValue>,
    slots: HashMap<String, Slot<'f>>,
    /// The sources of reviews, in lower case: a number stands for each.
    sources: HashMap<String, u32>,
    /// The sources that this import has spoken of.
    spoken: HashSet<u32>,
    /// Ids that are never added.
    ignored: HashSet<String>,
    /// Refused records of which it is not known which reviews they are.
    unknown_count: u64,
    /// Ids of the reviews that were removed, as their sources have them no more.
    pruned: Vec<String>,
    tallies: Vec<Tally>,
    refusals: Vec<Note>,
    /// What was left out of records that were taken, at most [`REMARKS_MAX`] of them.
    remarks: Vec<Note>,
    /// How many there are.
    remark_count: u64,
    bounds: Bounds,
    /// The ids of reviews that are there, by source, author and text; `None` where several have the same.
    same_texts: Option<HashMap<u64, Option<String>>>,
    /// What the operator says of the business, where the file has placeholders.
    business: BusinessFacts,
    /// Bytes that the new file has so far, or one more where it holds a review.
    bytes: u64,
}

/// One id.
#[derive(Debug)]
struct Slot<'f> {
    kept: Option<Kept<'f>>,
    arrived: Option<Arrived>,
    /// Whether a record of this id came, be it refused.
    named: bool,
}

/// A review that was there.
#[derive(Debug)]
struct Kept<'f> {
    json: &'f RawValue,
    date: Date,
    source: u32,
    verified: bool,
}

/// The time of the change, where it is known, and the digest of what the source says.
type Rank = (Option<(i64, u32)>, [u8; 16]);

/// The version of a review that this import goes by.
#[derive(Debug)]
struct Arrived {
    source: usize,
    line: u64,
    /// What decides between two versions: the time of the change, then the bytes.
    rank: Rank,
    /// Whether the source hides it.
    hidden: bool,
    /// The review where it is new or different.
    fresh: Option<Fresh>,
}

#[derive(Debug)]
struct Fresh {
    json: Box<str>,
    date: Date,
    verified: bool,
}

impl<'f> Merge<'f> {
    /// Begins with the file that is there, or with none; the file has to have passed the check of the dataset.
    ///
    /// # Errors
    /// A line, where it has not.
    pub fn new(file: Option<&'f str>, bounds: Bounds) -> Result<Merge<'f>, String> {
        let mut merge = Merge {
            parts: BTreeMap::new(),
            slots: HashMap::new(),
            sources: HashMap::new(),
            spoken: HashSet::new(),
            ignored: HashSet::new(),
            unknown_count: 0,
            pruned: Vec::new(),
            tallies: Vec::new(),
            refusals: Vec::new(),
            remarks: Vec::new(),
            remark_count: 0,
            bounds,
            same_texts: None,
            business: BusinessFacts::default(),
            bytes: 0,
        };
        let Some(file) = file else {
            merge.bytes = merge.frame_bytes();
            return Ok(merge);
        };
        let wrong = |error: serde_json::Error| format!("reviews.json: cannot be read: {error}");
        merge.parts = serde_json::from_str(file).map_err(wrong)?;
        let reviews = merge.parts.remove("reviews");
        let reviews = reviews.map_or("[]", RawValue::get);
        for json in serde_json::from_str::<Vec<&RawValue>>(reviews).map_err(wrong)? {
            let stored = Stored::parse(json.get())
                .ok_or_else(|| "reviews.json: a review cannot be read".to_owned())?;
            let kept = Kept {
                json,
                date: stored.review.date,
                source: merge.number(&stored.review.source),
                verified: stored.review.verified,
            };
            let slot = Slot {
                kept: Some(kept),
                arrived: None,
                named: false,
            };
            merge.bytes += (json.get().len() + SEPARATOR_BYTES) as u64;
            merge.slots.insert(stored.review.id, slot);
        }
        merge.bytes += merge.frame_bytes();
        Ok(merge)
    }

    /// Begins the next source.
    pub fn begin(&mut self) {
        self.tallies.push(Tally::default());
    }

    /// Takes what a reader found in the source that was begun last.
    ///
    /// # Errors
    /// A line, where the result would exceed its bounds.
    pub fn take(&mut self, found: Found, rules: &Rules) -> Result<(), String> {
        let source = self.tallies.len().saturating_sub(1);
        match found {
            Found::Refused { line, reason } => {
                self.unknown_count += 1;
                self.refuse(source, line, reason);
            }
            Found::Record(record) => match normalise(&record, rules) {
                Err(reason) => {
                    self.name(&record, rules);
                    self.refuse(source, record.line, reason);
                }
                Ok(mut candidate) => {
                    let number = self.number(&candidate.source);
                    self.spoken.insert(number);
                    if rules.merges_same_text && !record.is_ours {
                        self.adopt_id(&mut candidate);
                    }
                    // A review that had no id of its own when it was removed may have one by now.
                    let words = candidate.text.as_deref().unwrap_or_default();
                    let (source_name, author) = (&candidate.source, &candidate.author);
                    let by_content = of_content(source_name, author, candidate.date, words);
                    if self.ignored.contains(&candidate.id) || self.ignored.contains(&by_content) {
                        self.tallies[source].ignored += 1;
                        return Ok(());
                    }
                    let slot = self.slots.get(&candidate.id);
                    let kept = slot.and_then(|slot| Stored::parse(slot.kept.as_ref()?.json.get()));
                    if let Some(reason) = taken(&record, &candidate, kept.as_ref()) {
                        self.name(&record, rules);
                        self.refuse(source, record.line, reason);
                        return Ok(());
                    }
                    for text in unusable(&record) {
                        self.remark(source, record.line, text);
                    }
                    let (rank, hidden) = (rank(&candidate), candidate.hidden);
                    // Of a review that is there the operator may have said by hand that it is not verified.
                    let vouched = match rules.vouched {
                        Vouched::Nothing => false,
                        Vouched::New => kept.is_none(),
                        Vouched::All => true,
                    };
                    if vouched {
                        candidate.verified = candidate.verified.or(Some(true));
                    }
                    let stored = Stored::overlay(candidate, kept.as_ref());
                    let json = stored.render();
                    let arrived = Arrived {
                        source,
                        line: record.line,
                        rank,
                        hidden,
                        fresh: (kept.as_ref() != Some(&stored)).then(|| Fresh {
                            json: json.into(),
                            date: stored.review.date,
                            verified: stored.review.verified,
                        }),
                    };
                    return self.arrive(stored.review.id, arrived);
                }
            },
        }
        Ok(())
    }

    /// Puts a version in its place, or decides between it and the one that came before.
    fn arrive(&mut self, id: String, arrived: Arrived) -> Result<(), String> {
        let slot = self.slots.entry(id).or_insert(Slot {
            kept: None,
            arrived: None,
            named: true,
        });
        slot.named = true;
        let is_there = slot.kept.is_some();
        let kept = slot.kept.as_ref().map(|kept| kept.json.get().len());
        if let Some(earlier) = &mut slot.arrived
            && earlier.rank.1 == arrived.rank.1
        {
            // The same words again: the later of both times decides against a third version.
            if arrived.rank.0 > earlier.rank.0 {
                earlier.rank.0 = arrived.rank.0;
            }
            self.tallies[arrived.source].repeated += 1;
            return Ok(());
        }
        let loser = match slot.arrived.take() {
            Some(earlier) if earlier.rank > arrived.rank => {
                slot.arrived = Some(earlier);
                Some(arrived)
            }
            earlier => {
                *self.tallies[arrived.source].outcome(is_there, &arrived) += 1;
                self.bytes = self.bytes.saturating_add_signed(arrived.growth(kept));
                let earlier = earlier.inspect(|earlier| {
                    *self.tallies[earlier.source].outcome(is_there, earlier) -= 1;
                    self.bytes = self.bytes.saturating_add_signed(-earlier.growth(kept));
                });
                slot.arrived = Some(arrived);
                earlier
            }
        };
        if let Some(loser) = loser {
            let winner = slot.arrived.as_ref();
            let is_older = |winner: &Arrived| {
                let times = winner.rank.0.zip(loser.rank.0);
                times.is_some_and(|(one, other)| one != other)
            };
            if winner.is_some_and(is_older) {
                // An older version of the same review is no mistake.
                self.tallies[loser.source].repeated += 1;
            } else {
                let reason = match winner {
                    Some(winner) if winner.source == loser.source => {
                        format!(
                            "id: is that of line {} too, which says something else",
                            winner.line
                        )
                    }
                    _ => "id: is that of another source's record too, which says something else"
                        .to_owned(),
                };
                self.refuse(loser.source, loser.line, reason);
            }
        }
        self.bound()
    }

    fn bound(&self) -> Result<(), String> {
        let Bounds {
            bytes_max,
            reviews_max,
        } = self.bounds;
        if self.bytes() > bytes_max {
            return Err(format!(
                "reviews.json would be larger than {bytes_max} bytes (--data-file-bytes); \
                 check and serve need the same flag, and take at most {REVIEWS_BYTES_MAX}"
            ));
        }
        if self.slots.len() > reviews_max {
            return Err(format!(
                "reviews.json would hold more than {reviews_max} reviews"
            ));
        }
        Ok(())
    }

    /// The number of a source.
    fn number(&mut self, source: &str) -> u32 {
        let next = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        *self.sources.entry(source.to_lowercase()).or_insert(next)
    }
}

impl Slot<'_> {
    /// The review as the file will hold it, its day, and whether it is published.
    fn version(&self) -> (&str, Date, bool) {
        let fresh = self
            .arrived
            .as_ref()
            .and_then(|arrived| arrived.fresh.as_ref());
        match (fresh, &self.kept) {
            (Some(fresh), _) => (&fresh.json, fresh.date, fresh.verified),
            (None, Some(kept)) => (kept.json.get(), kept.date, kept.verified),
            // A slot is made for one or the other.
            (None, None) => ("", Date::MIN, false),
        }
    }
}

impl Arrived {
    /// How many bytes the file grows by, where the review took `kept` before.
    fn growth(&self, kept: Option<usize>) -> i64 {
        let Some(fresh) = &self.fresh else {
            return 0;
        };
        let (new, old) = (fresh.json.len() as i64, kept.map(|kept| kept as i64));
        old.map_or(new + SEPARATOR_BYTES as i64, |old| new - old)
    }
}
