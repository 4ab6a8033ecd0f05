-- The tables of a hub in SQLite. Both databases have the same tables and columns; a test compares them.
--
-- Times are milliseconds since the epoch, but `dated` is in seconds. `authority` is host and port of the callback. `asker`
-- stands for the address that a request came from; only equality has a meaning, and only within one process. `renewal` is
-- 1 if the request is for an active subscription. `known` is 1 if `acknowledged_at` is set; with it, two partial indexes
-- find due rows by a range, without a scan.
--
-- `told` has what the operator's targets were told of last: the digest of each item, and `facts` in the words of the
-- server. `told_day` is the day of that in days since the epoch, NULL before the first; `told_dated` the date of its
-- content in seconds. A `notice` waits for its target; `item` is '' if it is about several.

CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    version INTEGER NOT NULL DEFAULT 0,
    seen_at INTEGER NOT NULL DEFAULT 0,
    told_day INTEGER,
    told_dated INTEGER
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
    authority TEXT NOT NULL,
    asker INTEGER NOT NULL,
    renewal INTEGER NOT NULL,
    lease_s INTEGER NOT NULL,
    secret TEXT,
    digest BLOB NOT NULL,
    accepted_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    claimed INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0,
    last_at INTEGER,
    last_result TEXT
) STRICT;
CREATE INDEX request_callback ON request (callback);
CREATE INDEX request_new ON request (authority, mode) WHERE renewal = 0;
CREATE INDEX request_asker ON request (asker) WHERE renewal = 0;
CREATE TABLE subscription (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic_id INTEGER NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    authority TEXT NOT NULL,
    secret TEXT,
    lease_s INTEGER NOT NULL,
    lease_end INTEGER NOT NULL,
    digest BLOB NOT NULL,
    acknowledged INTEGER NOT NULL,
    acknowledged_at INTEGER,
    known INTEGER NOT NULL,
    owed_since INTEGER,
    failures INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    verified_at INTEGER NOT NULL,
    last_at INTEGER,
    last_result TEXT,
    UNIQUE (callback, topic_id)
) STRICT;
CREATE INDEX subscription_host ON subscription (host);
CREATE INDEX subscription_authority ON subscription (authority);
CREATE INDEX subscription_lease ON subscription (lease_end);
CREATE INDEX subscription_owed ON subscription (owed_since) WHERE known = 0 AND acknowledged = 0;
CREATE INDEX subscription_claimed ON subscription (id) WHERE claimed = 1;
CREATE INDEX subscription_retry ON subscription (topic_id, known, next_at) WHERE acknowledged = 0;
CREATE INDEX subscription_first ON subscription (topic_id, known, digest) WHERE acknowledged = 1;
CREATE TABLE tombstone (
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    host TEXT NOT NULL,
    removal TEXT NOT NULL,
    at INTEGER NOT NULL,
    last_at INTEGER,
    last_result TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstone_at ON tombstone (at);
CREATE INDEX tombstone_host ON tombstone (host);
CREATE TABLE rejection (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    mode TEXT NOT NULL,
    topic TEXT NOT NULL,
    host TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    last_at INTEGER,
    last_result TEXT,
    accepted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rejection_host ON rejection (host);
CREATE TABLE denial (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    callback TEXT NOT NULL,
    removal TEXT NOT NULL,
    since INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE told (
    item TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    facts TEXT NOT NULL
) STRICT;
CREATE TABLE notice (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT NOT NULL,
    item TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    claimed INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notice_order ON notice (target, item, id);
