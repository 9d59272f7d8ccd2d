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
