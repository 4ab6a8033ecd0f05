//! Subscriptions, tombstones and denials as rows.

use super::super::callback::Callback;
use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::subscription::{Answer, Ended, Event, Outcome, Policy, Step, Subscription, step};
use super::connection::{Connection, Row, Value};
use super::{Listed, StoreError, TOMBSTONES_MAX, Tombstone};

/// A subscription's row: the key, and the state that [`step`] works on.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: i64,
    pub(super) topic: String,
    /// Digest of what the topic holds.
    pub(super) current: [u8; 32],
    pub(super) callback: Callback,
    pub(super) state: Subscription,
}

impl Stored {
    /// Returns it as the operator sees it.
    pub(super) fn listed(self) -> Listed {
        let is_owed = !(self.state.acknowledged && self.state.digest == self.current);
        Listed {
            id: self.id,
            topic: self.topic,
            callback: self.callback,
            owed: is_owed,
            state: self.state,
        }
    }
}

/// Loads the subscriptions with these ids, in any order.
pub(super) fn load(
    connection: &mut dyn Connection,
    ids: &[i64],
) -> Result<Vec<Stored>, StoreError> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(IDS_MAX) {
        let sql = format!("{SELECT} WHERE s.id IN ({})", parameters(1, ids.len()));
        let values: Vec<Value<'_>> = ids.iter().map(|id| (*id).into()).collect();
        for row in connection.query(&sql, &values)? {
            found.push(read(row)?);
        }
    }
    Ok(found)
}

/// Loads a subscription by its pair.
pub(super) fn load_pair(
    connection: &mut dyn Connection,
    callback: &Callback,
    topic: &str,
) -> Result<Option<Stored>, StoreError> {
    let sql = format!("{SELECT} WHERE s.callback = $1 AND t.url = $2");
    let rows = connection.query(&sql, &[callback.uri().into(), topic.into()])?;
    rows.into_iter().next().map(read).transpose()
}

/// Lists at most `limit` subscriptions with ids above `after`, by id.
pub(super) fn list(
    connection: &mut dyn Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<Stored>, StoreError> {
    let sql = format!("{SELECT} WHERE s.id > $1 ORDER BY s.id LIMIT $2");
    let rows = connection.query(&sql, &[after.into(), limit.into()])?;
    rows.into_iter().map(read).collect()
}

/// Applies an event to each of `stored` that is meant for it, saves what comes of it, and returns the steps in their order.
/// What ended leaves a tombstone and, where the subscriber does not know, a denial.
pub(super) fn apply(
    connection: &mut dyn Connection,
    events: Vec<(Stored, Event<'_>)>,
    policy: &Policy,
    now: Moment,
) -> Result<Vec<Step>, StoreError> {
    let mut ids = Vec::with_capacity(events.len());
    let mut steps = Vec::with_capacity(events.len());
    for (stored, event) in events {
        let id = stored.id;
        let (last, created_at) = (stored.state.last.clone(), stored.state.created_at);
        let after = step(Some(stored.state), &event, now, policy);
        if let Some(removal) = after.removal {
            let stone = Tombstone {
                id,
                topic: stored.topic,
                host: stored.callback.host().to_string(),
                removal,
                at: now,
                last: last_of(&event, now).or(last),
                created_at,
            };
            bury(connection, &stone, &stored.callback)?;
        }
        ids.push(id);
        steps.push(after);
    }
    let kept = ids.iter().zip(&steps).filter_map(|(id, after)| {
        let mut values = vec![Value::from(*id)];
        values.extend(state_values(after.state.as_ref()?));
        Some(values)
    });
    let kept: Vec<Vec<Value<'_>>> = kept.collect();
    connection.execute_each(UPDATE, &kept)?;
    Ok(steps)
}

/// Inserts a subscription.
pub(super) fn insert(
    connection: &mut dyn Connection,
    topic_id: i64,
    callback: &Callback,
    state: &Subscription,
) -> Result<(), StoreError> {
    let mut values: Vec<Value<'_>> = vec![topic_id.into()];
    values.extend(state_values(state));
    let host = callback.host().to_string();
    values.extend([callback.uri().into(), host.into(), state.created_at.into()]);
    connection.execute(INSERT, &values).map(drop)
}

/// Removes a subscription, leaves its tombstone, and a denial where the subscriber does not know.
fn bury(
    connection: &mut dyn Connection,
    stone: &Tombstone,
    callback: &Callback,
) -> Result<(), StoreError> {
    connection.execute("DELETE FROM subscription WHERE id = $1", &[stone.id.into()])?;
    connection.execute(
        "INSERT INTO tombstone (id, topic, host, removal, at, last_at, last_answer, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            stone.id.into(),
            stone.topic.as_str().into(),
            stone.host.as_str().into(),
            stone.removal.as_str().into(),
            stone.at.into(),
            stone.last.as_ref().map(|last| last.at).into(),
            stone
                .last
                .as_ref()
                .map(|last| last.answer.to_string())
                .into(),
            stone.created_at.into(),
        ],
    )?;
    if stone.removal.reason().is_none() {
        return Ok(());
    }
    connection.execute(
        "INSERT INTO notice (topic, callback, removal, since) VALUES ($1, $2, $3, $4)",
        &[
            stone.topic.as_str().into(),
            callback.uri().into(),
            stone.removal.as_str().into(),
            stone.at.into(),
        ],
    )?;
    connection.execute(
        "DELETE FROM notice WHERE id <= (SELECT max(id) FROM notice) - $1",
        &[TOMBSTONES_MAX.into()],
    )?;
    Ok(())
}

/// The attempt that ended a subscription is the last that its tombstone tells of.
fn last_of(event: &Event<'_>, now: Moment) -> Option<Ended> {
    match event {
        Event::Ended {
            outcome: Outcome::Attempted { answer, .. },
            ..
        } => Some(Ended {
            at: now,
            answer: *answer,
        }),
        _ => None,
    }
}

fn read(mut row: Row) -> Result<Stored, StoreError> {
    Ok(Stored {
        id: row.int("id")?,
        topic: row.text("url")?,
        current: row.digest("topic.digest")?,
        callback: row.callback()?,
        state: Subscription {
            secret: read_secret(&mut row)?,
            digest: row.digest("digest")?,
            lease_s: row.number("lease_s")?,
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
        },
    })
}

/// Reads a secret.
pub(super) fn read_secret(row: &mut Row) -> Result<Option<Secret>, StoreError> {
    let text = row.text_or_null("secret")?;
    Ok(text.and_then(Secret::new))
}

/// Reads how a last attempt ended, from two columns.
pub(super) fn read_last(row: &mut Row) -> Result<Option<Ended>, StoreError> {
    let at = row.int_or_null("last_at")?;
    let answer = row.text_or_null("last_answer")?;
    Ok(at.zip(answer).and_then(|(at, answer)| {
        let answer = Answer::from_name(&answer)?;
        Some(Ended {
            at: Moment::from_unix_ms(at),
            answer,
        })
    }))
}

/// Reads a mode.
pub(super) fn read_mode(row: &mut Row) -> Result<Mode, StoreError> {
    let modes = [Mode::Subscribe, Mode::Unsubscribe];
    row.parsed("mode", |text| {
        modes.into_iter().find(|mode| mode.as_str() == text)
    })
}

/// The values of `$2` to `$15` of [`UPDATE`] and [`INSERT`].
fn state_values(state: &Subscription) -> [Value<'_>; 14] {
    let last = state.last.as_ref();
    [
        state.secret.as_ref().map(Secret::reveal).into(),
        state.lease_s.into(),
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
        last.map(|last| last.at).into(),
        last.map(|last| last.answer.to_string()).into(),
    ]
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

/// Replaces the state of a subscription.
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
