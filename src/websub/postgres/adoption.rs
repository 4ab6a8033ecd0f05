//! Subscriptions that come from another store.

use tokio_postgres::types::Type;

use super::super::moment::Moment;
use super::super::store::UNPUBLISHED;
use super::super::transfer::{self, Adopted, Moved};
use super::fault::Fault;
use super::link::Link;
use super::rows::{self, Stored, get};

/// Takes them over, one by one, within a transaction that keeps topics as they are.
pub(super) fn adopt(link: &mut Link, moved: &[Moved], now: Moment) -> Result<Vec<Adopted>, Fault> {
    let published = "SELECT 1 FROM reviewd.topic WHERE digest <> $1 LIMIT 1";
    let published = link.first(published, &[(&&UNPUBLISHED[..], Type::BYTEA)])?;
    let is_new = published.is_none();
    let one = |moved: &Moved| adopt_one(link, moved, is_new, now);
    moved.iter().map(one).collect()
}

fn adopt_one(link: &mut Link, moved: &Moved, is_new: bool, now: Moment) -> Result<Adopted, Fault> {
    let pair = rows::pair(&moved.callback, &moved.topic);
    let stored = rows::load_pair(link, &pair)?;
    let here = stored.as_ref().map(|stored| stored.state.clone());
    let (next, adopted) = transfer::adopt(here, moved, now);
    let Some(next) = next else {
        return Ok(adopted);
    };
    if let Some(stored) = stored {
        save(link, stored, next)?;
        return Ok(adopted);
    }
    let Some(topic_id) = topic(link, &moved.topic, is_new)? else {
        return Ok(Adopted::UnknownTopic);
    };
    if !rows::insert(link, topic_id, &moved.topic, &moved.callback, &next)? {
        // A replica has confirmed the same subscription in this moment, and knows better.
        return Ok(Adopted::Known);
    }
    if next.last.is_some()
        && let Some(stored) = rows::load_pair(link, &pair)?
    {
        save(link, stored, next)?;
    }
    Ok(adopted)
}

fn save(
    link: &mut Link,
    stored: Stored,
    state: super::super::subscription::Subscription,
) -> Result<(), Fault> {
    rows::save(link, &[&Stored { state, ..stored }])
}

/// Finds a topic, and makes it where nothing was ever published.
fn topic(link: &mut Link, url: &str, is_new: bool) -> Result<Option<i64>, Fault> {
    let find = "SELECT id FROM reviewd.topic WHERE url = $1";
    let make = "INSERT INTO reviewd.topic (url, digest, dated) VALUES ($1, $2, 0) RETURNING id";
    let mut found = link.first(find, &[(&url, Type::TEXT)])?;
    if found.is_none() && is_new {
        found = link.first(
            make,
            &[(&url, Type::TEXT), (&&UNPUBLISHED[..], Type::BYTEA)],
        )?;
    }
    found.map(|row| get(&row, 0)).transpose()
}
