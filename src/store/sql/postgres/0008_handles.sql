-- SPDX-License-Identifier: Apache-2.0
-- What clients are in the midst of reading. Not logged: it outlives our process, not the server's
-- crash, and is never worth waiting for a disk. SQLite keeps it in a file of its own.
CREATE UNLOGGED TABLE query_handles (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name BYTEA NOT NULL UNIQUE,
    session BYTEA NOT NULL,
    version BIGINT NOT NULL,
    opened_us BIGINT NOT NULL,
    used_us BIGINT NOT NULL,
    used_minute BIGINT NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    order_by TEXT COLLATE "C" NOT NULL,
    filter TEXT COLLATE "C" NOT NULL,
    page_size BIGINT NOT NULL,
    fence_n BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    total BIGINT NOT NULL,
    count_kind BIGINT NOT NULL,
    page BIGINT NOT NULL,
    walk BYTEA NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX query_handles_used ON query_handles (used_minute);
CREATE INDEX query_handles_session ON query_handles (session);
