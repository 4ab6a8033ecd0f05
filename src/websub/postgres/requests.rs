//! Requests that wait for their verification.

use std::collections::HashMap;

use tokio_postgres::types::Type;

use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::store::{
    Accept, Claim, QuotaExceeded, Quotas, Recorded, UNREACHED_MAX, VERIFICATIONS_MAX, Verification,
    WaitingRequest,
};
use super::super::subscription::Answer;
use super::fault::Fault;
use super::host_capacity::Rooms;
use super::link::Link;
use super::rows::{self, get, limit, number};

/// How much is there while requests are accepted, one after the other.
struct Totals {
    requests: u64,
    asked: u64,
    /// Active subscriptions.
    active: u64,
}

/// Keeps the requests that there is room for; nobody else accepts meanwhile. `active` is how many subscriptions there
/// are.
pub(super) fn accept(
    link: &mut Link,
    requests: &[Accept],
    quotas: &Quotas,
    active: u64,
    now: Moment,
) -> Result<Vec<Result<(), QuotaExceeded>>, Fault> {
    let counted =
        "SELECT count(*), count(*) FILTER (WHERE mode = 'subscribe') FROM reviewd.request";
    let mut totals = Totals {
        requests: 0,
        asked: 0,
        active,
    };
    if let Some(row) = link.first(counted, &[])? {
        (totals.requests, totals.asked) = (number(&row, 0)?, number(&row, 1)?);
    }
    let mut answers = Vec::with_capacity(requests.len());
    for accept in requests {
        answers.push(accept_one(link, accept, quotas, &mut totals, now)?);
    }
    Ok(answers)
}

fn accept_one(
    link: &mut Link,
    accept: &Accept,
    quotas: &Quotas,
    totals: &mut Totals,
    now: Moment,
) -> Result<Result<(), QuotaExceeded>, Fault> {
    let Accept { request, lease_s } = accept;
    let pair = rows::pair(&request.callback, &request.topic);
    let host = request.callback.host().to_string();
    let secret = request.secret.as_ref().map(Secret::reveal);
    let lease_s = i64::from(*lease_s);
    let known = link.first(
        "SELECT EXISTS (SELECT 1 FROM reviewd.request WHERE pair = $1 AND topic_given = $2 AND mode = $3 AND lease_s = $4
          AND secret IS NOT DISTINCT FROM $5 AND claimed_by = 0 AND attempts = 0),
         EXISTS (SELECT 1 FROM reviewd.subscription WHERE pair = $1),
         (SELECT count(*) FROM reviewd.request WHERE host = $6),
         (SELECT count(*) FROM reviewd.request WHERE host = $6 AND mode = 'subscribe'),
         (SELECT count(*) FROM (SELECT 1 FROM reviewd.subscription WHERE host = $6 LIMIT $7) AS counted)",
        &[
            (&&pair[..], Type::BYTEA),
            (&request.topic_given, Type::TEXT),
            (&request.mode.as_str(), Type::TEXT),
            (&lease_s, Type::INT8),
            (&secret, Type::TEXT),
            (&host, Type::TEXT),
            (&i64::from(quotas.subscriptions_per_host), Type::INT8),
        ],
    )?;
    let Some(known) = known else {
        return Err(Fault::Damage("a count without a row".to_owned()));
    };
    if get(&known, 0)? {
        return Ok(Ok(()));
    }
    let needs_room = request.mode == Mode::Subscribe && !get::<bool>(&known, 1)?;
    let of_host: [u64; 3] = [number(&known, 2)?, number(&known, 3)?, number(&known, 4)?];
    if let Some(full) = full(quotas, totals, of_host, needs_room) {
        return Ok(Err(full));
    }
    link.execute(
        "INSERT INTO reviewd.request (pair, mode, topic, topic_given, callback, host, lease_s, secret, accepted_at, digest)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT digest FROM reviewd.topic WHERE url = $3))",
        &[
            (&&pair[..], Type::BYTEA),
            (&request.mode.as_str(), Type::TEXT),
            (&request.topic, Type::TEXT),
            (&request.topic_given, Type::TEXT),
            (&request.callback.uri(), Type::TEXT),
            (&host, Type::TEXT),
            (&lease_s, Type::INT8),
            (&secret, Type::TEXT),
            (&now.unix_ms(), Type::INT8),
        ],
    )?;
    totals.requests += 1;
    totals.asked += u64::from(request.mode == Mode::Subscribe);
    Ok(Ok(()))
}

/// Which bound leaves no room for one more request, if one does. Of the host there are so many requests, so many of
/// them to subscribe, and so many subscriptions.
fn full(
    quotas: &Quotas,
    totals: &Totals,
    of_host: [u64; 3],
    needs_room: bool,
) -> Option<QuotaExceeded> {
    let [requests, asked, active] = of_host;
    if totals.requests >= quotas.requests.into() {
        return Some(QuotaExceeded::Requests);
    }
    if requests >= quotas.requests_per_host.into() {
        return Some(QuotaExceeded::RequestsOfHost);
    }
    if !needs_room {
        return None;
    }
    if totals.active + totals.asked >= quotas.subscriptions.into() {
        return Some(QuotaExceeded::Subscriptions);
    }
    (active + asked >= quotas.subscriptions_per_host.into())
        .then_some(QuotaExceeded::SubscriptionsOfHost)
}

/// Claims the oldest request of each pair, as far as there is room for its host, those of active subscriptions first.
pub(super) fn claim(
    link: &mut Link,
    owner: i64,
    claim: &Claim<'_>,
    until: Moment,
    now: Moment,
) -> Result<Vec<Verification>, Fault> {
    link.execute(
        "DELETE FROM reviewd.request WHERE claimed_by <> 0 AND claim_end <= $1 AND attempts >= $2",
        &[
            (&now.unix_ms(), Type::INT8),
            (&i64::from(VERIFICATIONS_MAX), Type::INT8),
        ],
    )?;
    let mut host_capacity = Rooms::new(claim);
    let mut found: HashMap<i64, Verification> = HashMap::new();
    while let Some(wanted) = host_capacity.wanted(found.len()) {
        let rows = link.query(
            "SELECT id, mode, topic_given, callback, lease_s, host FROM reviewd.request r
             WHERE (claimed_by = 0 OR claim_end <= $1) AND next_at <= $1 AND host <> ALL ($2) AND id <> ALL ($3)
             AND NOT EXISTS (SELECT 1 FROM reviewd.request e WHERE e.pair = r.pair AND e.id < r.id)
             ORDER BY NOT EXISTS (SELECT 1 FROM reviewd.subscription s WHERE s.pair = r.pair), id
             LIMIT $4 FOR UPDATE SKIP LOCKED",
            &[
                (&now.unix_ms(), Type::INT8),
                (&host_capacity.full_hosts(), Type::TEXT_ARRAY),
                (&found.keys().copied().collect::<Vec<i64>>(), Type::INT8_ARRAY),
                (&limit(wanted), Type::INT8),
            ],
        )?;
        host_capacity.note(rows.len() < wanted);
        for row in &rows {
            if found.len() < claim.limit && host_capacity.take(get(row, 5)?) {
                let verification = Verification {
                    id: get(row, 0)?,
                    mode: rows::mode(row, 1)?,
                    topic_given: get(row, 2)?,
                    callback: rows::callback(row, 3)?,
                    lease_s: number(row, 4)?,
                };
                found.insert(verification.id, verification);
            }
        }
    }
    let ids: Vec<i64> = found.keys().copied().collect();
    if !ids.is_empty() {
        link.execute(
            "UPDATE reviewd.request SET claimed_by = $2, claim_end = $3, attempts = attempts + 1 WHERE id = ANY ($1)",
            &[
                (&ids, Type::INT8_ARRAY),
                (&owner, Type::INT8),
                (&until.unix_ms(), Type::INT8),
            ],
        )?;
    }
    let mut claimed: Vec<Verification> = found.into_values().collect();
    claimed.sort_by_key(|verification| verification.id);
    Ok(claimed)
}

/// Books a verification that did not come about: the request waits for another attempt, or goes after the last.
pub(super) fn put_off(
    link: &mut Link,
    owner: i64,
    id: i64,
    answer: Answer,
    until: Moment,
) -> Result<Recorded, Fault> {
    let waiting = link.execute(
        "UPDATE reviewd.request SET claimed_by = 0, next_at = $3, last_answer = $4
         WHERE id = $1 AND claimed_by = $2 AND attempts < $5",
        &[
            (&id, Type::INT8),
            (&owner, Type::INT8),
            (&until.unix_ms(), Type::INT8),
            (&answer.to_string(), Type::TEXT),
            (&i64::from(UNREACHED_MAX), Type::INT8),
        ],
    )?;
    if waiting > 0 {
        return Ok(Recorded::Waiting);
    }
    let gone = link.execute(
        "DELETE FROM reviewd.request WHERE id = $1 AND claimed_by = $2",
        &[(&id, Type::INT8), (&owner, Type::INT8)],
    )?;
    Ok(match gone {
        0 => Recorded::Stale,
        _ => Recorded::Rejected,
    })
}

/// Lists requests, oldest first.
pub(super) fn list(link: &mut Link, most: usize) -> Result<Vec<WaitingRequest>, Fault> {
    let rows = link.query(
        "SELECT id, mode, topic, host, accepted_at, attempts, last_answer FROM reviewd.request ORDER BY id LIMIT $1",
        &[(&limit(most), Type::INT8)],
    )?;
    let waiting = |row| -> Result<WaitingRequest, Fault> {
        let last: Option<&str> = get(row, 6)?;
        Ok(WaitingRequest {
            id: get(row, 0)?,
            mode: rows::mode(row, 1)?,
            topic: get(row, 2)?,
            host: get(row, 3)?,
            accepted_at: Moment::from_unix_ms(get(row, 4)?),
            attempts: number(row, 5)?,
            last: last.and_then(Answer::from_name),
        })
    };
    rows.iter().map(waiting).collect()
}
