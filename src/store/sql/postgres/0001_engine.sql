-- SPDX-License-Identifier: Apache-2.0
-- The engine: who writes, how far each stream is, what is owed, missing, complete or unusable.
-- `engine` is one row: every commit moves commit_seq by one under the epoch of its process.
CREATE TABLE engine (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    epoch BIGINT NOT NULL,
    commit_seq BIGINT NOT NULL,
    next_n BIGINT NOT NULL
);
INSERT INTO engine (id, epoch, commit_seq, next_n) VALUES (1, 0, 0, 1);

CREATE TABLE leases (
    name TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C",
    epoch BIGINT NOT NULL,
    renewed_us BIGINT NOT NULL
);

CREATE TABLE cursors (
    source TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    position BIGINT,
    updated_us BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (source, stream)
);

CREATE TABLE coverage (
    source TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    lo BIGINT NOT NULL,
    hi BIGINT NOT NULL CHECK (lo < hi),
    PRIMARY KEY (source, stream, lo)
);

CREATE TABLE gaps (
    id BIGINT PRIMARY KEY,
    source TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    from_us BIGINT NOT NULL,
    to_us BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    detected_us BIGINT NOT NULL,
    closed_us BIGINT,
    seq BIGINT NOT NULL,
    UNIQUE (source, stream, from_us, to_us)
);

CREATE TABLE owed (
    id BIGINT PRIMARY KEY,
    source TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    item TEXT COLLATE "C" NOT NULL,
    unit TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('owed', 'dead')),
    reason TEXT COLLATE "C",
    attempts BIGINT NOT NULL DEFAULT 0,
    next_us BIGINT,
    since_us BIGINT NOT NULL,
    refused_by TEXT COLLATE "C", -- providers that called it permanent, a line each
    seq BIGINT NOT NULL,
    UNIQUE (source, stream, item)
);
CREATE INDEX owed_next ON owed (source, stream, state, next_us);

CREATE TABLE quarantine (
    id BIGINT PRIMARY KEY,
    source TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C",
    digest BYTEA NOT NULL,
    raw BYTEA,
    size BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    at_us BIGINT NOT NULL,
    times BIGINT NOT NULL DEFAULT 1,
    seq BIGINT NOT NULL,
    UNIQUE (source, digest)
);

CREATE TABLE providers (
    source TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    chosen TEXT COLLATE "C",
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (source, name)
);

-- An account has one row, however often it was asked for. `asked_us`: only a reading that begins
-- later will do.
CREATE TABLE backfill_queue (
    actor_did TEXT COLLATE "C" PRIMARY KEY,
    priority BIGINT NOT NULL,
    since_us BIGINT NOT NULL,
    sweep TEXT,
    reason TEXT,
    attempts BIGINT NOT NULL DEFAULT 0,
    next_us BIGINT NOT NULL,
    queued_us BIGINT NOT NULL,
    asked_us BIGINT NOT NULL
);
CREATE INDEX backfill_queue_next ON backfill_queue (priority, queued_us, actor_did);

CREATE TABLE tombstones (
    collection TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    rev TEXT COLLATE "C" NOT NULL,
    n BIGINT,
    seq BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    PRIMARY KEY (collection, key)
);
CREATE INDEX tombstones_seq ON tombstones (collection, seq);
CREATE INDEX tombstones_age ON tombstones (at_us);
