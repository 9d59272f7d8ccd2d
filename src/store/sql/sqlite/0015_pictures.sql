-- SPDX-License-Identifier: Apache-2.0
-- Pictures of links, fetched because somebody looked at the link: the bytes, or why there are none.
-- The bytes come last, so that the rest is read without them.
CREATE TABLE pictures (
    link_id INTEGER PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    at_us INTEGER NOT NULL,
    size INTEGER NOT NULL,
    reason TEXT,
    data BLOB
);
-- The oldest go when there are too many; how many bytes each has is known without its row.
CREATE INDEX pictures_age ON pictures (at_us, link_id, size);
