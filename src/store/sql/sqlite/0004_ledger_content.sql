-- SPDX-License-Identifier: Apache-2.0
-- Account histories and cached documents. `accounts` shows each account's cursors as one JSON map.
CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    platform TEXT NOT NULL,
    identifier TEXT NOT NULL,
    parent_id INTEGER REFERENCES account (id),
    created_us INTEGER NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0
);

CREATE VIEW accounts AS
SELECT a.id AS id, a.name AS name, a.type AS type, a.platform AS platform,
       a.identifier AS identifier, a.parent_id AS parent_id,
       (SELECT json_group_object(c.stream, json(c.state)) FROM cursors c
        WHERE c.source = a.name HAVING count(*) > 0) AS last_cursor
FROM account a;

CREATE TABLE import_sessions (
    id INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    status TEXT NOT NULL CHECK (status IN ('started', 'completed', 'failed', 'cancelled')),
    imported INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    started_us INTEGER NOT NULL,
    completed_us INTEGER,
    error TEXT,
    seq INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE raw_transactions (
    n INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL DEFAULT 0,
    account_id INTEGER NOT NULL REFERENCES account (id),
    provider_name TEXT NOT NULL,
    stream TEXT NOT NULL,
    event_id BLOB NOT NULL,
    hash TEXT,
    block INTEGER,
    timestamp_us INTEGER,
    status TEXT NOT NULL,
    provider_data TEXT,
    normalized_data TEXT,
    UNIQUE (account_id, event_id)
);

CREATE TABLE ipfs_cache (
    n INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL DEFAULT 0,
    uri TEXT NOT NULL UNIQUE,
    data BLOB,
    is_errored BOOLEAN NOT NULL DEFAULT FALSE,
    block INTEGER NOT NULL,
    space TEXT
);

CREATE TABLE meta (
    id TEXT PRIMARY KEY,
    cursor TEXT NOT NULL,
    block_number INTEGER NOT NULL
);
