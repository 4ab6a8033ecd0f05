//! The tables, their version, and the check of a file that somebody else may have had in hand.

use std::path::Path;

use rusqlite::{Connection, Transaction};

use super::super::store::SCHEMA_VERSION;
use super::super::store::StoreError;
use super::translate;

/// Makes sure that a file is empty or ours, whole, and not of a later version.
///
/// # Errors
/// `Corrupt`, `Foreign`, `Newer`, or what reading met.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    // What cannot be read at all, in a file that could be opened, is damage whatever SQLite calls it.
    let fail = |error: rusqlite::Error| match translate(path, &error) {
        StoreError::Io(path, what) => StoreError::Corrupt(path, what),
        other => other,
    };
    // In one transaction, as another process may be making the tables right now.
    let look = connection.unchecked_transaction().map_err(fail)?;
    let version: i64 = look
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(fail)?;
    let application: i64 = look
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(fail)?;
    let tables: i64 = look
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(fail)?;
    look.finish().map_err(fail)?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0) {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::Newer(path.to_owned(), version));
    }
    let verdict: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(fail)?;
    if verdict != "ok" {
        return Err(StoreError::Corrupt(
            path.to_owned(),
            verdict.lines().next().unwrap_or_default().to_owned(),
        ));
    }
    Ok(())
}

/// Makes the tables of a new file, or takes those of an earlier version to this one.
pub(super) fn prepare(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    if version < SCHEMA_VERSION {
        for sql in MIGRATIONS
            .iter()
            .skip(usize::try_from(version).unwrap_or(0))
        {
            tx.execute_batch(sql)?;
        }
        tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    Ok(())
}

/// The steps, oldest first; one that has been published is never changed.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [TABLES, PAUSED, REQUESTS, NOTICES];

/// Version 2: until when deliveries pause.
const PAUSED: &str = "ALTER TABLE meta ADD COLUMN paused_until INTEGER NOT NULL DEFAULT 0";

/// Version 3: what the topic held when a request was accepted, when it may be verified again, and how that ended last.
const REQUESTS: &str = "
ALTER TABLE request ADD COLUMN digest BLOB;
ALTER TABLE request ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN last_answer TEXT;
";

/// Version 4: denials that could not be sent are sent again.
const NOTICES: &str = "
ALTER TABLE notice ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notice ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notice ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
";

/// "rvwd": tells our files from other people's.
const APPLICATION_ID: i64 = 0x7276_7764;

/// Version 1. Moments are milliseconds since the epoch; `slow` repeats what follows from `failures` and `elapsed_ms`,
/// for the two partial indexes that make "what is due" a range and not a scan.
const TABLES: &str = "
CREATE TABLE meta (only INTEGER PRIMARY KEY CHECK (only = 1), seen_at INTEGER NOT NULL) STRICT;
INSERT INTO meta VALUES (1, 0);
CREATE TABLE topic (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL
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
    claimed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX request_pair ON request (callback, topic);
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
    removal TEXT NOT NULL
) STRICT;
";
