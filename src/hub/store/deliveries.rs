//! What is due, what has begun, and how exchanges ended.

use std::collections::HashMap;

use super::connection::Connection;
use super::host_room::HostRoom;
use super::{
    Claim, Delivery, Lane, Listed, Recorded, Report, Store, StoreError, requests, rows, touch,
};
use crate::hub::Moment;
use crate::hub::subscription::Policy;

impl Store {
    /// Claims subscriptions that are due in the lane, to topics that hold what this process has published, and begins an
    /// attempt for each: the topic's current digest is stored as begun before anything is sent.
    pub fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim,
        now: Moment,
    ) -> Result<Vec<Delivery>, StoreError> {
        let own = self.own.clone();
        let (ids, is_behind) = self.read(|db| find(db, &own, lane, claim, now))?;
        self.is_behind = is_behind;
        match ids.is_empty() {
            true => Ok(Vec::new()),
            false => self.write(|db| begin(db, &ids, now)),
        }
    }

    /// Stores how verifications and attempts ended; the results are in the order of the reports.
    pub fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.write(|db| {
            touch(db, now)?;
            let mut recorded = vec![Recorded::Stale; reports.len()];
            record_deliveries(db, reports, &mut recorded, policy, now)?;
            for (report, recorded) in reports.iter().zip(&mut recorded) {
                if !matches!(report, Report::Delivered { .. }) {
                    *recorded = requests::record(db, report, now)?;
                }
            }
            Ok(recorded)
        })
    }
}

/// Finds ids of subscriptions that are due in the lane, to topics that hold one of the contents `own`, and whether a topic
/// holds something else. Three index ranges a topic: open ones whose time has come, and acknowledged ones whose digest lies
/// below or above the topic's. Each topic comes first in turn, by the clock, so that one that changes all the time cannot
/// starve the others.
fn find(
    db: &mut dyn Connection,
    own: &[[u8; 32]],
    lane: Lane,
    claim: &Claim,
    now: Moment,
) -> Result<(Vec<i64>, bool), StoreError> {
    let mut is_behind = false;
    let mut topics = Vec::new();
    for mut row in db.query("SELECT id, digest FROM topic ORDER BY id", &[])? {
        let topic = (row.int("id")?, row.digest("digest")?);
        match own.contains(&topic.1) {
            true => topics.push(topic),
            false => is_behind = true,
        }
    }
    if !topics.is_empty() {
        let turn = usize::try_from(now.unix_ms().unsigned_abs()).unwrap_or(0) % topics.len();
        topics.rotate_left(turn);
    }
    let is_slow = lane == Lane::Slow;
    let mut room = HostRoom::new(claim);
    let mut ids = Vec::new();
    for sql in QUERIES {
        for (topic_id, digest) in &topics {
            let values = [
                (*topic_id).into(),
                is_slow.into(),
                now.into(),
                digest.into(),
            ];
            let rows = room.fill(db, sql, &values)?;
            ids.extend(rows.into_iter().map(|(id, _)| id));
        }
    }
    Ok((ids, is_behind))
}

/// Begins an attempt for each of `ids` that is still due, and returns what is to be sent.
fn begin(db: &mut dyn Connection, ids: &[i64], now: Moment) -> Result<Vec<Delivery>, StoreError> {
    let mut begun = rows::load(db, ids)?;
    begun.retain(|listed| listed.state.is_due(&listed.current, now));
    let mut deliveries = Vec::with_capacity(begun.len());
    for listed in &mut begun {
        listed.state.begin(listed.current);
        deliveries.push(Delivery {
            id: listed.id,
            attempt: listed.state.attempt,
            topic: listed.topic.clone(),
            digest: listed.current,
            callback: listed.callback.clone(),
            secret: listed.state.secret.clone(),
        });
    }
    let begun: Vec<_> = begun.into_iter().map(|listed| (listed, None)).collect();
    rows::save(db, &begun, now)?;
    Ok(deliveries)
}

/// Stores how deliveries ended. What does not belong to the attempt under way is stale.
fn record_deliveries(
    db: &mut dyn Connection,
    reports: &[Report],
    recorded: &mut [Recorded],
    policy: &Policy,
    now: Moment,
) -> Result<(), StoreError> {
    let id = |report: &Report| match report {
        Report::Delivered { id, .. } => Some(*id),
        _ => None,
    };
    let ids: Vec<i64> = reports.iter().filter_map(id).collect();
    let loaded = rows::load(db, &ids)?.into_iter();
    let mut under_way: HashMap<i64, Listed> = loaded.map(|listed| (listed.id, listed)).collect();
    let mut changed = Vec::with_capacity(ids.len());
    for (report, recorded) in reports.iter().zip(recorded) {
        let Report::Delivered {
            id,
            attempt,
            digest,
            outcome,
            elapsed,
            jitter,
        } = report
        else {
            continue;
        };
        let is_this = |listed: &Listed| {
            let state = &listed.state;
            state.claimed && (state.attempt, &state.digest) == (*attempt, digest)
        };
        if !under_way.get(id).is_some_and(is_this) {
            continue;
        }
        if let Some(mut listed) = under_way.remove(id) {
            let removal = listed.state.end(outcome, *elapsed, *jitter, policy, now);
            let failures = listed.state.failures;
            *recorded = removal.map_or(Recorded::Kept { failures }, Recorded::Removed);
            changed.push((listed, removal));
        }
    }
    rows::save(db, &changed, now)
}

/// Subscriptions whose last begun attempt was not acknowledged.
const OPEN: &str =
    "SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 0
 AND claimed = 0 AND next_at <= $3 AND lease_end > $3 AND HOSTS ORDER BY next_at, id";

/// Subscriptions that acknowledged another content than the current one.
const OUTDATED: &str =
    "SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 1
 AND digest < $4 AND lease_end > $3 AND HOSTS
 UNION ALL SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 1
 AND digest > $4 AND lease_end > $3 AND HOSTS";

/// In the order in which they are claimed: retries first, as they have waited longest.
pub(super) const QUERIES: [&str; 2] = [OPEN, OUTDATED];
