-- SPDX-License-Identifier: Apache-2.0
-- Collections that people declare. Each has a table of its own, data_NAME, made when it is declared
-- and grown when fields or indexes are added; what was made is written down here. An index that is
-- not ready is still to be built.
CREATE TABLE declared_fields (
    collection TEXT COLLATE "C" NOT NULL,
    field TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL CHECK (type IN ('text', 'int', 'float', 'bool', 'time', 'json')),
    PRIMARY KEY (collection, field)
);

CREATE TABLE declared_indexes (
    name TEXT COLLATE "C" PRIMARY KEY,
    collection TEXT COLLATE "C" NOT NULL,
    fields TEXT COLLATE "C" NOT NULL,
    ready BIGINT NOT NULL CHECK (ready IN (0, 1))
);

-- Requests that must not be done twice: what was asked for, and the commit that did it.
CREATE TABLE request_keys (
    collection TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    seq BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    PRIMARY KEY (collection, key)
);
CREATE INDEX request_keys_age ON request_keys (at_us);
