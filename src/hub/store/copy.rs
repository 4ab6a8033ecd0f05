//! Copies what one store holds into another: how a hub moves from a state directory to a database.
//!
//! A subscription keeps what decides what its subscriber is owed: the digest of the last attempt and whether it was
//! acknowledged. An attempt under way has no acknowledgement yet, so its content is owed in the other store, as after a
//! crash. Waiting requests and denials come along, tombstones do not.

use super::connection::Row;
use super::{CopyReport, Store, StoreError};
use crate::hub::Moment;

impl Store {
    /// Copies the subscriptions, waiting requests and denials of `source` into this store, in one transaction, all of them
    /// in memory at once; subscriptions whose lease is over stay behind. Of two states of one subscription the one that was
    /// verified last counts, and of two with the same verification the one with more attempts, so that a repetition changes
    /// nothing.
    pub fn copy_from(&mut self, source: &mut Store, now: Moment) -> Result<CopyReport, StoreError> {
        let [topics, subscriptions, requests, notices] = source.read(|db| {
            Ok([
                db.query("SELECT url, digest, dated FROM topic", &[])?,
                db.query(SUBSCRIPTIONS, &[now.into()])?,
                db.query(REQUESTS, &[])?,
                db.query(NOTICES, &[])?,
            ])
        })?;
        self.write(|db| {
            let mut insert = |sql, rows: &[Row]| -> Result<u64, StoreError> {
                let changed = rows.iter().map(|row| db.execute(sql, &row.values));
                changed.sum()
            };
            insert(INSERT_TOPIC, &topics)?;
            let copied = insert(INSERT_SUBSCRIPTION, &subscriptions)?;
            let requests = insert(INSERT_REQUEST, &requests)?;
            insert(INSERT_NOTICE, &notices)?;
            Ok(CopyReport {
                copied,
                known: subscriptions.len() as u64 - copied,
                requests,
            })
        })
    }
}

const INSERT_TOPIC: &str =
    "INSERT INTO topic (url, digest, dated) VALUES ($1, $2, $3) ON CONFLICT (url) DO NOTHING";

/// `$1` is the time.
const SUBSCRIPTIONS: &str = "SELECT t.url, s.callback, s.host, s.secret, s.lease_s, s.lease_end, s.digest,
 s.acknowledged, s.failures, CASE s.claimed WHEN 1 THEN 0 ELSE s.next_at END, s.attempt, s.elapsed_ms, s.slow, s.created_at,
 s.verified_at, s.last_at, s.last_answer FROM subscription s JOIN topic t ON t.id = s.topic_id
 WHERE s.lease_end > $1 ORDER BY s.id";

/// The answer to an attempt of the state that was there must not fit an attempt of the one that comes.
const INSERT_SUBSCRIPTION: &str = "INSERT INTO subscription (topic_id, callback, host, secret, lease_s, lease_end, digest,
 acknowledged, failures, next_at, attempt, elapsed_ms, slow, created_at, verified_at, last_at, last_answer, claimed)
 SELECT t.id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0 FROM topic t WHERE t.url = $1
 ON CONFLICT (callback, topic_id) DO UPDATE SET secret = excluded.secret, lease_s = excluded.lease_s,
 lease_end = excluded.lease_end, digest = excluded.digest, acknowledged = excluded.acknowledged,
 failures = excluded.failures, next_at = excluded.next_at, elapsed_ms = excluded.elapsed_ms, slow = excluded.slow,
 verified_at = excluded.verified_at, last_at = excluded.last_at, last_answer = excluded.last_answer, claimed = 0,
 attempt = 1 + CASE WHEN excluded.attempt > subscription.attempt THEN excluded.attempt ELSE subscription.attempt END
 WHERE excluded.verified_at > subscription.verified_at
 OR excluded.verified_at = subscription.verified_at AND excluded.attempt > subscription.attempt";

const REQUESTS: &str = "SELECT mode, topic, topic_given, callback, host, lease_s, secret, accepted_at, attempts, digest, next_at,
 last_answer FROM request ORDER BY id";

const INSERT_REQUEST: &str = "INSERT INTO request (mode, topic, topic_given, callback, host, lease_s, secret, accepted_at, attempts,
 digest, next_at, last_answer) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
 WHERE NOT EXISTS (SELECT 1 FROM request WHERE callback = $4 AND topic = $2 AND mode = $1 AND accepted_at = $8)";

const NOTICES: &str =
    "SELECT topic, callback, removal, since, next_at, attempts FROM notice ORDER BY id";

const INSERT_NOTICE: &str =
    "INSERT INTO notice (topic, callback, removal, since, next_at, attempts)
 SELECT $1, $2, $3, $4, $5, $6
 WHERE NOT EXISTS (SELECT 1 FROM notice WHERE callback = $2 AND topic = $1 AND since = $4)";
