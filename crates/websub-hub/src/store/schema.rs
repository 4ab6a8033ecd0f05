//! The tables of both databases, and the migrations from earlier versions.
//!
//! They are written for SQLite; [`in_postgres`] replaces the names of types. Version 0 is an empty database. A
//! published migration is never changed.

/// The version of the tables that this program reads and writes; earlier versions are migrated to it.
pub const SCHEMA_VERSION: i64 = 5;

/// Returns the statements that migrate tables of version `from` to [`SCHEMA_VERSION`], none if they have that version.
/// `last` is the last migration, in which the databases differ.
pub(super) fn statements(from: i64, last: &'static str) -> Vec<&'static str> {
    if from <= 0 {
        return vec![TABLES];
    }
    let done = usize::try_from(from - 1).unwrap_or(usize::MAX);
    let steps = [PAUSED, REQUESTS, NOTICES, last];
    steps.into_iter().skip(done).collect()
}

/// Translates statements of this module for PostgreSQL.
#[cfg(feature = "postgres")]
pub(super) fn in_postgres(sql: &str) -> String {
    sql.replace(
        "INTEGER PRIMARY KEY AUTOINCREMENT",
        "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    )
    .replace("INTEGER", "BIGINT")
    .replace("BLOB", "BYTEA")
    .replace(") STRICT;", ");")
}

/// Times are milliseconds since the epoch, but `dated` is in seconds. `paused_until` is not used. `slow` follows from
/// `attempt`, `failures` and `elapsed_ms`; with it, two partial indexes find due rows by a range, without a scan.
const TABLES: &str = "
CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    seen_at INTEGER NOT NULL DEFAULT 0,
    paused_until INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO meta (only_row) VALUES (1);
CREATE TABLE topic (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    dated INTEGER NOT NULL
) STRICT;
CREATE TABLE request (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    mode TEXT NOT NULL,
    topic TEXT NOT NULL,
    topic_given TEXT NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    lease_s INTEGER NOT NULL,
    secret TEXT,
    accepted_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    claimed INTEGER NOT NULL DEFAULT 0,
    digest BLOB,
    next_at INTEGER NOT NULL DEFAULT 0,
    last_answer TEXT
) STRICT;
CREATE INDEX request_callback ON request (callback);
CREATE INDEX request_host ON request (host);
CREATE TABLE subscription (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic_id INTEGER NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    secret TEXT,
    lease_s INTEGER NOT NULL,
    lease_end INTEGER NOT NULL,
    digest BLOB NOT NULL,
    acknowledged INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    slow INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    verified_at INTEGER NOT NULL,
    last_at INTEGER,
    last_answer TEXT,
    UNIQUE (callback, topic_id)
) STRICT;
CREATE INDEX subscription_host ON subscription (host);
CREATE INDEX subscription_lease ON subscription (lease_end);
CREATE INDEX subscription_claimed ON subscription (id) WHERE claimed = 1;
CREATE INDEX subscription_open ON subscription (topic_id, slow, next_at) WHERE acknowledged = 0;
CREATE INDEX subscription_done ON subscription (topic_id, slow, digest) WHERE acknowledged = 1;
CREATE TABLE tombstone (
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    host TEXT NOT NULL,
    removal TEXT NOT NULL,
    at INTEGER NOT NULL,
    last_at INTEGER,
    last_answer TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstone_at ON tombstone (at);
CREATE TABLE notice (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    callback TEXT NOT NULL,
    removal TEXT NOT NULL,
    since INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
";

/// Version 2: the end of a pause of deliveries.
const PAUSED: &str = "ALTER TABLE meta ADD COLUMN paused_until INTEGER NOT NULL DEFAULT 0;";

/// Version 3: the topic's digest when a request was accepted, the time of the next verification, and the last result.
const REQUESTS: &str = "
ALTER TABLE request ADD COLUMN digest BLOB;
ALTER TABLE request ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN last_answer TEXT;
";

/// Version 4: denials that could not be sent are retried.
const NOTICES: &str = "
ALTER TABLE notice ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notice ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notice ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
";

/// Version 5 of an SQLite file: the date of a topic's content.
pub(super) const DATED: &str = "ALTER TABLE topic ADD COLUMN dated INTEGER NOT NULL DEFAULT 0;";

/// Version 5 of a PostgreSQL schema: the tables of SQLite. One replica delivers, so claims have neither owner nor
/// expiry, and bodies are not stored.
#[cfg(feature = "postgres")]
pub(super) const ONE_DELIVERER: &str = "
DROP INDEX request_pair, subscription_claimed, subscription_open, subscription_done;
DROP TABLE content;
ALTER TABLE meta ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE topic DROP COLUMN stored;
ALTER TABLE request DROP COLUMN pair, DROP COLUMN claimed_by, DROP COLUMN claim_end,
    ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subscription DROP CONSTRAINT subscription_topic, DROP COLUMN pair,
    ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0,
    ALTER COLUMN acknowledged TYPE INTEGER USING acknowledged::int,
    ALTER COLUMN slow TYPE INTEGER USING slow::int,
    ADD UNIQUE (callback, topic_id);
UPDATE subscription SET claimed = 1 WHERE claimed_by <> 0;
ALTER TABLE subscription DROP COLUMN claimed_by;
CREATE INDEX request_callback ON request (callback);
CREATE INDEX subscription_claimed ON subscription (id) WHERE claimed = 1;
CREATE INDEX subscription_open ON subscription (topic_id, slow, next_at) WHERE acknowledged = 0;
CREATE INDEX subscription_done ON subscription (topic_id, slow, digest) WHERE acknowledged = 1;
";
