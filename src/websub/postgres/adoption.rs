//! Subscriptions that come from another store.

use std::collections::HashMap;

use tokio_postgres::types::Type;

use super::super::moment::Moment;
use super::super::store::UNPUBLISHED;
use super::super::subscription::Subscription;
use super::super::transfer::{self, ExportedSubscription, ImportDecision};
use super::fault::Fault;
use super::link::Link;
use super::rows::{self, Fresh, Stored, get};

/// What there is under a pair while lines are taken over, one after the other.
enum Here {
    /// It was there before; true when a line has changed it.
    Stored(Stored, bool),
    /// The line with this index has brought it.
    Fresh(usize, Subscription),
}

/// Takes them over within a transaction that keeps topics as they are: a few statements, however many lines, since
/// whoever publishes or confirms waits for it.
pub(super) fn adopt(
    link: &mut Link,
    moved: &[ExportedSubscription],
    now: Moment,
) -> Result<Vec<ImportDecision>, Fault> {
    let pairs: Vec<[u8; 32]> = moved
        .iter()
        .map(|one| rows::pair(&one.callback, &one.topic))
        .collect();
    let mut here: HashMap<[u8; 32], Here> = HashMap::new();
    for (pair, stored) in rows::load_pairs(link, &pairs)? {
        here.insert(pair, Here::Stored(stored, false));
    }
    let topics = topics(link, moved, now)?;
    let mut answers = Vec::with_capacity(moved.len());
    for (index, (one, pair)) in moved.iter().zip(&pairs).enumerate() {
        let known = match here.get(pair) {
            Some(Here::Stored(stored, _)) => Some(stored.state.clone()),
            Some(Here::Fresh(_, state)) => Some(state.clone()),
            None => None,
        };
        let (next, adopted) = transfer::adopt(known, one, now);
        let Some(next) = next else {
            answers.push(adopted);
            continue;
        };
        match here.get_mut(pair) {
            Some(Here::Stored(stored, is_changed)) => {
                stored.state = next;
                *is_changed = true;
            }
            Some(Here::Fresh(_, state)) => *state = next,
            None if topics.contains_key(&one.topic) => {
                here.insert(*pair, Here::Fresh(index, next));
            }
            None => {
                answers.push(ImportDecision::UnknownTopic);
                continue;
            }
        }
        answers.push(adopted);
    }
    save(link, moved, &pairs, &topics, here, &mut answers)?;
    Ok(answers)
}

fn save(
    link: &mut Link,
    moved: &[ExportedSubscription],
    pairs: &[[u8; 32]],
    topics: &HashMap<String, i64>,
    here: HashMap<[u8; 32], Here>,
    answers: &mut [ImportDecision],
) -> Result<(), Fault> {
    let (mut changed, mut fresh) = (Vec::new(), Vec::new());
    for one in here.into_values() {
        match one {
            Here::Stored(stored, true) => changed.push(stored),
            Here::Stored(_, false) => {}
            Here::Fresh(index, state) => fresh.push((index, state)),
        }
    }
    // In the order of the lines, so that ids are.
    fresh.sort_by_key(|(index, _)| *index);
    let new: Vec<Fresh<'_>> = fresh
        .iter()
        .filter_map(|(index, state)| {
            let (one, pair) = (moved.get(*index)?, *pairs.get(*index)?);
            let topic_id = *topics.get(&one.topic)?;
            let callback = &one.callback;
            Some(Fresh {
                pair,
                topic_id,
                callback,
                state,
            })
        })
        .collect();
    let inserted = rows::insert(link, &new)?;
    for (pair, answer) in pairs.iter().zip(answers) {
        // A replica has confirmed the same subscription in this moment, and knows better.
        if *answer == ImportDecision::Added && !inserted.contains(pair) {
            *answer = ImportDecision::Known;
        }
    }
    rows::save(link, &changed.iter().collect::<Vec<_>>())
}

/// Finds the topics by their URL, and makes those that are missing where nothing was ever published.
fn topics(
    link: &mut Link,
    moved: &[ExportedSubscription],
    now: Moment,
) -> Result<HashMap<String, i64>, Fault> {
    let published = "SELECT 1 FROM reviewd.topic WHERE digest <> $1 LIMIT 1";
    let published = link.first(published, &[(&&UNPUBLISHED[..], Type::BYTEA)])?;
    // Those whose lease is over bring nothing along.
    let lasting = moved.iter().filter(|one| one.state.lease_end > now);
    let mut urls: Vec<&str> = lasting.map(|one| one.topic.as_str()).collect();
    urls.sort_unstable();
    urls.dedup();
    if published.is_none() {
        link.execute(
            "INSERT INTO reviewd.topic (url, digest, dated) SELECT url, $2, 0 FROM unnest($1) url
             ON CONFLICT (url) DO NOTHING",
            &[(&urls, Type::TEXT_ARRAY), (&&UNPUBLISHED[..], Type::BYTEA)],
        )?;
    }
    let rows = link.query(
        "SELECT url, id FROM reviewd.topic WHERE url = ANY ($1)",
        &[(&urls, Type::TEXT_ARRAY)],
    )?;
    rows.iter()
        .map(|row| Ok((get(row, 0)?, get(row, 1)?)))
        .collect()
}
