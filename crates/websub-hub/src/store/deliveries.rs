//! Finds and begins due deliveries, and records the results of attempts.

use std::collections::HashMap;
use std::sync::Arc;

use super::connection::{Connection, DbError, Value, limit};
use super::{
    AttemptReport, Quotas, ReportEffect, Store, StoreError, StoredSubscription, TopicVersion,
    notices, requests, rows,
};
use crate::UnixMillis;
use crate::scheduler::{AttemptId, DueAttempt, Rank};
use crate::subscription::FailurePolicy;

/// Subscriptions of a topic (`$1`), known or not (`$2`), that acknowledged other content than the current one (`$3`),
/// and whose lease has not ended at `$4`; at most `$5`. Digests below and above the current one are two ranges of the index,
/// which `<>` would not use.
const FIRST: &str = "SELECT authority, id FROM subscription WHERE topic_id = $1 AND known = $2 AND acknowledged = 1
 AND digest < $3 AND lease_end > $4
 UNION ALL SELECT authority, id FROM subscription WHERE topic_id = $1 AND known = $2 AND acknowledged = 1
 AND digest > $3 AND lease_end > $4 LIMIT $5";

/// Subscriptions whose last begun attempt was not acknowledged, with the same parameters; those that have waited longest
/// come first.
const RETRY: &str =
    "SELECT authority, id FROM subscription WHERE topic_id = $1 AND known = $2 AND acknowledged = 0
 AND claimed = 0 AND next_at <= $4 AND lease_end > $4 ORDER BY next_at, id LIMIT $5";

/// The statement for each rank.
pub(super) const DUE: [(Rank, &str); 4] = [
    (Rank::KnownFirst, FIRST),
    (Rank::NewFirst, FIRST),
    (Rank::KnownRetry, RETRY),
    (Rank::NewRetry, RETRY),
];

impl Store {
    /// Returns at most `most` deliveries that are due, to topics whose content this process has published: those of the
    /// highest rank, in no particular order of topics.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn due_deliveries(
        &mut self,
        most: usize,
        now: UnixMillis,
    ) -> Result<Vec<DueAttempt>, StoreError> {
        let own = self.own.clone();
        let found = self.read(|db| find_due(db, &own, most, now))?;
        self.is_behind = found.is_behind;
        Ok(found.due)
    }

    /// Begins an attempt for those of these subscriptions that are still due, and returns them: the topic's current
    /// digest is stored as begun before anything is sent.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn begin_deliveries(
        &mut self,
        ids: &[i64],
        now: UnixMillis,
    ) -> Result<Vec<StoredSubscription>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.own.clone();
        let begun = self.write(|db| {
            let mut due = rows::load(db, ids)?;
            // Another process may have published since.
            due.retain(|subscription| {
                let is_published = own
                    .iter()
                    .any(|one| one.url == subscription.topic && one.digest == subscription.current);
                is_published && subscription.state.is_due(&subscription.current, now)
            });
            rows::change(db, due, now, |subscription| {
                subscription.state.begin(subscription.current, now);
                None
            })
        })?;
        Ok(begun)
    }

    /// Stores the results of verifications, deliveries and notices; returns the effect of each report, in the same order.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn record(
        &mut self,
        reports: &[AttemptReport],
        policy: &FailurePolicy,
        quotas: &Quotas,
        now: UnixMillis,
    ) -> Result<Vec<ReportEffect>, StoreError> {
        self.write(|db| {
            let mut effects = vec![ReportEffect::Stale; reports.len()];
            record_deliveries(db, reports, &mut effects, policy, now)?;
            for (report, effect) in reports.iter().zip(&mut effects) {
                match report {
                    AttemptReport::Delivered { .. } => {}
                    AttemptReport::Notified { id, result } => {
                        *effect = notices::record(db, *id, result, policy, now)?;
                    }
                    AttemptReport::Verified {
                        id,
                        asked_at,
                        confirmed,
                        result,
                    } => {
                        *effect = requests::record_verified(
                            db, *id, *asked_at, *confirmed, *result, now,
                        )?;
                    }
                    AttemptReport::Unreached { id, result, delay } => {
                        *effect =
                            requests::record_unreached(db, *id, *result, *delay, quotas, now)?;
                    }
                }
            }
            Ok(effects)
        })
    }
}

/// Due deliveries, and whether a topic has other content than this process has published.
struct FoundDue {
    due: Vec<DueAttempt>,
    is_behind: bool,
}

/// Finds due deliveries by index ranges of each topic. The clock decides which topic comes first, so that one that
/// changes all the time cannot starve the others.
fn find_due(
    db: &mut dyn Connection,
    own: &[TopicVersion],
    most: usize,
    now: UnixMillis,
) -> Result<FoundDue, DbError> {
    let mut is_behind = false;
    let mut topics: Vec<(i64, [u8; 32])> = Vec::new();
    for row in db.query("SELECT id, url, digest FROM topic ORDER BY id", &[])? {
        let url: String = row.get("url")?;
        let digest: [u8; 32] = row.get("digest")?;
        if own.iter().any(|one| one.url == url && one.digest == digest) {
            topics.push((row.get("id")?, digest));
        } else {
            is_behind = true;
        }
    }
    if !topics.is_empty() {
        let turn = usize::try_from(now.as_ms().unsigned_abs()).unwrap_or(0) % topics.len();
        topics.rotate_left(turn);
    }
    let mut due = Vec::new();
    for (rank, sql) in DUE {
        let is_known = matches!(rank, Rank::KnownFirst | Rank::KnownRetry);
        for (topic_id, digest) in &topics {
            let values: [Value; 5] = [
                (*topic_id).into(),
                is_known.into(),
                digest.to_vec().into(),
                now.into(),
                limit(most.saturating_sub(due.len())),
            ];
            for row in db.query(sql, &values)? {
                due.push(DueAttempt {
                    id: AttemptId::Delivery(row.get("id")?),
                    rank,
                    authority: Arc::from(row.get::<String>("authority")?),
                    asker: None,
                });
            }
        }
    }
    Ok(FoundDue { due, is_behind })
}

/// Stores the results of deliveries. A report that does not belong to the running attempt is stale.
fn record_deliveries(
    db: &mut dyn Connection,
    reports: &[AttemptReport],
    effects: &mut [ReportEffect],
    policy: &FailurePolicy,
    now: UnixMillis,
) -> Result<(), DbError> {
    let mut results = HashMap::new();
    for (report, effect) in reports.iter().zip(effects) {
        if let AttemptReport::Delivered { id, result } = report {
            results.insert((*id, result.attempt), (result, effect));
        }
    }
    let ids: Vec<i64> = results.keys().map(|(id, _)| *id).collect();
    let mut running = rows::load(db, &ids)?;
    running.retain(|subscription| {
        subscription.state.claimed && results.contains_key(&attempt_of(subscription))
    });
    rows::change(db, running, now, |subscription| {
        let (result, effect) = results.remove(&attempt_of(subscription))?;
        let removal = subscription.state.end(result, policy, now);
        *effect = removal.map_or(ReportEffect::Kept, ReportEffect::Removed);
        removal
    })?;
    Ok(())
}

/// Returns the id of a subscription with the number of its attempt.
fn attempt_of(subscription: &StoredSubscription) -> (i64, u32) {
    (subscription.id, subscription.state.attempt)
}
