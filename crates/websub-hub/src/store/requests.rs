//! Pending requests, which wait for verification: loads them, changes them by the rules of [`Subscription`], and saves
//! them. Also pending denials.

use std::time::Duration;

use super::connection::{Connection, DbError, Row, Value, limit, text};
use super::{
    Accept, Claim, DenialNotice, QuotaExceeded, Quotas, Report, ReportEffect, Store, StoreError,
    WaitingRequest, rows, touch,
};
use crate::hub::UnixMillis;
use crate::hub::request::Mode;
use crate::hub::subscription::{RemovalReason, Subscription};

impl Store {
    /// Stores each request that exceeds no quota; one that equals a pending request is not stored again. The results
    /// are in the order of the requests.
    pub fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: UnixMillis,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        self.write(|db| {
            touch(db, now)?;
            let mut active = None;
            let one = |accept| accept_one(db, accept, quotas, &mut active, now);
            requests.iter().map(one).collect()
        })
    }

    /// Claims requests for verification: renewals of active subscriptions first, then the oldest; at most one at a time
    /// for each pair of callback and topic.
    pub fn claim_requests(
        &mut self,
        claim: &Claim,
        now: UnixMillis,
    ) -> Result<Vec<WaitingRequest>, StoreError> {
        let (mut claim, mut ids) = (claim.clone(), Vec::new());
        self.read(|db| claim.find(db, FIND, &[now.into()], &mut ids))?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|db| {
            let mut claimed = Vec::with_capacity(ids.len());
            for id in ids {
                claimed.extend(load(db, id)?.filter(|request| !request.state.claimed));
            }
            for request in &mut claimed {
                request.state.begin_verification();
                save(db, request)?;
            }
            Ok(claimed)
        })
    }

    /// Lists at most `most` pending requests, oldest first.
    pub fn requests(&mut self, most: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        self.read(|db| select(db, "ORDER BY r.id LIMIT $1", &[limit(most)]))
    }

    /// Claims denials that are due at `now`, oldest first. Until [`Store::end_notice`], each is due again after 1, 4
    /// and 16 minutes and then every 60 minutes, until a day after its subscription ended. Our choice: a host that is
    /// down for a night still gets its denial.
    pub fn claim_notices(
        &mut self,
        most: usize,
        now: UnixMillis,
    ) -> Result<Vec<DenialNotice>, StoreError> {
        let due = "SELECT id FROM notice WHERE next_at <= $1 LIMIT 1";
        if most == 0 || self.read(|db| db.query(due, &[now.into()]))?.is_empty() {
            return Ok(Vec::new());
        }
        let read = |row: &Row| {
            Ok(DenialNotice {
                id: row.get("id")?,
                topic: row.get("topic")?,
                callback: rows::read_callback(row)?,
                removal: row.parsed("removal", RemovalReason::from_name)?,
            })
        };
        self.write(|db| {
            let over = "DELETE FROM notice WHERE next_at <= $1 AND attempts > 0 AND since <= $2";
            db.execute(over, &[now.into(), now.minus(NOTICE_AGE).into()])?;
            let claimed = db.query(CLAIM_NOTICES, &[now.into(), limit(most)])?;
            let claimed: Result<Vec<_>, DbError> = claimed.iter().map(read).collect();
            let mut claimed = claimed?;
            claimed.sort_unstable_by_key(|notice| notice.id);
            Ok(claimed)
        })
    }

    /// Ends a denial that has reached its callback.
    pub fn end_notice(&mut self, id: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM notice WHERE id = $1";
        self.write(|db| db.execute(sql, &[id.into()])).map(drop)
    }
}

/// Stores a request unless it exceeds a quota. Renewals and unsubscriptions do not count against the quotas of
/// subscriptions.
///
/// `active` is the number of subscriptions, once it was counted, which no request of a batch changes. To count them is
/// slow. Ids begin at 1 and are never reused, so the highest id is an upper bound of the number, and they are counted
/// only if this bound reaches the quota.
fn accept_one(
    db: &mut dyn Connection,
    accept: &Accept,
    quotas: &Quotas,
    active: &mut Option<u64>,
    now: UnixMillis,
) -> Result<Result<(), QuotaExceeded>, DbError> {
    use QuotaExceeded::{Requests, RequestsOfHost, Subscriptions, SubscriptionsOfHost};
    let Accept { request, lease_s } = accept;
    let host = request.callback.host().to_string();
    let secret = rows::secret_value(request.secret.as_ref());
    let row = db.query_one(
        QUOTAS,
        &[
            text(&host),
            text(request.callback.uri()),
            text(&request.topic),
            text(request.mode.as_str()),
            text(&request.topic_given),
            (*lease_s).into(),
            secret.clone(),
        ],
    )?;
    if row.count("same")? > 0 {
        return Ok(Ok(()));
    }
    let is_new = request.mode == Mode::Subscribe && row.count("known")? == 0;
    let of_host = row.count("active_of_host")? + row.count("asked_of_host")?;
    let (waiting, waiting_of_host) = (row.count("waiting")?, row.count("waiting_of_host")?);
    let asked = row.count("asked")?;
    let is_full = |count: u64, most: u32| count >= u64::from(most);
    if is_full(waiting, quotas.requests) {
        return Ok(Err(Requests(quotas.requests)));
    }
    if is_full(waiting_of_host, quotas.requests_per_host) {
        return Ok(Err(RequestsOfHost(quotas.requests_per_host)));
    }
    if is_new && is_full(asked + row.count("last_id")?, quotas.subscriptions) {
        let count = match *active {
            Some(count) => count,
            None => db.query_one(COUNT, &[])?.count("active")?,
        };
        *active = Some(count);
        if is_full(asked + count, quotas.subscriptions) {
            return Ok(Err(Subscriptions(quotas.subscriptions)));
        }
    }
    if is_new && is_full(of_host, quotas.subscriptions_per_host) {
        return Ok(Err(SubscriptionsOfHost(quotas.subscriptions_per_host)));
    }
    let values = vec![
        ("mode", text(request.mode.as_str())),
        ("topic", text(&request.topic)),
        ("topic_given", text(&request.topic_given)),
        ("callback", text(request.callback.uri())),
        ("host", text(host)),
        ("lease_s", (*lease_s).into()),
        ("secret", secret),
        ("accepted_at", now.into()),
        ("digest", row.get::<Option<Vec<u8>>>("digest")?.into()),
    ];
    db.insert("request", values).map(Ok)
}

/// Stores the result of a verification: keeps the request for a retry, or deletes it and, if confirmed, applies it.
pub(super) fn record(
    db: &mut dyn Connection,
    report: &Report,
    now: UnixMillis,
) -> Result<ReportEffect, DbError> {
    let id = match *report {
        Report::Delivered { .. } => return Ok(ReportEffect::Stale),
        Report::Verified { id, .. } | Report::Unreached { id, .. } => id,
    };
    let Some(mut request) = load(db, id)?.filter(|request| request.state.claimed) else {
        return Ok(ReportEffect::Stale);
    };
    if let Report::Unreached { answer, delay, .. } = *report
        && request.state.defer(answer, delay, now)
    {
        save(db, &request)?;
        return Ok(ReportEffect::Waiting);
    }
    db.execute("DELETE FROM request WHERE id = $1", &[id.into()])?;
    match *report {
        Report::Verified {
            asked_at,
            confirmed: true,
            ..
        } => confirm(db, request, asked_at, now),
        _ => Ok(ReportEffect::Rejected),
    }
}

fn confirm(
    db: &mut dyn Connection,
    request: WaitingRequest,
    asked_at: UnixMillis,
    now: UnixMillis,
) -> Result<ReportEffect, DbError> {
    let (topic, callback) = (&request.topic, &request.callback);
    let known = db.query("SELECT id FROM topic WHERE url = $1", &[text(topic)])?;
    let Some(known) = known.first() else {
        return Ok(ReportEffect::Rejected);
    };
    match (rows::load_pair(db, callback, topic)?, request.mode) {
        (Some(listed), Mode::Unsubscribe) => {
            let end = |listed: &mut super::Listed| listed.state.unsubscribe(now);
            let changed = rows::change(db, vec![listed], now, end)?;
            let removal = changed.first().and_then(|(_, removal)| *removal);
            Ok(removal.map_or(ReportEffect::Leaving, ReportEffect::Removed))
        }
        (Some(listed), Mode::Subscribe) => {
            rows::change(db, vec![listed], now, |listed| {
                listed.state.renew(request.state.clone(), asked_at, now);
                None
            })?;
            Ok(ReportEffect::Renewed)
        }
        (None, Mode::Unsubscribe) => Ok(ReportEffect::Stale),
        (None, Mode::Subscribe) => {
            let state = request.state.activate(asked_at, now);
            let mut row = rows::columns(&state);
            row.extend([
                ("topic_id", known.get::<i64>("id")?.into()),
                ("callback", text(callback.uri())),
                ("host", text(callback.host().to_string())),
                ("created_at", state.created_at.into()),
            ]);
            db.insert("subscription", row)?;
            let sql = "DELETE FROM notice WHERE callback = $1 AND topic = $2";
            db.execute(sql, &[text(callback.uri()), text(topic)])?;
            Ok(ReportEffect::Activated)
        }
    }
}

fn load(db: &mut dyn Connection, id: i64) -> Result<Option<WaitingRequest>, DbError> {
    let found = select(db, "WHERE r.id = $1", &[id.into()])?;
    Ok(found.into_iter().next())
}

/// Loads requests `r`. A request stored by an earlier version has no digest, and gets that of its topic.
fn select(
    db: &mut dyn Connection,
    clause: &str,
    values: &[Value],
) -> Result<Vec<WaitingRequest>, DbError> {
    let sql = format!(
        "SELECT r.*, COALESCE(r.digest, t.digest) AS held FROM request r LEFT JOIN topic t ON t.url = r.topic {clause}"
    );
    db.query(&sql, values)?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<WaitingRequest, DbError> {
    let (lease_s, accepted_at) = (row.get("lease_s")?, row.get("accepted_at")?);
    let held = row.get::<Option<_>>("held")?.unwrap_or_default();
    let state = Subscription {
        claimed: row.get("claimed")?,
        attempt: row.get("attempts")?,
        next_at: row.get("next_at")?,
        last: rows::read_last(row, Some(accepted_at))?,
        ..Subscription::request(lease_s, rows::read_secret(row)?, held, accepted_at)
    };
    Ok(WaitingRequest {
        id: row.get("id")?,
        mode: row.parsed("mode", Mode::from_name)?,
        topic: row.get("topic")?,
        topic_given: row.get("topic_given")?,
        callback: rows::read_callback(row)?,
        lease_s,
        state,
    })
}

fn save(db: &mut dyn Connection, request: &WaitingRequest) -> Result<(), DbError> {
    let state = &request.state;
    let changed = vec![
        ("claimed", state.claimed.into()),
        ("attempts", state.attempt.into()),
        ("next_at", state.next_at.into()),
        ("last_answer", rows::answer_value(state.last.as_ref())),
    ];
    db.update("request", vec![(request.id, changed)])
}

/// The counts for the quotas of a request: `$1` is its host, `$2` its callback, `$3` its topic, `$4` to `$7` the rest.
const QUOTAS: &str = "SELECT count(*) AS waiting, count(*) FILTER (WHERE host = $1) AS waiting_of_host,
 count(*) FILTER (WHERE mode = 'subscribe') AS asked, count(*) FILTER (WHERE mode = 'subscribe' AND host = $1) AS asked_of_host,
 count(*) FILTER (WHERE callback = $2 AND topic = $3 AND mode = $4 AND topic_given = $5 AND lease_s = $6
  AND secret IS NOT DISTINCT FROM $7 AND claimed = 0 AND attempts = 0) AS same,
 (SELECT COALESCE(max(id), 0) FROM subscription) AS last_id,
 (SELECT count(*) FROM subscription WHERE host = $1) AS active_of_host,
 (SELECT count(*) FROM subscription s JOIN topic t ON t.id = s.topic_id WHERE s.callback = $2 AND t.url = $3) AS known,
 (SELECT digest FROM topic WHERE url = $3) AS digest FROM request";

const COUNT: &str = "SELECT count(*) AS active FROM subscription";

/// `$1` is the time; [`Claim::find`] adds the excluded hosts and the limit.
const FIND: &str = "SELECT r.host, r.id FROM request r
 WHERE r.claimed = 0 AND r.next_at <= $1 AND NOT EXISTS
 (SELECT 1 FROM request e WHERE e.callback = r.callback AND e.topic = r.topic AND e.id < r.id) AND HOSTS
 ORDER BY EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
  WHERE s.callback = r.callback AND t.url = r.topic) DESC, r.id";

/// `$1` is the time, `$2` the largest number of denials.
const CLAIM_NOTICES: &str = "UPDATE notice SET attempts = attempts + 1, next_at = $1 +
 CASE attempts WHEN 0 THEN 60000 WHEN 1 THEN 240000 WHEN 2 THEN 960000 ELSE 3600000 END
 WHERE id IN (SELECT id FROM notice WHERE next_at <= $1 ORDER BY id LIMIT $2) RETURNING *";

/// Age of a denial, counted from the end of its subscription, after which it is no longer sent.
const NOTICE_AGE: Duration = Duration::from_secs(86_400);
