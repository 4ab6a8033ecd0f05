//! Subscriptions that come from another store.

use rusqlite::{OptionalExtension, Transaction, params};

use super::super::moment::Moment;
use super::super::store::UNPUBLISHED;
use super::super::transfer::{self, ExportedSubscription, ImportDecision};
use super::{maintenance, rows};

/// Takes them over, one by one.
pub(super) fn adopt(
    tx: &Transaction<'_>,
    moved: &[ExportedSubscription],
    now: Moment,
) -> rusqlite::Result<Vec<ImportDecision>> {
    maintenance::touch(tx, now)?;
    let is_new = tx.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM topic WHERE digest <> ?1)",
        [UNPUBLISHED],
        |row| row.get(0),
    )?;
    let one = |moved: &ExportedSubscription| adopt_one(tx, moved, is_new, now);
    moved.iter().map(one).collect()
}

fn adopt_one(
    tx: &Transaction<'_>,
    moved: &ExportedSubscription,
    is_new: bool,
    now: Moment,
) -> rusqlite::Result<ImportDecision> {
    let stored = rows::load_pair(tx, &moved.callback, &moved.topic)?;
    let id = stored.as_ref().map(|stored| stored.id);
    let (next, adopted) = transfer::adopt(stored.map(|stored| stored.state), moved, now);
    let Some(next) = next else {
        return Ok(adopted);
    };
    if let Some(id) = id {
        rows::update(tx, id, &next)?;
        return Ok(adopted);
    }
    let find = "SELECT id FROM topic WHERE url = ?1";
    let topic_id: Option<i64> = tx
        .query_row(find, [&moved.topic], |row| row.get(0))
        .optional()?;
    let topic_id = match topic_id {
        Some(topic_id) => topic_id,
        None if is_new => {
            tx.execute(
                "INSERT INTO topic (url, digest) VALUES (?1, ?2)",
                params![moved.topic, UNPUBLISHED],
            )?;
            tx.last_insert_rowid()
        }
        None => return Ok(ImportDecision::UnknownTopic),
    };
    rows::insert(tx, topic_id, &moved.callback, &next)?;
    Ok(adopted)
}
