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
