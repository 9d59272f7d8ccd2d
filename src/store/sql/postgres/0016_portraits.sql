-- SPDX-License-Identifier: Apache-2.0
-- Pictures of links and portraits of people under one bound, each by the name that a page asks for.
-- What was kept before is fetched again when somebody looks.
DROP TABLE pictures;
CREATE TABLE pictures (
    name TEXT COLLATE "C" PRIMARY KEY,
    link_id BIGINT REFERENCES links (id) ON DELETE CASCADE, -- null: a portrait
    at_us BIGINT NOT NULL,
    size BIGINT NOT NULL,
    reason TEXT COLLATE "C",
    data BYTEA
);
-- Pictures are packed already.
ALTER TABLE pictures ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX pictures_link ON pictures (link_id);
-- The oldest go when there are too many; how many bytes each has is known without its row.
CREATE INDEX pictures_age ON pictures (at_us, name, size);
