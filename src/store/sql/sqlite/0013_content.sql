-- SPDX-License-Identifier: Apache-2.0
-- Blocks of the chain that is followed, as far back as somebody may ask for them: those that name
-- documents, and those whose hash the next block was checked against. A reference is one naming.
CREATE TABLE chain_blocks (
    n INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    number INTEGER NOT NULL UNIQUE,
    hash TEXT,
    parent TEXT,
    documents INTEGER NOT NULL
);
CREATE TABLE document_refs (
    block_number INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    uri TEXT NOT NULL,
    space TEXT,
    PRIMARY KEY (block_number, ordinal)
) WITHOUT ROWID;
CREATE INDEX document_refs_uri ON document_refs (uri);
-- What readers of the cache ask for beside the bytes.
ALTER TABLE ipfs_cache ADD COLUMN name TEXT;
-- Both can be followed; a block that is undone leaves a trace.
CREATE INDEX ipfs_cache_seq ON ipfs_cache (seq);
CREATE INDEX chain_blocks_seq ON chain_blocks (seq);
CREATE TRIGGER chain_blocks_leave AFTER DELETE ON chain_blocks BEGIN
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT 'blocks', CAST(old.n AS TEXT), '', old.n, commit_seq + 1, 0
    FROM engine WHERE true
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
END;
INSERT INTO tail_floors (collection, seq)
SELECT c.name, e.commit_seq FROM engine e CROSS JOIN (SELECT 'documents' AS name
UNION ALL SELECT 'blocks') c;
