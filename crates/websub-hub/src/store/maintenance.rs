//! Topics, leases, tombstones, the clock, and the operator's commands.
//!
//! A copy moves a hub from a state directory to a database. It includes, for each subscription, the digest of the last
//! attempt and whether that was acknowledged. A running attempt is not acknowledged, so its content is delivered again
//! from the other store, as after a crash. Pending requests, denials and notices are copied, tombstones are not.

use std::time::Duration;

use super::connection::{Connection, DatabaseRow, DbError, limit, text};
use super::{
    AdminCommand, CopyReport, PublishResult, Store, StoreCounts, StoreError, StoredSubscription,
    TOMBSTONES_MAX, Tombstone, TopicVersion, notices, rows, touch,
};
use crate::UnixMillis;
use crate::subscription::{RemovalReason, UNACKNOWLEDGED_MAX, VERIFICATIONS_MAX};

/// Subscriptions whose lease is over, without a running attempt and without a pending renewal. `$1` is the time, `$2`
/// the largest number.
const EXPIRED: &str =
    "WHERE s.lease_end <= $1 AND s.claimed = 0 AND NOT EXISTS (SELECT 1 FROM request r
 WHERE r.callback = s.callback AND r.topic = t.url AND r.mode = 'subscribe') LIMIT $2";

/// Subscriptions that have never acknowledged a delivery, and owe one since `$1` or earlier; `$2` is the largest number.
const UNACKNOWLEDGED: &str =
    "WHERE s.known = 0 AND s.acknowledged = 0 AND s.owed_since <= $1 AND s.claimed = 0 LIMIT $2";

/// Subscriptions ended by one sweep for one reason; limits the size of a transaction.
const SWEEP_MAX: usize = 1_000;

/// Largest difference by which the clock may be behind the last stored time without counting as set back.
const CLOCK_DIFFERENCE_MS: i64 = 5_000;

/// How often a running hub stores the time.
const SEEN_AGE: Duration = Duration::from_secs(60);

const INSERT_TOPIC: &str =
    "INSERT INTO topic (url, digest, dated) VALUES ($1, $2, $3) ON CONFLICT (url) DO NOTHING";

/// `$1` is the time.
const SUBSCRIPTIONS: &str = "SELECT t.url, s.callback, s.host, s.authority, s.secret, s.lease_s, s.lease_end, s.digest,
 s.acknowledged, s.acknowledged_at, s.known, s.owed_since, s.failures, CASE s.claimed WHEN 1 THEN 0 ELSE s.next_at END,
 s.attempt, s.elapsed_ms, s.created_at, s.verified_at, s.last_at, s.last_result
 FROM subscription s JOIN topic t ON t.id = s.topic_id WHERE s.lease_end > $1 ORDER BY s.id";

/// Inserts a subscription, or replaces an older state. The number of the attempt increases, so that the result of an
/// attempt from before the copy is not recorded for the copied subscription.
const INSERT_SUBSCRIPTION: &str = "INSERT INTO subscription (topic_id, callback, host, authority, secret, lease_s,
 lease_end, digest, acknowledged, acknowledged_at, known, owed_since, failures, next_at, attempt, elapsed_ms, created_at,
 verified_at, last_at, last_result, claimed)
 SELECT t.id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 0
 FROM topic t WHERE t.url = $1
 ON CONFLICT (callback, topic_id) DO UPDATE SET secret = excluded.secret, lease_s = excluded.lease_s,
 lease_end = excluded.lease_end, digest = excluded.digest, acknowledged = excluded.acknowledged,
 acknowledged_at = excluded.acknowledged_at, known = excluded.known, owed_since = excluded.owed_since,
 failures = excluded.failures, next_at = excluded.next_at, elapsed_ms = excluded.elapsed_ms,
 verified_at = excluded.verified_at, last_at = excluded.last_at, last_result = excluded.last_result, claimed = 0,
 attempt = 1 + CASE WHEN excluded.attempt > subscription.attempt THEN excluded.attempt ELSE subscription.attempt END
 WHERE excluded.verified_at > subscription.verified_at
 OR excluded.verified_at = subscription.verified_at AND excluded.attempt > subscription.attempt";

const REQUESTS: &str = "SELECT mode, topic, topic_given, callback, host, authority, asker, renewal, lease_s, secret, digest,
 accepted_at, attempts, next_at, last_at, last_result FROM request ORDER BY id";

const INSERT_REQUEST: &str = "INSERT INTO request (mode, topic, topic_given, callback, host, authority, asker, renewal,
 lease_s, secret, digest, accepted_at, attempts, next_at, last_at, last_result)
 SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
 WHERE NOT EXISTS (SELECT 1 FROM request WHERE callback = $4 AND topic = $2 AND mode = $1 AND accepted_at = $12)";

const DENIALS: &str =
    "SELECT topic, callback, removal, since, next_at, attempts FROM denial ORDER BY id";

const INSERT_DENIAL: &str =
    "INSERT INTO denial (topic, callback, removal, since, next_at, attempts)
 SELECT $1, $2, $3, $4, $5, $6
 WHERE NOT EXISTS (SELECT 1 FROM denial WHERE callback = $2 AND topic = $1 AND since = $4)";

impl Store {
    /// Checks that every topic in the store is of `origin` (scheme and authority); the error names both origins.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn check_origin(&mut self, origin: &str) -> Result<(), StoreError> {
        self.read(|db| {
            for row in db.query("SELECT url FROM topic ORDER BY id", &[])? {
                let url: String = row.get("url")?;
                let other = origin_of(&url);
                if other != origin {
                    let what = format!(
                        "it has topics of {other}, but the public address is {origin} (--base-url)"
                    );
                    return Err(DbError::Refused(what));
                }
            }
            Ok(())
        })
    }

    /// Sets the topics of the hub to `versions`. A changed digest makes deliveries due without further writes.
    ///
    /// - In a store of one process, subscriptions and requests for other topics are removed, subscriptions with a denial.
    /// - In a shared store, all topics must be of one origin. A version that is not newer than the topic's is neither
    ///   stored nor delivered: of two versions with one date the first stays, so content is only announced with a later
    ///   date.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn publish(
        &mut self,
        versions: &[TopicVersion],
        now: UnixMillis,
    ) -> Result<PublishResult, StoreError> {
        let is_shared = self.is_shared;
        if is_shared && let Some(first) = versions.first() {
            self.check_origin(origin_of(&first.url))?;
        }
        let published = self.write(|db| publish(db, versions, is_shared, now))?;
        self.own = versions.to_vec();
        Ok(published)
    }

    /// Removes what is over, and returns why each subscription ended, in the order of their ids. Ends or deletes:
    ///
    /// - subscriptions whose lease is over, except those with a pending renewal; at most 1,000 at a time;
    /// - subscriptions that owe a first acknowledgement for [`UNACKNOWLEDGED_MAX`]; at most 1,000 at a time;
    /// - tombstones older than `tombstone_age`, and all but the newest [`TOMBSTONES_MAX`];
    /// - rejections older than `tombstone_age`.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn sweep(
        &mut self,
        tombstone_age: Duration,
        now: UnixMillis,
    ) -> Result<Vec<RemovalReason>, StoreError> {
        self.write(|db| {
            let mut to_end = rows::select(db, EXPIRED, &[now.into(), limit(SWEEP_MAX)])?;
            let owed_since = now.minus(UNACKNOWLEDGED_MAX);
            to_end.extend(rows::select(
                db,
                UNACKNOWLEDGED,
                &[owed_since.into(), limit(SWEEP_MAX)],
            )?);
            to_end.sort_unstable_by_key(|subscription| subscription.id);
            to_end.dedup_by_key(|subscription| subscription.id);
            let mut removals = Vec::new();
            rows::change(db, to_end, now, |subscription| {
                let removal = subscription.state.check_end(now);
                removals.extend(removal);
                removal
            })?;
            let sql = "DELETE FROM tombstone WHERE at < $1 OR (at, id) <=
                 (SELECT at, id FROM tombstone ORDER BY at DESC, id DESC LIMIT 1 OFFSET $2)";
            let oldest = now.minus(tombstone_age);
            db.execute(sql, &[oldest.into(), limit(TOMBSTONES_MAX)])?;
            db.execute("DELETE FROM rejection WHERE at < $1", &[oldest.into()])?;
            let sql = "UPDATE meta SET seen_at = $1 WHERE seen_at <= $2";
            db.execute(sql, &[now.into(), now.minus(SEEN_AGE).into()])?;
            Ok(removals)
        })
    }

    /// Takes over from a process that has ended: releases its claims, so that its exchanges are repeated, and drops
    /// requests without attempts left. Shifts all stored times back if the clock is more than 5 s behind the last one.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn recover(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        self.write(|db| {
            let meta = db.query_one("SELECT seen_at FROM meta", &[])?;
            let seen_ms: i64 = meta.get("seen_at")?;
            // Small differences between the clocks of replicas must not change every row.
            if now.as_ms() < seen_ms.saturating_sub(CLOCK_DIFFERENCE_MS) {
                shift(db, now.as_ms().saturating_sub(seen_ms))?;
            }
            touch(db, now)?;
            let sql = "DELETE FROM request WHERE claimed = 1 AND attempts >= $1";
            db.execute(sql, &[VERIFICATIONS_MAX.into()])?;
            db.script(
                "UPDATE request SET claimed = 0 WHERE claimed = 1;
                 UPDATE subscription SET claimed = 0, next_at = 0 WHERE claimed = 1;
                 UPDATE notice SET claimed = 0, next_at = 0 WHERE claimed = 1",
            )
        })
    }

    /// Shifts all stored times by `by_ms` after a jump of the clock, so that leases keep their length.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn shift(&mut self, by_ms: i64) -> Result<(), StoreError> {
        self.write(|db| shift(db, by_ms))
    }

    /// Counts subscriptions, requests and due deliveries.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn counts(&mut self, now: UnixMillis) -> Result<StoreCounts, StoreError> {
        let sql = "SELECT count(*) AS subscriptions, count(*) FILTER (WHERE is_undelivered) AS undelivered,
             count(*) FILTER (WHERE is_undelivered AND next_at <= $1) AS due,
             min(next_at) FILTER (WHERE is_undelivered AND next_at <= $1) AS due_since,
             (SELECT count(*) FROM request) AS requests
             FROM (SELECT s.next_at, s.acknowledged = 0 OR s.digest <> t.digest AS is_undelivered
              FROM subscription s JOIN topic t ON t.id = s.topic_id) AS states";
        self.read(|db| {
            let row = db.query_one(sql, &[now.into()])?;
            Ok(StoreCounts {
                subscriptions: row.count("subscriptions")?,
                undelivered: row.count("undelivered")?,
                due: row.count("due")?,
                due_since: row.get("due_since")?,
                requests: row.count("requests")?,
            })
        })
    }

    /// Lists at most `most` subscriptions with ids above `after`, by id.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn list(&mut self, after: i64, most: usize) -> Result<Vec<StoredSubscription>, StoreError> {
        let clause = "WHERE s.id > $1 ORDER BY s.id LIMIT $2";
        self.read(|db| rows::select(db, clause, &[after.into(), limit(most)]))
    }

    /// Lists the subscriptions whose callback has this host, by id.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn list_host(&mut self, host: &str) -> Result<Vec<StoredSubscription>, StoreError> {
        let clause = "WHERE s.host = $1 ORDER BY s.id";
        self.read(|db| rows::select(db, clause, &[text(host)]))
    }

    /// Lists at most `most` tombstones, of this host if one is given, newest first.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn tombstones(
        &mut self,
        host: Option<&str>,
        most: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let sql = "SELECT * FROM tombstone WHERE ($1 = '' OR host = $1) ORDER BY at DESC, id DESC LIMIT $2";
        let values = [text(host.unwrap_or_default()), limit(most)];
        self.read(|db| {
            let rows = db.query(sql, &values)?;
            rows.iter().map(read_tombstone).collect()
        })
    }

    /// Applies the operator's command to a subscription and returns it; `None` if there is none with this id.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn apply_admin(
        &mut self,
        id: i64,
        command: AdminCommand,
        now: UnixMillis,
    ) -> Result<Option<StoredSubscription>, StoreError> {
        self.write(|db| {
            let found = rows::load(db, &[id])?;
            let changed = rows::change(db, found, now, |subscription| match command {
                AdminCommand::Remove => {
                    Some(subscription.state.removal_by_us(RemovalReason::Operator))
                }
                AdminCommand::Retry => {
                    subscription.state.retry();
                    None
                }
            })?;
            Ok(changed.into_iter().next())
        })
    }

    /// Copies a store into this one, in one transaction; holds all of it in memory at once. Copied are:
    ///
    /// - subscriptions, except those whose lease is over. Of two states of a subscription, the one with the later
    ///   verification wins; with the same verification, the one with more attempts;
    /// - pending requests and denials;
    /// - notices with their record, unless this store has a record.
    ///
    /// So a repeated copy changes nothing.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn copy_from(
        &mut self,
        source: &mut Store,
        now: UnixMillis,
    ) -> Result<CopyReport, StoreError> {
        let [topics, subscriptions, requests, denials] = source.read(|db| {
            Ok([
                db.query("SELECT url, digest, dated FROM topic", &[])?,
                db.query(SUBSCRIPTIONS, &[now.into()])?,
                db.query(REQUESTS, &[])?,
                db.query(DENIALS, &[])?,
            ])
        })?;
        let notices = source.read(notices::read_all)?;
        self.write(|db| {
            insert_each(db, INSERT_TOPIC, &topics)?;
            let copied = insert_each(db, INSERT_SUBSCRIPTION, &subscriptions)?;
            let requests = insert_each(db, INSERT_REQUEST, &requests)?;
            insert_each(db, INSERT_DENIAL, &denials)?;
            notices::insert_all(db, &notices)?;
            Ok(CopyReport {
                copied,
                known: subscriptions.len() as u64 - copied,
                requests,
            })
        })
    }
}

/// Runs `sql` with the values of each row; returns how many rows it added.
fn insert_each(db: &mut dyn Connection, sql: &str, rows: &[DatabaseRow]) -> Result<u64, DbError> {
    let mut added = 0;
    for row in rows {
        added += db.execute(sql, &row.values)?;
    }
    Ok(added)
}

fn read_tombstone(row: &DatabaseRow) -> Result<Tombstone, DbError> {
    Ok(Tombstone {
        id: row.get("id")?,
        topic: row.get("topic")?,
        host: row.get("host")?,
        removal: row.parsed("removal", RemovalReason::from_name)?,
        at: row.get("at")?,
        last: rows::read_last(row, row.get("last_at")?)?,
        created_at: row.get("created_at")?,
    })
}

fn publish(
    db: &mut dyn Connection,
    versions: &[TopicVersion],
    is_shared: bool,
    now: UnixMillis,
) -> Result<PublishResult, DbError> {
    let mut published = PublishResult::default();
    for TopicVersion { url, digest, dated } in versions {
        let changed = db.execute(
            "INSERT INTO topic (url, digest, dated) VALUES ($1, $2, $3)
             ON CONFLICT (url) DO UPDATE SET digest = excluded.digest, dated = excluded.dated
             WHERE topic.digest <> excluded.digest AND ($4 = 0 OR topic.dated < excluded.dated)",
            &[
                text(url),
                digest.to_vec().into(),
                dated.unix().into(),
                is_shared.into(),
            ],
        )?;
        if changed > 0 {
            published.changed.push(url.clone());
        }
    }
    for row in db.query("SELECT id, url, digest FROM topic ORDER BY id", &[])? {
        let url: String = row.get("url")?;
        if let Some(version) = versions.iter().find(|version| version.url == url) {
            if version.digest != row.get::<[u8; 32]>("digest")? {
                published.older.push(url);
            }
            continue;
        }
        // A replica with older files may not have this topic yet.
        if !is_shared {
            published.withdrawn += withdraw(db, row.get("id")?, &url, now)?;
        }
    }
    Ok(published)
}

/// Removes a topic with its subscriptions and requests; returns the number of the subscriptions.
fn withdraw(
    db: &mut dyn Connection,
    topic_id: i64,
    url: &str,
    now: UnixMillis,
) -> Result<usize, DbError> {
    let clause = "WHERE s.topic_id = $1 ORDER BY s.id";
    let all = rows::select(db, clause, &[topic_id.into()])?;
    let ended = rows::change(db, all, now, |subscription| {
        Some(
            subscription
                .state
                .removal_by_us(RemovalReason::TopicWithdrawn),
        )
    })?;
    db.execute("DELETE FROM request WHERE topic = $1", &[text(url)])?;
    db.execute("DELETE FROM topic WHERE id = $1", &[topic_id.into()])?;
    Ok(ended.len())
}

fn shift(db: &mut dyn Connection, by_ms: i64) -> Result<(), DbError> {
    for sql in [
        "UPDATE meta SET seen_at = seen_at + $1",
        "UPDATE request SET accepted_at = accepted_at + $1, next_at = next_at + $1, last_at = last_at + $1",
        "UPDATE subscription SET lease_end = lease_end + $1, next_at = next_at + $1, created_at = created_at + $1,
         verified_at = verified_at + $1, last_at = last_at + $1, acknowledged_at = acknowledged_at + $1,
         owed_since = owed_since + $1",
        "UPDATE rejection SET at = at + $1, last_at = last_at + $1, accepted_at = accepted_at + $1",
        "UPDATE notice SET created_at = created_at + $1, next_at = next_at + $1",
        "UPDATE denial SET since = since + $1, next_at = next_at + $1",
        "UPDATE tombstone SET at = at + $1, last_at = last_at + $1, created_at = created_at + $1",
    ] {
        db.execute(sql, &[by_ms.into()])?;
    }
    Ok(())
}

/// Returns scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let authority_at = match url.find("://") {
        Some(at) => at + 3,
        None => 0,
    };
    match url[authority_at..].find('/') {
        Some(length) => &url[..authority_at + length],
        None => url,
    }
}
