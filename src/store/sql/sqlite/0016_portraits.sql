-- SPDX-License-Identifier: Apache-2.0
-- Pictures of links and portraits of people under one bound, each by the name that a page asks for.
-- What was kept before is fetched again when somebody looks.
DROP TABLE pictures;
-- The bytes come last, so that the rest is read without them.
CREATE TABLE pictures (
    name TEXT PRIMARY KEY,
    link_id INTEGER REFERENCES links (id) ON DELETE CASCADE, -- null: a portrait
    at_us INTEGER NOT NULL,
    size INTEGER NOT NULL,
    reason TEXT,
    data BLOB
);
CREATE INDEX pictures_link ON pictures (link_id);
-- The oldest go when there are too many; how many bytes each has is known without its row.
CREATE INDEX pictures_age ON pictures (at_us, name, size);
