//! Topics, leases, tombstones, denials, the clock, and the operator's commands.

use std::time::Duration;

use super::super::moment::Moment;
use super::super::subscription::{Event, Policy, RemovalReason};
use super::connection::{Connection, Row, Value};
use super::requests::first;
use super::rows::{self, Stored, read_last};
use super::{
    AdminCommand, Counts, DenialNotice, Published, SWEEP_MAX, StoreError, SweepReport,
    TOMBSTONES_MAX, Tombstone, TopicVersion, VERIFICATIONS_MAX,
};

/// Makes `versions` what the topics of the hub hold. Where replicas share the store, a content that is not newer than
/// the topic's changes nothing, and topics that this process does not know stay.
pub(super) fn publish(
    connection: &mut dyn Connection,
    versions: &[TopicVersion],
    is_shared: bool,
    policy: &Policy,
    now: Moment,
) -> Result<Published, StoreError> {
    touch(connection, now)?;
    let mut published = Published::default();
    for TopicVersion { url, digest, dated } in versions {
        let changed = connection.execute(
            "INSERT INTO topic (url, digest, dated) VALUES ($1, $2, $3)
             ON CONFLICT (url) DO UPDATE SET digest = excluded.digest, dated = excluded.dated
             WHERE topic.digest <> excluded.digest AND ($4 = 0 OR topic.dated < excluded.dated)",
            &[
                url.as_str().into(),
                digest.into(),
                dated.unix().into(),
                is_shared.into(),
            ],
        )?;
        if changed > 0 {
            published.changed.push(url.clone());
        }
    }
    for mut row in connection.query("SELECT id, url, digest FROM topic ORDER BY id", &[])? {
        let (topic_id, url, digest) = (row.int("id")?, row.text("url")?, row.digest("digest")?);
        match versions.iter().find(|version| version.url == url) {
            Some(version) if version.digest != digest => published.older.push(url),
            Some(_) => {}
            None if is_shared => {}
            None => published.withdrawn += withdraw(connection, topic_id, &url, policy, now)?,
        }
    }
    Ok(published)
}

/// Returns the origin of the first topic that is not of `origin`.
pub(super) fn other_origin(
    connection: &mut dyn Connection,
    origin: &str,
) -> Result<Option<String>, StoreError> {
    for mut row in connection.query("SELECT url FROM topic ORDER BY id", &[])? {
        let url = row.text("url")?;
        let of_url = origin_of(&url);
        if of_url != origin {
            return Ok(Some(of_url.to_owned()));
        }
    }
    Ok(None)
}

/// Returns scheme and authority of a URL.
pub(super) fn origin_of(url: &str) -> &str {
    let authority_at = url.find("://").map_or(0, |at| at + 3);
    let length = url[authority_at..].find('/');
    length.map_or(url, |length| &url[..authority_at + length])
}

/// Removes a topic, its requests and its subscriptions, and returns how many subscriptions there were.
fn withdraw(
    connection: &mut dyn Connection,
    topic_id: i64,
    url: &str,
    policy: &Policy,
    now: Moment,
) -> Result<usize, StoreError> {
    let sql = "SELECT id FROM subscription WHERE topic_id = $1 ORDER BY id";
    let ids = ids(connection, sql, &[topic_id.into()])?;
    apply(connection, &ids, &Event::TopicWithdrawn, policy, now)?;
    connection.execute("DELETE FROM request WHERE topic = $1", &[url.into()])?;
    connection.execute("DELETE FROM topic WHERE id = $1", &[topic_id.into()])?;
    Ok(ids.len())
}

/// Takes denials that are to be sent out of the store, oldest first.
pub(super) fn take_notices(
    connection: &mut dyn Connection,
    limit: usize,
    now: Moment,
) -> Result<Vec<DenialNotice>, StoreError> {
    let rows = connection.query(
        "DELETE FROM notice WHERE id IN (SELECT id FROM notice WHERE next_at <= $1 ORDER BY id LIMIT $2)
         RETURNING id, topic, callback, removal, since, attempts",
        &[now.into(), limit.into()],
    )?;
    let read = |mut row: Row| {
        let id = row.int("id")?;
        let notice = DenialNotice {
            topic: row.text("topic")?,
            callback: row.callback()?,
            removal: row.parsed("removal", RemovalReason::from_name)?,
            since: row.moment("since")?,
            attempts: row.number("attempts")?,
        };
        Ok((id, notice))
    };
    let mut taken = rows
        .into_iter()
        .map(read)
        .collect::<Result<Vec<_>, StoreError>>()?;
    taken.sort_unstable_by_key(|(id, _)| *id);
    Ok(taken.into_iter().map(|(_, notice)| notice).collect())
}

/// Tells whether a denial is to be sent at `now`.
pub(super) fn has_notices(
    connection: &mut dyn Connection,
    now: Moment,
) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM notice WHERE next_at <= $1 LIMIT 1";
    Ok(!connection.query(sql, &[now.into()])?.is_empty())
}

/// Keeps a denial that could not be sent.
pub(super) fn defer_notice(
    connection: &mut dyn Connection,
    notice: &DenialNotice,
    now: Moment,
) -> Result<bool, StoreError> {
    let Some(next_at) = notice.retry_at(now) else {
        return Ok(false);
    };
    let kept = connection.execute(
        "INSERT INTO notice (topic, callback, removal, since, next_at, attempts) SELECT $1, $2, $3, $4, $5, $6
         WHERE NOT EXISTS (SELECT 1 FROM subscription s JOIN topic t ON t.id = s.topic_id
          WHERE s.callback = $2 AND t.url = $1)",
        &[
            notice.topic.as_str().into(),
            notice.callback.uri().into(),
            notice.removal.as_str().into(),
            notice.since.into(),
            next_at.into(),
            notice.attempts.saturating_add(1).into(),
        ],
    )?;
    Ok(kept == 1)
}

/// Tells that there is nothing to sweep, and that the clock was noted not long ago.
pub(super) fn is_swept(
    connection: &mut dyn Connection,
    tombstone_age: Duration,
    now: Moment,
) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT EXISTS ({EXPIRED} LIMIT 1) OR EXISTS (SELECT 1 FROM tombstone WHERE at < $2)
         OR (SELECT count(*) FROM tombstone) > $3 OR (SELECT seen_at FROM meta) <= $4"
    );
    let values = [
        now.into(),
        now.minus(tombstone_age).into(),
        TOMBSTONES_MAX.into(),
        now.minus(SEEN_AGE).into(),
    ];
    Ok(!first(connection.query(&sql, &values)?)?.flag("exists")?)
}

/// Ends leases that are over and drops old tombstones.
pub(super) fn sweep(
    connection: &mut dyn Connection,
    policy: &Policy,
    tombstone_age: Duration,
    now: Moment,
) -> Result<SweepReport, StoreError> {
    touch(connection, now)?;
    let mut swept = SweepReport::default();
    let sql = format!("{EXPIRED} LIMIT {SWEEP_MAX}");
    let over = ids(connection, &sql, &[now.into()])?;
    for removal in apply(connection, &over, &Event::LeaseChecked, policy, now)? {
        match removal {
            Some(RemovalReason::Unsubscribed) => swept.left += 1,
            Some(_) => swept.expired += 1,
            None => {}
        }
    }
    let dropped = connection.execute(
        "DELETE FROM tombstone WHERE at < $1 OR id NOT IN (SELECT id FROM tombstone ORDER BY at DESC, id DESC LIMIT $2)",
        &[now.minus(tombstone_age).into(), TOMBSTONES_MAX.into()],
    )?;
    swept.tombstones = usize::try_from(dropped).unwrap_or(usize::MAX);
    Ok(swept)
}

/// Takes over from the process that delivered before, after moving what is stored with a clock that went back: what it had begun is to be done
/// again, and requests that had all their attempts go.
pub(super) fn recover(
    connection: &mut dyn Connection,
    policy: &Policy,
    now: Moment,
) -> Result<(), StoreError> {
    let mut row = first(connection.query("SELECT seen_at FROM meta", &[])?)?;
    let seen_ms = row.int("seen_at")?;
    // Clocks of replicas differ by a little, which is no reason to change every row.
    if now.unix_ms() < seen_ms.saturating_sub(CLOCK_DIFFERENCE_MS) {
        shift(connection, now.unix_ms().saturating_sub(seen_ms))?;
    }
    touch(connection, now)?;
    let claimed = ids(
        connection,
        "SELECT id FROM subscription WHERE claimed = 1",
        &[],
    )?;
    apply(connection, &claimed, &Event::Released, policy, now)?;
    connection.execute(
        "DELETE FROM request WHERE claimed = 1 AND attempts >= $1",
        &[VERIFICATIONS_MAX.into()],
    )?;
    connection.execute("UPDATE request SET claimed = 0 WHERE claimed = 1", &[])?;
    Ok(())
}

/// Moves every stored moment.
pub(super) fn shift(connection: &mut dyn Connection, by_ms: i64) -> Result<(), StoreError> {
    for sql in [
        "UPDATE meta SET seen_at = seen_at + $1",
        "UPDATE request SET accepted_at = accepted_at + $1, next_at = next_at + $1",
        "UPDATE subscription SET lease_end = lease_end + $1, next_at = next_at + $1, created_at = created_at + $1,
         verified_at = verified_at + $1, last_at = last_at + $1",
        "UPDATE notice SET since = since + $1, next_at = next_at + $1",
        "UPDATE tombstone SET at = at + $1, last_at = last_at + $1, created_at = created_at + $1",
    ] {
        connection.execute(sql, &[by_ms.into()])?;
    }
    Ok(())
}

/// Stores until when deliveries pause.
pub(super) fn set_paused(connection: &mut dyn Connection, until: Moment) -> Result<(), StoreError> {
    connection
        .execute("UPDATE meta SET paused_until = $1", &[until.into()])
        .map(drop)
}

/// Tells whether deliveries pause.
pub(super) fn is_paused(connection: &mut dyn Connection, now: Moment) -> Result<bool, StoreError> {
    let mut row = first(connection.query("SELECT paused_until FROM meta", &[])?)?;
    Ok(row.moment("paused_until")? > now)
}

/// Counts what is there.
pub(super) fn counts(connection: &mut dyn Connection, now: Moment) -> Result<Counts, StoreError> {
    let sql = "SELECT count(*), count(*) FILTER (WHERE is_owed), count(*) FILTER (WHERE is_owed AND next_at <= $1),
         min(next_at) FILTER (WHERE is_owed AND next_at <= $1), (SELECT count(*) FROM request)
         FROM (SELECT s.next_at, s.acknowledged = 0 OR s.digest <> t.digest AS is_owed
          FROM subscription s JOIN topic t ON t.id = s.topic_id) AS owed";
    let mut row = first(connection.query(sql, &[now.into()])?)?;
    Ok(Counts {
        subscriptions: row.number("count")?,
        owed: row.number("count")?,
        due: row.number("count")?,
        due_since: row.int_or_null("next_at")?.map(Moment::from_unix_ms),
        requests: row.number("count")?,
    })
}

/// Lists tombstones, newest first.
pub(super) fn tombstones(
    connection: &mut dyn Connection,
    limit: usize,
) -> Result<Vec<Tombstone>, StoreError> {
    let sql = "SELECT id, topic, host, removal, at, last_at, last_answer, created_at FROM tombstone
         ORDER BY at DESC, id DESC LIMIT $1";
    let read = |mut row: Row| {
        Ok(Tombstone {
            id: row.int("id")?,
            topic: row.text("topic")?,
            host: row.text("host")?,
            removal: row.parsed("removal", RemovalReason::from_name)?,
            at: row.moment("at")?,
            last: read_last(&mut row)?,
            created_at: row.moment("created_at")?,
        })
    };
    let rows = connection.query(sql, &[limit.into()])?;
    rows.into_iter().map(read).collect()
}

/// Applies the operator's command; `false` when there is no such subscription.
pub(super) fn apply_admin(
    connection: &mut dyn Connection,
    id: i64,
    command: AdminCommand,
    policy: &Policy,
    now: Moment,
) -> Result<bool, StoreError> {
    let event = match command {
        AdminCommand::Remove => Event::Removed,
        AdminCommand::Retry => Event::Retried,
    };
    let steps = apply(connection, &[id], &event, policy, now)?;
    Ok(!steps.is_empty())
}

/// Notes the clock, so that one that went back while no one looked is seen at the next start.
pub(super) fn touch(connection: &mut dyn Connection, now: Moment) -> Result<(), StoreError> {
    connection
        .execute("UPDATE meta SET seen_at = $1", &[now.into()])
        .map(drop)
}

/// Applies one event to each of these subscriptions, and returns why each one ended that did.
fn apply(
    connection: &mut dyn Connection,
    ids: &[i64],
    event: &Event<'_>,
    policy: &Policy,
    now: Moment,
) -> Result<Vec<Option<RemovalReason>>, StoreError> {
    let mut stored = rows::load(connection, ids)?;
    stored.sort_unstable_by_key(|stored| stored.id);
    let events: Vec<(Stored, Event<'_>)> = stored
        .into_iter()
        .map(|stored| (stored, event.clone()))
        .collect();
    let steps = rows::apply(connection, events, policy, now)?;
    Ok(steps.into_iter().map(|step| step.removal).collect())
}

fn ids(
    connection: &mut dyn Connection,
    sql: &str,
    values: &[Value<'_>],
) -> Result<Vec<i64>, StoreError> {
    let rows = connection.query(sql, values)?;
    rows.into_iter().map(|mut row| row.int("id")).collect()
}

/// Subscriptions whose lease is over, without an attempt under way, and that no waiting request would renew. `$1` is the
/// time.
const EXPIRED: &str =
    "SELECT s.id FROM subscription s WHERE s.lease_end <= $1 AND s.claimed = 0 AND NOT EXISTS
 (SELECT 1 FROM request r JOIN topic t ON t.url = r.topic
  WHERE r.callback = s.callback AND t.id = s.topic_id AND r.mode = 'subscribe')";

/// A clock that is behind the last stored moment by no more than this did not go back.
const CLOCK_DIFFERENCE_MS: i64 = 5_000;

/// The clock is noted at least this often while the hub runs.
const SEEN_AGE: Duration = Duration::from_secs(60);
