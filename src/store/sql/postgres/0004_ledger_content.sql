-- SPDX-License-Identifier: Apache-2.0
-- Account histories and cached documents. `accounts` shows each account's cursors as one JSON map.
CREATE TABLE account (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    type TEXT COLLATE "C" NOT NULL,
    platform TEXT COLLATE "C" NOT NULL,
    identifier TEXT COLLATE "C" NOT NULL,
    parent_id BIGINT REFERENCES account (id),
    created_us BIGINT NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0
);

CREATE VIEW accounts AS
SELECT a.id AS id, a.name AS name, a.type AS type, a.platform AS platform,
       a.identifier AS identifier, a.parent_id AS parent_id,
       (SELECT json_object_agg(c.stream, c.state::json)::text FROM cursors c
        WHERE c.source = a.name HAVING count(*) > 0) AS last_cursor
FROM account a;

CREATE TABLE import_sessions (
    id BIGINT PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id),
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('started', 'completed', 'failed', 'cancelled')),
    imported BIGINT NOT NULL DEFAULT 0,
    skipped BIGINT NOT NULL DEFAULT 0,
    started_us BIGINT NOT NULL,
    completed_us BIGINT,
    error TEXT COLLATE "C",
    seq BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE raw_transactions (
    n BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL DEFAULT 0,
    account_id BIGINT NOT NULL REFERENCES account (id),
    provider_name TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    event_id BYTEA NOT NULL,
    hash TEXT COLLATE "C",
    block BIGINT,
    timestamp_us BIGINT,
    status TEXT COLLATE "C" NOT NULL,
    provider_data TEXT COLLATE "C",
    normalized_data TEXT COLLATE "C",
    UNIQUE (account_id, event_id)
);

CREATE TABLE ipfs_cache (
    n BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL DEFAULT 0,
    uri TEXT COLLATE "C" NOT NULL UNIQUE,
    data BYTEA,
    is_errored BOOLEAN NOT NULL DEFAULT FALSE,
    block BIGINT NOT NULL,
    space TEXT COLLATE "C"
);

CREATE TABLE meta (
    id TEXT COLLATE "C" PRIMARY KEY,
    cursor TEXT COLLATE "C" NOT NULL,
    block_number BIGINT NOT NULL
);
