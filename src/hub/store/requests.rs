//! Requests that wait for their verification.

use std::time::Duration;

use super::connection::{Connection, Row};
use super::host_room::HostRoom;
use super::rows::{self, first, read_mode, read_secret, secret_value};
use super::{
    Accept, Claim, QuotaExceeded, Quotas, Recorded, Store, StoreError, UNREACHED_MAX, Verification,
    WaitingRequest, touch,
};
use crate::hub::Moment;
use crate::hub::request::Mode;
use crate::hub::subscription::{Answer, Grant, Subscription};

impl Store {
    /// Keeps each request that `quotas` leave room for; one that repeats a waiting one to the letter joins it. The answers
    /// are in the order of the requests.
    pub fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        self.write(|db| {
            touch(db, now)?;
            if requests.is_empty() {
                return Ok(Vec::new());
            }
            // Of many subscriptions the count takes its time, and no request of the batch changes it.
            let mut row = first(db.query("SELECT count(*) FROM subscription", &[])?)?;
            let active = row.number("count")?;
            let one = |accept| accept_one(db, accept, quotas, active, now);
            requests.iter().map(one).collect()
        })
    }

    /// Claims requests to be verified, those of active subscriptions first and then the oldest, at most one at a time for
    /// each pair of callback and topic. A claim counts as an attempt; a request has [`VERIFICATIONS_MAX`] in its life, all
    /// but the first [`UNREACHED_MAX`] after a crash.
    ///
    /// [`VERIFICATIONS_MAX`]: super::VERIFICATIONS_MAX
    pub fn claim_requests(
        &mut self,
        claim: &Claim,
        now: Moment,
    ) -> Result<Vec<Verification>, StoreError> {
        let read = |(id, mut row): (i64, Row)| {
            Ok(Verification {
                id,
                mode: read_mode(&mut row)?,
                topic_given: row.text("topic_given")?,
                callback: row.callback()?,
                lease_s: row.number("lease_s")?,
            })
        };
        let found: Vec<Verification> = self.read(|db| {
            let rows = HostRoom::new(claim).fill(db, FIND, &[now.into()])?;
            rows.into_iter().map(read).collect()
        })?;
        if found.is_empty() {
            return Ok(found);
        }
        self.write(|db| {
            let mut claimed = Vec::with_capacity(found.len());
            for verification in found {
                // Another process may have been quicker.
                let sql = "UPDATE request SET claimed = 1, attempts = attempts + 1 WHERE id = $1 AND claimed = 0";
                if db.execute(sql, &[verification.id.into()])? == 1 {
                    claimed.push(verification);
                }
            }
            Ok(claimed)
        })
    }

    /// Lists at most `limit` requests that wait for their verification, oldest first.
    pub fn requests(&mut self, limit: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        let sql = "SELECT id, mode, topic, host, accepted_at, attempts, last_answer FROM request ORDER BY id LIMIT $1";
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
        let values = [limit.into()];
        self.read(|db| db.query(sql, &values)?.into_iter().map(read).collect())
    }
}

fn accept_one(
    db: &mut dyn Connection,
    accept: &Accept,
    quotas: &Quotas,
    active: u64,
    now: Moment,
) -> Result<Result<(), QuotaExceeded>, StoreError> {
    let Accept { request, lease_s } = accept;
    let host = request.callback.host().to_string();
    let values = [
        request.mode.as_str().into(),
        request.topic.as_str().into(),
        request.topic_given.as_str().into(),
        request.callback.uri().into(),
        (*lease_s).into(),
        secret_value(request.secret.as_ref()),
    ];
    let joined = db.query(
        "SELECT id FROM request WHERE mode = $1 AND topic = $2 AND topic_given = $3 AND callback = $4 AND lease_s = $5
         AND secret IS NOT DISTINCT FROM $6 AND claimed = 0 AND attempts = 0",
        &values,
    )?;
    if !joined.is_empty() {
        return Ok(Ok(()));
    }
    if let Some(exceeded) = exceeded(db, accept, &host, quotas, active)? {
        return Ok(Err(exceeded));
    }
    let mut values = Vec::from(values);
    values.extend([host.into(), now.into()]);
    db.execute(
        "INSERT INTO request (mode, topic, topic_given, callback, lease_s, secret, host, accepted_at, digest)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT digest FROM topic WHERE url = $2))",
        &values,
    )?;
    Ok(Ok(()))
}

/// Returns which bound leaves no room for one more request, if one does, while `active` subscriptions are there. Renewals
/// and unsubscriptions of what is active need no room among the subscriptions.
fn exceeded(
    db: &mut dyn Connection,
    accept: &Accept,
    host: &str,
    quotas: &Quotas,
    active: u64,
) -> Result<Option<QuotaExceeded>, StoreError> {
    let request = &accept.request;
    let sql = "SELECT count(*), count(*) FILTER (WHERE host = $1), count(*) FILTER (WHERE mode = 'subscribe'),
         count(*) FILTER (WHERE mode = 'subscribe' AND host = $1),
         (SELECT count(*) FROM subscription WHERE host = $1) FROM request";
    let mut row = first(db.query(sql, &[host.into()])?)?;
    let mut next = || row.number::<u64>("count");
    let (all, of_host, asked, asked_of_host) = (next()?, next()?, next()?, next()?);
    let active_of_host = next()?;
    if all >= quotas.requests.into() {
        return Ok(Some(QuotaExceeded::Requests));
    }
    if of_host >= quotas.requests_per_host.into() {
        return Ok(Some(QuotaExceeded::RequestsOfHost));
    }
    let mut is_there = || rows::load_pair(db, &request.callback, &request.topic);
    if request.mode == Mode::Unsubscribe || is_there()?.is_some() {
        return Ok(None);
    }
    if active + asked >= quotas.subscriptions.into() {
        return Ok(Some(QuotaExceeded::Subscriptions));
    }
    let is_full = active_of_host + asked_of_host >= quotas.subscriptions_per_host.into();
    Ok(is_full.then_some(QuotaExceeded::SubscriptionsOfHost))
}

/// Stores that a verification was not sent: the request waits as before.
pub(super) fn release(db: &mut dyn Connection, id: i64) -> Result<Recorded, StoreError> {
    let sql =
        "UPDATE request SET claimed = 0, attempts = attempts - 1 WHERE id = $1 AND claimed = 1";
    let released = db.execute(sql, &[id.into()])?;
    Ok(if released > 0 {
        Recorded::Waiting
    } else {
        Recorded::Stale
    })
}

/// Stores that a callback was not reached: the request waits for another attempt, or goes after the last.
pub(super) fn put_off(
    db: &mut dyn Connection,
    id: i64,
    answer: Answer,
    delay: Duration,
    now: Moment,
) -> Result<Recorded, StoreError> {
    let (next_at, answer) = (now.plus(delay).into(), answer.to_string().into());
    let sql = "UPDATE request SET claimed = 0, next_at = $2, last_answer = $3 WHERE id = $1 AND claimed = 1 AND attempts < $4";
    if db.execute(sql, &[id.into(), next_at, answer, UNREACHED_MAX.into()])? > 0 {
        return Ok(Recorded::Waiting);
    }
    let sql = "DELETE FROM request WHERE id = $1 AND claimed = 1";
    let dropped = db.execute(sql, &[id.into()])?;
    Ok(if dropped > 0 {
        Recorded::Rejected
    } else {
        Recorded::Stale
    })
}

/// Stores how a verification was answered: the request goes, and if it was confirmed the subscription changes.
pub(super) fn verified(
    db: &mut dyn Connection,
    id: i64,
    asked_at: Moment,
    confirmed: bool,
    now: Moment,
) -> Result<Recorded, StoreError> {
    let rows = db.query(
        "DELETE FROM request WHERE id = $1 AND claimed = 1
         RETURNING mode, topic, callback, lease_s, secret, digest",
        &[id.into()],
    )?;
    let Some(mut row) = rows.into_iter().next() else {
        return Ok(Recorded::Stale);
    };
    let (mode, topic, callback) = (read_mode(&mut row)?, row.text("topic")?, row.callback()?);
    let grant = Grant {
        lease_s: row.number("lease_s")?,
        secret: read_secret(&mut row)?,
        asked_at,
    };
    let accepted = row.digest_or_null("digest")?;
    let sql = "SELECT id, digest FROM topic WHERE url = $1";
    let known = db.query(sql, &[topic.as_str().into()])?;
    let (true, Some(mut known)) = (confirmed, known.into_iter().next()) else {
        return Ok(Recorded::Rejected);
    };
    let (topic_id, current) = (known.int("id")?, known.digest("digest")?);
    match (rows::load_pair(db, &callback, &topic)?, mode) {
        (Some(mut listed), mode) => {
            let removal = match mode {
                Mode::Unsubscribe => listed.state.unsubscribe(now),
                Mode::Subscribe => {
                    listed.state.renew(grant, now);
                    None
                }
            };
            rows::save(db, &[(listed, removal)], now)?;
            Ok(match (removal, mode) {
                (Some(removal), _) => Recorded::Removed(removal),
                (None, Mode::Unsubscribe) => Recorded::Leaving,
                (None, Mode::Subscribe) => Recorded::Renewed,
            })
        }
        (None, Mode::Unsubscribe) => Ok(Recorded::Stale),
        (None, Mode::Subscribe) => {
            let state = Subscription::activate(grant, accepted.unwrap_or(current), now);
            rows::insert(db, topic_id, &callback, &state)?;
            let sql = "DELETE FROM notice WHERE callback = $1 AND topic = $2";
            db.execute(sql, &[callback.uri().into(), topic.into()])?;
            Ok(Recorded::Activated)
        }
    }
}

/// `$1` is the time; [`HostRoom::fill`](super::host_room::HostRoom::fill) adds the hosts that are left out and the limit.
const FIND: &str = "SELECT r.host, r.id, r.mode, r.topic_given, r.callback, r.lease_s FROM request r
 WHERE r.claimed = 0 AND r.next_at <= $1 AND NOT EXISTS
 (SELECT 1 FROM request e WHERE e.callback = r.callback AND e.topic = r.topic AND e.id < r.id) AND HOSTS
 ORDER BY EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
  WHERE s.callback = r.callback AND t.url = r.topic) DESC, r.id";
