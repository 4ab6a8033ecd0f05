//! Rows to values and back; what cannot be read back is damage, never a panic.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::super::callback::Callback;
use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::store::{Listed, Tombstone};
use super::super::subscription::{Answer, Ended, RemovalReason, Subscription};
use super::fault::Fault;
use super::link::Link;

/// A subscription's row: the key, and the state that [`step`](super::super::subscription::step) works on.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: i64,
    /// Who has begun the attempt under way; 0 where none is.
    pub(super) owner: i64,
    pub(super) topic: String,
    pub(super) callback: Callback,
    pub(super) current: [u8; 32],
    pub(super) state: Subscription,
}

/// A subscription that is not there yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh<'a> {
    pub(super) pair: [u8; 32],
    pub(super) topic_id: i64,
    pub(super) callback: &'a Callback,
    pub(super) state: &'a Subscription,
}

/// Loads subscriptions by id, and keeps others from changing them until the transaction ends.
pub(super) fn load(link: &mut Link, ids: &[i64]) -> Result<Vec<Stored>, Fault> {
    let sql = format!("{SELECT} WHERE s.id = ANY ($1) ORDER BY s.id FOR UPDATE OF s");
    let rows = link.query(&sql, &[(&ids, Type::INT8_ARRAY)])?;
    rows.iter().map(read_stored).collect()
}

/// Loads a subscription by its pair, and keeps others from changing it until the transaction ends.
pub(super) fn load_pair(link: &mut Link, pair: &[u8; 32]) -> Result<Option<Stored>, Fault> {
    let sql = format!("{SELECT} WHERE s.pair = $1 FOR UPDATE OF s");
    let row = link.first(&sql, &[(&&pair[..], Type::BYTEA)])?;
    row.as_ref().map(read_stored).transpose()
}

/// Loads subscriptions by their pairs, and keeps others from changing them until the transaction ends.
pub(super) fn load_pairs(
    link: &mut Link,
    pairs: &[[u8; 32]],
) -> Result<Vec<([u8; 32], Stored)>, Fault> {
    let pairs: Vec<&[u8]> = pairs.iter().map(|pair| &pair[..]).collect();
    let sql = format!("{SELECT} WHERE s.pair = ANY ($1) ORDER BY s.id FOR UPDATE OF s");
    let rows = link.query(&sql, &[(&pairs, Type::BYTEA_ARRAY)])?;
    let with_pair = |row| {
        let stored = read_stored(row)?;
        Ok((pair(&stored.callback, &stored.topic), stored))
    };
    rows.iter().map(with_pair).collect()
}

/// Inserts subscriptions, all in one statement, but those that another replica has inserted; returns the pairs of the
/// others.
pub(super) fn insert(link: &mut Link, all: &[Fresh<'_>]) -> Result<HashSet<[u8; 32]>, Fault> {
    if all.is_empty() {
        return Ok(HashSet::new());
    }
    let states = || all.iter().map(|fresh| fresh.state);
    let numbers = |of: fn(&Subscription) -> i64| states().map(of).collect::<Vec<i64>>();
    let flags = |of: fn(&Subscription) -> bool| states().map(of).collect::<Vec<bool>>();
    let pairs: Vec<&[u8]> = all.iter().map(|fresh| &fresh.pair[..]).collect();
    let topics: Vec<i64> = all.iter().map(|fresh| fresh.topic_id).collect();
    let callbacks: Vec<&str> = all.iter().map(|fresh| fresh.callback.uri()).collect();
    let hosts: Vec<String> = all
        .iter()
        .map(|fresh| fresh.callback.host().to_string())
        .collect();
    let secrets: Vec<Option<&str>> = states()
        .map(|state| state.secret.as_ref().map(Secret::reveal))
        .collect();
    let digests: Vec<&[u8]> = states().map(|state| &state.digest[..]).collect();
    let (last_at, last_answers) = last_of(states().map(|state| state.last.as_ref()));
    let int8 = || Type::INT8_ARRAY;
    let inserted = link.query(
        "INSERT INTO reviewd.subscription (pair, topic_id, callback, host, secret, lease_s, lease_end, digest,
         acknowledged, failures, next_at, claimed_by, attempt, elapsed_ms, slow, created_at, verified_at, last_at,
         last_answer)
         SELECT pair, topic_id, callback, host, secret, lease_s, lease_end, digest, acknowledged, failures, next_at, 0,
         attempt, elapsed_ms, slow, created_at, verified_at, last_at, last_answer
         FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
         WITH ORDINALITY AS c (pair, topic_id, callback, host, secret, lease_s, lease_end, digest, acknowledged, failures,
         next_at, attempt, elapsed_ms, slow, created_at, verified_at, last_at, last_answer, place) ORDER BY place
         ON CONFLICT (pair) DO NOTHING RETURNING pair",
        &[
            (&pairs, Type::BYTEA_ARRAY),
            (&topics, int8()),
            (&callbacks, Type::TEXT_ARRAY),
            (&hosts, Type::TEXT_ARRAY),
            (&secrets, Type::TEXT_ARRAY),
            (&numbers(|state| i64::from(state.lease_s)), int8()),
            (&numbers(|state| state.lease_end.unix_ms()), int8()),
            (&digests, Type::BYTEA_ARRAY),
            (&flags(|state| state.acknowledged), Type::BOOL_ARRAY),
            (&numbers(|state| i64::from(state.failures)), int8()),
            (&numbers(|state| state.next_at.unix_ms()), int8()),
            (&numbers(|state| count(state.attempt)), int8()),
            (&numbers(|state| i64::from(state.elapsed_ms)), int8()),
            (&flags(Subscription::is_slow), Type::BOOL_ARRAY),
            (&numbers(|state| state.created_at.unix_ms()), int8()),
            (&numbers(|state| state.verified_at.unix_ms()), int8()),
            (&last_at, int8()),
            (&last_answers, Type::TEXT_ARRAY),
        ],
    )?;
    inserted.iter().map(|row| digest(row, 0)).collect()
}

/// Saves states, all in one statement.
pub(super) fn save(link: &mut Link, all: &[&Stored]) -> Result<(), Fault> {
    if all.is_empty() {
        return Ok(());
    }
    let states = || all.iter().map(|stored| &stored.state);
    let numbers = |of: fn(&Subscription) -> i64| states().map(of).collect::<Vec<i64>>();
    let flags = |of: fn(&Subscription) -> bool| states().map(of).collect::<Vec<bool>>();
    let ids: Vec<i64> = all.iter().map(|stored| stored.id).collect();
    let secrets: Vec<Option<&str>> = states()
        .map(|state| state.secret.as_ref().map(Secret::reveal))
        .collect();
    let digests: Vec<&[u8]> = states().map(|state| &state.digest[..]).collect();
    let (last_at, last_answers) = last_of(states().map(|state| state.last.as_ref()));
    let int8 = || Type::INT8_ARRAY;
    link.execute(
        "UPDATE reviewd.subscription s SET secret = c.secret, lease_s = c.lease_s, lease_end = c.lease_end,
         digest = c.digest, acknowledged = c.acknowledged, failures = c.failures, next_at = c.next_at,
         claimed_by = CASE WHEN c.claimed THEN s.claimed_by ELSE 0 END, attempt = c.attempt, elapsed_ms = c.elapsed_ms,
         slow = c.slow, verified_at = c.verified_at, last_at = c.last_at, last_answer = c.last_answer
         FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS c (id, secret, lease_s,
         lease_end, digest, acknowledged, failures, next_at, claimed, attempt, elapsed_ms, slow, verified_at, last_at,
         last_answer) WHERE s.id = c.id",
        &[
            (&ids, int8()),
            (&secrets, Type::TEXT_ARRAY),
            (&numbers(|state| i64::from(state.lease_s)), int8()),
            (&numbers(|state| state.lease_end.unix_ms()), int8()),
            (&digests, Type::BYTEA_ARRAY),
            (&flags(|state| state.acknowledged), Type::BOOL_ARRAY),
            (&numbers(|state| i64::from(state.failures)), int8()),
            (&numbers(|state| state.next_at.unix_ms()), int8()),
            (&flags(|state| state.claimed), Type::BOOL_ARRAY),
            (&numbers(|state| count(state.attempt)), int8()),
            (&numbers(|state| i64::from(state.elapsed_ms)), int8()),
            (&flags(Subscription::is_slow), Type::BOOL_ARRAY),
            (&numbers(|state| state.verified_at.unix_ms()), int8()),
            (&last_at, int8()),
            (&last_answers, Type::TEXT_ARRAY),
        ],
    )?;
    Ok(())
}

/// Puts up tombstones, all in one statement.
pub(super) fn bury(link: &mut Link, stones: &[Tombstone]) -> Result<(), Fault> {
    let numbers = |of: fn(&Tombstone) -> i64| stones.iter().map(of).collect::<Vec<i64>>();
    let texts = |of: fn(&Tombstone) -> &str| stones.iter().map(of).collect::<Vec<&str>>();
    let (last_at, last_answers) = last_of(stones.iter().map(|stone| stone.last.as_ref()));
    link.execute(
        "INSERT INTO reviewd.tombstone (id, topic, host, removal, at, last_at, last_answer, created_at)
         SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING",
        &[
            (&numbers(|stone| stone.id), Type::INT8_ARRAY),
            (&texts(|stone| &stone.topic), Type::TEXT_ARRAY),
            (&texts(|stone| &stone.host), Type::TEXT_ARRAY),
            (&texts(|stone| stone.removal.as_str()), Type::TEXT_ARRAY),
            (&numbers(|stone| stone.at.unix_ms()), Type::INT8_ARRAY),
            (&last_at, Type::INT8_ARRAY),
            (&last_answers, Type::TEXT_ARRAY),
            (&numbers(|stone| stone.created_at.unix_ms()), Type::INT8_ARRAY),
        ],
    )?;
    Ok(())
}

/// Lists subscriptions by id.
pub(super) fn list(link: &mut Link, after: i64, most: usize) -> Result<Vec<Listed>, Fault> {
    let sql = format!("{SELECT} WHERE s.id > $1 ORDER BY s.id LIMIT $2");
    let rows = link.query(&sql, &[(&after, Type::INT8), (&limit(most), Type::INT8)])?;
    let listed = |row| {
        let Stored {
            id,
            topic,
            callback,
            current,
            state,
            ..
        } = read_stored(row)?;
        Ok(Listed {
            id,
            topic,
            callback,
            owed: !(state.acknowledged && state.digest == current),
            state,
        })
    };
    rows.iter().map(listed).collect()
}

/// Lists tombstones, newest first.
pub(super) fn tombstones(link: &mut Link, most: usize) -> Result<Vec<Tombstone>, Fault> {
    let rows = link.query(
        "SELECT id, topic, host, removal, at, last_at, last_answer, created_at FROM reviewd.tombstone
         ORDER BY at DESC, id DESC LIMIT $1",
        &[(&limit(most), Type::INT8)],
    )?;
    let tombstone = |row| {
        Ok(Tombstone {
            id: get(row, 0)?,
            topic: get(row, 1)?,
            host: get(row, 2)?,
            removal: removal(row, 3)?,
            at: moment(row, 4)?,
            last: read_last(row, 5)?,
            created_at: moment(row, 7)?,
        })
    };
    rows.iter().map(tombstone).collect()
}

fn read_stored(row: &Row) -> Result<Stored, Fault> {
    let secret: Option<String> = get(row, 5)?;
    let secret = match secret {
        None => None,
        Some(text) => Some(Secret::new(text).ok_or_else(|| damage("secret"))?),
    };
    let owner: i64 = get(row, 11)?;
    Ok(Stored {
        id: get(row, 0)?,
        owner,
        topic: get(row, 1)?,
        current: digest(row, 2)?,
        callback: callback(row, 3)?,
        state: Subscription {
            secret,
            digest: digest(row, 4)?,
            lease_s: number(row, 6)?,
            lease_end: moment(row, 7)?,
            acknowledged: get(row, 8)?,
            failures: number(row, 9)?,
            next_at: moment(row, 10)?,
            claimed: owner != 0,
            attempt: number(row, 12)?,
            elapsed_ms: number(row, 13)?,
            created_at: moment(row, 14)?,
            verified_at: moment(row, 15)?,
            last: read_last(row, 16)?,
        },
    })
}

fn read_last(row: &Row, column: usize) -> Result<Option<Ended>, Fault> {
    let (at, answer): (Option<i64>, Option<String>) = (get(row, column)?, get(row, column + 1)?);
    match (at, answer) {
        (Some(at), Some(answer)) => Ok(Some(Ended {
            at: Moment::from_unix_ms(at),
            answer: Answer::from_name(&answer).ok_or_else(|| damage("last_answer"))?,
        })),
        _ => Ok(None),
    }
}

fn last_of<'a>(
    lasts: impl Iterator<Item = Option<&'a Ended>>,
) -> (Vec<Option<i64>>, Vec<Option<String>>) {
    lasts
        .map(|last| {
            let at = last.map(|last| last.at.unix_ms());
            (at, last.map(|last| last.answer.to_string()))
        })
        .unzip()
}

/// Reads a column.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Fault> {
    row.try_get(column)
        .map_err(|error| Fault::Damage(super::fault::text(&error)))
}

/// Reads a number that is never below zero.
pub(super) fn number<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, Fault> {
    T::try_from(get(row, column)?).map_err(|_| damage("number"))
}

/// Reads a digest.
pub(super) fn digest(row: &Row, column: usize) -> Result<[u8; 32], Fault> {
    <[u8; 32]>::try_from(get::<&[u8]>(row, column)?).map_err(|_| damage("digest"))
}

/// Reads a callback; every one was parsed before it was stored.
pub(super) fn callback(row: &Row, column: usize) -> Result<Callback, Fault> {
    Callback::parse(get(row, column)?).map_err(|_| damage("callback"))
}

/// Reads a mode.
pub(super) fn mode(row: &Row, column: usize) -> Result<Mode, Fault> {
    let text: &str = get(row, column)?;
    [Mode::Subscribe, Mode::Unsubscribe]
        .into_iter()
        .find(|mode| mode.as_str() == text)
        .ok_or_else(|| damage("mode"))
}

/// Reads why a subscription ended.
pub(super) fn removal(row: &Row, column: usize) -> Result<RemovalReason, Fault> {
    RemovalReason::from_name(get(row, column)?).ok_or_else(|| damage("removal"))
}

fn moment(row: &Row, column: usize) -> Result<Moment, Fault> {
    get(row, column).map(Moment::from_unix_ms)
}

fn damage(what: &str) -> Fault {
    Fault::Damage(format!("unreadable {what}"))
}

/// Returns the key of a pair of callback and topic.
pub(super) fn pair(callback: &Callback, topic: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    // Neither has a line break in it.
    for part in [callback.uri(), "\n", topic] {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// A bound as PostgreSQL takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Every column that [`read_stored`] reads, in its order.
const SELECT: &str = "SELECT s.id, t.url, t.digest, s.callback, s.digest, s.secret, s.lease_s, s.lease_end, s.acknowledged,
 s.failures, s.next_at, s.claimed_by, s.attempt, s.elapsed_ms, s.created_at, s.verified_at, s.last_at, s.last_answer
 FROM reviewd.subscription s JOIN reviewd.topic t ON t.id = s.topic_id";
