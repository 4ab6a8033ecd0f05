//! Topics, leases, tombstones, denials, and what is there.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio_postgres::types::Type;

use super::super::moment::Moment;
use super::super::store::{
    Counts, DenialNotice, Published, SWEEP_MAX, SweepReport, TOMBSTONES_MAX, TopicVersion,
    VERIFICATIONS_MAX,
};
use super::super::subscription::{Event, Policy, RemovalReason};
use super::batch::{Batch, trim_notices};
use super::fault::Fault;
use super::link::{CLOCK_MS, Link};
use super::rows::{self, get, limit, number};

/// Brings a body that is likely to be published, before anybody has to wait for it: tens of megabytes take a second.
pub(super) fn bring_newer(link: &mut Link, version: &TopicVersion) -> Result<(), Fault> {
    let newer = "SELECT 1 FROM reviewd.topic WHERE url = $1 AND (digest = $2 OR dated >= $3)";
    let known = link.first(
        newer,
        &[
            (&version.url, Type::TEXT),
            (&&version.digest[..], Type::BYTEA),
            (&version.dated.unix(), Type::INT8),
        ],
    )?;
    if known.is_some() || !is_kept(version) || has_body(link, version)? {
        return Ok(());
    }
    link.expect_bytes(version.body.len())?;
    link.execute(
        "INSERT INTO reviewd.content (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING",
        &[
            (&&version.digest[..], Type::BYTEA),
            (&&version.body[..], Type::BYTEA),
        ],
    )?;
    Ok(())
}

/// Tells whether the body of an edition is short enough to be kept.
fn is_kept(version: &TopicVersion) -> bool {
    version.body.len() <= BODY_BYTES_MAX
}

/// Tells whether the body of an edition is there.
fn has_body(link: &mut Link, version: &TopicVersion) -> Result<bool, Fault> {
    let there = "SELECT 1 FROM reviewd.content WHERE digest = $1";
    let row = link.first(there, &[(&&version.digest[..], Type::BYTEA)])?;
    Ok(row.is_some())
}

/// Reads the body with that digest.
pub(super) fn body(link: &mut Link, digest: &[u8; 32]) -> Result<Option<Bytes>, Fault> {
    let length = "SELECT octet_length(body)::bigint FROM reviewd.content WHERE digest = $1";
    let Some(row) = link.first(length, &[(&&digest[..], Type::BYTEA)])? else {
        return Ok(None);
    };
    link.expect_bytes(number(&row, 0)?)?;
    let body = "SELECT body FROM reviewd.content WHERE digest = $1";
    let row = link.first(body, &[(&&digest[..], Type::BYTEA)])?;
    row.map(|row| get(&row, 0).map(Bytes::copy_from_slice))
        .transpose()
}

/// Refuses a store that holds topics of another public address than `origin`: to replicas that share it, whoever comes
/// with another address looks like one whose dataset has none of their topics any more.
pub(super) fn check_origin(link: &mut Link, origin: &str) -> Result<(), Fault> {
    let rows = link.query("SELECT url FROM reviewd.topic ORDER BY id", &[])?;
    let urls = rows
        .iter()
        .map(|row| get(row, 0))
        .collect::<Result<Vec<String>, _>>()?;
    refuse_others(urls.iter(), origin)
}

fn refuse_others<'a>(
    mut urls: impl Iterator<Item = &'a String>,
    origin: &str,
) -> Result<(), Fault> {
    match urls.find(|url| origin_of(url) != origin) {
        None => Ok(()),
        Some(url) => Err(Fault::Refused(format!(
            "it holds topics of {}, and the public address here is {origin} (--base-url)",
            origin_of(url)
        ))),
    }
}

/// Returns scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let path = url.match_indices('/').nth(2);
    path.and_then(|(at, _)| url.get(..at)).unwrap_or(url)
}

/// Makes `editions` what the topics hold, as far as they are newer; nobody else looks at them meanwhile.
///
/// # Errors
/// Those of [`check_origin`]: topics of another public address are not ours to withdraw. [`Fault::Bodiless`] where a body
/// is missing that [`bring_newer`] has brought, or has not thought newer: another replica has tidied up, or withdrawn the
/// topic. Nobody can claim while this lock is held, so it is not brought now.
pub(super) fn publish(
    link: &mut Link,
    versions: &[TopicVersion],
    now: Moment,
) -> Result<Published, Fault> {
    let mut known: HashMap<String, ([u8; 32], i64)> = HashMap::new();
    for row in link.query("SELECT url, digest, dated FROM reviewd.topic", &[])? {
        known.insert(get(&row, 0)?, (rows::digest(&row, 1)?, get(&row, 2)?));
    }
    let Some(first) = versions.first() else {
        return Ok(Published::default());
    };
    refuse_others(known.keys(), origin_of(&first.url))?;
    let newest = known.values().map(|(_, dated)| *dated).max();
    let is_behind = versions
        .iter()
        .any(|version| newest.is_some_and(|newest| version.dated.unix() < newest));
    let mut published = Published::default();
    for version in versions {
        let dated = version.dated.unix();
        match known.get(&version.url) {
            Some((digest, at)) if *digest == version.digest => {
                if *at < dated {
                    link.execute(
                        "UPDATE reviewd.topic SET dated = $2 WHERE url = $1",
                        &[(&version.url, Type::TEXT), (&dated, Type::INT8)],
                    )?;
                }
            }
            Some((_, at)) if *at > dated => published.older.push(version.url.clone()),
            Some((_, at)) if *at == dated => published.rivals.push(version.url.clone()),
            _ => {
                change(link, version)?;
                published.changed.push(version.url.clone());
            }
        }
    }
    // A replica with older files does not know of topics that are new, and takes none away.
    if !is_behind {
        for url in known.keys() {
            if !versions.iter().any(|version| version.url == *url) {
                published.withdrawn += withdraw(link, url, now)?;
            }
        }
    }
    if !published.changed.is_empty() || published.withdrawn > 0 {
        link.execute(
            "DELETE FROM reviewd.content c WHERE NOT EXISTS (SELECT 1 FROM reviewd.topic t WHERE t.digest = c.digest)",
            &[],
        )?;
    }
    Ok(published)
}

fn change(link: &mut Link, version: &TopicVersion) -> Result<(), Fault> {
    let stored = is_kept(version);
    if stored && !has_body(link, version)? {
        return Err(Fault::Bodiless);
    }
    let digest = &version.digest[..];
    link.execute(
        "INSERT INTO reviewd.topic (url, digest, dated, stored) VALUES ($1, $2, $3, $4)
         ON CONFLICT (url) DO UPDATE SET digest = excluded.digest, dated = excluded.dated, stored = excluded.stored",
        &[
            (&version.url, Type::TEXT),
            (&digest, Type::BYTEA),
            (&version.dated.unix(), Type::INT8),
            (&stored, Type::BOOL),
        ],
    )?;
    Ok(())
}

/// Ends a topic and all its subscriptions.
fn withdraw(link: &mut Link, url: &str, now: Moment) -> Result<usize, Fault> {
    let row = link.first(
        "WITH gone AS (DELETE FROM reviewd.subscription s USING reviewd.topic t WHERE t.id = s.topic_id AND t.url = $1
           RETURNING s.id, s.callback, s.host, s.last_at, s.last_answer, s.created_at,
            CASE s.lease_s WHEN 0 THEN $4 ELSE $2 END AS removal),
         stones AS (INSERT INTO reviewd.tombstone (id, topic, host, removal, at, last_at, last_answer, created_at)
           SELECT id, $1, host, removal, $3, last_at, last_answer, created_at FROM gone ON CONFLICT (id) DO NOTHING),
         told AS (INSERT INTO reviewd.notice (topic, callback, removal, since)
           SELECT $1, callback, removal, $3 FROM gone WHERE removal = $2 ORDER BY id)
         SELECT count(*) FROM gone",
        &[
            (&url, Type::TEXT),
            (&RemovalReason::TopicWithdrawn.as_str(), Type::TEXT),
            (&now.unix_ms(), Type::INT8),
            (&RemovalReason::Unsubscribed.as_str(), Type::TEXT),
        ],
    )?;
    trim_notices(link)?;
    for sql in [
        "DELETE FROM reviewd.request WHERE topic = $1",
        "DELETE FROM reviewd.topic WHERE url = $1",
    ] {
        link.execute(sql, &[(&url, Type::TEXT)])?;
    }
    row.map_or(Ok(0), |row| number(&row, 0))
}

/// Takes denials out, oldest first.
pub(super) fn take_notices(
    link: &mut Link,
    most: usize,
    now: Moment,
) -> Result<Vec<DenialNotice>, Fault> {
    let rows = link.query(
        "DELETE FROM reviewd.notice WHERE id IN
         (SELECT id FROM reviewd.notice WHERE next_at <= $2 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
         RETURNING id, topic, callback, removal, since, attempts",
        &[(&limit(most), Type::INT8), (&now.unix_ms(), Type::INT8)],
    )?;
    let mut taken: Vec<(i64, DenialNotice)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let notice = DenialNotice {
            topic: get(row, 1)?,
            callback: rows::callback(row, 2)?,
            removal: rows::removal(row, 3)?,
            since: Moment::from_unix_ms(get(row, 4)?),
            attempts: number(row, 5)?,
        };
        taken.push((get(row, 0)?, notice));
    }
    taken.sort_by_key(|(id, _)| *id);
    Ok(taken.into_iter().map(|(_, notice)| notice).collect())
}

/// Keeps a denial that could not be sent.
pub(super) fn defer_notice(
    link: &mut Link,
    notice: &DenialNotice,
    now: Moment,
) -> Result<bool, Fault> {
    let Some(next_at) = notice.retry_at(now) else {
        return Ok(false);
    };
    let pair = rows::pair(&notice.callback, &notice.topic);
    let kept = link.execute(
        "INSERT INTO reviewd.notice (topic, callback, removal, since, next_at, attempts) SELECT $1, $2, $3, $4, $5, $6
         WHERE NOT EXISTS (SELECT 1 FROM reviewd.subscription WHERE pair = $7)",
        &[
            (&notice.topic, Type::TEXT),
            (&notice.callback.uri(), Type::TEXT),
            (&notice.removal.as_str(), Type::TEXT),
            (&notice.since.unix_ms(), Type::INT8),
            (&next_at.unix_ms(), Type::INT8),
            (&i64::from(notice.attempts.saturating_add(1)), Type::INT8),
            (&&pair[..], Type::BYTEA),
        ],
    )?;
    Ok(kept == 1)
}

/// Tells that there is nothing to sweep.
pub(super) fn is_swept(
    link: &mut Link,
    tombstone_age: Duration,
    now: Option<i64>,
) -> Result<bool, Fault> {
    let age_ms = i64::try_from(tombstone_age.as_millis()).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT NOT EXISTS (SELECT 1 FROM ({EXPIRED} LIMIT 1) over)
         AND NOT EXISTS (SELECT 1 FROM reviewd.tombstone WHERE at < now_ms - $2)
         AND (SELECT count(*) FROM reviewd.tombstone) <= $3
         FROM (SELECT coalesce($1, {CLOCK_MS}) AS now_ms) clock"
    );
    let row = link.look(
        &sql,
        &[
            (&now, Type::INT8),
            (&age_ms, Type::INT8),
            (&limit(TOMBSTONES_MAX), Type::INT8),
        ],
    )?;
    row.map_or(Ok(true), |row| get(&row, 0))
}

/// Ends leases that are over and drops old tombstones.
pub(super) fn sweep(
    link: &mut Link,
    policy: &Policy,
    tombstone_age: Duration,
    now: Moment,
) -> Result<SweepReport, Fault> {
    let sql = format!(
        "SELECT s.id FROM (SELECT $1::bigint AS now_ms) clock CROSS JOIN LATERAL ({EXPIRED} LIMIT {SWEEP_MAX}) s"
    );
    let rows = link.query(&sql, &[(&now.unix_ms(), Type::INT8)])?;
    let ids = rows
        .iter()
        .map(|row| get(row, 0))
        .collect::<Result<Vec<i64>, _>>()?;
    let mut batch = Batch::load(link, &ids)?;
    let mut swept = SweepReport::default();
    for id in ids {
        let after = batch.step(id, &Event::LeaseChecked, policy, now);
        match after.and_then(|after| after.removal) {
            Some(RemovalReason::Unsubscribed) => swept.left += 1,
            Some(_) => swept.expired += 1,
            None => {}
        }
    }
    batch.save(link)?;
    let dropped = link.execute(
        "DELETE FROM reviewd.tombstone WHERE at < $1
         OR id IN (SELECT id FROM reviewd.tombstone ORDER BY at DESC, id DESC OFFSET $2)",
        &[
            (&now.minus(tombstone_age).unix_ms(), Type::INT8),
            (&limit(TOMBSTONES_MAX), Type::INT8),
        ],
    )?;
    swept.tombstones = usize::try_from(dropped).unwrap_or(usize::MAX);
    Ok(swept)
}

/// Returns the claims of `owner`.
pub(super) fn recover(link: &mut Link, owner: i64) -> Result<(), Fault> {
    link.execute(
        "UPDATE reviewd.subscription SET claimed_by = 0, next_at = 0 WHERE claimed_by <> 0 AND claimed_by = $1",
        &[(&owner, Type::INT8)],
    )?;
    link.execute(
        "DELETE FROM reviewd.request WHERE claimed_by = $1 AND attempts >= $2",
        &[
            (&owner, Type::INT8),
            (&i64::from(VERIFICATIONS_MAX), Type::INT8),
        ],
    )?;
    link.execute(
        "UPDATE reviewd.request SET claimed_by = 0 WHERE claimed_by = $1",
        &[(&owner, Type::INT8)],
    )?;
    Ok(())
}

/// Stores until when deliveries pause. Of several replicas that pause, the first that goes on ends the note, until another
/// one probes again.
pub(super) fn set_paused(link: &mut Link, until: Moment) -> Result<(), Fault> {
    let sql = "UPDATE reviewd.meta SET paused_until = $1";
    link.execute(sql, &[(&until.unix_ms(), Type::INT8)])
        .map(drop)
}

/// Tells whether deliveries pause.
pub(super) fn is_paused(link: &mut Link, now: Moment) -> Result<bool, Fault> {
    let sql = "SELECT paused_until > $1 FROM reviewd.meta";
    let row = link.first(sql, &[(&now.unix_ms(), Type::INT8)])?;
    row.map_or(Ok(false), |row| get(&row, 0))
}

/// Counts what is there: what is owed by the ranges of the indexes, so that a hub that owes nothing looks at nothing.
pub(super) fn counts(link: &mut Link, now: Option<i64>) -> Result<Counts, Fault> {
    let sql = format!(
        "WITH clock AS (SELECT coalesce($1, {CLOCK_MS}) AS now_ms), owed AS
          (SELECT s.next_at FROM reviewd.subscription s WHERE NOT s.acknowledged
           UNION ALL SELECT changed.next_at FROM reviewd.topic t CROSS JOIN (VALUES (false), (true)) lane (slow)
            CROSS JOIN LATERAL ({BELOW} OFFSET 0) changed
           UNION ALL SELECT changed.next_at FROM reviewd.topic t CROSS JOIN (VALUES (false), (true)) lane (slow)
            CROSS JOIN LATERAL ({ABOVE} OFFSET 0) changed)
         SELECT (SELECT count(*) FROM reviewd.subscription), (SELECT count(*) FROM reviewd.request),
          (SELECT count(*) FROM owed), (SELECT count(*) FROM owed, clock WHERE next_at <= now_ms),
          (SELECT min(next_at) FROM owed, clock WHERE next_at <= now_ms)"
    );
    let Some(row) = link.look(&sql, &[(&now, Type::INT8)])? else {
        return Ok(Counts::default());
    };
    Ok(Counts {
        subscriptions: number(&row, 0)?,
        requests: number(&row, 1)?,
        owed: number(&row, 2)?,
        due: number(&row, 3)?,
        due_since: get::<Option<i64>>(&row, 4)?.map(Moment::from_unix_ms),
    })
}

/// Subscriptions to the topic `t` in the lane that acknowledged another content, by what it sorts before or after. With
/// `OFFSET 0` they are a range of the index for each topic; a join is planned as a scan of everything.
const BELOW: &str =
    "SELECT s.next_at FROM reviewd.subscription s WHERE s.topic_id = t.id AND s.slow = lane.slow
 AND s.acknowledged AND s.digest < t.digest";
const ABOVE: &str =
    "SELECT s.next_at FROM reviewd.subscription s WHERE s.topic_id = t.id AND s.slow = lane.slow
 AND s.acknowledged AND s.digest > t.digest";

/// Subscriptions `s` whose lease is over at `now_ms`, without an attempt under way, and that no waiting request would
/// renew. In the order of the index, and used with a limit: without an order they are planned as a scan of everything, once a second.
const EXPIRED: &str =
    "SELECT s.id FROM reviewd.subscription s WHERE s.lease_end <= now_ms
 AND NOT (s.claimed_by <> 0 AND s.next_at > now_ms) AND NOT EXISTS
 (SELECT 1 FROM reviewd.request r WHERE r.pair = s.pair AND r.mode = 'subscribe') ORDER BY s.lease_end";

/// A body above this is not kept in the database, and so is sent only by replicas that serve it. Our choice: a document
/// of 100,000 reviews fits, and still reaches the database within a second or two.
const BODY_BYTES_MAX: usize = 128 << 20;
