/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* A standing that is newer than the stored one changes who counts. The shares and posts of the
 * account follow in slices, found by their own state: what was done needs no memory. */
#define LAGGING_SHARES                                                                             \
    "SELECT s.link_id AS link_id, s.actor AS actor, a.active AS active, s.counted AS counted "     \
    "FROM standing w CROSS JOIN actors a CROSS JOIN share s WHERE a.id = w.actor "                 \
    "AND s.actor = w.actor AND s.counted = 1 - a.active ORDER BY s.actor, s.link_id LIMIT 500"
#define LAGGING_POSTS                                                                              \
    "SELECT p.n AS n, a.active AS active, "                                                        \
    "'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri "                             \
    "FROM standing w CROSS JOIN actors a CROSS JOIN post p WHERE a.id = w.actor "                  \
    "AND p.actor = w.actor AND p.lent = 1 - a.active ORDER BY p.actor, p.n LIMIT 500"
/* A profile that is shown says all of it, and has a handle; one that nobody shows says nothing. */
#define SHOWN_OR_KNOWN(field_)                                                                     \
    field_ " = CASE WHEN excluded.handle_us IS NULL THEN actors." field_ " ELSE excluded." field_  \
           " END"
/* People look an account up by the name it has now. */
#define FOLLOW_AS_ACTOR                                                                            \
    "UPDATE follows SET handle = a.handle, "                                                       \
    "display_name = CASE WHEN a.profile_us IS NULL "                                               \
    "THEN coalesce(a.display_name, follows.display_name) ELSE a.display_name END "                 \
    "{rows with} actors a "                                                                        \
    "WHERE a.did = r.did AND follows.did = r.did AND a.handle IS NOT NULL AND "                    \
    "(a.handle <> follows.handle OR a.display_name IS DISTINCT FROM follows.display_name)"

static const struct condition active = {ACCOUNT_ACTIVE, 1};

/* clang-format off */
static const struct statement statements[] = {
    /* Back again: what it shared while away, and before, is to be read. Not for what was heard
     * already, and comes once more in a replay. */
    {.kind = RECORD_ACCOUNT, .only = &active, .sql =
     "INSERT INTO backfill_queue (actor_did, priority, since_us, reason, next_us, queued_us, "
     "asked_us) SELECT r.did, 1, r.at_us - 86400000000, 'the account is active again', r.at_us, "
     "r.at_us, r.at_us {rows with} circle c WHERE c.did = r.did AND NOT EXISTS "
     "(SELECT 1 FROM actors a WHERE a.did = r.did AND a.status_us >= r.at_us) "
     "ON CONFLICT (actor_did) DO UPDATE SET " QUEUE_LESSER("priority") ", "
     QUEUE_LESSER("since_us") ", " QUEUE_LESSER("next_us") ", asked_us = CASE "
     "WHEN excluded.asked_us > backfill_queue.asked_us THEN excluded.asked_us "
     "ELSE backfill_queue.asked_us END"},
    {.kind = RECORD_ACCOUNT, .sql =
     "INSERT INTO standing (actor) SELECT a.id {rows with} actors a WHERE a.did = r.did "
     "AND a.active <> r.active AND (a.status_us IS NULL OR r.at_us >= a.status_us) "
     "ON CONFLICT (actor) DO NOTHING"},
    {.kind = RECORD_ACCOUNT, .sql =
     "INSERT INTO actors (id, did, active, status, status_us) "
     "SELECT r.n, r.did, r.active, r.status, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET active = excluded.active, status = excluded.status, "
     "status_us = excluded.status_us "
     "WHERE actors.status_us IS NULL OR excluded.status_us >= actors.status_us"},
    {.kind = RECORD_IDENTITY, .sql =
     "INSERT INTO actors (id, did, handle, handle_us) "
     "SELECT r.n, r.did, r.handle, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET handle = excluded.handle, handle_us = excluded.handle_us "
     "WHERE actors.handle_us IS NULL OR excluded.handle_us >= actors.handle_us"},
    {.kind = RECORD_PROFILE, .sql =
     "INSERT INTO actors (id, did, handle, handle_us, display_name, avatar, profile_us) "
     "SELECT r.n, r.did, r.handle, CASE WHEN r.handle IS NOT NULL THEN r.at_us END, "
     "r.display_name, r.avatar, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET "
     "handle = CASE WHEN coalesce(excluded.handle_us > coalesce(actors.handle_us, 0), false) "
     "THEN excluded.handle ELSE actors.handle END, "
     "handle_us = CASE WHEN coalesce(excluded.handle_us > coalesce(actors.handle_us, 0), false) "
     "THEN excluded.handle_us ELSE actors.handle_us END, "
     SHOWN_OR_KNOWN("display_name") ", " SHOWN_OR_KNOWN("avatar") ", "
     "profile_us = excluded.profile_us "
     "WHERE actors.profile_us IS NULL OR excluded.profile_us > actors.profile_us"},
    {.kind = RECORD_IDENTITY, .sql = FOLLOW_AS_ACTOR},
    {.kind = RECORD_PROFILE, .sql = FOLLOW_AS_ACTOR},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE links SET share_count_total = share_count_total + m.delta, seq = {seq} "
     "FROM (SELECT x.link_id AS link_id, sum(x.active - x.counted) AS delta "
     "FROM (" LAGGING_SHARES ") x GROUP BY x.link_id) m WHERE links.id = m.link_id"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE links SET below_us = NULL WHERE id IN "
     "(SELECT x.link_id FROM (" LAGGING_SHARES ") x WHERE x.active = 0)"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE share SET counted = x.active FROM (" LAGGING_SHARES ") x "
     "WHERE share.link_id = x.link_id AND share.actor = x.actor"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "INSERT INTO touched_posts (n, subject_n, own) SELECT d.n, x.n, 0 FROM (" LAGGING_POSTS ") x "
     "CROSS JOIN post d WHERE d.subject = x.uri ON CONFLICT (n) DO NOTHING"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE post SET lent = x.active FROM (" LAGGING_POSTS ") x WHERE post.n = x.n"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "DELETE FROM standing WHERE NOT EXISTS (SELECT 1 FROM actors a CROSS JOIN share s "
     "WHERE a.id = standing.actor AND s.actor = standing.actor AND s.counted = 1 - a.active) "
     "AND NOT EXISTS (SELECT 1 FROM actors a CROSS JOIN post p "
     "WHERE a.id = standing.actor AND p.actor = standing.actor AND p.lent = 1 - a.active)"},
};
/* clang-format on */

const struct statement_group statements_accounts = {statements,
                                                    sizeof statements / sizeof statements[0]};
