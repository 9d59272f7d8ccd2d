-- SPDX-License-Identifier: Apache-2.0
-- Collections that people declare. Each has a table of its own, data_NAME, made when it is declared
-- and grown when fields or indexes are added; what was made is written down here. An index that is
-- not ready is still to be built.
CREATE TABLE declared_fields (
    collection TEXT NOT NULL,
    field TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('text', 'int', 'float', 'bool', 'time', 'json')),
    PRIMARY KEY (collection, field)
) WITHOUT ROWID;

CREATE TABLE declared_indexes (
    name TEXT PRIMARY KEY,
    collection TEXT NOT NULL,
    fields TEXT NOT NULL,
    ready INTEGER NOT NULL CHECK (ready IN (0, 1))
) WITHOUT ROWID;

-- Requests that must not be done twice: what was asked for, and the commit that did it.
CREATE TABLE request_keys (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    seq INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE INDEX request_keys_age ON request_keys (at_us);
