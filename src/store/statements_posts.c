/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#define POST_KEY "r.did || '/' || r.collection || '/' || r.rkey"
#define POST_OF_RECORD                                                                             \
    "a.did = r.did AND p.actor = a.id AND p.collection = r.collection AND p.rkey = r.rkey"
/* The tombstones of what a feed did not show and nobody said was deleted: until a later reading
 * shows it, or its own event comes again. */
#define UNSEEN      "posts.unseen"
#define REMOVABLE   POST_OF_RECORD " AND (p.rev IS NULL OR p.rev <= r.rev)"
#define SUBJECT_KEY "r.subject_did || '/' || r.subject_collection || '/' || r.subject_rkey"
#define SUBJECT_OF_RECORD                                                                          \
    "b.did = r.subject_did AND s.actor = b.id AND s.collection = r.subject_collection "            \
    "AND s.rkey = r.subject_rkey"
/* Rows that were there before the commit's first ingest number. */
#define EARLIER "p.n < (SELECT next_n FROM engine WHERE id = 1)"
/* Rows that this commit wrote; of others it only put the time right. */
#define WRITTEN   "p.seq = {seq} AND p.late_seq IS DISTINCT FROM {seq}"
#define PUT_RIGHT "p.seq = {seq} AND p.late_seq = {seq} AND " EARLIER
#define REWRITTEN WRITTEN " AND " EARLIER
/* A version that came live wins by its rev. What a feed shows has none: it fills what is missing,
 * follows other feeds, and corrects a live version only if nothing newer than the reading came in
 * since. Of a post kept only for its links a feed's is always the better one. */
#define ACCEPTED                                                                                   \
    "(excluded.asof_seq IS NULL AND (post.rev IS NULL OR excluded.rev > post.rev)) OR "            \
    "(excluded.asof_seq IS NOT NULL AND excluded.kind < 2 AND post.kind = 2) OR "                  \
    "(excluded.asof_seq IS NOT NULL AND (excluded.kind < 2 OR post.kind = 2) "                     \
    "AND excluded.cid IS DISTINCT FROM post.cid "                                                  \
    "AND (post.rev IS NULL OR post.seq <= excluded.asof_seq))"

/* It came into being with this event, which no feed's time is truer than. The row tells it by a
 * commit that put nothing right, until another version comes. */
#define CREATED "excluded.late_seq = 0"

/* A version that came late, older than what is stored or the same again: it is not stored, but it
 * may have been witnessed first. */
#define LATE        "excluded.rev <= post.rev"
#define TAKE(field) field " = CASE WHEN " LATE " THEN post." field " ELSE excluded." field " END, "

static const struct condition put = {POST_OP, POST_OP_PUT}, removal = {POST_OP, POST_OP_DELETE};

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_POST, .only = &put, .authors = true, .sql =
     "INSERT INTO actors (id, did) SELECT r.n, r.did {rows} WHERE true "
     "ON CONFLICT (did) DO NOTHING"},
    {.kind = RECORD_POST, .only = &removal, .sql =
     "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
     "SELECT CASE WHEN r.asof_seq IS NULL THEN 'posts' ELSE '" UNSEEN "' END, " POST_KEY ", r.rev, "
     "(SELECT p.n FROM actors a, post p WHERE " POST_OF_RECORD "), {seq}, r.shared_us "
     "{rows} WHERE NOT EXISTS (SELECT 1 FROM actors a, post p WHERE " POST_OF_RECORD
     " AND p.rev > r.rev) "
     "ON CONFLICT (collection, key) DO UPDATE SET rev = CASE WHEN excluded.rev > tombstones.rev "
     "THEN excluded.rev ELSE tombstones.rev END, "
     "n = coalesce(excluded.n, tombstones.n), seq = excluded.seq, at_us = excluded.at_us "
     "WHERE excluded.rev > tombstones.rev OR tombstones.collection = '" UNSEEN "'"},
    /* Who shared by what goes, and who inherited from it, is worked out anew. */
    {.kind = RECORD_POST, .only = &removal, .sql =
     "INSERT INTO touched_shares (link_id, actor) SELECT l.link_id, l.actor "
     "{rows with} actors a CROSS JOIN post p CROSS JOIN post_links l "
     "WHERE " REMOVABLE " AND l.post_id = p.n AND l.actor IS NOT NULL "
     "ON CONFLICT (link_id, actor) DO NOTHING"},
    {.kind = RECORD_POST, .only = &removal, .sql =
     "INSERT INTO touched_posts (n, subject_n, own) SELECT d.n, NULL, 0 "
     "{rows with} actors a CROSS JOIN post p CROSS JOIN post d "
     "WHERE " REMOVABLE " AND d.subject = 'at://' || " POST_KEY " ON CONFLICT (n) DO NOTHING"},
    /* That one keeps the record from coming back; this one tells who follows the rows. */
    {.kind = RECORD_POST, .only = &removal, .sql =
     "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
     "SELECT 'posts.n', CAST(p.n AS TEXT), '', p.n, {seq}, r.shared_us "
     "{rows with} actors a, post p WHERE " REMOVABLE " ON CONFLICT (collection, key) DO NOTHING"},
    {.after = 1U << RECORD_POST, .sql = NOTE_POSTS_GONE},
    {.kind = RECORD_POST, .only = &removal, .sql =
     "DELETE FROM post WHERE n IN (SELECT p.n {rows with} actors a, post p WHERE " REMOVABLE ")"},
    /* Who wrote it is there. Were it otherwise, the post would be refused, not lost. */
    {.kind = RECORD_POST, .only = &put, .sql =
     "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us, created_us, body, "
     "subject, cid, asof_seq, lent, late_seq, langs, tags, facets) "
     "SELECT r.n, {seq}, a.id, r.collection, r.rkey, r.kind, r.rev, r.shared_us, r.created_us, "
     "r.body, r.subject, r.cid, CASE WHEN r.rev IS NULL THEN coalesce(r.asof_seq, 0) END, "
     "a.active, CASE WHEN r.fresh = 1 THEN 0 END, r.langs, r.tags, r.facets "
     "{rows} LEFT JOIN actors a ON a.did = r.did "
     "WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.collection = 'posts' "
     "AND t.key = " POST_KEY " AND (t.rev >= r.rev OR (r.rev IS NULL AND NOT EXISTS "
     "(SELECT 1 FROM post p WHERE " POST_OF_RECORD " AND p.rev > t.rev)))) "
     "AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.collection = '" UNSEEN "' "
     "AND t.key = " POST_KEY " AND (t.rev > r.rev OR (r.rev IS NULL "
     "AND t.seq > coalesce(r.asof_seq, 0)))) "
     "ON CONFLICT (actor, collection, rkey) DO UPDATE SET seq = excluded.seq, "
     "rev = CASE WHEN excluded.rev > post.rev OR post.rev IS NULL THEN excluded.rev "
     "ELSE post.rev END, " TAKE("kind") TAKE("created_us") TAKE("body") TAKE("subject")
     TAKE("cid") TAKE("asof_seq") TAKE("lent") TAKE("langs") TAKE("tags") TAKE("facets")
     "late_seq = CASE WHEN " LATE " THEN excluded.seq END, "
     "shared_us = CASE WHEN excluded.shared_us < post.shared_us "
     "OR (post.kind = 2 AND excluded.kind < 2) OR (" CREATED " AND post.rev IS NULL) "
     "THEN excluded.shared_us ELSE post.shared_us END "
     "WHERE (" LATE " AND excluded.shared_us < post.shared_us) OR " ACCEPTED},
    {.after = 1U << RECORD_POST, .sql =
     "INSERT INTO touched_posts (n, subject_n, own) SELECT p.n, NULL, 1 FROM post p "
     "WHERE " REWRITTEN " ON CONFLICT (n) DO UPDATE SET own = 1"},
    {.kind = RECORD_POST, .only = &put, .has = POST_SUBJECT, .sql =
     "INSERT INTO touched_posts (n, subject_n, own) SELECT p.n, s.n, 0 "
     "{rows with} actors a CROSS JOIN post p LEFT JOIN actors b ON b.did = r.subject_did "
     "LEFT JOIN post s ON s.actor = b.id AND s.collection = r.subject_collection "
     "AND s.rkey = r.subject_rkey WHERE " POST_OF_RECORD
     " AND " WRITTEN " ON CONFLICT (n) DO UPDATE SET subject_n = excluded.subject_n"},
    /* A subject that nobody has told us of is fetched, unless it is known to be gone; and again
     * when it was kept for its links alone and another version is meant: nobody tells of its
     * edits, because its author is not followed. */
    {.kind = RECORD_POST, .only = &put, .has = POST_SUBJECT, .sql =
     "INSERT INTO owed (id, source, stream, item, state, reason, next_us, since_us, seq) "
     "SELECT r.n, 'appview', 'posts', r.subject, 'owed', 'reposted or quoted, not yet read', "
     "r.shared_us, r.shared_us, {seq} {rows with} actors a CROSS JOIN post p "
     "WHERE r.subject_collection = 'app.bsky.feed.post' AND r.kind < 2 AND " POST_OF_RECORD
     " AND " WRITTEN " AND NOT EXISTS (SELECT 1 FROM actors b CROSS JOIN post s "
     "WHERE " SUBJECT_OF_RECORD " AND (s.kind < 2 OR s.cid IS NULL OR r.subject_cid IS NULL "
     "OR s.cid = r.subject_cid)) AND NOT EXISTS (SELECT 1 FROM tombstones t "
     "WHERE t.collection = 'posts' AND t.key = " SUBJECT_KEY ") "
     "ON CONFLICT (source, stream, item) DO NOTHING"},
    /* One that was given up is worth asking for again when somebody shares it anew. */
    {.kind = RECORD_POST, .only = &put, .has = POST_SUBJECT, .sql =
     "UPDATE owed SET state = 'owed', attempts = 0, next_us = m.at_us, since_us = m.at_us, "
     "seq = {seq} FROM (SELECT o.id AS id, max(r.shared_us) AS at_us "
     "{rows with} owed o CROSS JOIN actors a CROSS JOIN post p WHERE o.source = 'appview' "
     "AND o.stream = 'posts' AND o.item = r.subject AND o.state = 'dead' "
     "AND o.since_us < r.shared_us AND r.kind < 2 AND " POST_OF_RECORD " AND " WRITTEN
     " GROUP BY o.id) m WHERE owed.id = m.id"},
    {.after = 1U << RECORD_POST, .sql =
     "INSERT INTO touched_shares (link_id, actor) SELECT l.link_id, l.actor "
     "FROM post p CROSS JOIN post_links l WHERE " PUT_RIGHT " AND l.post_id = p.n "
     "AND l.actor IS NOT NULL ON CONFLICT (link_id, actor) DO NOTHING"},
    {.kind = RECORD_POST, .only = &put, .sql =
     "UPDATE follows SET last_seen_at = {time m.seen_us} "
     "FROM (SELECT r.did AS did, max(r.shared_us) AS seen_us {rows} WHERE r.kind < 2 "
     "AND EXISTS (SELECT 1 FROM follows) GROUP BY r.did) m WHERE follows.did = m.did "
     "AND (follows.last_seen_at IS NULL OR follows.last_seen_at < {time m.seen_us})"},
};
/* clang-format on */

const struct statement_group statements_posts = {statements,
                                                 sizeof statements / sizeof statements[0]};
