//! Topics, leases, tombstones, denials, the clock, and the operator's commands.

use std::time::Duration;

use super::connection::{Connection, Row, Value};
use super::rows::{self, first, read_last};
use super::{
    AdminCommand, CopyReport, Counts, DenialNotice, Listed, Published, Store, StoreError,
    SweepReport, TOMBSTONES_MAX, Tombstone, TopicVersion, copy, requests, touch,
};
use crate::hub::Moment;
use crate::hub::subscription::{RemovalReason, Subscription};

impl Store {
    /// Makes sure that every topic in the store is one of `origin`, scheme and authority; else it is refused with both.
    pub fn check_origin(&mut self, origin: &str) -> Result<(), StoreError> {
        self.read(|db| {
            for mut row in db.query("SELECT url FROM topic ORDER BY id", &[])? {
                let url = row.text("url")?;
                let other = origin_of(&url);
                if other != origin {
                    let what = format!(
                        "it holds topics of {other}, and the public address here is {origin} (--base-url)"
                    );
                    let place = db.place().display().to_string();
                    return Err(StoreError::Refused(place, what));
                }
            }
            Ok(())
        })
    }

    /// Makes `versions` what the topics of the hub hold. What follows from a changed digest needs no writing. Subscriptions
    /// and requests for other topics are removed, the former with a denial, unless replicas share the store. There, a
    /// version that is not newer than the topic's changes nothing, and is not delivered either: of two with one date the first
    /// stays, so that no content is ever announced again without a later date; and topics must be of one origin.
    pub fn publish(
        &mut self,
        versions: &[TopicVersion],
        now: Moment,
    ) -> Result<Published, StoreError> {
        let is_shared = self.is_shared;
        if let Some(first) = versions.first().filter(|_| is_shared) {
            self.check_origin(origin_of(&first.url))?;
        }
        let published = self.write(|db| publish(db, versions, is_shared, now))?;
        self.own = versions.iter().map(|version| version.digest).collect();
        Ok(published)
    }

    /// Takes denials that are to be sent at `now`, oldest first, out of the store.
    pub fn take_notices(
        &mut self,
        limit: usize,
        now: Moment,
    ) -> Result<Vec<DenialNotice>, StoreError> {
        let due = "SELECT id FROM notice WHERE next_at <= $1 ORDER BY id LIMIT $2";
        let values = [now.into(), limit.into()];
        if self.read(|db| db.query(due, &values))?.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "DELETE FROM notice WHERE id IN ({due}) RETURNING id, topic, callback, removal, since, attempts"
        );
        let read = |mut row: Row| {
            let id = row.int("id")?;
            let notice = DenialNotice {
                topic: row.text("topic")?,
                callback: row.callback()?,
                removal: row.parsed("removal", RemovalReason::from_name)?,
                since: row.moment("since")?,
                attempts: row.number("attempts")?,
            };
            Ok((id, notice))
        };
        let mut taken: Vec<(i64, DenialNotice)> =
            self.write(|db| db.query(&sql, &values)?.into_iter().map(read).collect())?;
        taken.sort_unstable_by_key(|(id, _)| *id);
        Ok(taken.into_iter().map(|(_, notice)| notice).collect())
    }

    /// Keeps a denial that could not be sent until its next attempt; `false` where that is over, or its pair has subscribed
    /// again.
    pub fn defer_notice(&mut self, notice: &DenialNotice, now: Moment) -> Result<bool, StoreError> {
        let Some(next_at) = notice.retry_at(now) else {
            return Ok(false);
        };
        let sql = "INSERT INTO notice (topic, callback, removal, since, next_at, attempts) SELECT $1, $2, $3, $4, $5, $6
             WHERE NOT EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
              WHERE s.callback = $2 AND t.url = $1)";
        let values = [
            notice.topic.as_str().into(),
            notice.callback.uri().into(),
            notice.removal.as_str().into(),
            notice.since.into(),
            next_at.into(),
            notice.attempts.saturating_add(1).into(),
        ];
        Ok(self.write(|db| db.execute(sql, &values))? == 1)
    }

    /// Ends leases that are over (unless a renewal is being verified), at most 1,000 at a time, and drops tombstones older
    /// than `tombstone_age`.
    pub fn sweep(
        &mut self,
        tombstone_age: Duration,
        now: Moment,
    ) -> Result<SweepReport, StoreError> {
        let oldest = now.minus(tombstone_age);
        let sql = format!(
            "SELECT EXISTS ({EXPIRED} LIMIT 1) OR EXISTS (SELECT 1 FROM tombstone WHERE at < $2)
             OR (SELECT count(*) FROM tombstone) > $3 OR (SELECT seen_at FROM meta) <= $4"
        );
        let seen = now.minus(SEEN_AGE).into();
        let values = [now.into(), oldest.into(), TOMBSTONES_MAX.into(), seen];
        if !self.read(|db| first(db.query(&sql, &values)?)?.flag("exists"))? {
            return Ok(SweepReport::default());
        }
        self.write(|db| {
            touch(db, now)?;
            let mut swept = SweepReport::default();
            let sql = format!("{EXPIRED} LIMIT {SWEEP_MAX}");
            let over = ids(db, &sql, &[now.into()])?;
            for removal in change(db, &over, now, |state| state.check_lease(now))? {
                match removal {
                    Some(RemovalReason::Unsubscribed) => swept.left += 1,
                    Some(_) => swept.expired += 1,
                    None => {}
                }
            }
            let sql = "DELETE FROM tombstone WHERE at < $1
                 OR id NOT IN (SELECT id FROM tombstone ORDER BY at DESC, id DESC LIMIT $2)";
            let dropped = db.execute(sql, &[oldest.into(), TOMBSTONES_MAX.into()])?;
            swept.tombstones = usize::try_from(dropped).unwrap_or(usize::MAX);
            Ok(swept)
        })
    }

    /// Takes over from a process that is gone: what it had begun is to be done again, and requests that had all their
    /// attempts are dropped. If the clock stands more than 5 s before the last moment that was stored, every stored moment
    /// moves back with it.
    pub fn recover(&mut self, now: Moment) -> Result<(), StoreError> {
        self.write(|db| {
            let seen_ms = first(db.query("SELECT seen_at FROM meta", &[])?)?.int("seen_at")?;
            // Clocks of replicas differ by a little, which is no reason to change every row.
            if now.unix_ms() < seen_ms.saturating_sub(CLOCK_DIFFERENCE_MS) {
                shift(db, now.unix_ms().saturating_sub(seen_ms))?;
            }
            touch(db, now)?;
            let claimed = ids(db, "SELECT id FROM subscription WHERE claimed = 1", &[])?;
            change(db, &claimed, now, |state| {
                state.release();
                None
            })?;
            requests::recover(db)
        })
    }

    /// Moves every stored moment by `by_ms`, because the clock jumped: leases neither end early nor late by it.
    pub fn shift(&mut self, by_ms: i64) -> Result<(), StoreError> {
        self.write(|db| shift(db, by_ms))
    }

    /// Notes for [`Store::is_paused`] that deliveries pause for `lasts` or until the next call, or that they go on.
    pub(in crate::hub) fn set_paused(
        &mut self,
        lasts: Option<Duration>,
        now: Moment,
    ) -> Result<(), StoreError> {
        let until = lasts.map_or(Moment::ZERO, |lasts| now.plus(lasts));
        let sql = "UPDATE meta SET paused_until = $1";
        self.write(|db| db.execute(sql, &[until.into()])).map(drop)
    }

    /// Tells whether the process that delivers has paused its deliveries.
    pub fn is_paused(&mut self, now: Moment) -> Result<bool, StoreError> {
        let sql = "SELECT paused_until FROM meta";
        let until = self.read(|db| first(db.query(sql, &[])?)?.moment("paused_until"))?;
        Ok(until > now)
    }

    /// Counts what is there, and what of it is due.
    pub fn counts(&mut self, now: Moment) -> Result<Counts, StoreError> {
        let sql = "SELECT count(*), count(*) FILTER (WHERE is_owed), count(*) FILTER (WHERE is_owed AND next_at <= $1),
             min(next_at) FILTER (WHERE is_owed AND next_at <= $1), (SELECT count(*) FROM request)
             FROM (SELECT s.next_at, s.acknowledged = 0 OR s.digest <> t.digest AS is_owed
              FROM subscription s JOIN topic t ON t.id = s.topic_id) AS owed";
        self.read(|db| {
            let mut row = first(db.query(sql, &[now.into()])?)?;
            Ok(Counts {
                subscriptions: row.number("count")?,
                owed: row.number("count")?,
                due: row.number("count")?,
                due_since: row.int_or_null("next_at")?.map(Moment::from_unix_ms),
                requests: row.number("count")?,
            })
        })
    }

    /// Lists at most `limit` subscriptions with ids above `after`, by id.
    pub fn list(&mut self, after: i64, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.read(|db| rows::list(db, after, limit))
    }

    /// Lists at most `limit` tombstones, newest first.
    pub fn tombstones(&mut self, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        let sql =
            "SELECT id, topic, host, removal, at, last_at, last_answer, created_at FROM tombstone
             ORDER BY at DESC, id DESC LIMIT $1";
        let read = |mut row: Row| {
            Ok(Tombstone {
                id: row.int("id")?,
                topic: row.text("topic")?,
                host: row.text("host")?,
                removal: row.parsed("removal", RemovalReason::from_name)?,
                at: row.moment("at")?,
                last: read_last(&mut row)?,
                created_at: row.moment("created_at")?,
            })
        };
        let values = [limit.into()];
        self.read(|db| db.query(sql, &values)?.into_iter().map(read).collect())
    }

    /// Applies the operator's command to a subscription; `false` when there is none with that id.
    pub fn apply_admin(
        &mut self,
        id: i64,
        command: AdminCommand,
        now: Moment,
    ) -> Result<bool, StoreError> {
        self.write(|db| {
            touch(db, now)?;
            let changed = change(db, &[id], now, |state| match command {
                AdminCommand::Remove => Some(state.removed(RemovalReason::Operator)),
                AdminCommand::Retry => {
                    state.retry();
                    None
                }
            })?;
            Ok(!changed.is_empty())
        })
    }

    /// Copies the subscriptions, waiting requests and denials of `source` into this store, in one transaction. Of two states
    /// of one subscription the later counts, so a repetition changes nothing; subscriptions whose lease is over stay behind.
    pub fn copy_from(&mut self, source: &mut Store, now: Moment) -> Result<CopyReport, StoreError> {
        source.read(|source| self.write(|target| copy::copy(source, target, now)))
    }
}

fn publish(
    db: &mut dyn Connection,
    versions: &[TopicVersion],
    is_shared: bool,
    now: Moment,
) -> Result<Published, StoreError> {
    touch(db, now)?;
    let mut published = Published::default();
    for TopicVersion { url, digest, dated } in versions {
        let changed = db.execute(
            "INSERT INTO topic (url, digest, dated) VALUES ($1, $2, $3)
             ON CONFLICT (url) DO UPDATE SET digest = excluded.digest, dated = excluded.dated
             WHERE topic.digest <> excluded.digest AND ($4 = 0 OR topic.dated < excluded.dated)",
            &[
                url.as_str().into(),
                digest.into(),
                dated.unix().into(),
                is_shared.into(),
            ],
        )?;
        if changed > 0 {
            published.changed.push(url.clone());
        }
    }
    for mut row in db.query("SELECT id, url, digest FROM topic ORDER BY id", &[])? {
        let (topic_id, url, digest) = (row.int("id")?, row.text("url")?, row.digest("digest")?);
        match versions.iter().find(|version| version.url == url) {
            Some(version) if version.digest != digest => published.older.push(url),
            Some(_) => {}
            // A replica with older files may not know it yet.
            None if is_shared => {}
            None => published.withdrawn += withdraw(db, topic_id, &url, now)?,
        }
    }
    Ok(published)
}

/// Removes a topic, its requests and its subscriptions, and returns how many subscriptions there were.
fn withdraw(
    db: &mut dyn Connection,
    topic_id: i64,
    url: &str,
    now: Moment,
) -> Result<usize, StoreError> {
    let sql = "SELECT id FROM subscription WHERE topic_id = $1 ORDER BY id";
    let ids = ids(db, sql, &[topic_id.into()])?;
    change(db, &ids, now, |state| {
        Some(state.removed(RemovalReason::TopicWithdrawn))
    })?;
    db.execute("DELETE FROM request WHERE topic = $1", &[url.into()])?;
    db.execute("DELETE FROM topic WHERE id = $1", &[topic_id.into()])?;
    Ok(ids.len())
}

/// Applies one change to each of these subscriptions, and returns why each one ended that did.
fn change(
    db: &mut dyn Connection,
    ids: &[i64],
    now: Moment,
    mut change: impl FnMut(&mut Subscription) -> Option<RemovalReason>,
) -> Result<Vec<Option<RemovalReason>>, StoreError> {
    let loaded = rows::load(db, ids)?.into_iter();
    let changed: Vec<_> = loaded
        .map(|mut listed| {
            let removal = change(&mut listed.state);
            (listed, removal)
        })
        .collect();
    rows::save(db, &changed, now)?;
    Ok(changed.into_iter().map(|(_, removal)| removal).collect())
}

fn ids(db: &mut dyn Connection, sql: &str, values: &[Value<'_>]) -> Result<Vec<i64>, StoreError> {
    let rows = db.query(sql, values)?;
    rows.into_iter().map(|mut row| row.int("id")).collect()
}

fn shift(db: &mut dyn Connection, by_ms: i64) -> Result<(), StoreError> {
    for sql in [
        "UPDATE meta SET seen_at = seen_at + $1",
        "UPDATE request SET accepted_at = accepted_at + $1, next_at = next_at + $1",
        "UPDATE subscription SET lease_end = lease_end + $1, next_at = next_at + $1, created_at = created_at + $1,
         verified_at = verified_at + $1, last_at = last_at + $1",
        "UPDATE notice SET since = since + $1, next_at = next_at + $1",
        "UPDATE tombstone SET at = at + $1, last_at = last_at + $1, created_at = created_at + $1",
    ] {
        db.execute(sql, &[by_ms.into()])?;
    }
    Ok(())
}

/// Returns scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let authority_at = url.find("://").map_or(0, |at| at + 3);
    let length = url[authority_at..].find('/');
    length.map_or(url, |length| &url[..authority_at + length])
}

/// Subscriptions whose lease is over, without an attempt under way, and that no waiting request would renew. `$1` is the
/// time.
const EXPIRED: &str =
    "SELECT s.id FROM subscription s WHERE s.lease_end <= $1 AND s.claimed = 0 AND NOT EXISTS
 (SELECT 1 FROM request r JOIN topic t ON t.url = r.topic
  WHERE r.callback = s.callback AND t.id = s.topic_id AND r.mode = 'subscribe')";

/// Leases ended by one sweep, so that no transaction grows without bound.
const SWEEP_MAX: usize = 1_000;

/// A clock that is behind the last stored moment by no more than this did not go back.
const CLOCK_DIFFERENCE_MS: i64 = 5_000;

/// The clock is noted at least this often while the hub runs.
const SEEN_AGE: Duration = Duration::from_secs(60);
