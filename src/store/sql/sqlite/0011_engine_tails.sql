-- SPDX-License-Identifier: Apache-2.0
-- What the engine notes for people can be followed like what they share: a row carries the commit
-- that changed it last, and what is deleted leaves a trace. A commit's number is one above the last
-- until its end; the trace is dated (0: not yet) by whoever clears up.
ALTER TABLE follows ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
CREATE INDEX gaps_seq ON gaps (seq);
CREATE INDEX owed_seq ON owed (seq);
CREATE INDEX quarantine_seq ON quarantine (seq);
CREATE INDEX follows_seq ON follows (seq);
CREATE TRIGGER gaps_leave AFTER DELETE ON gaps BEGIN
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT 'gaps', CAST(old.id AS TEXT), '', old.id, commit_seq + 1, 0
    FROM engine WHERE true
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
END;
CREATE TRIGGER owed_leave AFTER DELETE ON owed BEGIN
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT 'owed', CAST(old.id AS TEXT), '', old.id, commit_seq + 1, 0
    FROM engine WHERE true
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
END;
CREATE TRIGGER quarantine_leave AFTER DELETE ON quarantine BEGIN
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT 'quarantine', CAST(old.id AS TEXT), '', old.id, commit_seq + 1, 0
    FROM engine WHERE true
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
END;
CREATE TRIGGER follows_leave AFTER DELETE ON follows BEGIN
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT 'follows', CAST(old.n AS TEXT), '', old.n, commit_seq + 1, 0
    FROM engine WHERE true
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
END;
CREATE TRIGGER follows_enter AFTER INSERT ON follows BEGIN
    UPDATE follows SET seq = (SELECT commit_seq + 1 FROM engine) WHERE n = new.n;
END;
CREATE TRIGGER follows_change AFTER UPDATE OF handle, display_name, backfill_completed ON follows
WHEN old.handle IS NOT new.handle OR old.display_name IS NOT new.display_name
    OR old.backfill_completed IS NOT new.backfill_completed
BEGIN
    UPDATE follows SET seq = (SELECT commit_seq + 1 FROM engine) WHERE n = new.n;
END;
INSERT INTO tail_floors (collection, seq)
SELECT c.name, e.commit_seq FROM engine e CROSS JOIN (SELECT 'gaps' AS name UNION ALL SELECT 'owed'
UNION ALL SELECT 'quarantine' UNION ALL SELECT 'follows') c;
