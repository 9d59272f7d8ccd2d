-- SPDX-License-Identifier: Apache-2.0
-- One document has many addresses: version 0 and 1, several alphabets. Every address that was named
-- keeps its row; this says which rows are of one document. Rows from before say it of themselves.
ALTER TABLE ipfs_cache ADD COLUMN canonical TEXT;
UPDATE ipfs_cache SET canonical = uri;
CREATE INDEX ipfs_cache_canonical ON ipfs_cache (canonical);
