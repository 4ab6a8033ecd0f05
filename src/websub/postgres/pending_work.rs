//! What there may be to do, by one look.

use tokio_postgres::types::Type;

use super::super::store::PendingWork;
use super::deliveries::{Own, RANGES, order};
use super::fault::Fault;
use super::link::{CLOCK_MS, Link};
use super::rows::get;

/// Looks at the beginning of every index that tells what is due; `now` where the database's clock does not count.
pub(super) fn read(link: &mut Link, own: &Own, now: Option<i64>) -> Result<PendingWork, Fault> {
    let [fast, slow] = ["false", "true"].map(due);
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM reviewd.request WHERE (claimed_by = 0 OR claim_end <= now_ms) AND next_at <= now_ms), {fast}, {slow},
         EXISTS (SELECT 1 FROM reviewd.notice WHERE next_at <= now_ms)
         FROM (SELECT coalesce($1, {CLOCK_MS}) AS now_ms) clock"
    );
    let row = link.look(
        &sql,
        &[
            (&now, Type::INT8),
            (&own.digests(), Type::BYTEA_ARRAY),
            (&own.urls, Type::TEXT_ARRAY),
        ],
    )?;
    row.map_or(Ok(PendingWork::default()), |row| {
        Ok(PendingWork {
            requests: get(&row, 0)?,
            fast: get(&row, 1)?,
            slow: get(&row, 2)?,
            notices: get(&row, 3)?,
        })
    })
}

/// Returns the expression that tells whether anything may be due in a lane.
fn due(is_slow: &str) -> String {
    // Written as one look into an index for each topic: a join is planned as a scan of everything where nothing is due.
    let exists = RANGES.map(|range| {
        format!(
            "EXISTS (SELECT 1 FROM reviewd.topic t CROSS JOIN LATERAL
              (SELECT 1 FROM reviewd.subscription s WHERE s.topic_id = t.id AND {} ORDER BY {} LIMIT 1) due
             WHERE t.url = ANY ($3) AND (t.stored OR t.digest = ANY ($2)))",
            range.replace("$1", is_slow),
            order(range)
        )
    });
    format!("({})", exists.join(" OR "))
}
