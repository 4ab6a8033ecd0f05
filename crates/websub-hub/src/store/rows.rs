//! Reads and writes subscriptions and tombstones as rows.

use super::connection::{
    Connection, DatabaseRow, DbError, RowValues, Value, limit, parameters, text,
};
use super::{StoredSubscription, TOMBSTONES_MAX};
use crate::request::Secret;
use crate::subscription::{AttemptResult, LastAttempt, Phase, RemovalReason, Subscription};
use crate::{Callback, UnixMillis};

/// Loads the subscriptions that a `WHERE` clause selects; `s` is the subscription, `t` its topic.
pub(super) fn select(
    db: &mut dyn Connection,
    clause: &str,
    values: &[Value],
) -> Result<Vec<StoredSubscription>, DbError> {
    let sql = format!(
        "SELECT s.*, t.url, t.digest AS current FROM subscription s JOIN topic t ON t.id = s.topic_id {clause}"
    );
    db.query(&sql, values)?.iter().map(read).collect()
}

/// Loads the subscriptions with these ids, in the order of their ids. SQLite permits 32,766 of them, which is more than
/// the number of concurrent exchanges.
pub(super) fn load(
    db: &mut dyn Connection,
    ids: &[i64],
) -> Result<Vec<StoredSubscription>, DbError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let all = parameters(1, ids.len());
    let values: Vec<Value> = ids.iter().map(|id| (*id).into()).collect();
    select(db, &format!("WHERE s.id IN ({all}) ORDER BY s.id"), &values)
}

/// Loads the subscription of a callback and a topic.
pub(super) fn load_pair(
    db: &mut dyn Connection,
    callback: &Callback,
    topic: &str,
) -> Result<Option<StoredSubscription>, DbError> {
    let clause = "WHERE s.callback = $1 AND t.url = $2";
    let found = select(db, clause, &[text(callback.uri()), text(topic)])?;
    Ok(found.into_iter().next())
}

/// Applies `change` to these subscriptions, removes those for which it returns a reason, and returns all of them.
pub(super) fn change(
    db: &mut dyn Connection,
    found: Vec<StoredSubscription>,
    now: UnixMillis,
    mut change: impl FnMut(&mut StoredSubscription) -> Option<RemovalReason>,
) -> Result<Vec<StoredSubscription>, DbError> {
    let mut changed = Vec::with_capacity(found.len());
    let mut updates = Vec::new();
    for mut subscription in found {
        match change(&mut subscription) {
            Some(removal) => remove(db, &subscription, removal, now)?,
            None => updates.push((subscription.id, columns(&subscription.state))),
        }
        changed.push(subscription);
    }
    db.update("subscription", updates)?;
    Ok(changed)
}

/// Removes a subscription, and inserts its tombstone, and a denial if the subscriber does not know the reason.
fn remove(
    db: &mut dyn Connection,
    subscription: &StoredSubscription,
    removal: RemovalReason,
    now: UnixMillis,
) -> Result<(), DbError> {
    let topic = &subscription.topic;
    let callback = &subscription.callback;
    let state = &subscription.state;
    let sql = "DELETE FROM subscription WHERE id = $1";
    db.execute(sql, &[subscription.id.into()])?;
    let mut tombstone: RowValues = vec![
        ("id", subscription.id.into()),
        ("topic", text(topic)),
        ("host", text(callback.host().to_string())),
        ("removal", text(removal.as_str())),
        ("at", now.into()),
        ("created_at", state.created_at.into()),
    ];
    tombstone.extend(last_columns(state));
    db.insert("tombstone", tombstone)?;
    if removal.denial_text().is_none() {
        return Ok(());
    }
    let denial = vec![
        ("topic", text(topic)),
        ("callback", text(callback.uri())),
        ("removal", text(removal.as_str())),
        ("since", now.into()),
    ];
    db.insert("denial", denial)?;
    let sql = "DELETE FROM denial WHERE id <= (SELECT max(id) FROM denial) - $1";
    db.execute(sql, &[limit(TOMBSTONES_MAX)]).map(drop)
}

fn read(row: &DatabaseRow) -> Result<StoredSubscription, DbError> {
    let current = row.get("current")?;
    let state = Subscription {
        // 0 means that the subscriber has ended the subscription.
        phase: match row.get("lease_s")? {
            0 => Phase::Unsubscribing,
            lease_s => Phase::Active { lease_s },
        },
        secret: read_secret(row)?,
        lease_end: row.get("lease_end")?,
        digest: row.get("digest")?,
        acknowledged: row.get("acknowledged")?,
        failures: row.get("failures")?,
        next_at: row.get("next_at")?,
        claimed: row.get("claimed")?,
        attempt: row.get("attempt")?,
        acknowledged_at: row.get("acknowledged_at")?,
        owed_since: row.get("owed_since")?,
        elapsed_ms: row.get("elapsed_ms")?,
        created_at: row.get("created_at")?,
        verified_at: row.get("verified_at")?,
        last: read_last(row, row.get("last_at")?)?,
    };
    Ok(StoredSubscription {
        id: row.get("id")?,
        topic: row.get("url")?,
        callback: read_callback(row)?,
        is_undelivered: state.is_undelivered(&current),
        current,
        state,
    })
}

/// Returns the columns of a state that can change. [`read`] reads all of them but `known`, which is for the queries.
pub(super) fn columns(state: &Subscription) -> RowValues {
    let lease_s = match state.phase {
        Phase::Active { lease_s } | Phase::Pending { lease_s } => lease_s,
        Phase::Unsubscribing => 0,
    };
    let mut columns = vec![
        ("secret", secret_value(state.secret.as_ref())),
        ("lease_s", lease_s.into()),
        ("lease_end", state.lease_end.into()),
        ("digest", state.digest.to_vec().into()),
        ("acknowledged", state.acknowledged.into()),
        ("acknowledged_at", state.acknowledged_at.into()),
        ("known", state.acknowledged_at.is_some().into()),
        ("owed_since", state.owed_since.into()),
        ("failures", state.failures.into()),
        ("next_at", state.next_at.into()),
        ("claimed", state.claimed.into()),
        ("attempt", state.attempt.into()),
        ("elapsed_ms", state.elapsed_ms.into()),
        ("verified_at", state.verified_at.into()),
    ];
    columns.extend(last_columns(state));
    columns
}

fn last_columns(state: &Subscription) -> [(&'static str, Value); 2] {
    let last = state.last.as_ref();
    [
        ("last_at", last.map(|last| last.at).into()),
        ("last_result", result_value(last)),
    ]
}

pub(super) fn result_value(last: Option<&LastAttempt>) -> Value {
    last.map(|last| last.result.to_string()).into()
}

pub(super) fn secret_value(secret: Option<&Secret>) -> Value {
    secret.map(|secret| secret.reveal().to_owned()).into()
}

pub(super) fn read_secret(row: &DatabaseRow) -> Result<Option<Secret>, DbError> {
    let secret = row.get::<Option<String>>("secret")?;
    Ok(secret.and_then(Secret::new))
}

/// Reads a callback; each was parsed before it was stored.
pub(super) fn read_callback(row: &DatabaseRow) -> Result<Callback, DbError> {
    row.parsed("callback", |text| Callback::parse(text).ok())
}

/// Reads the result of a last attempt that ended at `at`.
pub(super) fn read_last(
    row: &DatabaseRow,
    at: Option<UnixMillis>,
) -> Result<Option<LastAttempt>, DbError> {
    let name = row.get::<Option<String>>("last_result")?;
    let result = name.and_then(|name| AttemptResult::from_name(&name));
    let Some((at, result)) = at.zip(result) else {
        return Ok(None);
    };
    Ok(Some(LastAttempt { at, result }))
}
