-- SPDX-License-Identifier: Apache-2.0
-- Pictures of links, fetched because somebody looked at the link: the bytes, or why there are none.
CREATE TABLE pictures (
    link_id BIGINT PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    at_us BIGINT NOT NULL,
    size BIGINT NOT NULL,
    reason TEXT COLLATE "C",
    data BYTEA
);
-- Pictures are packed already.
ALTER TABLE pictures ALTER COLUMN data SET STORAGE EXTERNAL;
-- The oldest go when there are too many; how many bytes each has is known without its row.
CREATE INDEX pictures_age ON pictures (at_us, link_id, size);
