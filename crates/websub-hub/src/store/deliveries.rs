//! Claims due deliveries, and records the results of exchanges.

use std::collections::HashMap;

use super::connection::{Connection, DbError, Value, limit, parameters, text};
use super::{
    Claim, Lane, Listed, Report, ReportEffect, Store, StoreError, TopicVersion, requests, rows,
};
use crate::hub::UnixMillis;
use crate::hub::subscription::Policy;

impl Store {
    /// Claims subscriptions that are due in the lane, to topics whose content this process has published, and begins an
    /// attempt for each: the topic's current digest is stored as begun before anything is sent.
    pub fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim,
        now: UnixMillis,
    ) -> Result<Vec<Listed>, StoreError> {
        let own = self.own.clone();
        let (ids, is_behind) = self.read(|db| find(db, &own, lane, claim, now))?;
        self.is_behind = is_behind;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let begun = self.write(|db| {
            let mut due = rows::load(db, &ids)?;
            // Another process may have published since.
            due.retain(|listed| {
                let mut own = own.iter().filter(|one| one.url == listed.topic);
                let is_own = own.any(|one| one.digest == listed.current);
                is_own && listed.state.is_due(&listed.current, now)
            });
            rows::change(db, due, now, |listed| {
                listed.state.begin(listed.current);
                None
            })
        })?;
        Ok(begun.into_iter().map(|(listed, _)| listed).collect())
    }

    /// Stores the results of verifications and deliveries; returns the effect of each report, in the same order.
    pub fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: UnixMillis,
    ) -> Result<Vec<ReportEffect>, StoreError> {
        self.write(|db| {
            let mut recorded = vec![ReportEffect::Stale; reports.len()];
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

/// Returns ids of subscriptions that are due in the lane, to topics whose content is one of `own`, and whether a topic
/// has other content. Three index ranges per topic: open ones whose next attempt is due, and acknowledged ones whose
/// digest is below or above the topic's. The clock decides which topic comes first, so that one that changes all the
/// time cannot starve the others.
fn find(
    db: &mut dyn Connection,
    own: &[TopicVersion],
    lane: Lane,
    claim: &Claim,
    now: UnixMillis,
) -> Result<(Vec<i64>, bool), DbError> {
    let mut is_behind = false;
    let mut topics: Vec<(i64, [u8; 32])> = Vec::new();
    for row in db.query("SELECT id, url, digest FROM topic ORDER BY id", &[])? {
        let (url, digest): (String, _) = (row.get("url")?, row.get("digest")?);
        match own.iter().any(|one| one.url == url && one.digest == digest) {
            true => topics.push((row.get("id")?, digest)),
            false => is_behind = true,
        }
    }
    if !topics.is_empty() {
        let turn = usize::try_from(now.as_ms().unsigned_abs()).unwrap_or(0) % topics.len();
        topics.rotate_left(turn);
    }
    let (mut claim, mut found) = (claim.clone(), Vec::new());
    for sql in QUERIES {
        for (topic_id, digest) in &topics {
            let is_slow = lane == Lane::Slow;
            let values = [
                (*topic_id).into(),
                is_slow.into(),
                now.into(),
                digest.to_vec().into(),
            ];
            claim.find(db, sql, &values, &mut found)?;
        }
    }
    Ok((found, is_behind))
}

impl Claim {
    /// Adds to `found` ids that `sql` selects, within the limits of the claim and of each host. `HOSTS` in the
    /// statement stands for the condition on the hosts.
    ///
    /// Due rows are read in windows of a fixed size. A host with thousands of callbacks could fill every window, so a
    /// host at its limit is excluded from the next one. The number of windows is bounded, so a claim may return fewer
    /// ids than its limit.
    pub(super) fn find(
        &mut self,
        db: &mut dyn Connection,
        sql: &str,
        values: &[Value],
        found: &mut Vec<i64>,
    ) -> Result<(), DbError> {
        for _ in 0..WINDOWS_MAX {
            if found.len() >= self.limit {
                break;
            }
            // A list must not be empty, and no host has an empty name.
            let mut full = vec![text("")];
            let is_full = |(_, count): &(&String, &usize)| **count >= self.per_host;
            let hosts = self.busy.iter().filter(is_full);
            full.extend(hosts.map(|(host, _)| text(host)));
            let first = values.len() + 1;
            let hosts = format!("host NOT IN ({})", parameters(first + 1, full.len()));
            let sql = format!("{} LIMIT ${first}", sql.replace("HOSTS", &hosts));
            // Nothing is claimed yet, so a window may repeat ids of an earlier one.
            let rows = db.query(&sql, &[values, &[limit(self.limit)], &full].concat())?;
            for row in &rows {
                let (host, id) = (row.get("host")?, row.get("id")?);
                let busy = self.busy.entry(host).or_default();
                let has_room = found.len() < self.limit && *busy < self.per_host;
                if has_room && !found.contains(&id) {
                    *busy += 1;
                    found.push(id);
                }
            }
            if rows.len() < self.limit {
                break;
            }
        }
        Ok(())
    }
}

/// Stores the results of deliveries. A report that does not belong to the running attempt is stale.
fn record_deliveries(
    db: &mut dyn Connection,
    reports: &[Report],
    recorded: &mut [ReportEffect],
    policy: &Policy,
    now: UnixMillis,
) -> Result<(), DbError> {
    let mut results = HashMap::new();
    for (report, recorded) in reports.iter().zip(recorded) {
        if let Report::Delivered { id, result } = report {
            results.insert((*id, result.attempt), (result, recorded));
        }
    }
    let ids: Vec<i64> = results.keys().map(|(id, _)| *id).collect();
    let key = |listed: &Listed| (listed.id, listed.state.attempt);
    let mut running = rows::load(db, &ids)?;
    running.retain(|listed| listed.state.claimed && results.contains_key(&key(listed)));
    rows::change(db, running, now, |listed| {
        let (result, recorded) = results.remove(&key(listed))?;
        let removal = listed.state.end(result, policy, now);
        *recorded = removal.map_or(ReportEffect::Kept, ReportEffect::Removed);
        removal
    })?;
    Ok(())
}

/// Largest number of windows read for one statement.
const WINDOWS_MAX: usize = 8;

/// Subscriptions whose last begun attempt was not acknowledged.
const OPEN: &str =
    "SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 0
 AND claimed = 0 AND next_at <= $3 AND lease_end > $3 AND HOSTS ORDER BY next_at, id";

/// Subscriptions that acknowledged other content than the current one.
const OUTDATED: &str =
    "SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 1
 AND digest < $4 AND lease_end > $3 AND HOSTS
 UNION ALL SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 1
 AND digest > $4 AND lease_end > $3 AND HOSTS";

/// The statements in the order of claims: retries first, as they have waited longest.
pub(super) const QUERIES: [&str; 2] = [OPEN, OUTDATED];
