//! Subscriptions and tombstones as rows.

use std::path::PathBuf;

use super::connection::{Connection, Row, Value};
use super::{Listed, StoreError, TOMBSTONES_MAX};
use crate::hub::request::{Mode, Secret};
use crate::hub::subscription::{Answer, Ended, Phase, RemovalReason, Subscription};
use crate::hub::{Callback, Moment};

/// Loads the subscriptions with these ids, in the order of their ids.
pub(super) fn load(db: &mut dyn Connection, ids: &[i64]) -> Result<Vec<Listed>, StoreError> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(IDS_MAX) {
        let sql = format!("{SELECT} WHERE s.id IN ({})", parameters(1, ids.len()));
        let values: Vec<Value<'_>> = ids.iter().map(|id| (*id).into()).collect();
        for row in db.query(&sql, &values)? {
            found.push(read(row)?);
        }
    }
    found.sort_unstable_by_key(|listed| listed.id);
    Ok(found)
}

/// Loads a subscription by its pair.
pub(super) fn load_pair(
    db: &mut dyn Connection,
    callback: &Callback,
    topic: &str,
) -> Result<Option<Listed>, StoreError> {
    let sql = format!("{SELECT} WHERE s.callback = $1 AND t.url = $2");
    let rows = db.query(&sql, &[callback.uri().into(), topic.into()])?;
    rows.into_iter().next().map(read).transpose()
}

/// Lists at most `limit` subscriptions with ids above `after`, by id.
pub(super) fn list(
    db: &mut dyn Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<Listed>, StoreError> {
    let sql = format!("{SELECT} WHERE s.id > $1 ORDER BY s.id LIMIT $2");
    let rows = db.query(&sql, &[after.into(), limit.into()])?;
    rows.into_iter().map(read).collect()
}

/// Inserts a subscription.
pub(super) fn insert(
    db: &mut dyn Connection,
    topic_id: i64,
    callback: &Callback,
    state: &Subscription,
) -> Result<(), StoreError> {
    let mut values: Vec<Value<'_>> = vec![topic_id.into()];
    values.extend(state_values(state));
    let host = callback.host().to_string();
    values.extend([callback.uri().into(), host.into(), state.created_at.into()]);
    db.execute(INSERT, &values).map(drop)
}

/// Saves subscriptions that changed, and ends those that come with a reason for it.
pub(super) fn save(
    db: &mut dyn Connection,
    changed: &[(Listed, Option<RemovalReason>)],
    now: Moment,
) -> Result<(), StoreError> {
    let mut kept: Vec<Vec<Value<'_>>> = Vec::new();
    for (listed, removal) in changed {
        if let Some(removal) = removal {
            bury(db, listed, *removal, now)?;
            continue;
        }
        let mut values = vec![listed.id.into()];
        values.extend(state_values(&listed.state));
        kept.push(values);
    }
    db.execute_each(UPDATE, &kept)
}

/// Removes a subscription, leaves its tombstone, and a denial where the subscriber does not know.
fn bury(
    db: &mut dyn Connection,
    listed: &Listed,
    removal: RemovalReason,
    now: Moment,
) -> Result<(), StoreError> {
    let Listed {
        id,
        topic,
        callback,
        state,
        ..
    } = listed;
    let [last_at, last_answer] = last_values(state.last.as_ref());
    db.execute("DELETE FROM subscription WHERE id = $1", &[(*id).into()])?;
    db.execute(
        "INSERT INTO tombstone (id, topic, host, removal, at, last_at, last_answer, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            (*id).into(),
            topic.as_str().into(),
            callback.host().to_string().into(),
            removal.as_str().into(),
            now.into(),
            last_at,
            last_answer,
            state.created_at.into(),
        ],
    )?;
    if removal.reason().is_none() {
        return Ok(());
    }
    db.execute(
        "INSERT INTO notice (topic, callback, removal, since) VALUES ($1, $2, $3, $4)",
        &[
            topic.as_str().into(),
            callback.uri().into(),
            removal.as_str().into(),
            now.into(),
        ],
    )?;
    let sql = "DELETE FROM notice WHERE id <= (SELECT max(id) FROM notice) - $1";
    db.execute(sql, &[TOMBSTONES_MAX.into()]).map(drop)
}

fn read(mut row: Row) -> Result<Listed, StoreError> {
    let (id, topic, current) = (
        row.int("id")?,
        row.text("url")?,
        row.digest("topic.digest")?,
    );
    let callback = row.callback()?;
    let state = Subscription {
        secret: read_secret(&mut row)?,
        digest: row.digest("digest")?,
        phase: match row.number("lease_s")? {
            0 => Phase::Unsubscribing,
            lease_s => Phase::Active { lease_s },
        },
        lease_end: row.moment("lease_end")?,
        acknowledged: row.flag("acknowledged")?,
        failures: row.number("failures")?,
        next_at: row.moment("next_at")?,
        claimed: row.flag("claimed")?,
        attempt: row.number("attempt")?,
        elapsed_ms: row.number("elapsed_ms")?,
        created_at: row.moment("created_at")?,
        verified_at: row.moment("verified_at")?,
        last: read_last(&mut row)?,
    };
    Ok(Listed {
        id,
        topic,
        callback,
        owed: state.is_owed(&current),
        current,
        state,
    })
}

pub(super) fn read_secret(row: &mut Row) -> Result<Option<Secret>, StoreError> {
    Ok(row.text_or_null("secret")?.and_then(Secret::new))
}

/// Reads how a last attempt ended, from two columns.
pub(super) fn read_last(row: &mut Row) -> Result<Option<Ended>, StoreError> {
    let at = row.int_or_null("last_at")?.map(Moment::from_unix_ms);
    let answer = row.text_or_null("last_answer")?;
    let answer = answer.and_then(|name| Answer::from_name(&name));
    Ok(at.zip(answer).map(|(at, answer)| Ended { at, answer }))
}

pub(super) fn read_mode(row: &mut Row) -> Result<Mode, StoreError> {
    let modes = [Mode::Subscribe, Mode::Unsubscribe];
    row.parsed("mode", |text| {
        modes.into_iter().find(|mode| mode.as_str() == text)
    })
}

/// The values of `$2` to `$15` of [`UPDATE`] and [`INSERT`].
fn state_values(state: &Subscription) -> [Value<'_>; 14] {
    let [last_at, last_answer] = last_values(state.last.as_ref());
    let lease_s = match state.phase {
        Phase::Active { lease_s } | Phase::Pending { lease_s } => lease_s,
        Phase::Unsubscribing => 0,
    };
    [
        secret_value(state.secret.as_ref()),
        lease_s.into(),
        state.lease_end.into(),
        (&state.digest).into(),
        state.acknowledged.into(),
        state.failures.into(),
        state.next_at.into(),
        state.claimed.into(),
        i64::try_from(state.attempt).unwrap_or(i64::MAX).into(),
        state.elapsed_ms.into(),
        state.is_slow().into(),
        state.verified_at.into(),
        last_at,
        last_answer,
    ]
}

pub(super) fn secret_value(secret: Option<&Secret>) -> Value<'_> {
    Value::Text(secret.map(|secret| secret.reveal().into()))
}

fn last_values(last: Option<&Ended>) -> [Value<'static>; 2] {
    [
        Value::Int(last.map(|last| last.at.unix_ms())),
        Value::Text(last.map(|last| last.answer.to_string().into())),
    ]
}

/// Returns the one row of a statement that always has one.
pub(super) fn first(rows: Vec<Row>) -> Result<Row, StoreError> {
    let missing = || StoreError::Corrupt(PathBuf::new(), "a row is missing".to_owned());
    rows.into_iter().next().ok_or_else(missing)
}

/// Returns `count` parameters from `$first` on, separated by commas.
pub(super) fn parameters(first: usize, count: usize) -> String {
    let all: Vec<String> = (first..first + count)
        .map(|number| format!("${number}"))
        .collect();
    all.join(", ")
}

/// Ids in one statement: both databases take more.
const IDS_MAX: usize = 500;

/// Replaces the state of a subscription. `lease_s` is 0 for one that is [`Phase::Unsubscribing`].
const UPDATE: &str = "UPDATE subscription SET secret = $2, lease_s = $3, lease_end = $4, digest = $5, acknowledged = $6,
 failures = $7, next_at = $8, claimed = $9, attempt = $10, elapsed_ms = $11, slow = $12, verified_at = $13, last_at = $14,
 last_answer = $15 WHERE id = $1";

const INSERT: &str = "INSERT INTO subscription (topic_id, secret, lease_s, lease_end, digest, acknowledged, failures, next_at,
 claimed, attempt, elapsed_ms, slow, verified_at, last_at, last_answer, callback, host, created_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";

/// Every column that [`read`] reads, in its order.
const SELECT: &str = "SELECT s.id, t.url, t.digest, s.callback, s.secret, s.digest, s.lease_s, s.lease_end, s.acknowledged,
 s.failures, s.next_at, s.claimed, s.attempt, s.elapsed_ms, s.created_at, s.verified_at, s.last_at, s.last_answer
 FROM subscription s JOIN topic t ON t.id = s.topic_id";
