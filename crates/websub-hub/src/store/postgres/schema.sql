-- The tables of a hub in PostgreSQL. Both databases have the same tables and columns; a test compares them.
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
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    version BIGINT NOT NULL DEFAULT 0,
    seen_at BIGINT NOT NULL DEFAULT 0,
    told_day BIGINT,
    told_dated BIGINT
);
INSERT INTO meta (only_row) VALUES (1);
CREATE TABLE topic (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    digest BYTEA NOT NULL,
    dated BIGINT NOT NULL
);
CREATE TABLE request (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode TEXT NOT NULL,
    topic TEXT NOT NULL,
    topic_given TEXT NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    authority TEXT NOT NULL,
    asker BIGINT NOT NULL,
    renewal BIGINT NOT NULL,
    lease_s BIGINT NOT NULL,
    secret TEXT,
    digest BYTEA NOT NULL,
    accepted_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    claimed BIGINT NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0,
    last_at BIGINT,
    last_result TEXT
);
CREATE INDEX request_callback ON request (callback);
CREATE INDEX request_new ON request (authority, mode) WHERE renewal = 0;
CREATE INDEX request_asker ON request (asker) WHERE renewal = 0;
CREATE TABLE subscription (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic_id BIGINT NOT NULL,
    callback TEXT NOT NULL,
    host TEXT NOT NULL,
    authority TEXT NOT NULL,
    secret TEXT,
    lease_s BIGINT NOT NULL,
    lease_end BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    acknowledged BIGINT NOT NULL,
    acknowledged_at BIGINT,
    known BIGINT NOT NULL,
    owed_since BIGINT,
    failures BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    claimed BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    elapsed_ms BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    verified_at BIGINT NOT NULL,
    last_at BIGINT,
    last_result TEXT,
    UNIQUE (callback, topic_id)
);
CREATE INDEX subscription_host ON subscription (host);
CREATE INDEX subscription_authority ON subscription (authority);
CREATE INDEX subscription_lease ON subscription (lease_end);
CREATE INDEX subscription_owed ON subscription (owed_since) WHERE known = 0 AND acknowledged = 0;
CREATE INDEX subscription_claimed ON subscription (id) WHERE claimed = 1;
CREATE INDEX subscription_retry ON subscription (topic_id, known, next_at) WHERE acknowledged = 0;
CREATE INDEX subscription_first ON subscription (topic_id, known, digest) WHERE acknowledged = 1;
CREATE TABLE tombstone (
    id BIGINT PRIMARY KEY,
    topic TEXT NOT NULL,
    host TEXT NOT NULL,
    removal TEXT NOT NULL,
    at BIGINT NOT NULL,
    last_at BIGINT,
    last_result TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX tombstone_at ON tombstone (at);
CREATE INDEX tombstone_host ON tombstone (host);
CREATE TABLE rejection (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode TEXT NOT NULL,
    topic TEXT NOT NULL,
    host TEXT NOT NULL,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    last_at BIGINT,
    last_result TEXT,
    accepted_at BIGINT NOT NULL
);
CREATE INDEX rejection_host ON rejection (host);
CREATE TABLE denial (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic TEXT NOT NULL,
    callback TEXT NOT NULL,
    removal TEXT NOT NULL,
    since BIGINT NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE told (
    item TEXT PRIMARY KEY,
    digest BYTEA NOT NULL,
    facts TEXT NOT NULL
);
CREATE TABLE notice (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target TEXT NOT NULL,
    item TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0,
    claimed BIGINT NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX notice_order ON notice (target, item, id);
