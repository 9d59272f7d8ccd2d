-- SPDX-License-Identifier: Apache-2.0
-- Whom we follow, whose sharing counts, and whose history is still to be read.
CREATE TABLE poll_state (
    user_handle TEXT PRIMARY KEY,
    last_cursor TEXT,
    last_polled_at TIMESTAMP,
    posts_fetched_count INTEGER DEFAULT 0
);

CREATE TABLE follows (
    n INTEGER PRIMARY KEY,
    did TEXT NOT NULL UNIQUE,
    handle TEXT NOT NULL,
    display_name TEXT,
    added_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    last_seen_at TIMESTAMP,
    backfill_completed BOOLEAN DEFAULT FALSE
);
CREATE INDEX idx_follows_did ON follows (did);
CREATE INDEX idx_follows_handle ON follows (handle, n);

-- Who follows whom: `owner` is one of ours, or, for the second degree, one whom ours follow. A list
-- that is being read gathers in follow_page and stands in follow_edge only once it is whole.
CREATE TABLE follow_page (
    owner TEXT NOT NULL,
    listing INTEGER NOT NULL,
    did TEXT NOT NULL,
    handle TEXT NOT NULL,
    display_name TEXT,
    avatar TEXT,
    n INTEGER NOT NULL,
    PRIMARY KEY (owner, listing, did)
) WITHOUT ROWID;

CREATE TABLE follow_edge (
    owner TEXT NOT NULL,
    did TEXT NOT NULL,
    since_us INTEGER NOT NULL,
    PRIMARY KEY (owner, did)
) WITHOUT ROWID;
CREATE INDEX follow_edge_did ON follow_edge (did);

CREATE TABLE listings (
    owner TEXT PRIMARY KEY,
    listing INTEGER NOT NULL,
    degree INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    actor TEXT -- one of ours, as configured
) WITHOUT ROWID;

-- Whose sharing counts: 1, whom we follow; 2, whom at least so many of those follow.
CREATE TABLE circle (
    did TEXT PRIMARY KEY,
    degree INTEGER NOT NULL,
    sources INTEGER NOT NULL
) WITHOUT ROWID;

-- The accounts whose history still has to be read before a gap is closed.
CREATE TABLE gap_sweep (
    gap_id INTEGER NOT NULL REFERENCES gaps (id) ON DELETE CASCADE,
    actor_did TEXT NOT NULL,
    PRIMARY KEY (gap_id, actor_did)
) WITHOUT ROWID;
CREATE INDEX gap_sweep_actor ON gap_sweep (actor_did);
