//! Rows to values and back; what cannot be read back is damage, never a panic.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::super::callback::Callback;
use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::store::{Listed, TOMBSTONES_MAX, Tombstone};
use super::super::subscription::{
    Answer, Ended, Event, Policy, RemovalReason, Step, Subscription, step,
};

/// A subscription's row: the key, and the state that [`step`] works on.
pub(super) struct Stored {
    pub(super) id: i64,
    pub(super) topic: String,
    pub(super) callback: Callback,
    pub(super) current: [u8; 32],
    pub(super) state: Subscription,
}

/// Loads a subscription and its topic's digest by id.
pub(super) fn load(tx: &Transaction<'_>, id: i64) -> rusqlite::Result<Option<Stored>> {
    tx.query_row(&format!("{SELECT} WHERE s.id = ?1"), [id], read_stored)
        .optional()
}

/// Loads a subscription by its pair.
pub(super) fn load_pair(
    tx: &Transaction<'_>,
    callback: &Callback,
    topic: &str,
) -> rusqlite::Result<Option<Stored>> {
    let sql = format!("{SELECT} WHERE s.callback = ?1 AND t.url = ?2");
    tx.query_row(&sql, params![callback.uri(), topic], read_stored)
        .optional()
}

/// Steps a stored subscription and saves what comes of it; returns why it ended, if it did.
pub(super) fn apply(
    tx: &Transaction<'_>,
    stored: Stored,
    event: &Event<'_>,
    policy: &Policy,
    now: Moment,
) -> rusqlite::Result<Step> {
    let (id, topic, callback) = (stored.id, stored.topic, stored.callback);
    let last = stored.state.last.clone();
    let created_at = stored.state.created_at;
    let after = step(Some(stored.state), event, now, policy);
    match (&after.state, after.removal) {
        (Some(state), _) => update(tx, id, state)?,
        (None, removal) => {
            tx.execute("DELETE FROM subscription WHERE id = ?1", [id])?;
            let removal = removal.unwrap_or(RemovalReason::Operator);
            let last = last_of(event, now).or(last);
            bury(
                tx,
                &Tombstone {
                    id,
                    host: callback.host().to_string(),
                    topic: topic.clone(),
                    removal,
                    at: now,
                    last,
                    created_at,
                },
            )?;
            if removal.reason().is_some() {
                tx.execute(
                    "INSERT INTO notice (topic, callback, removal, since) VALUES (?1, ?2, ?3, ?4)",
                    params![topic, callback.uri(), removal.as_str(), now.unix_ms()],
                )?;
                tx.execute(
                    "DELETE FROM notice WHERE id <= (SELECT max(id) FROM notice) - ?1",
                    [limit(TOMBSTONES_MAX)],
                )?;
            }
        }
    }
    Ok(after)
}

/// Inserts a subscription.
pub(super) fn insert(
    tx: &Transaction<'_>,
    topic_id: i64,
    callback: &Callback,
    state: &Subscription,
) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO subscription (topic_id, callback, host, secret, lease_s, lease_end, digest, acknowledged, failures,
         next_at, claimed, attempt, elapsed_ms, slow, created_at, verified_at, last_at, last_answer)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        params![
            topic_id,
            callback.uri(),
            callback.host().to_string(),
            state.secret.as_ref().map(Secret::reveal),
            state.lease_s,
            state.lease_end.unix_ms(),
            state.digest,
            state.acknowledged,
            state.failures,
            state.next_at.unix_ms(),
            state.claimed,
            count(state.attempt),
            state.elapsed_ms,
            state.is_slow(),
            state.created_at.unix_ms(),
            state.verified_at.unix_ms(),
            state.last.as_ref().map(|last| last.at.unix_ms()),
            state.last.as_ref().map(|last| last.answer.to_string()),
        ],
    )?;
    Ok(())
}

/// Replaces the state of a subscription.
pub(super) fn update(tx: &Transaction<'_>, id: i64, state: &Subscription) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE subscription SET secret = ?2, lease_s = ?3, lease_end = ?4, digest = ?5, acknowledged = ?6, failures = ?7,
         next_at = ?8, claimed = ?9, attempt = ?10, elapsed_ms = ?11, slow = ?12, verified_at = ?13, last_at = ?14,
         last_answer = ?15 WHERE id = ?1",
        params![
            id,
            state.secret.as_ref().map(Secret::reveal),
            state.lease_s,
            state.lease_end.unix_ms(),
            state.digest,
            state.acknowledged,
            state.failures,
            state.next_at.unix_ms(),
            state.claimed,
            count(state.attempt),
            state.elapsed_ms,
            state.is_slow(),
            state.verified_at.unix_ms(),
            state.last.as_ref().map(|last| last.at.unix_ms()),
            state.last.as_ref().map(|last| last.answer.to_string()),
        ],
    )?;
    Ok(())
}

/// Lists subscriptions by id.
pub(super) fn list(tx: &Transaction<'_>, after: i64, most: usize) -> rusqlite::Result<Vec<Listed>> {
    let mut statement = tx.prepare(&format!("{SELECT} WHERE s.id > ?1 ORDER BY s.id LIMIT ?2"))?;
    let rows = statement.query_map(params![after, limit(most)], |row| {
        let Stored {
            id,
            topic,
            callback,
            current,
            state,
        } = read_stored(row)?;
        let owed = !(state.acknowledged && state.digest == current);
        Ok(Listed {
            id,
            topic,
            callback,
            owed,
            state,
        })
    })?;
    rows.collect()
}

/// Lists tombstones, newest first.
pub(super) fn tombstones(tx: &Transaction<'_>, most: usize) -> rusqlite::Result<Vec<Tombstone>> {
    let mut statement = tx.prepare(
        "SELECT id, topic, host, removal, at, last_at, last_answer, created_at FROM tombstone ORDER BY at DESC, id DESC LIMIT ?1",
    )?;
    let rows = statement.query_map([limit(most)], |row| {
        let removal: String = row.get(3)?;
        Ok(Tombstone {
            id: row.get(0)?,
            topic: row.get(1)?,
            host: row.get(2)?,
            removal: RemovalReason::from_name(&removal).ok_or_else(|| damage(3, "removal"))?,
            at: moment(row, 4)?,
            last: read_last(row, 5)?,
            created_at: moment(row, 7)?,
        })
    })?;
    rows.collect()
}

fn bury(tx: &Transaction<'_>, stone: &Tombstone) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT OR REPLACE INTO tombstone (id, topic, host, removal, at, last_at, last_answer, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            stone.id,
            stone.topic,
            stone.host,
            stone.removal.as_str(),
            stone.at.unix_ms(),
            stone.last.as_ref().map(|last| last.at.unix_ms()),
            stone.last.as_ref().map(|last| last.answer.to_string()),
            stone.created_at.unix_ms(),
        ],
    )?;
    Ok(())
}

/// The attempt that ended a subscription is the last that its tombstone tells of.
fn last_of(event: &Event<'_>, now: Moment) -> Option<Ended> {
    match event {
        Event::Ended {
            outcome: super::super::subscription::Outcome::Attempted { answer, .. },
            ..
        } => Some(Ended {
            at: now,
            answer: *answer,
        }),
        _ => None,
    }
}

fn read_stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let secret: Option<String> = row.get(5)?;
    let secret = match secret {
        None => None,
        Some(text) => Some(Secret::new(text).ok_or_else(|| damage(5, "secret"))?),
    };
    Ok(Stored {
        id: row.get(0)?,
        topic: row.get(1)?,
        current: row.get(2)?,
        callback: callback(row, 3)?,
        state: Subscription {
            secret,
            digest: row.get(4)?,
            lease_s: row.get(6)?,
            lease_end: moment(row, 7)?,
            acknowledged: row.get(8)?,
            failures: row.get(9)?,
            next_at: moment(row, 10)?,
            claimed: row.get(11)?,
            attempt: u64::try_from(row.get::<_, i64>(12)?).map_err(|_| damage(12, "attempt"))?,
            elapsed_ms: row.get(13)?,
            created_at: moment(row, 14)?,
            verified_at: moment(row, 15)?,
            last: read_last(row, 16)?,
        },
    })
}

fn read_last(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Ended>> {
    let (at, answer): (Option<i64>, Option<String>) = (row.get(column)?, row.get(column + 1)?);
    match (at, answer) {
        (Some(at), Some(answer)) => {
            let answer =
                Answer::from_name(&answer).ok_or_else(|| damage(column + 1, "last_answer"))?;
            Ok(Some(Ended {
                at: Moment::from_unix_ms(at),
                answer,
            }))
        }
        _ => Ok(None),
    }
}

/// Reads a callback; every one was parsed before it was stored.
pub(super) fn callback(row: &Row<'_>, column: usize) -> rusqlite::Result<Callback> {
    let text: String = row.get(column)?;
    Callback::parse(&text).map_err(|_| damage(column, "callback"))
}

/// Reads a mode.
pub(super) fn mode(row: &Row<'_>, column: usize) -> rusqlite::Result<Mode> {
    let text: String = row.get(column)?;
    [Mode::Subscribe, Mode::Unsubscribe]
        .into_iter()
        .find(|mode| mode.as_str() == text)
        .ok_or_else(|| damage(column, "mode"))
}

/// Reads why a subscription ended.
pub(super) fn removal(row: &Row<'_>, column: usize) -> rusqlite::Result<RemovalReason> {
    let text: String = row.get(column)?;
    RemovalReason::from_name(&text).ok_or_else(|| damage(column, "removal"))
}

/// Reads a moment.
pub(super) fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Moment> {
    Ok(Moment::from_unix_ms(row.get(column)?))
}

fn damage(column: usize, what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        Type::Text,
        format!("unreadable {what}").into(),
    )
}

/// A bound as SQLite takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Every column that [`read_stored`] reads, in its order.
const SELECT: &str = "SELECT s.id, t.url, t.digest, s.callback, s.digest, s.secret, s.lease_s, s.lease_end, s.acknowledged,
 s.failures, s.next_at, s.claimed, s.attempt, s.elapsed_ms, s.created_at, s.verified_at, s.last_at, s.last_answer
 FROM subscription s JOIN topic t ON t.id = s.topic_id";
