//! Subscriptions that change together: loaded at once, stepped one after the other, saved at once.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::types::Type;

use super::super::callback::Callback;
use super::super::moment::Moment;
use super::super::store::{TOMBSTONES_MAX, Tombstone};
use super::super::subscription::{Ended, Event, Outcome, Policy, RemovalReason, Step, step};
use super::fault::Fault;
use super::link::Link;
use super::rows::{self, Stored};

/// Subscriptions in the hand of one transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    states: BTreeMap<i64, Stored>,
    changed: BTreeSet<i64>,
    ended: Vec<(Tombstone, Callback)>,
}

impl Batch {
    /// Loads the subscriptions with these ids, as far as they are there; others wait with theirs.
    pub(super) fn load(link: &mut Link, ids: &[i64]) -> Result<Batch, Fault> {
        let mut batch = Batch::default();
        if !ids.is_empty() {
            for stored in rows::load(link, ids)? {
                batch.add(stored);
            }
        }
        Ok(batch)
    }

    /// Adds one that was loaded otherwise.
    pub(super) fn add(&mut self, stored: Stored) {
        self.states.insert(stored.id, stored);
    }

    /// Returns one.
    pub(super) fn find(&self, id: i64) -> Option<&Stored> {
        self.states.get(&id)
    }

    /// Steps one; `None` when it is not there.
    pub(super) fn step(
        &mut self,
        id: i64,
        event: &Event<'_>,
        policy: &Policy,
        now: Moment,
    ) -> Option<Step> {
        let stored = self.states.get_mut(&id)?;
        let after = step(Some(stored.state.clone()), event, now, policy);
        match (&after.state, after.removal) {
            (Some(state), _) => {
                stored.state = state.clone();
                self.changed.insert(id);
            }
            (None, removal) => {
                let stored = self.states.remove(&id)?;
                self.changed.remove(&id);
                let stone = Tombstone {
                    id,
                    host: stored.callback.host().to_string(),
                    topic: stored.topic,
                    removal: removal.unwrap_or(RemovalReason::Operator),
                    at: now,
                    last: last_of(event, now).or(stored.state.last),
                    created_at: stored.state.created_at,
                };
                self.ended.push((stone, stored.callback));
            }
        }
        Some(after)
    }

    /// Saves what has changed, and what has ended leaves its tombstone and its denial.
    pub(super) fn save(self, link: &mut Link) -> Result<(), Fault> {
        let changed: Vec<&Stored> = self
            .changed
            .iter()
            .filter_map(|id| self.states.get(id))
            .collect();
        rows::save(link, &changed)?;
        if self.ended.is_empty() {
            return Ok(());
        }
        let ids: Vec<i64> = self.ended.iter().map(|(stone, _)| stone.id).collect();
        link.execute(
            "DELETE FROM reviewd.subscription WHERE id = ANY ($1)",
            &[(&ids, Type::INT8_ARRAY)],
        )?;
        tell(link, &self.ended)?;
        let stones: Vec<Tombstone> = self.ended.into_iter().map(|(stone, _)| stone).collect();
        rows::bury(link, &stones)
    }
}

/// Leaves denials for those who are to be told.
fn tell(link: &mut Link, ended: &[(Tombstone, Callback)]) -> Result<(), Fault> {
    let told: Vec<&(Tombstone, Callback)> = ended
        .iter()
        .filter(|(stone, _)| stone.removal.reason().is_some())
        .collect();
    if told.is_empty() {
        return Ok(());
    }
    let texts = |of: fn(&(Tombstone, Callback)) -> &str| {
        told.iter().map(|entry| of(entry)).collect::<Vec<&str>>()
    };
    let since: Vec<i64> = told.iter().map(|(stone, _)| stone.at.unix_ms()).collect();
    link.execute(
        "INSERT INTO reviewd.notice (topic, callback, removal, since) SELECT * FROM unnest($1, $2, $3, $4)",
        &[
            (&texts(|(stone, _)| &stone.topic), Type::TEXT_ARRAY),
            (&texts(|(_, callback)| callback.uri()), Type::TEXT_ARRAY),
            (
                &texts(|(stone, _)| stone.removal.as_str()),
                Type::TEXT_ARRAY,
            ),
            (&since, Type::INT8_ARRAY),
        ],
    )?;
    trim_notices(link)
}

/// Drops the oldest denials beyond the most that are kept.
pub(super) fn trim_notices(link: &mut Link) -> Result<(), Fault> {
    link.execute(
        "DELETE FROM reviewd.notice WHERE id <= (SELECT max(id) FROM reviewd.notice) - $1",
        &[(&rows::limit(TOMBSTONES_MAX), Type::INT8)],
    )?;
    Ok(())
}

/// The attempt that ended a subscription is the last that its tombstone tells of.
fn last_of(event: &Event<'_>, now: Moment) -> Option<Ended> {
    match event {
        Event::Ended {
            outcome: Outcome::Attempted { answer, .. },
            ..
        } => Some(Ended {
            at: now,
            answer: *answer,
        }),
        _ => None,
    }
}
