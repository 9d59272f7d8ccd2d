-- SPDX-License-Identifier: Apache-2.0
-- Blocks of the chain that is followed, as far back as somebody may ask for them: those that name
-- documents, and those whose hash the next block was checked against. A reference is one naming.
CREATE TABLE chain_blocks (
    n BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    number BIGINT NOT NULL UNIQUE,
    hash TEXT COLLATE "C",
    parent TEXT COLLATE "C",
    documents BIGINT NOT NULL
);
CREATE TABLE document_refs (
    block_number BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    uri TEXT COLLATE "C" NOT NULL,
    space TEXT COLLATE "C",
    PRIMARY KEY (block_number, ordinal)
);
CREATE INDEX document_refs_uri ON document_refs (uri);
-- What readers of the cache ask for beside the bytes.
ALTER TABLE ipfs_cache ADD COLUMN name TEXT COLLATE "C";
-- Both can be followed; a block that is undone leaves a trace.
CREATE INDEX ipfs_cache_seq ON ipfs_cache (seq);
CREATE INDEX chain_blocks_seq ON chain_blocks (seq);
CREATE FUNCTION chain_blocks_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT 'blocks', OLD.n::text, '', OLD.n, commit_seq + 1, 0 FROM engine
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
    RETURN NULL;
END $$;
CREATE TRIGGER chain_blocks_leave AFTER DELETE ON chain_blocks
FOR EACH ROW EXECUTE FUNCTION chain_blocks_leave();
INSERT INTO tail_floors (collection, seq)
SELECT c.name, e.commit_seq FROM engine e CROSS JOIN (SELECT 'documents' AS name
UNION ALL SELECT 'blocks') c;
