//! Requests that wait for their verification.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, params};

use super::super::moment::Moment;
use super::super::request::{Mode, Secret};
use super::super::store::{
    Accept, Claim, QuotaExceeded, Quotas, Recorded, UNREACHED_MAX, Verification, WaitingRequest,
};
use super::super::subscription::Answer;
use super::maintenance::touch;
use super::rows;

/// Keeps the requests that there is room for.
pub(super) fn accept(
    tx: &Transaction<'_>,
    requests: &[Accept],
    quotas: &Quotas,
    now: Moment,
) -> rusqlite::Result<Vec<Result<(), QuotaExceeded>>> {
    touch(tx, now)?;
    requests
        .iter()
        .map(|accept| accept_one(tx, accept, quotas, now))
        .collect()
}

fn accept_one(
    tx: &Transaction<'_>,
    accept: &Accept,
    quotas: &Quotas,
    now: Moment,
) -> rusqlite::Result<Result<(), QuotaExceeded>> {
    let Accept { request, lease_s } = accept;
    let secret = request.secret.as_ref().map(Secret::reveal);
    let joined: Option<i64> = tx
        .query_row(
            "SELECT id FROM request WHERE callback = ?1 AND topic = ?2 AND topic_given = ?3 AND mode = ?4 AND lease_s = ?5
             AND secret IS ?6 AND claimed = 0 AND attempts = 0",
            params![request.callback.uri(), request.topic, request.topic_given, request.mode.as_str(), lease_s, secret],
            |row| row.get(0),
        )
        .optional()?;
    if joined.is_some() {
        return Ok(Ok(()));
    }
    if let Some(full) = full(tx, accept, quotas)? {
        return Ok(Err(full));
    }
    tx.execute(
        "INSERT INTO request (mode, topic, topic_given, callback, host, lease_s, secret, accepted_at, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT digest FROM topic WHERE url = ?2))",
        params![
            request.mode.as_str(),
            request.topic,
            request.topic_given,
            request.callback.uri(),
            request.callback.host().to_string(),
            lease_s,
            secret,
            now.unix_ms(),
        ],
    )?;
    Ok(Ok(()))
}

/// Which bound leaves no room for one more request, if one does. Renewals and unsubscriptions of what is active need
/// no room among the subscriptions.
fn full(
    tx: &Transaction<'_>,
    accept: &Accept,
    quotas: &Quotas,
) -> rusqlite::Result<Option<QuotaExceeded>> {
    let request = &accept.request;
    let host = request.callback.host().to_string();
    let count = |sql: &str, host: Option<&str>| -> rusqlite::Result<u32> {
        match host {
            Some(host) => tx.query_row(sql, [host], |row| row.get(0)),
            None => tx.query_row(sql, [], |row| row.get(0)),
        }
    };
    if count("SELECT count(*) FROM request", None)? >= quotas.requests {
        return Ok(Some(QuotaExceeded::Requests));
    }
    if count("SELECT count(*) FROM request WHERE host = ?1", Some(&host))?
        >= quotas.requests_per_host
    {
        return Ok(Some(QuotaExceeded::RequestsOfHost));
    }
    if request.mode == Mode::Unsubscribe
        || rows::load_pair(tx, &request.callback, &request.topic)?.is_some()
    {
        return Ok(None);
    }
    let asked = count(
        "SELECT count(*) FROM request WHERE mode = 'subscribe'",
        None,
    )?;
    if count("SELECT count(*) FROM subscription", None)?.saturating_add(asked)
        >= quotas.subscriptions
    {
        return Ok(Some(QuotaExceeded::Subscriptions));
    }
    let asked = count(
        "SELECT count(*) FROM request WHERE mode = 'subscribe' AND host = ?1",
        Some(&host),
    )?;
    let active = count(
        "SELECT count(*) FROM subscription WHERE host = ?1",
        Some(&host),
    )?;
    Ok(
        (active.saturating_add(asked) >= quotas.subscriptions_per_host)
            .then_some(QuotaExceeded::SubscriptionsOfHost),
    )
}

/// Finds requests that may be verified now: the oldest of each pair, not under way, with room for their host. Those of
/// active subscriptions come first.
pub(super) fn find(
    tx: &Transaction<'_>,
    claim: &Claim<'_>,
    now: Moment,
) -> rusqlite::Result<Vec<Verification>> {
    let mut statement = tx.prepare(
        "SELECT id, mode, topic_given, callback, lease_s, host FROM request r
         WHERE claimed = 0 AND next_at <= ?1 AND NOT EXISTS
         (SELECT 1 FROM request e WHERE e.callback = r.callback AND e.topic = r.topic AND e.id < r.id)
         ORDER BY NOT EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
          WHERE s.callback = r.callback AND t.url = r.topic), id",
    )?;
    let mut found = Vec::new();
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut result = statement.query([now.unix_ms()])?;
    while found.len() < claim.limit {
        let Some(row) = result.next()? else { break };
        let host: String = row.get(5)?;
        if !room(claim, &mut taken, &host) {
            continue;
        }
        found.push(Verification {
            id: row.get(0)?,
            mode: rows::mode(row, 1)?,
            topic_given: row.get(2)?,
            callback: rows::callback(row, 3)?,
            lease_s: row.get(4)?,
        });
    }
    Ok(found)
}

/// Claims what [`find`] found, unless another process was quicker.
pub(super) fn claim(
    tx: &Transaction<'_>,
    found: Vec<Verification>,
) -> rusqlite::Result<Vec<Verification>> {
    let mut statement = tx.prepare(
        "UPDATE request SET claimed = 1, attempts = attempts + 1 WHERE id = ?1 AND claimed = 0",
    )?;
    let mut claimed = Vec::with_capacity(found.len());
    for verification in found {
        if statement.execute([verification.id])? == 1 {
            claimed.push(verification);
        }
    }
    Ok(claimed)
}

/// Tells whether one more exchange with `host` fits, and counts it if so.
pub(super) fn room(claim: &Claim<'_>, taken: &mut HashMap<String, usize>, host: &str) -> bool {
    let busy = claim.busy.get(host).copied().unwrap_or_default();
    let mine = taken.get(host).copied().unwrap_or_default();
    if busy + mine >= claim.per_host {
        return false;
    }
    *taken.entry(host.to_owned()).or_default() += 1;
    true
}

/// Books a verification that did not come about: the request waits for another attempt, or goes after the last.
pub(super) fn put_off(
    tx: &Transaction<'_>,
    id: i64,
    answer: Answer,
    delay: Duration,
    now: Moment,
) -> rusqlite::Result<Recorded> {
    let waiting = tx.execute(
        "UPDATE request SET claimed = 0, next_at = ?2, last_answer = ?3 WHERE id = ?1 AND claimed = 1 AND attempts < ?4",
        params![id, now.plus(delay).unix_ms(), answer.to_string(), UNREACHED_MAX],
    )?;
    if waiting == 1 {
        return Ok(Recorded::Waiting);
    }
    let gone = tx.execute("DELETE FROM request WHERE id = ?1 AND claimed = 1", [id])?;
    Ok(if gone == 1 {
        Recorded::Rejected
    } else {
        Recorded::Stale
    })
}

/// Lists requests, oldest first.
pub(super) fn list(tx: &Transaction<'_>, most: usize) -> rusqlite::Result<Vec<WaitingRequest>> {
    let mut statement = tx.prepare(
        "SELECT id, mode, topic, host, accepted_at, attempts, last_answer FROM request ORDER BY id LIMIT ?1",
    )?;
    let found = statement.query_map([rows::limit(most)], |row| {
        let last: Option<String> = row.get(6)?;
        Ok(WaitingRequest {
            id: row.get(0)?,
            mode: rows::mode(row, 1)?,
            topic: row.get(2)?,
            host: row.get(3)?,
            accepted_at: Moment::from_unix_ms(row.get(4)?),
            attempts: row.get(5)?,
            last: last.and_then(|name| Answer::from_name(&name)),
        })
    })?;
    found.collect()
}
