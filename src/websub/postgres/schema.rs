//! The tables, and the steps from one version of them to the next. Whichever replica comes first takes a step; the
//! others wait for it.

use tokio_postgres::types::Type;

use super::fault::Fault;
use super::link::{Link, Lock};
use super::rows::get;

/// Brings the schema to the version that this program needs, and makes sure that it may be written.
///
/// # Errors
/// `Refused` for a schema that is newer, or rights that are missing.
pub(super) fn prepare(link: &mut Link, migrations: &[&str]) -> Result<(), Fault> {
    let needed = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    if link.within(Lock::None, |link, _| version(link))? < needed {
        link.within(Lock::Schema, |link, _| migrate(link, migrations))?;
    }
    link.within(Lock::None, |link, _| {
        let found = version(link)?;
        if found > needed {
            return Err(Fault::Refused(format!(
                "schema {found} is newer than this program's {needed}; use the version that made it"
            )));
        }
        // Changes nothing, and fails where the rights would be missing later.
        link.execute("DELETE FROM reviewd.subscription WHERE false", &[])
            .map(drop)
    })
}

/// Takes the steps that are missing, within a transaction that keeps the other replicas waiting.
fn migrate(link: &mut Link, migrations: &[&str]) -> Result<(), Fault> {
    let done = usize::try_from(version(link)?).unwrap_or(usize::MAX);
    for (index, sql) in migrations.iter().enumerate().skip(done) {
        link.simple(sql)?;
        let number = i64::try_from(index + 1).unwrap_or(i64::MAX);
        link.execute(
            "UPDATE reviewd.meta SET version = $1",
            &[(&number, Type::INT8)],
        )?;
    }
    Ok(())
}

/// Returns the version of the schema, 0 where there is none.
fn version(link: &mut Link) -> Result<i64, Fault> {
    let there = "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'reviewd' AND c.relname = 'meta'";
    if link.first(there, &[])?.is_none() {
        return Ok(0);
    }
    let row = link.first("SELECT version FROM reviewd.meta", &[])?;
    row.map_or(Ok(0), |row| get(&row, 0))
}

/// The steps, oldest first; one that has been published is never changed, and the number of them is the version.
pub(super) const MIGRATIONS: [&str; 6] = [TABLES, BODIES, TOPICS, PAUSED, REQUESTS, NOTICES];

/// Version 1. Moments are milliseconds since the epoch by the database's clock. `pair` is a digest of callback and
/// topic, as both together are too long for an index; `slow` repeats what follows from `failures` and `elapsed_ms`, for
/// the two partial indexes that make "what is due" a range and not a scan; `claimed_by` is the process whose attempt is
/// under way, 0 where none is, and then `next_at` or `claim_end` is when it counts as lost.
const TABLES: &str = "
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'reviewd') THEN CREATE SCHEMA reviewd; END IF;
END $$;
CREATE TABLE reviewd.meta (only_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row), version BIGINT NOT NULL);
INSERT INTO reviewd.meta (version) VALUES (0);
CREATE TABLE reviewd.topic (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    digest BYTEA NOT NULL,
    dated BIGINT NOT NULL
);
CREATE TABLE reviewd.request (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pair BYTEA NOT NULL,
    mode TEXT NOT NULL,
    topic TEXT NOT NULL,
    topic_given TEXT NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    lease_s BIGINT NOT NULL,
    secret TEXT,
    accepted_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    claimed_by BIGINT NOT NULL DEFAULT 0,
    claim_end BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX request_pair ON reviewd.request (pair, id);
CREATE INDEX request_host ON reviewd.request (host);
CREATE TABLE reviewd.subscription (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pair BYTEA NOT NULL UNIQUE,
    topic_id BIGINT NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    secret TEXT,
    lease_s BIGINT NOT NULL,
    lease_end BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    acknowledged BOOLEAN NOT NULL,
    failures BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    claimed_by BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    elapsed_ms BIGINT NOT NULL,
    slow BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    verified_at BIGINT NOT NULL,
    last_at BIGINT,
    last_answer TEXT
);
CREATE INDEX subscription_host ON reviewd.subscription (host);
CREATE INDEX subscription_lease ON reviewd.subscription (lease_end);
CREATE INDEX subscription_claimed ON reviewd.subscription (claimed_by) WHERE claimed_by <> 0;
CREATE INDEX subscription_open ON reviewd.subscription (topic_id, slow, next_at, id) WHERE NOT acknowledged;
CREATE INDEX subscription_done ON reviewd.subscription (topic_id, slow, digest) WHERE acknowledged;
CREATE TABLE reviewd.tombstone (
    id BIGINT PRIMARY KEY,
    topic TEXT NOT NULL,
    host TEXT NOT NULL,
    removal TEXT NOT NULL,
    at BIGINT NOT NULL,
    last_at BIGINT,
    last_answer TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX tombstone_at ON reviewd.tombstone (at, id);
CREATE TABLE reviewd.notice (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic TEXT NOT NULL,
    callback TEXT NOT NULL,
    removal TEXT NOT NULL
);
";

/// Version 2: what topics hold, by digest, so that each replica can send what another one serves. Bodies are stored as
/// they are, since compressing them would take longer than sending them.
const BODIES: &str = "
CREATE TABLE reviewd.content (digest BYTEA PRIMARY KEY, body BYTEA NOT NULL);
ALTER TABLE reviewd.content ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE reviewd.topic ADD COLUMN stored BOOLEAN NOT NULL DEFAULT false;
";

/// Version 3: no subscription without its topic. Orphans that there may be go; with them gone, the rows that are there
/// need no second look (`NOT VALID`), which would keep everybody waiting.
const TOPICS: &str = "
ALTER TABLE reviewd.subscription ADD CONSTRAINT subscription_topic
    FOREIGN KEY (topic_id) REFERENCES reviewd.topic (id) ON DELETE CASCADE NOT VALID;
DELETE FROM reviewd.subscription s WHERE NOT EXISTS (SELECT 1 FROM reviewd.topic t WHERE t.id = s.topic_id);
";

/// Version 4: until when a replica's deliveries pause.
const PAUSED: &str = "ALTER TABLE reviewd.meta ADD COLUMN paused_until BIGINT NOT NULL DEFAULT 0";

/// Version 5: what the topic held when a request was accepted, when it may be verified again, and how that ended last.
const REQUESTS: &str = "
ALTER TABLE reviewd.request ADD COLUMN digest BYTEA;
ALTER TABLE reviewd.request ADD COLUMN next_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reviewd.request ADD COLUMN last_answer TEXT;
";

/// Version 6: denials that could not be sent are sent again.
const NOTICES: &str = "
ALTER TABLE reviewd.notice ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reviewd.notice ADD COLUMN next_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reviewd.notice ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
";
