-- SPDX-License-Identifier: Apache-2.0
-- Whom we follow, whose sharing counts, and whose history is still to be read.
CREATE TABLE poll_state (
    user_handle TEXT COLLATE "C" PRIMARY KEY,
    last_cursor TEXT COLLATE "C",
    last_polled_at TIMESTAMP,
    posts_fetched_count INTEGER DEFAULT 0
);

CREATE TABLE follows (
    did TEXT COLLATE "C" PRIMARY KEY,
    handle TEXT COLLATE "C" NOT NULL,
    display_name TEXT COLLATE "C",
    added_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    last_seen_at TIMESTAMP,
    backfill_completed BOOLEAN DEFAULT FALSE
);
CREATE INDEX idx_follows_did ON follows (did);
CREATE INDEX idx_follows_handle ON follows (handle);

-- Who follows whom: `owner` is one of ours, or, for the second degree, one whom ours follow. A list
-- that is being read gathers in follow_page and stands in follow_edge only once it is whole.
CREATE TABLE follow_page (
    owner TEXT COLLATE "C" NOT NULL,
    listing BIGINT NOT NULL,
    did TEXT COLLATE "C" NOT NULL,
    handle TEXT COLLATE "C" NOT NULL,
    display_name TEXT COLLATE "C",
    avatar TEXT COLLATE "C",
    n BIGINT NOT NULL,
    PRIMARY KEY (owner, listing, did)
);

CREATE TABLE follow_edge (
    owner TEXT COLLATE "C" NOT NULL,
    did TEXT COLLATE "C" NOT NULL,
    since_us BIGINT NOT NULL,
    PRIMARY KEY (owner, did)
);
CREATE INDEX follow_edge_did ON follow_edge (did);

CREATE TABLE listings (
    owner TEXT COLLATE "C" PRIMARY KEY,
    listing BIGINT NOT NULL,
    degree BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    actor TEXT COLLATE "C" -- one of ours, as configured
);

-- Whose sharing counts: 1, whom we follow; 2, whom at least so many of those follow.
CREATE TABLE circle (
    did TEXT COLLATE "C" PRIMARY KEY,
    degree BIGINT NOT NULL,
    sources BIGINT NOT NULL
);

-- The accounts whose history still has to be read before a gap is closed.
CREATE TABLE gap_sweep (
    gap_id BIGINT NOT NULL REFERENCES gaps (id) ON DELETE CASCADE,
    actor_did TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (gap_id, actor_did)
);
CREATE INDEX gap_sweep_actor ON gap_sweep (actor_did);
