//! Topics, leases, tombstones, denials, the clock, and the operator's word.

use std::time::Duration;

use rusqlite::{Transaction, params};

use super::super::moment::Moment;
use super::super::store::{
    AdminCommand, Counts, DenialNotice, Published, SWEEP_MAX, SweepReport, TOMBSTONES_MAX,
    TopicVersion, VERIFICATIONS_MAX,
};
use super::super::subscription::{Event, Policy, RemovalReason, Step};
use super::rows;

/// Makes `editions` what the topics of the hub hold.
pub(super) fn publish(
    tx: &Transaction<'_>,
    versions: &[TopicVersion],
    policy: &Policy,
    now: Moment,
) -> rusqlite::Result<Published> {
    touch(tx, now)?;
    let mut published = Published::default();
    for TopicVersion { url, digest, .. } in versions {
        let changed = tx.execute(
            "INSERT INTO topic (url, digest) VALUES (?1, ?2)
             ON CONFLICT (url) DO UPDATE SET digest = excluded.digest WHERE digest <> excluded.digest",
            params![url, digest],
        )?;
        if changed > 0 {
            published.changed.push(url.clone());
        }
    }
    let known: Vec<(i64, String)> = tx
        .prepare("SELECT id, url FROM topic")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (topic_id, url) in known {
        if versions.iter().any(|kept| kept.url == url) {
            continue;
        }
        for id in ids(
            tx,
            "SELECT id FROM subscription WHERE topic_id = ?1 ORDER BY id",
            topic_id,
        )? {
            apply(tx, id, &Event::TopicWithdrawn, policy, now)?;
            published.withdrawn += 1;
        }
        tx.execute("DELETE FROM request WHERE topic = ?1", [&url])?;
        tx.execute("DELETE FROM topic WHERE id = ?1", [topic_id])?;
    }
    Ok(published)
}

/// Finds denials, oldest first.
pub(super) fn find_notices(
    tx: &Transaction<'_>,
    most: usize,
    now: Moment,
) -> rusqlite::Result<Vec<(i64, DenialNotice)>> {
    let mut statement = tx.prepare(
        "SELECT id, topic, callback, removal, since, attempts FROM notice WHERE next_at <= ?2 ORDER BY id LIMIT ?1",
    )?;
    let found = statement.query_map(params![rows::limit(most), now.unix_ms()], |row| {
        let notice = DenialNotice {
            topic: row.get(1)?,
            callback: rows::callback(row, 2)?,
            removal: rows::removal(row, 3)?,
            since: rows::moment(row, 4)?,
            attempts: row.get(5)?,
        };
        Ok((row.get(0)?, notice))
    })?;
    found.collect()
}

/// Takes denials out of the store, unless another process was quicker.
pub(super) fn take_notices(
    tx: &Transaction<'_>,
    found: Vec<(i64, DenialNotice)>,
) -> rusqlite::Result<Vec<DenialNotice>> {
    let mut taken = Vec::with_capacity(found.len());
    for (id, notice) in found {
        if tx.execute("DELETE FROM notice WHERE id = ?1", [id])? == 1 {
            taken.push(notice);
        }
    }
    Ok(taken)
}

/// Keeps a denial that could not be sent.
pub(super) fn defer_notice(
    tx: &Transaction<'_>,
    notice: &DenialNotice,
    now: Moment,
) -> rusqlite::Result<bool> {
    let Some(next_at) = notice.retry_at(now) else {
        return Ok(false);
    };
    let kept = tx.execute(
        "INSERT INTO notice (topic, callback, removal, since, next_at, attempts) SELECT ?1, ?2, ?3, ?4, ?5, ?6
         WHERE NOT EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id WHERE s.callback = ?2 AND t.url = ?1)",
        params![
            notice.topic,
            notice.callback.uri(),
            notice.removal.as_str(),
            notice.since.unix_ms(),
            next_at.unix_ms(),
            notice.attempts.saturating_add(1),
        ],
    )?;
    Ok(kept == 1)
}

/// Tells that there is nothing to sweep, and that the clock was noted not long ago.
pub(super) fn is_swept(
    tx: &Transaction<'_>,
    tombstone_age: Duration,
    now: Moment,
) -> rusqlite::Result<bool> {
    let oldest = now.minus(tombstone_age).unix_ms();
    let swept: bool = tx.query_row(
        &format!(
            "SELECT NOT EXISTS ({EXPIRED} LIMIT 1) AND NOT EXISTS (SELECT 1 FROM tombstone WHERE at < ?2)
             AND (SELECT count(*) FROM tombstone) <= ?3 AND (SELECT seen_at FROM meta) > ?4"
        ),
        params![now.unix_ms(), oldest, rows::limit(TOMBSTONES_MAX), now.minus(SEEN_AGE).unix_ms()],
        |row| row.get(0),
    )?;
    Ok(swept)
}

/// Ends leases that are over and drops old tombstones.
pub(super) fn sweep(
    tx: &Transaction<'_>,
    policy: &Policy,
    tombstone_age: Duration,
    now: Moment,
) -> rusqlite::Result<SweepReport> {
    touch(tx, now)?;
    let mut swept = SweepReport::default();
    for id in ids(tx, &format!("{EXPIRED} LIMIT {SWEEP_MAX}"), now.unix_ms())? {
        match apply(tx, id, &Event::LeaseChecked, policy, now)? {
            Some(Step {
                removal: Some(RemovalReason::Unsubscribed),
                ..
            }) => swept.left += 1,
            Some(Step {
                removal: Some(_), ..
            }) => swept.expired += 1,
            _ => {}
        }
    }
    swept.tombstones = tx.execute(
        "DELETE FROM tombstone WHERE at < ?1 OR id IN (SELECT id FROM tombstone ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?2)",
        params![now.minus(tombstone_age).unix_ms(), rows::limit(TOMBSTONES_MAX)],
    )?;
    Ok(swept)
}

/// Returns the claims of a process that is gone, after setting a clock that went back.
pub(super) fn recover(tx: &Transaction<'_>, policy: &Policy, now: Moment) -> rusqlite::Result<()> {
    let seen_ms: i64 = tx.query_row("SELECT seen_at FROM meta", [], |row| row.get(0))?;
    if now.unix_ms() < seen_ms {
        shift(tx, now.unix_ms().saturating_sub(seen_ms))?;
    }
    touch(tx, now)?;
    for id in ids(tx, "SELECT id FROM subscription WHERE claimed = ?1", 1)? {
        apply(tx, id, &Event::Released, policy, now)?;
    }
    tx.execute(
        "DELETE FROM request WHERE claimed = 1 AND attempts >= ?1",
        [VERIFICATIONS_MAX],
    )?;
    tx.execute("UPDATE request SET claimed = 0 WHERE claimed = 1", [])?;
    Ok(())
}

/// Moves every stored moment.
pub(super) fn shift(tx: &Transaction<'_>, by_ms: i64) -> rusqlite::Result<()> {
    for sql in [
        "UPDATE meta SET seen_at = seen_at + ?1",
        "UPDATE request SET accepted_at = accepted_at + ?1, next_at = next_at + ?1",
        "UPDATE subscription SET lease_end = lease_end + ?1, next_at = next_at + ?1, created_at = created_at + ?1,
         verified_at = verified_at + ?1, last_at = last_at + ?1",
        "UPDATE notice SET since = since + ?1, next_at = next_at + ?1",
        "UPDATE tombstone SET at = at + ?1, last_at = last_at + ?1, created_at = created_at + ?1",
    ] {
        tx.execute(sql, [by_ms])?;
    }
    Ok(())
}

/// Stores until when deliveries pause.
pub(super) fn set_paused(tx: &Transaction<'_>, until: Moment) -> rusqlite::Result<()> {
    tx.execute("UPDATE meta SET paused_until = ?1", [until.unix_ms()])?;
    Ok(())
}

/// Tells whether deliveries pause.
pub(super) fn is_paused(tx: &Transaction<'_>, now: Moment) -> rusqlite::Result<bool> {
    let sql = "SELECT paused_until > ?1 FROM meta";
    tx.query_row(sql, [now.unix_ms()], |row| row.get(0))
}

/// Counts what is there.
pub(super) fn counts(tx: &Transaction<'_>, now: Moment) -> rusqlite::Result<Counts> {
    let count = |sql: &str| -> rusqlite::Result<u64> {
        let number: i64 = tx.query_row(sql, [], |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or(0))
    };
    let (due, due_since): (i64, Option<i64>) = tx.query_row(
        "SELECT count(*), min(s.next_at) FROM subscription s JOIN topic t ON t.id = s.topic_id
         WHERE (s.acknowledged = 0 OR s.digest <> t.digest) AND s.next_at <= ?1",
        [now.unix_ms()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(Counts {
        due: u64::try_from(due).unwrap_or(0),
        due_since: due_since.map(Moment::from_unix_ms),
        subscriptions: count("SELECT count(*) FROM subscription")?,
        requests: count("SELECT count(*) FROM request")?,
        owed: count(
            "SELECT count(*) FROM subscription s JOIN topic t ON t.id = s.topic_id
             WHERE s.acknowledged = 0 OR s.digest <> t.digest",
        )?,
    })
}

/// Applies the operator's word.
pub(super) fn apply_admin(
    tx: &Transaction<'_>,
    id: i64,
    order: AdminCommand,
    policy: &Policy,
    now: Moment,
) -> rusqlite::Result<bool> {
    touch(tx, now)?;
    let event = match order {
        AdminCommand::Remove => Event::Removed,
        AdminCommand::Retry => Event::Retried,
    };
    apply(tx, id, &event, policy, now).map(|after| after.is_some())
}

/// Notes the clock, so that one that went back while no one looked is seen at the next start.
pub(super) fn touch(tx: &Transaction<'_>, now: Moment) -> rusqlite::Result<()> {
    tx.execute("UPDATE meta SET seen_at = ?1", [now.unix_ms()])?;
    Ok(())
}

/// Steps a subscription; `None` when it is not there.
fn apply(
    tx: &Transaction<'_>,
    id: i64,
    event: &Event<'_>,
    policy: &Policy,
    now: Moment,
) -> rusqlite::Result<Option<Step>> {
    let Some(stored) = rows::load(tx, id)? else {
        return Ok(None);
    };
    rows::apply(tx, stored, event, policy, now).map(Some)
}

fn ids(tx: &Transaction<'_>, sql: &str, argument: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = tx.prepare(sql)?;
    let found = statement.query_map([argument], |row| row.get(0))?;
    found.collect()
}

/// Subscriptions whose lease is over, without an attempt under way, and that no waiting request would renew.
const EXPIRED: &str = "SELECT s.id FROM subscription s WHERE s.lease_end <= ?1
 AND NOT (s.claimed = 1 AND s.next_at > ?1) AND NOT EXISTS
 (SELECT 1 FROM request r JOIN topic t ON t.url = r.topic
  WHERE r.callback = s.callback AND t.id = s.topic_id AND r.mode = 'subscribe')";

/// The clock is noted at least this often while the hub runs.
const SEEN_AGE: Duration = Duration::from_secs(60);
