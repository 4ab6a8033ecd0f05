//! What is due, what has begun, and how exchanges ended.

use std::time::Duration;

use super::super::moment::Moment;
use super::super::subscription::{Event, Policy, Step};
use super::connection::Connection;
use super::host_room::HostRoom;
use super::rows::{self, Stored};
use super::{Claim, Delivery, Lane, Recorded, Report, StoreError, requests};

/// What is due, as [`find`] sees it.
pub(super) struct Due {
    /// Ids of subscriptions.
    pub(super) ids: Vec<i64>,
    /// Whether a topic holds something else than this process has published.
    pub(super) is_behind: bool,
}

/// Finds subscriptions that are due in the lane, to topics that hold one of the contents `own`. Three index ranges a
/// topic: open ones whose time has come, and acknowledged ones whose digest lies below or above the topic's. Each topic
/// comes first in turn, by the clock, so that one that changes all the time cannot starve the others.
pub(super) fn find(
    connection: &mut dyn Connection,
    own: &[[u8; 32]],
    lane: Lane,
    claim: &Claim<'_>,
    now: Moment,
) -> Result<Due, StoreError> {
    let mut is_behind = false;
    let mut topics = Vec::new();
    for mut row in connection.query("SELECT id, digest FROM topic ORDER BY id", &[])? {
        let topic = (row.int("id")?, row.digest("digest")?);
        match own.contains(&topic.1) {
            true => topics.push(topic),
            false => is_behind = true,
        }
    }
    if !topics.is_empty() {
        let turn = usize::try_from(now.unix_ms().unsigned_abs()).unwrap_or(0) % topics.len();
        topics.rotate_left(turn);
    }
    let is_slow = lane == Lane::Slow;
    let mut room = HostRoom::new(claim);
    let mut ids = Vec::new();
    for sql in QUERIES {
        for (topic_id, digest) in &topics {
            let values = [
                (*topic_id).into(),
                is_slow.into(),
                now.into(),
                digest.into(),
            ];
            let rows = room.fill(connection, sql, &values)?;
            ids.extend(rows.into_iter().map(|(id, _)| id));
        }
    }
    Ok(Due { ids, is_behind })
}

/// Begins an attempt for each of `ids` that is still due, and returns what is to be sent.
pub(super) fn begin(
    connection: &mut dyn Connection,
    ids: &[i64],
    now: Moment,
) -> Result<Vec<Delivery>, StoreError> {
    let mut events = Vec::with_capacity(ids.len());
    let mut deliveries = Vec::with_capacity(ids.len());
    for stored in rows::load(connection, ids)? {
        if !stored.state.is_due(&stored.current, now) {
            continue;
        }
        deliveries.push(Delivery {
            id: stored.id,
            attempt: stored.state.attempt + 1,
            topic: stored.topic.clone(),
            digest: stored.current,
            callback: stored.callback.clone(),
            secret: stored.state.secret.clone(),
        });
        let digest = stored.current;
        events.push((stored, Event::Begun { digest }));
    }
    rows::apply(connection, events, &NO_POLICY, now)?;
    Ok(deliveries)
}

/// Stores how exchanges ended, in the order of the reports.
pub(super) fn record(
    connection: &mut dyn Connection,
    reports: &[Report],
    policy: &Policy,
    now: Moment,
) -> Result<Vec<Recorded>, StoreError> {
    let mut recorded = Vec::with_capacity(reports.len());
    let is_delivery = |report: &Report| matches!(report, Report::Delivered { .. });
    for group in reports.chunk_by(|one, next| is_delivery(one) && is_delivery(next)) {
        match *group {
            [
                Report::Verified {
                    id,
                    asked_at,
                    confirmed,
                },
            ] => {
                let result = requests::verified(connection, id, asked_at, confirmed, policy, now);
                recorded.push(result?);
            }
            [Report::Unreached { id, answer, delay }] => {
                recorded.push(requests::put_off(connection, id, answer, delay, now)?);
            }
            [Report::Unsent { id }] => recorded.push(requests::release(connection, id)?),
            _ => record_deliveries(connection, group, policy, now, &mut recorded)?,
        }
    }
    Ok(recorded)
}

/// Stores how deliveries ended. What does not belong to the attempt under way is stale.
fn record_deliveries(
    connection: &mut dyn Connection,
    reports: &[Report],
    policy: &Policy,
    now: Moment,
    recorded: &mut Vec<Recorded>,
) -> Result<(), StoreError> {
    let deliveries = reports.iter().filter_map(|report| match report {
        Report::Delivered { id, attempt, .. } => Some((*id, *attempt)),
        _ => None,
    });
    let ids: Vec<i64> = deliveries.map(|(id, _)| id).collect();
    let mut stored: Vec<Stored> = rows::load(connection, &ids)?;
    let mut events = Vec::with_capacity(reports.len());
    let mut is_stale = Vec::with_capacity(reports.len());
    for report in reports {
        let Report::Delivered {
            id,
            attempt,
            digest,
            outcome,
            elapsed,
            jitter,
        } = report
        else {
            continue;
        };
        let is_under_way = |stored: &Stored| {
            let state = &stored.state;
            let this = (stored.id, state.attempt, &state.digest) == (*id, *attempt, digest);
            this && state.claimed
        };
        let event = Event::Ended {
            attempt: *attempt,
            outcome,
            elapsed: *elapsed,
            jitter: *jitter,
        };
        let found = stored.iter().position(is_under_way);
        is_stale.push(found.is_none());
        events.extend(found.map(|at| (stored.swap_remove(at), event)));
    }
    let mut steps = rows::apply(connection, events, policy, now)?.into_iter();
    recorded.extend(is_stale.into_iter().map(|is_stale| match is_stale {
        true => Recorded::Stale,
        false => steps.next().map_or(Recorded::Stale, delivered),
    }));
    Ok(())
}

/// What the end of a delivery changed, by the step that it was.
fn delivered(after: Step) -> Recorded {
    match (after.state, after.removal) {
        (Some(state), _) => Recorded::Kept {
            failures: state.failures,
        },
        (None, Some(removal)) => Recorded::Removed(removal),
        (None, None) => Recorded::Stale,
    }
}

/// Beginning an attempt asks no policy.
const NO_POLICY: Policy = Policy {
    failures_max: u32::MAX,
    retry_delays: Vec::new(),
    retry_after_max: Duration::ZERO,
};

/// Subscriptions whose last begun attempt was not acknowledged.
const OPEN: &str =
    "SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 0
 AND claimed = 0 AND next_at <= $3 AND lease_end > $3 AND HOSTS ORDER BY next_at, id";

/// Subscriptions that acknowledged another content than the current one.
const OUTDATED: &str =
    "SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 1
 AND digest < $4 AND lease_end > $3 AND HOSTS
 UNION ALL SELECT host, id FROM subscription WHERE topic_id = $1 AND slow = $2 AND acknowledged = 1
 AND digest > $4 AND lease_end > $3 AND HOSTS";

/// In the order in which they are claimed: retries first, as they have waited longest.
pub(super) const QUERIES: [&str; 2] = [OPEN, OUTDATED];
