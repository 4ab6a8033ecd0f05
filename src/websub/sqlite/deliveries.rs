//! What is due, what has begun, and how it ended.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Transaction, params};

use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::store::{Claim, Delivery, Lane, Recorded, Report};
use super::super::subscription::{Event, Policy, Subscription, step};
use super::requests::{self, room};
use super::rows;

/// Finds ids of subscriptions that are due in the lane. Three index ranges a topic: open ones whose time has come, and
/// acknowledged ones whose digest lies below or above the topic's. A topic comes first in turn, by the clock, so that
/// one that changes all the time cannot starve the others.
pub(super) fn find(
    tx: &Transaction<'_>,
    lane: Lane,
    claim: &Claim<'_>,
    now: Moment,
) -> rusqlite::Result<Vec<i64>> {
    let mut topics: Vec<(i64, [u8; 32])> = tx
        .prepare("SELECT id, digest FROM topic ORDER BY id")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    if !topics.is_empty() {
        let turn = usize::try_from(now.unix_ms().unsigned_abs()).unwrap_or(0) % topics.len();
        topics.rotate_left(turn);
    }
    let mut found = Vec::new();
    let mut taken = HashMap::new();
    for sql in QUERIES {
        let mut statement = tx.prepare(sql)?;
        for (topic_id, digest) in &topics {
            let mut result =
                statement.query(params![topic_id, lane == Lane::Slow, now.unix_ms(), digest])?;
            while found.len() < claim.limit {
                let Some(row) = result.next()? else { break };
                let host: String = row.get(1)?;
                if room(claim, &mut taken, &host) {
                    found.push(row.get(0)?);
                }
            }
        }
    }
    Ok(found)
}

/// Begins an attempt for each of `ids` that is still due, and returns what is to be sent.
pub(super) fn begin(
    tx: &Transaction<'_>,
    ids: &[i64],
    claim: &Claim<'_>,
    now: Moment,
) -> rusqlite::Result<Vec<Delivery>> {
    let mut deliveries = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(stored) = rows::load(tx, *id)? else {
            continue;
        };
        let digest = stored.current;
        if !stored.state.is_due(&digest, now) {
            continue;
        }
        let (topic, callback) = (stored.topic.clone(), stored.callback.clone());
        let event = Event::Begun {
            digest,
            until: claim.until,
        };
        if let Some(Subscription {
            attempt, secret, ..
        }) = rows::apply(tx, stored, &event, &NO_POLICY, now)?.state
        {
            deliveries.push(Delivery {
                id: *id,
                attempt,
                topic,
                digest,
                callback,
                secret,
            });
        }
    }
    Ok(deliveries)
}

/// Books one report.
pub(super) fn record(
    tx: &Transaction<'_>,
    report: &Report,
    policy: &Policy,
    now: Moment,
) -> rusqlite::Result<Recorded> {
    match report {
        Report::Verified {
            id,
            asked_at,
            confirmed,
        } => verified(tx, *id, *asked_at, *confirmed, policy, now),
        Report::Unreached { id, answer, delay } => requests::put_off(tx, *id, *answer, *delay, now),
        Report::Unsent { id } => {
            let waiting = tx.execute(
                "UPDATE request SET claimed = 0, attempts = attempts - 1 WHERE id = ?1 AND claimed = 1",
                [id],
            )?;
            Ok(if waiting == 1 {
                Recorded::Waiting
            } else {
                Recorded::Stale
            })
        }
        Report::Delivered {
            id,
            attempt,
            outcome,
            elapsed,
            jitter,
        } => {
            let Some(stored) = rows::load(tx, *id)? else {
                return Ok(Recorded::Stale);
            };
            if !stored.state.claimed || stored.state.attempt != *attempt {
                return Ok(Recorded::Stale);
            }
            let event = Event::Ended {
                attempt: *attempt,
                outcome,
                elapsed: *elapsed,
                jitter: *jitter,
            };
            let after = rows::apply(tx, stored, &event, policy, now)?;
            Ok(match (after.state, after.removal) {
                (Some(state), _) => Recorded::Kept {
                    failures: state.failures,
                },
                (None, Some(removal)) => Recorded::Removed(removal),
                (None, None) => Recorded::Stale,
            })
        }
    }
}

/// Books the end of a verification: the request goes, and if it was confirmed the subscription steps.
fn verified(
    tx: &Transaction<'_>,
    id: i64,
    asked_at: Moment,
    confirmed: bool,
    policy: &Policy,
    now: Moment,
) -> rusqlite::Result<Recorded> {
    let request = tx
        .query_row(
            "DELETE FROM request WHERE id = ?1 AND claimed = 1 RETURNING mode, topic, callback, lease_s, secret, digest",
            [id],
            |row| {
                let secret: Option<String> = row.get(4)?;
                let digest: Option<[u8; 32]> = row.get(5)?;
                Ok((rows::mode(row, 0)?, row.get::<_, String>(1)?, rows::callback(row, 2)?, row.get(3)?, secret.and_then(Secret::new), digest))
            },
        )
        .optional()?;
    let Some((mode, topic, callback, lease_s, secret, accepted)) = request else {
        return Ok(Recorded::Stale);
    };
    if !confirmed {
        return Ok(Recorded::Rejected);
    }
    let known: Option<(i64, [u8; 32])> = tx
        .query_row(
            "SELECT id, digest FROM topic WHERE url = ?1",
            [&topic],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((topic_id, current)) = known else {
        return Ok(Recorded::Rejected);
    };
    let event = Event::Verified {
        mode,
        secret: secret.as_ref(),
        lease_s,
        asked_at,
        accepted: accepted.unwrap_or(current),
    };
    match rows::load_pair(tx, &callback, &topic)? {
        Some(stored) => {
            let after = rows::apply(tx, stored, &event, policy, now)?;
            Ok(Recorded::verified(&after))
        }
        None => match step(None, &event, now, policy).state {
            Some(state) => {
                rows::insert(tx, topic_id, &callback, &state)?;
                tx.execute(
                    "DELETE FROM notice WHERE callback = ?1 AND topic = ?2",
                    params![callback.uri(), topic],
                )?;
                Ok(Recorded::Activated)
            }
            None => {
                debug_assert_eq!(mode, Mode::Unsubscribe);
                Ok(Recorded::Stale)
            }
        },
    }
}

/// Beginning an attempt asks no policy; an empty list of delays is never looked at.
const NO_POLICY: Policy = Policy {
    failures_max: u32::MAX,
    retry_delays: Vec::new(),
    retry_after_max: std::time::Duration::ZERO,
};

/// Subscriptions whose last begun attempt was not acknowledged.
const OPEN: &str =
    "SELECT id, host FROM subscription WHERE topic_id = ?1 AND slow = ?2 AND acknowledged = 0
 AND next_at <= ?3 AND lease_end > ?3 AND ?4 IS NOT NULL ORDER BY next_at, id";

/// Subscriptions that acknowledged a content whose digest sorts before the current one.
const BELOW: &str =
    "SELECT id, host FROM subscription WHERE topic_id = ?1 AND slow = ?2 AND acknowledged = 1
 AND digest < ?4 AND lease_end > ?3";

/// Subscriptions that acknowledged a content whose digest sorts after the current one.
const ABOVE: &str =
    "SELECT id, host FROM subscription WHERE topic_id = ?1 AND slow = ?2 AND acknowledged = 1
 AND digest > ?4 AND lease_end > ?3";

/// The three ranges, in the order in which they are claimed: retries first, as they have waited longest.
pub(super) const QUERIES: [&str; 3] = [OPEN, BELOW, ABOVE];
