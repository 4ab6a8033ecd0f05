//! The record of what targets were told, and the notices that wait for them.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reviewd_wire::date::{Date, Timestamp};

use super::connection::{Connection, DatabaseRow, DbError, Value, limit, parameters, text};
use super::{ReportEffect, Store, StoreError};
use crate::UnixMillis;
use crate::notice::{
    BegunNotice, DaysBegun, NOTICES_WAITING_MAX, NewNotice, NoticeAttempts, NoticeChanges,
    NoticeItem, NoticeOutcome, NoticeSource, NoticeTarget,
};
use crate::scheduler::{AttemptId, DueAttempt, Rank};
use crate::subscription::{DeliveryResult, FailurePolicy};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Random bytes in the name of a notice: 144 bits, so that no two are equal.
const NAME_BYTES: usize = 18;

/// Notices due at `$1`, at most `$2`, unless an earlier one to the same target about the same item waits. A notice about
/// several items has the item '', which is the same as any.
const DUE: &str =
    "SELECT id, target, attempts FROM notice n WHERE claimed = 0 AND next_at <= $1 AND NOT EXISTS
 (SELECT 1 FROM notice e WHERE e.target = n.target AND e.id < n.id
  AND (e.item = n.item OR e.item = '' OR n.item = '')) ORDER BY id LIMIT $2";

/// A copy reads rows with `META`, `TOLD` and `NOTICES`, and passes their columns, in this order, as the parameters of
/// the statement that follows each.
const META: &str = "SELECT told_day, told_dated FROM meta";

const SET_META: &str = "UPDATE meta SET told_day = $1, told_dated = $2";

const TOLD: &str = "SELECT item, digest, facts FROM told";

const INSERT_TOLD: &str = "INSERT INTO told (item, digest, facts) VALUES ($1, $2, $3)";

/// A notice that is being sent is due at once in the copy: its result will be recorded in the other store.
const NOTICES: &str = "SELECT target, item, name, body, created_at, attempts, failures,
         CASE claimed WHEN 1 THEN 0 ELSE next_at END FROM notice ORDER BY id";

const INSERT_NOTICE: &str =
    "INSERT INTO notice (target, item, name, body, created_at, attempts, failures, next_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// The result of [`Store::tell`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TellReport {
    /// Notices that were stored to be sent.
    pub stored: u64,
    /// Notices that were given up because too many wait for their target, or because it is no longer a target.
    pub given_up: u64,
    /// Whether this was the first time: nothing is sent then.
    pub is_first: bool,
}

/// The notices that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoticeCounts {
    /// Their number, with those that are being sent.
    pub waiting: u64,
    /// When the oldest of them was stored.
    pub oldest_at: Option<UnixMillis>,
}

/// An item of the record.
struct ToldItem {
    digest: [u8; 32],
    facts: String,
}

impl Store {
    /// Compares the items of `source` with those of the record, stores a notice of each change, and updates the record,
    /// in one transaction. The first time only the record is made. In a shared store, items are
    /// compared only if the content is newer than that of the record. With the same date, only days that have begun
    /// make notices; older content makes none.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn tell(
        &mut self,
        source: &dyn NoticeSource,
        now: UnixMillis,
    ) -> Result<TellReport, StoreError> {
        let is_shared = self.is_shared;
        self.write(|db| tell(db, source, is_shared, now))
    }

    /// Returns at most `most` notices that are due, of these targets.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn due_notices(
        &mut self,
        targets: &[NoticeTarget],
        most: usize,
        now: UnixMillis,
    ) -> Result<Vec<DueAttempt>, StoreError> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.read(|db| {
            db.query(DUE, &[now.into(), limit(most)])?
                .iter()
                .map(read_due)
                .collect::<Result<Vec<_>, _>>()
        })?;
        let mut due = Vec::new();
        for notice in found {
            // Another process may have other targets.
            if let Some(target) = targets.iter().find(|target| target.id == notice.target) {
                due.push(DueAttempt {
                    id: AttemptId::Notice(notice.id),
                    rank: Rank::of(true, notice.attempts > 0),
                    authority: Arc::from(target.callback.authority()),
                    asker: None,
                });
            }
        }
        Ok(due)
    }

    /// Begins an attempt for those of these notices that still wait, and returns them.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn begin_notices(&mut self, ids: &[i64]) -> Result<Vec<BegunNotice>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let all = parameters(1, ids.len());
        let sql = format!(
            "UPDATE notice SET claimed = 1, attempts = attempts + 1 WHERE claimed = 0 AND id IN ({all})
             RETURNING id, target, name, body, attempts"
        );
        let values: Vec<Value> = ids.iter().map(|id| (*id).into()).collect();
        self.write(|db| db.query(&sql, &values)?.iter().map(read_begun).collect())
    }

    /// Counts the notices that wait.
    ///
    /// # Errors
    /// The database cannot be read or written; nothing has changed then.
    pub fn notice_counts(&mut self) -> Result<NoticeCounts, StoreError> {
        let sql = "SELECT count(*) AS waiting, min(created_at) AS oldest_at FROM notice";
        self.read(|db| {
            let row = db.query_one(sql, &[])?;
            Ok(NoticeCounts {
                waiting: row.count("waiting")?,
                oldest_at: row.get("oldest_at")?,
            })
        })
    }
}

/// The record and the notices of a store, for a copy.
pub(super) struct NoticeRows {
    meta: DatabaseRow,
    told: Vec<DatabaseRow>,
    notices: Vec<DatabaseRow>,
}

pub(super) fn read_all(db: &mut dyn Connection) -> Result<NoticeRows, DbError> {
    Ok(NoticeRows {
        meta: db.query_one(META, &[])?,
        told: db.query(TOLD, &[])?,
        notices: db.query(NOTICES, &[])?,
    })
}

/// Inserts what [`read_all`] returned, unless the store has a record already.
pub(super) fn insert_all(db: &mut dyn Connection, rows: &NoticeRows) -> Result<(), DbError> {
    let meta = db.query_one("SELECT told_day FROM meta", &[])?;
    if meta.get::<Option<i64>>("told_day")?.is_some() {
        return Ok(());
    }
    db.execute(SET_META, &rows.meta.values)?;
    db.execute_each(INSERT_TOLD, &values(&rows.told))?;
    db.execute_each(INSERT_NOTICE, &values(&rows.notices))
        .map(drop)
}

fn values(rows: &[DatabaseRow]) -> Vec<Vec<Value>> {
    rows.iter().map(|row| row.values.clone()).collect()
}

/// Records the result of an attempt; it is stale unless it belongs to the attempt in progress.
pub(super) fn record(
    db: &mut dyn Connection,
    id: i64,
    result: &DeliveryResult,
    policy: &FailurePolicy,
    now: UnixMillis,
) -> Result<ReportEffect, DbError> {
    let sql =
        "SELECT failures, created_at FROM notice WHERE id = $1 AND claimed = 1 AND attempts = $2";
    let found = db.query(sql, &[id.into(), result.attempt.into()])?;
    let Some(row) = found.first() else {
        return Ok(ReportEffect::Stale);
    };
    let attempts = NoticeAttempts {
        failures: row.get("failures")?,
        created_at: row.get("created_at")?,
    };
    let delete = "DELETE FROM notice WHERE id = $1";
    match attempts.end(result, policy, now) {
        NoticeOutcome::Told => {
            db.execute(delete, &[id.into()])?;
            Ok(ReportEffect::Told)
        }
        NoticeOutcome::GivenUp => {
            db.execute(delete, &[id.into()])?;
            Ok(ReportEffect::GivenUp)
        }
        NoticeOutcome::Waits { failures, next_at } => {
            let sql = "UPDATE notice SET claimed = 0, failures = $2, next_at = $3 WHERE id = $1";
            db.execute(sql, &[id.into(), failures.into(), next_at.into()])?;
            Ok(ReportEffect::Waiting)
        }
    }
}

fn tell(
    db: &mut dyn Connection,
    source: &dyn NoticeSource,
    is_shared: bool,
    now: UnixMillis,
) -> Result<TellReport, DbError> {
    let meta = db.query_one(META, &[])?;
    let told_day: Option<i64> = meta.get("told_day")?;
    let told_dated: Option<i64> = meta.get("told_dated")?;
    if source.targets().is_empty() {
        return forget(db);
    }
    let mut report = TellReport {
        given_up: delete_notices_of_others(db, source.targets())?,
        is_first: told_day.is_none(),
        ..TellReport::default()
    };
    let dated = source.dated().unix();
    if is_shared && told_dated.is_some_and(|told| dated < told) {
        return Ok(report);
    }
    let today = now.as_ms().div_euclid(DAY_MS);
    // False the first time, as there is no date to compare with: the record is always made then.
    let is_same_date = is_shared && told_dated == Some(dated);
    let mut changes = NoticeChanges::default();
    if !is_same_date {
        changes = update_record(db, source.items())?;
    }
    if let Some(told_day) = told_day {
        changes.days = days_begun(told_day, today);
        let notices = source.compose(&changes);
        report.stored = insert(db, &notices, now)?;
        report.given_up += delete_oldest(db, &notices)?;
    }
    let day = told_day.unwrap_or(today).max(today);
    db.execute(SET_META, &[day.into(), dated.into()])?;
    Ok(report)
}

/// Forgets what was told, as there are no targets: a target that is added later is told of what changes from then on.
fn forget(db: &mut dyn Connection) -> Result<TellReport, DbError> {
    db.execute("DELETE FROM told", &[])?;
    let given_up = db.execute("DELETE FROM notice", &[])?;
    db.execute("UPDATE meta SET told_day = NULL, told_dated = NULL", &[])?;
    Ok(TellReport {
        given_up,
        ..TellReport::default()
    })
}

/// Deletes the notices to all targets but these; returns the number.
fn delete_notices_of_others(
    db: &mut dyn Connection,
    targets: &[NoticeTarget],
) -> Result<u64, DbError> {
    let all = parameters(1, targets.len());
    let sql = format!("DELETE FROM notice WHERE target NOT IN ({all})");
    let values: Vec<Value> = targets.iter().map(|target| text(&target.id)).collect();
    db.execute(&sql, &values)
}

/// Makes the record equal to `items`, and returns what has changed.
fn update_record(
    db: &mut dyn Connection,
    items: Vec<NoticeItem>,
) -> Result<NoticeChanges, DbError> {
    let mut told = HashMap::new();
    for row in db.query(TOLD, &[])? {
        let item = ToldItem {
            digest: row.get("digest")?,
            facts: row.get("facts")?,
        };
        told.insert(row.get::<String>("item")?, item);
    }
    let mut changes = NoticeChanges::default();
    let mut rows = Vec::new();
    for item in items {
        match told.remove(&item.name) {
            Some(last) if last.digest == item.digest => continue,
            Some(_) => changes.changed.push(item.name.clone()),
            None => changes.added.push(item.name.clone()),
        }
        rows.push(vec![
            text(item.name),
            item.digest.to_vec().into(),
            text(item.facts),
        ]);
    }
    let upsert = "INSERT INTO told (item, digest, facts) VALUES ($1, $2, $3)
         ON CONFLICT (item) DO UPDATE SET digest = excluded.digest, facts = excluded.facts";
    db.execute_each(upsert, &rows)?;
    for (name, item) in told {
        changes.removed.push(NoticeItem {
            name,
            digest: item.digest,
            facts: item.facts,
        });
    }
    // The map has no order.
    changes
        .removed
        .sort_by(|one, other| one.name.cmp(&other.name));
    let gone: Vec<Vec<Value>> = changes
        .removed
        .iter()
        .map(|item| vec![text(&item.name)])
        .collect();
    db.execute_each("DELETE FROM told WHERE item = $1", &gone)?;
    Ok(changes)
}

/// Returns the days that have begun since `told_day`; both are in days since the epoch.
fn days_begun(told_day: i64, today: i64) -> Option<DaysBegun> {
    if today <= told_day {
        return None;
    }
    Some(DaysBegun {
        after: date_of(told_day),
        until: date_of(today),
    })
}

/// Returns the date of a day since the epoch.
fn date_of(day: i64) -> Date {
    Timestamp::from_unix(day.saturating_mul(DAY_MS / 1_000)).date()
}

fn insert(db: &mut dyn Connection, notices: &[NewNotice], now: UnixMillis) -> Result<u64, DbError> {
    let mut rows = Vec::with_capacity(notices.len());
    for notice in notices {
        rows.push(vec![
            text(&notice.target),
            text(&notice.item),
            text(new_name()?),
            text(&notice.body),
            now.into(),
        ]);
    }
    let sql =
        "INSERT INTO notice (target, item, name, body, created_at) VALUES ($1, $2, $3, $4, $5)";
    db.execute_each(sql, &rows)
}

/// Deletes the oldest notices beyond the largest number that may wait for one target, except those that are being sent;
/// returns the number. Only the targets of `notices` are looked at.
fn delete_oldest(db: &mut dyn Connection, notices: &[NewNotice]) -> Result<u64, DbError> {
    let mut targets: Vec<&str> = notices
        .iter()
        .map(|notice| notice.target.as_str())
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let sql = "DELETE FROM notice WHERE target = $1 AND claimed = 0 AND id <=
         (SELECT id FROM notice WHERE target = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
    let mut deleted = 0;
    for target in targets {
        deleted += db.execute(sql, &[text(target), limit(NOTICES_WAITING_MAX)])?;
    }
    Ok(deleted)
}

/// Returns a random name.
fn new_name() -> Result<String, DbError> {
    let mut bytes = [0; NAME_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| DbError::Io(error.to_string()))?;
    Ok(format!("msg_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

/// A notice that is due.
struct DueNotice {
    id: i64,
    target: String,
    attempts: u32,
}

fn read_due(row: &DatabaseRow) -> Result<DueNotice, DbError> {
    Ok(DueNotice {
        id: row.get("id")?,
        target: row.get("target")?,
        attempts: row.get("attempts")?,
    })
}

fn read_begun(row: &DatabaseRow) -> Result<BegunNotice, DbError> {
    Ok(BegunNotice {
        id: row.get("id")?,
        target: row.get("target")?,
        name: row.get("name")?,
        body: row.get("body")?,
        attempt: row.get("attempts")?,
    })
}

#[cfg(test)]
#[path = "notices/tests.rs"]
mod tests;
