//! What is due, what has begun, and how it ended.

use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::super::callback::Callback;
use super::super::moment::Moment;
use super::super::request::Secret;
use super::super::store::{Claim, Delivery, Lane, Recorded, Report, TopicVersion};
use super::super::subscription::{Event, Policy, Subscription, step};
use super::batch::Batch;
use super::fault::Fault;
use super::host_capacity::Rooms;
use super::link::Link;
use super::requests;
use super::rows::{self, Fresh, get, limit, number};

/// What a replica has published.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pub(super) urls: Vec<String>,
    digests: Vec<[u8; 32]>,
}

impl Own {
    pub(super) fn of(versions: &[TopicVersion]) -> Own {
        Own {
            urls: versions.iter().map(|one| one.url.clone()).collect(),
            digests: versions.iter().map(|one| one.digest).collect(),
        }
    }

    pub(super) fn digests(&self) -> Vec<&[u8]> {
        self.digests.iter().map(|digest| &digest[..]).collect()
    }
}

/// Claims what is due in the lane, and begins an attempt for each: the topic's current digest is stored as begun. Nobody
/// may change what topics hold meanwhile, or the attempt could carry an older content than one that has just ended.
/// Topics that are not among `own` are left to those who know them; of `own` this replica can send what the database
/// has no body of.
pub(super) fn claim(
    link: &mut Link,
    owner: i64,
    lane: Lane,
    claim: &Claim<'_>,
    own: &Own,
    until: Moment,
    now: Moment,
) -> Result<Vec<Delivery>, Fault> {
    let mut host_capacity = Rooms::new(claim);
    let mut ids: Vec<i64> = Vec::new();
    for range in RANGES {
        let sql = window(range);
        host_capacity.look_on();
        while let Some(wanted) = host_capacity.wanted(ids.len()) {
            let rows = link.query(
                &sql,
                &[
                    (&(lane == Lane::Slow), Type::BOOL),
                    (&now.unix_ms(), Type::INT8),
                    (&own.digests(), Type::BYTEA_ARRAY),
                    (&host_capacity.full_hosts(), Type::TEXT_ARRAY),
                    (&ids, Type::INT8_ARRAY),
                    (&limit(wanted), Type::INT8),
                    (&own.urls, Type::TEXT_ARRAY),
                ],
            )?;
            host_capacity.note(rows.len() < wanted);
            for row in in_turn(&rows, now)? {
                if ids.len() < claim.limit && host_capacity.take(get(row, 1)?) {
                    ids.push(get(row, 0)?);
                }
            }
        }
    }
    begin(link, owner, &ids, until)
}

/// Returns the statement that finds a window of what is due in a range, so much of each topic.
fn window(range: &str) -> String {
    // The inner select repeats the range, so that the row is looked at again when it was another's until now.
    format!(
        "SELECT due.id, due.host, t.id FROM (SELECT $2::bigint AS now_ms) clock CROSS JOIN reviewd.topic t CROSS JOIN LATERAL
         (SELECT s.id, s.host FROM reviewd.subscription s WHERE s.topic_id = t.id AND {range}
          AND s.host <> ALL ($4) AND s.id <> ALL ($5) ORDER BY {order} LIMIT $6 FOR UPDATE SKIP LOCKED) due
         WHERE t.url = ANY ($7) AND (t.stored OR t.digest = ANY ($3)) ORDER BY t.id",
        order = order(range),
    )
}

/// The order that the index of a range has.
pub(super) fn order(range: &str) -> &str {
    if range == OPEN {
        "s.next_at, s.id"
    } else {
        "s.digest"
    }
}

/// Puts the topic first whose turn it is by the clock, so that one that changes all the time cannot starve the others.
fn in_turn(rows: &[Row], now: Moment) -> Result<Vec<&Row>, Fault> {
    let mut topics: Vec<i64> = Vec::new();
    for row in rows {
        let topic = get(row, 2)?;
        if topics.last() != Some(&topic) {
            topics.push(topic);
        }
    }
    let turn = usize::try_from(now.unix_ms().unsigned_abs()).unwrap_or(0) % topics.len().max(1);
    let first = topics.get(turn).copied().unwrap_or_default();
    let at = rows
        .iter()
        .position(|row| row.try_get(2).is_ok_and(|topic: i64| topic == first));
    let (early, late) = rows.split_at(at.unwrap_or(0));
    Ok(late.iter().chain(early).collect())
}

fn begin(link: &mut Link, owner: i64, ids: &[i64], until: Moment) -> Result<Vec<Delivery>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = link.query(
        "UPDATE reviewd.subscription s SET digest = t.digest, acknowledged = false, claimed_by = $2,
         attempt = s.attempt + 1, next_at = $3 FROM reviewd.topic t WHERE s.id = ANY ($1) AND t.id = s.topic_id
         RETURNING s.id, s.attempt, t.url, t.digest, s.callback, s.secret",
        &[
            (&ids, Type::INT8_ARRAY),
            (&owner, Type::INT8),
            (&until.unix_ms(), Type::INT8),
        ],
    )?;
    let delivery = |row| -> Result<Delivery, Fault> {
        let secret: Option<String> = get(row, 5)?;
        Ok(Delivery {
            id: get(row, 0)?,
            attempt: number(row, 1)?,
            topic: get(row, 2)?,
            digest: rows::digest(row, 3)?,
            callback: rows::callback(row, 4)?,
            secret: secret.and_then(Secret::new),
        })
    };
    let mut begun = rows.iter().map(delivery).collect::<Result<Vec<_>, _>>()?;
    let places: HashMap<i64, usize> = ids.iter().copied().zip(0..).collect();
    begun.sort_by_key(|delivery: &Delivery| places.get(&delivery.id).copied());
    Ok(begun)
}

/// Books reports in their order, those of deliveries that follow each other in a few statements.
pub(super) fn record(
    link: &mut Link,
    owner: i64,
    own: &Own,
    reports: &[Report],
    policy: &Policy,
    now: Moment,
) -> Result<Vec<Recorded>, Fault> {
    let mut recorded = Vec::with_capacity(reports.len());
    let is_delivery = |report: &Report| matches!(report, Report::Delivered { .. });
    for run in reports.chunk_by(|one, next| is_delivery(one) && is_delivery(next)) {
        match run {
            [Report::Verified { .. } | Report::Unreached { .. } | Report::Unsent { .. }] => {
                for report in run {
                    recorded.push(record_request(link, owner, own, report, policy, now)?);
                }
            }
            run => record_deliveries(link, owner, run, policy, now, &mut recorded)?,
        }
    }
    Ok(recorded)
}

fn record_deliveries(
    link: &mut Link,
    owner: i64,
    reports: &[Report],
    policy: &Policy,
    now: Moment,
    recorded: &mut Vec<Recorded>,
) -> Result<(), Fault> {
    let id_of = |report: &Report| match report {
        Report::Verified { id, .. }
        | Report::Unreached { id, .. }
        | Report::Unsent { id }
        | Report::Delivered { id, .. } => *id,
    };
    let ids: Vec<i64> = reports.iter().map(id_of).collect();
    let mut batch = Batch::load(link, &ids)?;
    for report in reports {
        recorded.push(record_delivery(&mut batch, owner, report, policy, now));
    }
    batch.save(link)
}

fn record_delivery(
    batch: &mut Batch,
    owner: i64,
    report: &Report,
    policy: &Policy,
    now: Moment,
) -> Recorded {
    let Report::Delivered {
        id,
        attempt,
        outcome,
        elapsed,
        jitter,
    } = report
    else {
        return Recorded::Stale;
    };
    // A database that has lost a claim may have given another replica the same number.
    let is_under_way = batch.find(*id).is_some_and(|stored| {
        let state = &stored.state;
        state.claimed && stored.owner == owner && state.attempt == *attempt
    });
    if !is_under_way {
        return Recorded::Stale;
    }
    let event = Event::Ended {
        attempt: *attempt,
        outcome,
        elapsed: *elapsed,
        jitter: *jitter,
    };
    match batch.step(*id, &event, policy, now) {
        None => Recorded::Stale,
        Some(after) => match (after.state, after.removal) {
            (Some(state), _) => Recorded::Kept {
                failures: state.failures,
            },
            (None, Some(removal)) => Recorded::Removed(removal),
            (None, None) => Recorded::Stale,
        },
    }
}

/// Books the end of a verification: the request goes, and if it was confirmed the subscription steps.
fn record_request(
    link: &mut Link,
    owner: i64,
    own: &Own,
    report: &Report,
    policy: &Policy,
    now: Moment,
) -> Result<Recorded, Fault> {
    let (id, confirmed_at) = match report {
        Report::Verified {
            id,
            asked_at,
            confirmed,
        } => (id, confirmed.then_some(*asked_at)),
        Report::Unreached { id, answer, delay } => {
            return requests::put_off(link, owner, *id, *answer, now.plus(*delay));
        }
        Report::Unsent { id } | Report::Delivered { id, .. } => {
            let waiting = link.execute(
                "UPDATE reviewd.request SET claimed_by = 0, attempts = attempts - 1 WHERE id = $1 AND claimed_by = $2",
                &[(id, Type::INT8), (&owner, Type::INT8)],
            )?;
            return Ok(match waiting {
                0 => Recorded::Stale,
                _ => Recorded::Waiting,
            });
        }
    };
    let request = link.first(
        "WITH gone AS (DELETE FROM reviewd.request WHERE id = $1 AND claimed_by = $2
          RETURNING mode, topic, callback, lease_s, secret, digest)
         SELECT gone.mode, gone.topic, gone.callback, gone.lease_s, gone.secret, t.id, coalesce(gone.digest, t.digest) FROM gone LEFT JOIN reviewd.topic t ON t.url = gone.topic",
        &[(id, Type::INT8), (&owner, Type::INT8)],
    )?;
    let Some(request) = request else {
        return Ok(Recorded::Stale);
    };
    let (topic, callback) = (get::<&str>(&request, 1)?, rows::callback(&request, 2)?);
    let (Some(asked_at), Some(topic_id)) = (confirmed_at, get::<Option<i64>>(&request, 5)?) else {
        // Somebody else has taken away what we serve. A request that was confirmed is not to be lost by it.
        let is_gone = confirmed_at.is_some() && own.urls.iter().any(|url| url == topic);
        return match is_gone {
            true => Err(Fault::Gone(topic.to_owned())),
            false => Ok(Recorded::Rejected),
        };
    };
    let secret = get::<Option<String>>(&request, 4)?.and_then(Secret::new);
    let event = Event::Verified {
        mode: rows::mode(&request, 0)?,
        secret: secret.as_ref(),
        lease_s: number(&request, 3)?,
        asked_at,
        accepted: rows::digest(&request, 6)?,
    };
    let pair = rows::pair(&callback, topic);
    let Some(stored) = rows::load_pair(link, &pair)? else {
        let Some(state) = step(None, &event, now, policy).state else {
            return Ok(Recorded::Stale);
        };
        return activate(link, pair, (topic_id, topic), &callback, &state);
    };
    let id = stored.id;
    let mut batch = Batch::default();
    batch.add(stored);
    let after = batch.step(id, &event, policy, now);
    batch.save(link)?;
    Ok(after.map_or(Recorded::Stale, |after| Recorded::verified(&after)))
}

fn activate(
    link: &mut Link,
    pair: [u8; 32],
    (topic_id, topic): (i64, &str),
    callback: &Callback,
    state: &Subscription,
) -> Result<Recorded, Fault> {
    link.execute(
        "DELETE FROM reviewd.notice WHERE callback = $1 AND topic = $2",
        &[(&callback.uri(), Type::TEXT), (&topic, Type::TEXT)],
    )?;
    let fresh = Fresh {
        pair,
        topic_id,
        callback,
        state,
    };
    let inserted = rows::insert(link, &[fresh])?;
    Ok(match inserted.contains(&pair) {
        true => Recorded::Activated,
        false => Recorded::Stale,
    })
}

/// Subscriptions `s` to a topic `t` whose last begun attempt was not acknowledged. `$1` is the lane, `now_ms` the time.
const OPEN: &str =
    "s.slow = $1 AND NOT s.acknowledged AND s.next_at <= now_ms AND s.lease_end > now_ms";

/// Subscriptions that acknowledged a content whose digest sorts before the current one.
const BELOW: &str =
    "s.slow = $1 AND s.acknowledged AND s.digest < t.digest AND s.lease_end > now_ms";

/// Subscriptions that acknowledged a content whose digest sorts after the current one.
const ABOVE: &str =
    "s.slow = $1 AND s.acknowledged AND s.digest > t.digest AND s.lease_end > now_ms";

/// The three ranges, in the order in which they are claimed: retries first, as they have waited longest.
pub(super) const RANGES: [&str; 3] = [OPEN, BELOW, ABOVE];
