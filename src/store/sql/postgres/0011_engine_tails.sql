-- SPDX-License-Identifier: Apache-2.0
-- What the engine notes for people can be followed like what they share: a row carries the commit
-- that changed it last, and what is deleted leaves a trace. A commit's number is one above the last
-- until its end; the trace is dated (0: not yet) by whoever clears up.
ALTER TABLE follows ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX gaps_seq ON gaps (seq);
CREATE INDEX owed_seq ON owed (seq);
CREATE INDEX quarantine_seq ON quarantine (seq);
CREATE INDEX follows_seq ON follows (seq);

CREATE FUNCTION leave_trace() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'follows' THEN
        gone := OLD.n;
    ELSE
        gone := OLD.id;
    END IF;
    INSERT INTO tombstones (collection, key, rev, n, seq, at_us)
    SELECT TG_TABLE_NAME, gone::text, '', gone, commit_seq + 1, 0 FROM engine
    ON CONFLICT (collection, key) DO UPDATE SET seq = excluded.seq, at_us = 0;
    RETURN NULL;
END $$;
CREATE TRIGGER gaps_leave AFTER DELETE ON gaps FOR EACH ROW EXECUTE FUNCTION leave_trace();
CREATE TRIGGER owed_leave AFTER DELETE ON owed FOR EACH ROW EXECUTE FUNCTION leave_trace();
CREATE TRIGGER quarantine_leave AFTER DELETE ON quarantine FOR EACH ROW EXECUTE FUNCTION leave_trace();
CREATE TRIGGER follows_leave AFTER DELETE ON follows FOR EACH ROW EXECUTE FUNCTION leave_trace();

CREATE FUNCTION follows_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT commit_seq + 1 INTO NEW.seq FROM engine;
    RETURN NEW;
END $$;
CREATE TRIGGER follows_enter BEFORE INSERT ON follows
FOR EACH ROW EXECUTE FUNCTION follows_change();
CREATE TRIGGER follows_change BEFORE UPDATE ON follows FOR EACH ROW
WHEN (OLD.handle IS DISTINCT FROM NEW.handle OR OLD.display_name IS DISTINCT FROM NEW.display_name
    OR OLD.backfill_completed IS DISTINCT FROM NEW.backfill_completed)
EXECUTE FUNCTION follows_change();
INSERT INTO tail_floors (collection, seq)
SELECT c.name, e.commit_seq FROM engine e CROSS JOIN (SELECT 'gaps' AS name UNION ALL SELECT 'owed'
UNION ALL SELECT 'quarantine' UNION ALL SELECT 'follows') c;
