//! Requests that wait for their verification: loaded, changed by the rules of [`Subscription`], and saved.

use super::connection::{Connection, Row, Value};
use super::host_room::HostRoom;
use super::rows::{self, first, read_mode, read_secret, secret_value};
use super::{
    Accept, Claim, QuotaExceeded, Quotas, Recorded, Report, Store, StoreError, WaitingRequest,
    touch,
};
use crate::hub::Moment;
use crate::hub::request::Mode;
use crate::hub::subscription::{Answer, Ended, Subscription};

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
    /// each pair of callback and topic.
    pub fn claim_requests(
        &mut self,
        claim: &Claim,
        now: Moment,
    ) -> Result<Vec<WaitingRequest>, StoreError> {
        let found = self.read(|db| HostRoom::new(claim).fill(db, FIND, &[now.into()]))?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|db| {
            let mut claimed = Vec::with_capacity(found.len());
            for (id, _) in found {
                // Another process may have been quicker.
                let Some(mut request) = load(db, id)?.filter(|request| !request.state.claimed)
                else {
                    continue;
                };
                request.state.begin_verification();
                save(db, &request)?;
                claimed.push(request);
            }
            Ok(claimed)
        })
    }

    /// Lists at most `limit` requests that wait for their verification, oldest first.
    pub fn requests(&mut self, limit: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        let sql = format!("{SELECT} ORDER BY r.id LIMIT $1");
        let rows = self.read(|db| db.query(&sql, &[limit.into()]))?;
        rows.into_iter().map(read).collect()
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
    let mut values: Vec<Value<'_>> = vec![
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

/// Stores how a verification ended: the request waits again or goes, and if it was confirmed the subscription changes.
pub(super) fn record(
    db: &mut dyn Connection,
    report: &Report,
    now: Moment,
) -> Result<Recorded, StoreError> {
    let id = match *report {
        Report::Delivered { .. } => return Ok(Recorded::Stale),
        Report::Verified { id, .. } | Report::Unreached { id, .. } | Report::Unsent { id } => id,
    };
    let Some(mut request) = load(db, id)?.filter(|request| request.state.claimed) else {
        return Ok(Recorded::Stale);
    };
    let waits = match *report {
        Report::Unreached { answer, delay, .. } => request.state.put_off(answer, delay, now),
        Report::Unsent { .. } => {
            request.state.take_back();
            true
        }
        _ => false,
    };
    if waits {
        save(db, &request)?;
        return Ok(Recorded::Waiting);
    }
    db.execute("DELETE FROM request WHERE id = $1", &[id.into()])?;
    match *report {
        Report::Verified {
            asked_at,
            confirmed: true,
            ..
        } => confirm(db, request, asked_at, now),
        _ => Ok(Recorded::Rejected),
    }
}

fn confirm(
    db: &mut dyn Connection,
    request: WaitingRequest,
    asked_at: Moment,
    now: Moment,
) -> Result<Recorded, StoreError> {
    let (topic, callback) = (&request.topic, &request.callback);
    let sql = "SELECT id FROM topic WHERE url = $1";
    let Some(mut known) = db.query(sql, &[topic.as_str().into()])?.into_iter().next() else {
        return Ok(Recorded::Rejected);
    };
    let topic_id = known.int("id")?;
    match (rows::load_pair(db, callback, topic)?, request.mode) {
        (Some(mut listed), Mode::Unsubscribe) => {
            let removal = listed.state.unsubscribe(now);
            rows::save(db, &[(listed, removal)], now)?;
            Ok(removal.map_or(Recorded::Leaving, Recorded::Removed))
        }
        (Some(mut listed), Mode::Subscribe) => {
            listed.state.renew(request.state, asked_at, now);
            rows::save(db, &[(listed, None)], now)?;
            Ok(Recorded::Renewed)
        }
        (None, Mode::Unsubscribe) => Ok(Recorded::Stale),
        (None, Mode::Subscribe) => {
            let state = request.state.activate(asked_at, now);
            rows::insert(db, topic_id, callback, &state)?;
            let sql = "DELETE FROM notice WHERE callback = $1 AND topic = $2";
            db.execute(sql, &[callback.uri().into(), topic.as_str().into()])?;
            Ok(Recorded::Activated)
        }
    }
}

/// Lets requests that a process which is gone had claimed wait again, unless they had all their attempts.
pub(super) fn recover(db: &mut dyn Connection) -> Result<(), StoreError> {
    let rows = db.query(&format!("{SELECT} WHERE r.claimed = 1"), &[])?;
    for row in rows {
        let mut request = read(row)?;
        match request.state.recover_verification() {
            true => save(db, &request)?,
            false => drop(db.execute("DELETE FROM request WHERE id = $1", &[request.id.into()])?),
        }
    }
    Ok(())
}

fn load(db: &mut dyn Connection, id: i64) -> Result<Option<WaitingRequest>, StoreError> {
    let rows = db.query(&format!("{SELECT} WHERE r.id = $1"), &[id.into()])?;
    rows.into_iter().next().map(read).transpose()
}

fn read(mut row: Row) -> Result<WaitingRequest, StoreError> {
    let (id, mode) = (row.int("id")?, read_mode(&mut row)?);
    let (topic, topic_given) = (row.text("topic")?, row.text("topic_given")?);
    let callback = row.callback()?;
    let lease_s = row.number("lease_s")?;
    let secret = read_secret(&mut row)?;
    let accepted_at = row.moment("accepted_at")?;
    let current = row.digest_or_null("topic.digest")?;
    // A request of an earlier version has no digest of its own.
    let digest = row
        .digest_or_null("digest")?
        .or(current)
        .unwrap_or_default();
    let mut state = Subscription::request(lease_s, secret, digest, accepted_at);
    state.attempt = row.number("attempts")?;
    state.claimed = row.flag("claimed")?;
    state.next_at = row.moment("next_at")?;
    let last = row.text_or_null("last_answer")?;
    let at = accepted_at;
    state.last = last
        .and_then(|name| Answer::from_name(&name))
        .map(|answer| Ended { at, answer });
    Ok(WaitingRequest {
        id,
        mode,
        topic,
        topic_given,
        callback,
        lease_s,
        state,
    })
}

fn save(db: &mut dyn Connection, request: &WaitingRequest) -> Result<(), StoreError> {
    let state = &request.state;
    let last = state
        .last
        .as_ref()
        .map(|last| last.answer.to_string().into());
    let values = [
        request.id.into(),
        state.claimed.into(),
        i64::try_from(state.attempt).unwrap_or(i64::MAX).into(),
        state.next_at.into(),
        Value::Text(last),
    ];
    let sql = "UPDATE request SET claimed = $2, attempts = $3, next_at = $4, last_answer = $5 WHERE id = $1";
    db.execute(sql, &values).map(drop)
}

/// Every column that [`read`] reads, in its order.
const SELECT: &str = "SELECT r.id, r.mode, r.topic, r.topic_given, r.callback, r.lease_s, r.secret, r.accepted_at, t.digest,
 r.digest, r.attempts, r.claimed, r.next_at, r.last_answer FROM request r LEFT JOIN topic t ON t.url = r.topic";

/// `$1` is the time; [`HostRoom::fill`] adds the hosts that are left out and the limit.
const FIND: &str = "SELECT r.host, r.id FROM request r
 WHERE r.claimed = 0 AND r.next_at <= $1 AND NOT EXISTS
 (SELECT 1 FROM request e WHERE e.callback = r.callback AND e.topic = r.topic AND e.id < r.id) AND HOSTS
 ORDER BY EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
  WHERE s.callback = r.callback AND t.url = r.topic) DESC, r.id";
