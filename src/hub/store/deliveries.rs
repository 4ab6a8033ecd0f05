//! What is due, what has begun, and how exchanges ended.

use std::collections::HashMap;

use super::connection::Connection;
use super::host_room::HostRoom;
use super::{Claim, Delivery, Lane, Listed, Recorded, Report, Store, StoreError, requests, rows};
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
    let mut topics: Vec<(i64, [u8; 32])> = Vec::new();
    for row in db.query("SELECT id, digest FROM topic ORDER BY id", &[])? {
        let digest = row.get("digest")?;
        match own.contains(&digest) {
            true => topics.push((row.get("id")?, digest)),
            false => is_behind = true,
        }
    }
    if !topics.is_empty() {
        let turn = usize::try_from(now.unix_ms().unsigned_abs()).unwrap_or(0) % topics.len();
        topics.rotate_left(turn);
    }
    let mut room = HostRoom::new(claim);
    for sql in QUERIES {
        for (topic_id, digest) in &topics {
            let is_slow = lane == Lane::Slow;
            let values = [
                (*topic_id).into(),
                is_slow.into(),
                now.into(),
                digest.to_vec().into(),
            ];
            room.fill(db, sql, &values)?;
        }
    }
    Ok((room.found, is_behind))
}

/// Begins an attempt for each of `ids` that is still due, and returns what is to be sent.
fn begin(db: &mut dyn Connection, ids: &[i64], now: Moment) -> Result<Vec<Delivery>, StoreError> {
    let mut due = rows::load(db, ids)?;
    due.retain(|listed| listed.state.is_due(&listed.current, now));
    let begun = rows::change(db, due, now, |listed| {
        listed.state.begin(listed.current);
        None
    })?;
    let delivery = |(listed, _): (Listed, _)| Delivery {
        id: listed.id,
        attempt: listed.state.attempt,
        topic: listed.topic,
        digest: listed.current,
        callback: listed.callback,
        secret: listed.state.secret,
    };
    Ok(begun.into_iter().map(delivery).collect())
}

/// Stores how deliveries ended. What does not belong to the attempt under way is stale.
fn record_deliveries(
    db: &mut dyn Connection,
    reports: &[Report],
    recorded: &mut [Recorded],
    policy: &Policy,
    now: Moment,
) -> Result<(), StoreError> {
    let mut ended = HashMap::new();
    for (index, report) in reports.iter().enumerate() {
        if let Report::Delivered {
            id,
            attempt,
            digest,
            outcome,
            elapsed,
            jitter,
        } = report
        {
            let end = (index, outcome, *elapsed, *jitter);
            ended.entry((*id, *attempt, *digest)).or_insert(end);
        }
    }
    let ids: Vec<i64> = ended.keys().map(|(id, ..)| *id).collect();
    let key = |listed: &Listed| (listed.id, listed.state.attempt, listed.state.digest);
    let mut under_way = rows::load(db, &ids)?;
    under_way.retain(|listed| listed.state.claimed && ended.contains_key(&key(listed)));
    rows::change(db, under_way, now, |listed| {
        let (index, outcome, elapsed, jitter) = ended.remove(&key(listed))?;
        let removal = listed.state.end(outcome, elapsed, jitter, policy, now);
        let failures = listed.state.failures;
        if let Some(recorded) = recorded.get_mut(index) {
            *recorded = removal.map_or(Recorded::Kept { failures }, Recorded::Removed);
        }
        removal
    })?;
    Ok(())
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
