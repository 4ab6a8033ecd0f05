//! Requests that wait for their verification.

use std::time::Duration;

use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::subscription::{Answer, Event, Policy, step};
use super::connection::{Connection, Row};
use super::host_room::HostRoom;
use super::rows::{self, read_mode, read_secret};
use super::{
    Accept, Claim, QuotaExceeded, Quotas, Recorded, StoreError, UNREACHED_MAX, Verification,
    WaitingRequest,
};

/// Keeps the requests that there is room for; one that repeats a waiting one to the letter joins it.
pub(super) fn accept(
    connection: &mut dyn Connection,
    requests: &[Accept],
    quotas: &Quotas,
    now: Moment,
) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    // Of many subscriptions the count takes its time, and no request of the batch changes it.
    let mut row = first(connection.query("SELECT count(*) FROM subscription", &[])?)?;
    let active = row.number("count")?;
    let one = |accept| accept_one(connection, accept, quotas, active, now);
    requests.iter().map(one).collect()
}

fn accept_one(
    connection: &mut dyn Connection,
    accept: &Accept,
    quotas: &Quotas,
    active: u64,
    now: Moment,
) -> Result<Result<(), QuotaExceeded>, StoreError> {
    let Accept { request, lease_s } = accept;
    let secret = request.secret.as_ref().map(Secret::reveal);
    let joined = connection.query(
        "SELECT id FROM request WHERE callback = $1 AND topic = $2 AND topic_given = $3 AND mode = $4 AND lease_s = $5
         AND secret IS NOT DISTINCT FROM $6 AND claimed = 0 AND attempts = 0",
        &[
            request.callback.uri().into(),
            request.topic.as_str().into(),
            request.topic_given.as_str().into(),
            request.mode.as_str().into(),
            (*lease_s).into(),
            secret.into(),
        ],
    )?;
    if !joined.is_empty() {
        return Ok(Ok(()));
    }
    if let Some(exceeded) = exceeded(connection, accept, quotas, active)? {
        return Ok(Err(exceeded));
    }
    connection.execute(
        "INSERT INTO request (mode, topic, topic_given, callback, host, lease_s, secret, accepted_at, digest)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT digest FROM topic WHERE url = $2))",
        &[
            request.mode.as_str().into(),
            request.topic.as_str().into(),
            request.topic_given.as_str().into(),
            request.callback.uri().into(),
            request.callback.host().to_string().into(),
            (*lease_s).into(),
            secret.into(),
            now.into(),
        ],
    )?;
    Ok(Ok(()))
}

/// Returns which bound leaves no room for one more request, if one does, while `active` subscriptions are there. Renewals and unsubscriptions of what is active
/// need no room among the subscriptions.
fn exceeded(
    connection: &mut dyn Connection,
    accept: &Accept,
    quotas: &Quotas,
    active: u64,
) -> Result<Option<QuotaExceeded>, StoreError> {
    let request = &accept.request;
    let host = request.callback.host().to_string();
    let sql = "SELECT count(*), count(*) FILTER (WHERE host = $1), count(*) FILTER (WHERE mode = 'subscribe'),
         count(*) FILTER (WHERE mode = 'subscribe' AND host = $1) FROM request";
    let mut row = first(connection.query(sql, &[host.as_str().into()])?)?;
    let mut next = || row.number::<u64>("count");
    let (all, of_host, asked, asked_of_host) = (next()?, next()?, next()?, next()?);
    if all >= quotas.requests.into() {
        return Ok(Some(QuotaExceeded::Requests));
    }
    if of_host >= quotas.requests_per_host.into() {
        return Ok(Some(QuotaExceeded::RequestsOfHost));
    }
    if request.mode == Mode::Unsubscribe
        || rows::load_pair(connection, &request.callback, &request.topic)?.is_some()
    {
        return Ok(None);
    }
    let sql = "SELECT count(*) FROM subscription WHERE host = $1";
    let mut row = first(connection.query(sql, &[host.into()])?)?;
    let active_of_host: u64 = row.number("count")?;
    if active + asked >= quotas.subscriptions.into() {
        return Ok(Some(QuotaExceeded::Subscriptions));
    }
    let is_full = active_of_host + asked_of_host >= quotas.subscriptions_per_host.into();
    Ok(is_full.then_some(QuotaExceeded::SubscriptionsOfHost))
}

/// Finds requests that may be verified now: the oldest of each pair, not under way, with room for their host. Those of
/// active subscriptions come first.
pub(super) fn find(
    connection: &mut dyn Connection,
    claim: &Claim<'_>,
    now: Moment,
) -> Result<Vec<Verification>, StoreError> {
    let rows = HostRoom::new(claim).fill(connection, FIND, &[now.into()])?;
    let read = |(id, mut row): (i64, Row)| {
        Ok(Verification {
            id,
            mode: read_mode(&mut row)?,
            topic_given: row.text("topic_given")?,
            callback: row.callback()?,
            lease_s: row.number("lease_s")?,
        })
    };
    rows.into_iter().map(read).collect()
}

/// Claims what [`find`] found, unless another process was quicker.
pub(super) fn claim(
    connection: &mut dyn Connection,
    found: Vec<Verification>,
) -> Result<Vec<Verification>, StoreError> {
    let mut claimed = Vec::with_capacity(found.len());
    for verification in found {
        let sql =
            "UPDATE request SET claimed = 1, attempts = attempts + 1 WHERE id = $1 AND claimed = 0";
        if connection.execute(sql, &[verification.id.into()])? == 1 {
            claimed.push(verification);
        }
    }
    Ok(claimed)
}

/// Stores that a verification was not sent: the request waits as before.
pub(super) fn release(connection: &mut dyn Connection, id: i64) -> Result<Recorded, StoreError> {
    let sql =
        "UPDATE request SET claimed = 0, attempts = attempts - 1 WHERE id = $1 AND claimed = 1";
    Ok(match connection.execute(sql, &[id.into()])? {
        0 => Recorded::Stale,
        _ => Recorded::Waiting,
    })
}

/// Stores that a callback was not reached: the request waits for another attempt, or goes after the last.
pub(super) fn put_off(
    connection: &mut dyn Connection,
    id: i64,
    answer: Answer,
    delay: Duration,
    now: Moment,
) -> Result<Recorded, StoreError> {
    let waiting = connection.execute(
        "UPDATE request SET claimed = 0, next_at = $2, last_answer = $3 WHERE id = $1 AND claimed = 1 AND attempts < $4",
        &[
            id.into(),
            now.plus(delay).into(),
            answer.to_string().into(),
            UNREACHED_MAX.into(),
        ],
    )?;
    if waiting == 1 {
        return Ok(Recorded::Waiting);
    }
    let sql = "DELETE FROM request WHERE id = $1 AND claimed = 1";
    Ok(match connection.execute(sql, &[id.into()])? {
        0 => Recorded::Stale,
        _ => Recorded::Rejected,
    })
}

/// Stores how a verification was answered: the request goes, and if it was confirmed the subscription changes.
pub(super) fn verified(
    connection: &mut dyn Connection,
    id: i64,
    asked_at: Moment,
    confirmed: bool,
    policy: &Policy,
    now: Moment,
) -> Result<Recorded, StoreError> {
    let rows = connection.query(
        "DELETE FROM request WHERE id = $1 AND claimed = 1
         RETURNING mode, topic, callback, lease_s, secret, digest",
        &[id.into()],
    )?;
    let Some(mut row) = rows.into_iter().next() else {
        return Ok(Recorded::Stale);
    };
    let (mode, topic, callback) = (read_mode(&mut row)?, row.text("topic")?, row.callback()?);
    let (lease_s, secret) = (row.number("lease_s")?, read_secret(&mut row)?);
    let accepted = row.digest_or_null("digest")?;
    let sql = "SELECT id, digest FROM topic WHERE url = $1";
    let known = connection.query(sql, &[topic.as_str().into()])?;
    let (true, Some(mut known)) = (confirmed, known.into_iter().next()) else {
        return Ok(Recorded::Rejected);
    };
    let (topic_id, current) = (known.int("id")?, known.digest("digest")?);
    let event = Event::Verified {
        mode,
        secret: secret.as_ref(),
        lease_s,
        asked_at,
        accepted: accepted.unwrap_or(current),
    };
    if let Some(stored) = rows::load_pair(connection, &callback, &topic)? {
        let steps = rows::apply(connection, vec![(stored, event)], policy, now)?;
        return Ok(steps.first().map_or(Recorded::Stale, Recorded::verified));
    }
    let Some(state) = step(None, &event, now, policy).state else {
        return Ok(Recorded::Stale);
    };
    rows::insert(connection, topic_id, &callback, &state)?;
    connection.execute(
        "DELETE FROM notice WHERE callback = $1 AND topic = $2",
        &[callback.uri().into(), topic.into()],
    )?;
    Ok(Recorded::Activated)
}

/// Lists requests, oldest first.
pub(super) fn list(
    connection: &mut dyn Connection,
    limit: usize,
) -> Result<Vec<WaitingRequest>, StoreError> {
    let sql = "SELECT id, mode, topic, host, accepted_at, attempts, last_answer FROM request ORDER BY id LIMIT $1";
    let rows = connection.query(sql, &[limit.into()])?;
    let read = |mut row: Row| {
        Ok(WaitingRequest {
            id: row.int("id")?,
            mode: read_mode(&mut row)?,
            topic: row.text("topic")?,
            host: row.text("host")?,
            accepted_at: row.moment("accepted_at")?,
            attempts: row.number("attempts")?,
            last: row
                .text_or_null("last_answer")?
                .and_then(|name| Answer::from_name(&name)),
        })
    };
    rows.into_iter().map(read).collect()
}

/// Returns the one row of a statement that always has one.
pub(super) fn first(rows: Vec<Row>) -> Result<Row, StoreError> {
    let missing = || StoreError::Corrupt(std::path::PathBuf::new(), "a row is missing".to_owned());
    rows.into_iter().next().ok_or_else(missing)
}

/// `$1` is the time; [`HostRoom::fill`] adds the hosts that are left out and the limit.
const FIND: &str = "SELECT r.host, r.id, r.mode, r.topic_given, r.callback, r.lease_s FROM request r
 WHERE r.claimed = 0 AND r.next_at <= $1 AND NOT EXISTS
 (SELECT 1 FROM request e WHERE e.callback = r.callback AND e.topic = r.topic AND e.id < r.id) AND HOSTS
 ORDER BY EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
  WHERE s.callback = r.callback AND t.url = r.topic) DESC, r.id";
