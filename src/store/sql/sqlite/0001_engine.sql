-- SPDX-License-Identifier: Apache-2.0
-- The engine: who writes, how far each stream is, what is owed, missing, complete or unusable.
-- `engine` is one row: every commit moves commit_seq by one under the epoch of its process.
CREATE TABLE engine (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,
    commit_seq INTEGER NOT NULL,
    next_n INTEGER NOT NULL
);
INSERT INTO engine (id, epoch, commit_seq, next_n) VALUES (1, 0, 0, 1);

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    address TEXT,
    epoch INTEGER NOT NULL,
    renewed_us INTEGER NOT NULL
);

CREATE TABLE cursors (
    source TEXT NOT NULL,
    stream TEXT NOT NULL,
    state TEXT NOT NULL,
    position INTEGER,
    updated_us INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (source, stream)
) WITHOUT ROWID;

CREATE TABLE coverage (
    source TEXT NOT NULL,
    stream TEXT NOT NULL,
    lo INTEGER NOT NULL,
    hi INTEGER NOT NULL CHECK (lo < hi),
    PRIMARY KEY (source, stream, lo)
) WITHOUT ROWID;

CREATE TABLE gaps (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    stream TEXT NOT NULL,
    from_us INTEGER NOT NULL,
    to_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detected_us INTEGER NOT NULL,
    closed_us INTEGER,
    seq INTEGER NOT NULL,
    UNIQUE (source, stream, from_us, to_us)
);

CREATE TABLE owed (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    stream TEXT NOT NULL,
    item TEXT NOT NULL,
    unit TEXT,
    state TEXT NOT NULL CHECK (state IN ('owed', 'dead')),
    reason TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_us INTEGER,
    since_us INTEGER NOT NULL,
    refused_by TEXT, -- providers that called it permanent, a line each
    seq INTEGER NOT NULL,
    UNIQUE (source, stream, item)
);
CREATE INDEX owed_next ON owed (source, stream, state, next_us);

CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    provider TEXT,
    digest BLOB NOT NULL,
    raw BLOB,
    size INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    times INTEGER NOT NULL DEFAULT 1,
    seq INTEGER NOT NULL,
    UNIQUE (source, digest)
);

CREATE TABLE providers (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    chosen TEXT,
    updated_us INTEGER NOT NULL,
    PRIMARY KEY (source, name)
) WITHOUT ROWID;

-- An account has one row, however often it was asked for. `asked_us`: only a reading that begins
-- later will do.
CREATE TABLE backfill_queue (
    actor_did TEXT PRIMARY KEY,
    priority INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    sweep TEXT,
    reason TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_us INTEGER NOT NULL,
    queued_us INTEGER NOT NULL,
    asked_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX backfill_queue_next ON backfill_queue (priority, queued_us, actor_did);

CREATE TABLE tombstones (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    rev TEXT NOT NULL,
    n INTEGER,
    seq INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE INDEX tombstones_seq ON tombstones (collection, seq);
CREATE INDEX tombstones_age ON tombstones (at_us);
