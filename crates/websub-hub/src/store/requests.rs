//! Pending requests, which wait for verification: loads them, changes them by the rules of [`Subscription`], and saves
//! them. Also what is kept of requests that ended without effect, and pending denials.

use std::sync::Arc;
use std::time::Duration;

use super::connection::{
    Connection, DatabaseRow, DbError, RowValues, Value, limit, parameters, text,
};
use super::{
    Accept, DenialNotice, QuotaExceeded, Quotas, Rejection, RejectionReason, ReportEffect, Store,
    StoreError, TOMBSTONES_MAX, WaitingRequest, rows, touch,
};
use crate::UnixMillis;
use crate::request::Mode;
use crate::scheduler::{AttemptId, DueAttempt, Rank};
use crate::subscription::{AttemptResult, LastAttempt, RemovalReason, Subscription};

/// Rejections kept for one host; beyond it the oldest is deleted, so that requests for one host cannot displace those
/// for all others.
pub const REJECTIONS_PER_HOST: usize = 20;

/// Age of a denial, counted from the end of its subscription, after which it is not sent again.
const DENIAL_AGE: Duration = Duration::from_secs(86_400);

/// The counts for the quotas of a request: `$1` is its authority, `$2` its callback, `$3` its topic, `$4` its mode, `$5`
/// its asker.
/// `waiting_id` is the request of an active pair that a newer one replaces.
const QUOTAS: &str = "SELECT (SELECT count(*) FROM request WHERE renewal = 0) AS waiting,
 (SELECT count(*) FROM request WHERE renewal = 0 AND authority = $1) AS waiting_of_host,
 (SELECT count(*) FROM request WHERE renewal = 0 AND asker = $5) AS waiting_of_asker,
 (SELECT count(*) FROM request WHERE renewal = 0 AND mode = 'subscribe') AS waiting_subscribes,
 (SELECT count(*) FROM request WHERE renewal = 0 AND mode = 'subscribe' AND authority = $1) AS waiting_subscribes_of_host,
 (SELECT COALESCE(max(id), 0) FROM subscription) AS last_id,
 (SELECT count(*) FROM subscription WHERE authority = $1) AS active_of_host,
 (SELECT count(*) FROM subscription s JOIN topic t ON t.id = s.topic_id WHERE s.callback = $2 AND t.url = $3) AS known,
 (SELECT min(id) FROM request WHERE callback = $2 AND topic = $3 AND mode = $4 AND claimed = 0) AS waiting_id,
 (SELECT digest FROM topic WHERE url = $3) AS digest";

/// The number of requests that equal this one and were not tried yet: callback, topic, mode, topic as given, lease,
/// secret.
const SAME: &str = "SELECT count(*) AS same FROM request WHERE callback = $1 AND topic = $2 AND mode = $3
 AND topic_given = $4 AND lease_s = $5 AND secret IS NOT DISTINCT FROM $6 AND claimed = 0 AND attempts = 0";

const COUNT: &str = "SELECT count(*) AS active FROM subscription";

/// Requests that may be verified at `$1`, at most `$2`: renewals first, then the oldest. Of the requests for one pair of
/// callback and topic, only the oldest may be verified.
const DUE: &str = "SELECT r.id, r.authority, r.asker, r.renewal, r.attempts FROM request r
 WHERE r.claimed = 0 AND r.next_at <= $1 AND NOT EXISTS
 (SELECT 1 FROM request e WHERE e.callback = r.callback AND e.topic = r.topic AND e.id < r.id)
 ORDER BY r.renewal DESC, r.id LIMIT $2";

impl Store {
    /// Stores requests, and returns the result for each, in their order:
    ///
    /// - A request for an active subscription is always stored. It replaces one of the same mode that waits.
    /// - Another one that equals a pending request is not stored again if that was not tried yet; its result is `Ok`.
    /// - Another one that exceeds a quota is not stored, but kept as a [`Rejection`].
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: UnixMillis,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        self.write(|db| {
            touch(db, now)?;
            let mut active = None;
            let mut results = Vec::with_capacity(requests.len());
            for accept in requests {
                let result = accept_one(db, accept, quotas, &mut active, now)?;
                if result.is_err() {
                    reject_unstored(db, accept, now)?;
                }
                results.push(result);
            }
            Ok(results)
        })
    }

    /// Returns at most `most` verifications that are due, renewals first, then the oldest.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn due_requests(
        &mut self,
        most: usize,
        now: UnixMillis,
    ) -> Result<Vec<DueAttempt>, StoreError> {
        self.read(|db| {
            let found = db.query(DUE, &[now.into(), limit(most)])?;
            found.iter().map(read_due).collect()
        })
    }

    /// Begins a verification of those of these requests that are still pending, and returns them.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn begin_verifications(&mut self, ids: &[i64]) -> Result<Vec<WaitingRequest>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|db| {
            let all = parameters(1, ids.len());
            let values: Vec<Value> = ids.iter().map(|id| (*id).into()).collect();
            let mut begun = select(db, &format!("WHERE id IN ({all}) ORDER BY id"), &values)?;
            begun.retain(|request| !request.state.claimed);
            for request in &mut begun {
                request.state.begin_verification();
                save(db, request)?;
            }
            Ok(begun)
        })
    }

    /// Lists at most `most` pending requests, for this host if one is given, oldest first.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn requests(
        &mut self,
        host: Option<&str>,
        most: usize,
    ) -> Result<Vec<WaitingRequest>, StoreError> {
        let clause = "WHERE ($1 = '' OR host = $1) ORDER BY id LIMIT $2";
        let values = [text(host.unwrap_or_default()), limit(most)];
        self.read(|db| select(db, clause, &values))
    }

    /// Removes a pending request for the operator, and returns it; `None` if there is none with this id. The result of
    /// a verification that is running is dropped.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn remove_request(
        &mut self,
        id: i64,
        now: UnixMillis,
    ) -> Result<Option<WaitingRequest>, StoreError> {
        self.write(|db| {
            let Some(request) = load(db, id)? else {
                return Ok(None);
            };
            reject(db, &request, RejectionReason::Operator, now)?;
            Ok(Some(request))
        })
    }

    /// Lists at most `most` requests that ended without effect, for this host if one is given, newest first.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn rejections(
        &mut self,
        host: Option<&str>,
        most: usize,
    ) -> Result<Vec<Rejection>, StoreError> {
        let sql = "SELECT * FROM rejection WHERE ($1 = '' OR host = $1) ORDER BY id DESC LIMIT $2";
        let values = [text(host.unwrap_or_default()), limit(most)];
        self.read(|db| db.query(sql, &values)?.iter().map(read_rejection).collect())
    }

    /// Returns at most `most` denials that are due at `now`, oldest first.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn due_denials(
        &mut self,
        most: usize,
        now: UnixMillis,
    ) -> Result<Vec<DueAttempt>, StoreError> {
        let sql = "SELECT * FROM denial WHERE next_at <= $1 ORDER BY id LIMIT $2";
        self.read(|db| {
            let mut due = Vec::new();
            for row in db.query(sql, &[now.into(), limit(most)])? {
                let denial = read_denial(&row)?;
                due.push(DueAttempt {
                    id: AttemptId::Denial(denial.id),
                    rank: Rank::NewRetry,
                    authority: Arc::from(denial.callback.authority()),
                    asker: None,
                });
            }
            Ok(due)
        })
    }

    /// Begins an attempt for those of these denials that are due at `now`, and returns them. Until
    /// [`Store::end_denial`], each is due again after 1, 4 and 16 minutes and then every 60 minutes, until a day after
    /// its subscription ended. Our choice: a host that is down for a night still gets its denial.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn begin_denials(
        &mut self,
        ids: &[i64],
        now: UnixMillis,
    ) -> Result<Vec<DenialNotice>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|db| {
            // A denial that was never tried is sent once, whatever its age.
            let delete_expired =
                "DELETE FROM denial WHERE next_at <= $1 AND attempts > 0 AND since <= $2";
            db.execute(
                delete_expired,
                &[now.into(), now.minus(DENIAL_AGE).into()],
            )?;
            let all = parameters(2, ids.len());
            let sql = format!(
                "UPDATE denial SET attempts = attempts + 1, next_at = $1 +
                 CASE attempts WHEN 0 THEN 60000 WHEN 1 THEN 240000 WHEN 2 THEN 960000 ELSE 3600000 END
                 WHERE next_at <= $1 AND id IN ({all}) RETURNING *"
            );
            let mut values: Vec<Value> = vec![now.into()];
            values.extend(ids.iter().map(|id| Value::from(*id)));
            let mut begun = Vec::new();
            for row in db.query(&sql, &values)? {
                begun.push(read_denial(&row)?);
            }
            begun.sort_unstable_by_key(|denial| denial.id);
            Ok(begun)
        })
    }

    /// Ends a denial that has reached its callback.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn end_denial(&mut self, id: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM denial WHERE id = $1";
        self.write(|db| db.execute(sql, &[id.into()])).map(drop)
    }
}

/// Stores a request unless it exceeds a quota. Renewals and unsubscriptions of active subscriptions count against no
/// quota.
///
/// `active` keeps the number of subscriptions for the other requests of the batch, none of which changes it. To count them
/// is slow, and is done only if the quota is reached by the highest id: ids begin at 1 and are never reused, so there are at
/// most as many subscriptions.
fn accept_one(
    db: &mut dyn Connection,
    accept: &Accept,
    quotas: &Quotas,
    active: &mut Option<u64>,
    now: UnixMillis,
) -> Result<Result<(), QuotaExceeded>, DbError> {
    let request = &accept.request;
    let callback = text(request.callback.uri());
    let topic = text(&request.topic);
    let mode = text(request.mode.as_str());
    let secret = rows::secret_value(request.secret.as_ref());
    let authority = text(request.callback.authority());
    let counted = [
        authority,
        callback.clone(),
        topic.clone(),
        mode.clone(),
        accept.asker.into(),
    ];
    let row = db.query_one(QUOTAS, &counted)?;
    let is_renewal = row.count("known")? > 0;
    let columns = request_columns(accept, is_renewal, row.get("digest")?, now);
    if is_renewal {
        return match row.get::<Option<i64>>("waiting_id")? {
            // Keeps its turn, and is verified at once.
            Some(id) => db.update("request", vec![(id, columns)]).map(Ok),
            None => db.insert("request", columns).map(Ok),
        };
    }
    let topic_given = text(&request.topic_given);
    let same = [
        callback,
        topic,
        mode,
        topic_given,
        accept.lease_s.into(),
        secret,
    ];
    if db.query_one(SAME, &same)?.count("same")? > 0 {
        return Ok(Ok(()));
    }
    if let Err(exceeded) = check_requests(&row, quotas)? {
        return Ok(Err(exceeded));
    }
    if request.mode == Mode::Subscribe
        && let Err(exceeded) = check_subscriptions(db, &row, quotas, active)?
    {
        return Ok(Err(exceeded));
    }
    db.insert("request", columns).map(Ok)
}

/// Checks the quotas of pending requests by the counts in `row`, which is that of [`QUOTAS`].
fn check_requests(
    row: &DatabaseRow,
    quotas: &Quotas,
) -> Result<Result<(), QuotaExceeded>, DbError> {
    let waiting = row.count("waiting")?;
    if is_full(waiting, quotas.requests) {
        return Ok(Err(QuotaExceeded::Requests(quotas.requests)));
    }
    if is_full(row.count("waiting_of_host")?, quotas.requests_per_host) {
        let exceeded = QuotaExceeded::RequestsOfHost(quotas.requests_per_host);
        return Ok(Err(exceeded));
    }
    // An address may have at most as many waiting as are free: the first one gets half of the quota, and there is always
    // something for the next one. `waiting` is below the quota here.
    let waiting_of_asker = row.count("waiting_of_asker")?;
    let free = u64::from(quotas.requests) - waiting;
    if waiting_of_asker >= free {
        let limit = u32::try_from(waiting_of_asker).unwrap_or(u32::MAX);
        return Ok(Err(QuotaExceeded::RequestsOfAddress(limit)));
    }
    Ok(Ok(()))
}

/// Checks the quotas of subscriptions by the counts in `row`, which is that of [`QUOTAS`], and by `active`, as in
/// [`accept_one`]. Pending requests to subscribe count like subscriptions.
fn check_subscriptions(
    db: &mut dyn Connection,
    row: &DatabaseRow,
    quotas: &Quotas,
    active: &mut Option<u64>,
) -> Result<Result<(), QuotaExceeded>, DbError> {
    let waiting = row.count("waiting_subscribes")?;
    if is_full(waiting + row.count("last_id")?, quotas.subscriptions) {
        let count = match *active {
            Some(count) => count,
            None => db.query_one(COUNT, &[])?.count("active")?,
        };
        *active = Some(count);
        if is_full(waiting + count, quotas.subscriptions) {
            return Ok(Err(QuotaExceeded::Subscriptions(quotas.subscriptions)));
        }
    }
    let of_host = row.count("active_of_host")? + row.count("waiting_subscribes_of_host")?;
    if is_full(of_host, quotas.subscriptions_per_host) {
        let exceeded = QuotaExceeded::SubscriptionsOfHost(quotas.subscriptions_per_host);
        return Ok(Err(exceeded));
    }
    Ok(Ok(()))
}

fn is_full(count: u64, most: u32) -> bool {
    count >= u64::from(most)
}

/// Returns the columns of a request that was not tried yet.
fn request_columns(
    accept: &Accept,
    is_renewal: bool,
    digest: Option<Vec<u8>>,
    now: UnixMillis,
) -> RowValues {
    let request = &accept.request;
    vec![
        ("mode", text(request.mode.as_str())),
        ("topic", text(&request.topic)),
        ("topic_given", text(&request.topic_given)),
        ("callback", text(request.callback.uri())),
        ("host", text(request.callback.host().to_string())),
        ("authority", text(request.callback.authority())),
        ("asker", accept.asker.into()),
        ("renewal", is_renewal.into()),
        ("lease_s", accept.lease_s.into()),
        ("secret", rows::secret_value(request.secret.as_ref())),
        ("digest", digest.unwrap_or_else(|| vec![0; 32]).into()),
        ("accepted_at", now.into()),
        ("attempts", 0.into()),
        ("next_at", 0.into()),
        ("last_at", Value::Null),
        ("last_result", Value::Null),
    ]
}

/// Keeps a request that was not stored, because it exceeds a quota.
fn reject_unstored(
    db: &mut dyn Connection,
    accept: &Accept,
    now: UnixMillis,
) -> Result<(), DbError> {
    let request = &accept.request;
    let rejection = vec![
        ("mode", text(request.mode.as_str())),
        ("topic", text(&request.topic)),
        ("host", text(request.callback.host().to_string())),
        ("reason", text(RejectionReason::Quota.as_str())),
        ("at", now.into()),
        ("attempts", 0.into()),
        ("accepted_at", now.into()),
    ];
    insert_rejection(db, rejection, &request.callback.host().to_string())
}

/// Deletes a request, and keeps why.
fn reject(
    db: &mut dyn Connection,
    request: &WaitingRequest,
    reason: RejectionReason,
    now: UnixMillis,
) -> Result<(), DbError> {
    delete(db, request.id)?;
    let last = request.state.last.as_ref();
    let host = request.callback.host().to_string();
    let rejection = vec![
        ("mode", text(request.mode.as_str())),
        ("topic", text(&request.topic)),
        ("host", text(&host)),
        ("reason", text(reason.as_str())),
        ("at", now.into()),
        ("attempts", request.state.attempt.into()),
        ("last_at", last.map(|last| last.at).into()),
        ("last_result", rows::result_value(last)),
        ("accepted_at", request.state.created_at.into()),
    ];
    insert_rejection(db, rejection, &host)
}

/// Inserts a rejection, and deletes the oldest ones beyond the limits.
fn insert_rejection(
    db: &mut dyn Connection,
    rejection: RowValues,
    host: &str,
) -> Result<(), DbError> {
    db.insert("rejection", rejection)?;
    let of_host = "DELETE FROM rejection WHERE host = $1 AND id <=
         (SELECT id FROM rejection WHERE host = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
    db.execute(of_host, &[text(host), limit(REJECTIONS_PER_HOST)])?;
    let of_all = "DELETE FROM rejection WHERE id <= (SELECT max(id) FROM rejection) - $1";
    db.execute(of_all, &[limit(TOMBSTONES_MAX)]).map(drop)
}

fn delete(db: &mut dyn Connection, id: i64) -> Result<(), DbError> {
    let sql = "DELETE FROM request WHERE id = $1";
    db.execute(sql, &[id.into()]).map(drop)
}

/// Stores that a verification did not reach its callback: keeps the request for another attempt, or rejects it.
pub(super) fn record_unreached(
    db: &mut dyn Connection,
    id: i64,
    result: Option<AttemptResult>,
    delay: Duration,
    quotas: &Quotas,
    now: UnixMillis,
) -> Result<ReportEffect, DbError> {
    let Some(mut request) = load_claimed(db, id)? else {
        return Ok(ReportEffect::Stale);
    };
    let may_retry = request.state.defer(result, delay, now);
    // Nothing was sent then, so the attempt says nothing about the host.
    let is_our_fault = result.is_none();
    if may_retry && (is_our_fault || has_capacity(db, &request, quotas)?) {
        save(db, &request)?;
        return Ok(ReportEffect::Waiting);
    }
    reject(db, &request, RejectionReason::Unreached, now)?;
    Ok(ReportEffect::Rejected)
}

/// Stores the answer to a verification, which was sent at `asked_at`: applies the request if it is confirmed, or else
/// rejects it.
pub(super) fn record_verified(
    db: &mut dyn Connection,
    id: i64,
    asked_at: UnixMillis,
    confirmed: bool,
    result: AttemptResult,
    now: UnixMillis,
) -> Result<ReportEffect, DbError> {
    let Some(mut request) = load_claimed(db, id)? else {
        return Ok(ReportEffect::Stale);
    };
    if confirmed {
        delete(db, id)?;
        return apply(db, request, asked_at, now);
    }
    request.state.last = Some(LastAttempt { at: now, result });
    reject(db, &request, RejectionReason::NotConfirmed, now)?;
    Ok(ReportEffect::Rejected)
}

/// Loads a request whose verification is running; `None` if it was removed in the meantime.
fn load_claimed(db: &mut dyn Connection, id: i64) -> Result<Option<WaitingRequest>, DbError> {
    let Some(request) = load(db, id)? else {
        return Ok(None);
    };
    if !request.state.claimed {
        return Ok(None);
    }
    Ok(Some(request))
}

/// Tells whether a request may wait for another attempt: it is for an active subscription, or at most half of both quotas
/// is in use. Requests for unreachable hosts must not use up the quotas.
fn has_capacity(
    db: &mut dyn Connection,
    request: &WaitingRequest,
    quotas: &Quotas,
) -> Result<bool, DbError> {
    if request.is_renewal {
        return Ok(true);
    }
    let sql = "SELECT (SELECT count(*) FROM request WHERE renewal = 0) AS waiting,
         (SELECT count(*) FROM request WHERE renewal = 0 AND authority = $1) AS waiting_of_host";
    let row = db.query_one(sql, &[text(request.callback.authority())])?;
    Ok(row.count("waiting")? * 2 <= u64::from(quotas.requests)
        && row.count("waiting_of_host")? * 2 <= u64::from(quotas.requests_per_host))
}

/// Applies a confirmed request, which is no longer stored: begins, renews or ends the subscription of its pair.
fn apply(
    db: &mut dyn Connection,
    request: WaitingRequest,
    asked_at: UnixMillis,
    now: UnixMillis,
) -> Result<ReportEffect, DbError> {
    let topic = &request.topic;
    let callback = &request.callback;
    let topics = db.query("SELECT id FROM topic WHERE url = $1", &[text(topic)])?;
    let Some(topic_row) = topics.first() else {
        // The process that accepted the request may serve topics that the one that delivers does not. No `Rejection` is
        // kept, because none of its reasons fits.
        return Ok(ReportEffect::Rejected);
    };
    match (rows::load_pair(db, callback, topic)?, request.mode) {
        (Some(subscription), Mode::Unsubscribe) => {
            let mut removal = None;
            rows::change(db, vec![subscription], now, |subscription| {
                removal = subscription.state.unsubscribe(now);
                removal
            })?;
            Ok(match removal {
                Some(removal) => ReportEffect::Removed(removal),
                None => ReportEffect::Leaving,
            })
        }
        (Some(subscription), Mode::Subscribe) => {
            rows::change(db, vec![subscription], now, |subscription| {
                subscription
                    .state
                    .renew(request.state.clone(), asked_at, now);
                None
            })?;
            Ok(ReportEffect::Renewed)
        }
        (None, Mode::Unsubscribe) => Ok(ReportEffect::Stale),
        (None, Mode::Subscribe) => {
            let state = request.state.activate(asked_at, now);
            let mut row = rows::columns(&state);
            row.extend([
                ("topic_id", topic_row.get::<i64>("id")?.into()),
                ("callback", text(callback.uri())),
                ("host", text(callback.host().to_string())),
                ("authority", text(callback.authority())),
                ("created_at", state.created_at.into()),
            ]);
            db.insert("subscription", row)?;
            let sql = "DELETE FROM denial WHERE callback = $1 AND topic = $2";
            db.execute(sql, &[text(callback.uri()), text(topic)])?;
            Ok(ReportEffect::Activated)
        }
    }
}

fn load(db: &mut dyn Connection, id: i64) -> Result<Option<WaitingRequest>, DbError> {
    let found = select(db, "WHERE id = $1", &[id.into()])?;
    Ok(found.into_iter().next())
}

fn select(
    db: &mut dyn Connection,
    clause: &str,
    values: &[Value],
) -> Result<Vec<WaitingRequest>, DbError> {
    let sql = format!("SELECT * FROM request {clause}");
    db.query(&sql, values)?.iter().map(read).collect()
}

fn read(row: &DatabaseRow) -> Result<WaitingRequest, DbError> {
    let lease_s = row.get("lease_s")?;
    let secret = rows::read_secret(row)?;
    let digest = row.get("digest")?;
    let accepted_at = row.get("accepted_at")?;
    let state = Subscription {
        claimed: row.get("claimed")?,
        attempt: row.get("attempts")?,
        next_at: row.get("next_at")?,
        last: rows::read_last(row, row.get("last_at")?)?,
        ..Subscription::request(lease_s, secret, digest, accepted_at)
    };
    Ok(WaitingRequest {
        id: row.get("id")?,
        mode: row.parsed("mode", Mode::from_name)?,
        topic: row.get("topic")?,
        topic_given: row.get("topic_given")?,
        callback: rows::read_callback(row)?,
        lease_s,
        is_renewal: row.get("renewal")?,
        state,
    })
}

fn read_due(row: &DatabaseRow) -> Result<DueAttempt, DbError> {
    Ok(DueAttempt {
        id: AttemptId::Verification(row.get("id")?),
        rank: Rank::of(row.get("renewal")?, row.get::<u32>("attempts")? > 0),
        authority: Arc::from(row.get::<String>("authority")?),
        asker: Some(row.get("asker")?),
    })
}

fn read_denial(row: &DatabaseRow) -> Result<DenialNotice, DbError> {
    Ok(DenialNotice {
        id: row.get("id")?,
        topic: row.get("topic")?,
        callback: rows::read_callback(row)?,
        removal: row.parsed("removal", RemovalReason::from_name)?,
    })
}

fn read_rejection(row: &DatabaseRow) -> Result<Rejection, DbError> {
    Ok(Rejection {
        id: row.get("id")?,
        mode: row.parsed("mode", Mode::from_name)?,
        topic: row.get("topic")?,
        host: row.get("host")?,
        reason: row.parsed("reason", RejectionReason::from_name)?,
        at: row.get("at")?,
        attempts: row.get("attempts")?,
        last: rows::read_last(row, row.get("last_at")?)?,
        accepted_at: row.get("accepted_at")?,
    })
}

fn save(db: &mut dyn Connection, request: &WaitingRequest) -> Result<(), DbError> {
    let state = &request.state;
    let last = state.last.as_ref();
    let changed = vec![
        ("claimed", state.claimed.into()),
        ("attempts", state.attempt.into()),
        ("next_at", state.next_at.into()),
        ("last_at", last.map(|last| last.at).into()),
        ("last_result", rows::result_value(last)),
    ];
    db.update("request", vec![(request.id, changed)])
}
