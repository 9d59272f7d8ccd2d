/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#define POST_KEY "r.did || '/' || r.collection || '/' || r.rkey"
#define POST_OF_RECORD                                                                             \
    "a.did = r.did AND p.actor = a.id AND p.collection = r.collection AND p.rkey = r.rkey"

static const struct condition put = {POST_OP, POST_OP_PUT}, removal = {POST_OP, POST_OP_DELETE};

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_POST, .only = &put, .sql =
     "INSERT INTO actors (id, did) SELECT r.n, r.did {rows} WHERE true "
     "ON CONFLICT (did) DO NOTHING"},
    {.kind = RECORD_POST, .only = &removal, .sql =
     "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
     "SELECT 'posts', " POST_KEY ", r.rev, "
     "(SELECT p.n FROM actors a, post p WHERE " POST_OF_RECORD "), {seq}, r.shared_us "
     "{rows} WHERE true "
     "ON CONFLICT (collection, key) DO UPDATE SET rev = excluded.rev, "
     "n = coalesce(excluded.n, tombstones.n), seq = excluded.seq, at_us = excluded.at_us "
     "WHERE excluded.rev > tombstones.rev"},
    {.kind = RECORD_POST, .only = &removal, .sql =
     "DELETE FROM post WHERE n IN (SELECT p.n {rows with} actors a, post p "
     "WHERE " POST_OF_RECORD " AND (p.rev IS NULL OR p.rev <= r.rev))"},
    {.kind = RECORD_POST, .only = &put, .sql =
     "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us, created_us, body, "
     "subject) "
     "SELECT r.n, {seq}, a.id, r.collection, r.rkey, r.kind, r.rev, r.shared_us, r.created_us, "
     "r.body, r.subject {rows with} actors a "
     "WHERE a.did = r.did AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.collection = 'posts' "
     "AND t.key = " POST_KEY " AND t.rev >= r.rev) "
     "ON CONFLICT (actor, collection, rkey) DO UPDATE SET seq = excluded.seq, rev = excluded.rev, "
     "kind = excluded.kind, created_us = excluded.created_us, body = excluded.body, "
     "subject = excluded.subject, shared_us = CASE WHEN excluded.shared_us < post.shared_us "
     "THEN excluded.shared_us ELSE post.shared_us END "
     "WHERE post.rev IS NULL OR excluded.rev > post.rev"},
    {.kind = RECORD_ACCOUNT, .sql =
     "INSERT INTO actors (id, did, active, status, status_us) "
     "SELECT r.n, r.did, r.active, r.status, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET active = excluded.active, status = excluded.status, "
     "status_us = excluded.status_us "
     "WHERE actors.status_us IS NULL OR excluded.status_us > actors.status_us"},
    {.kind = RECORD_IDENTITY, .sql =
     "INSERT INTO actors (id, did, handle, handle_us) "
     "SELECT r.n, r.did, r.handle, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET handle = excluded.handle, handle_us = excluded.handle_us "
     "WHERE actors.handle_us IS NULL OR excluded.handle_us > actors.handle_us"},
};
/* clang-format on */

const struct statement_group statements_news = {statements,
                                                sizeof statements / sizeof statements[0]};
