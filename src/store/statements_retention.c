/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* The bound as one value, so that an index leads straight to the first of a slice. */
#define BOUND(field_) "(SELECT max(r." field_ ") {rows})"
/* An old post that newer ones repost or quote is kept, for its links. */
#define OLD_POSTS                                                                                  \
    "SELECT p.n AS n, 'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri "            \
    "FROM (SELECT n, actor, collection, rkey FROM post "                                           \
    "WHERE shared_us < " BOUND("posts_us") " ORDER BY shared_us, n LIMIT 500) p "                  \
                                           "CROSS JOIN actors a WHERE a.id = p.actor"
#define KEPT "(SELECT t.n FROM touched_posts t WHERE t.keep_us IS NOT NULL)"
#define OLD_OF(table_)                                                                             \
    "FROM " table_ " t WHERE t.at_us > 0 AND t.at_us < " BOUND(                                    \
        "tombstones_us") " "                                                                       \
                         "ORDER BY t.at_us, t.collection, t.key LIMIT 500"
/* Who has not followed a collection up to there cannot know any more what left it. */
#define RAISE_FLOORS(table_)                                                                       \
    "INSERT INTO tail_floors (collection, seq) SELECT o.collection, max(o.seq) "                   \
    "FROM (SELECT t.collection, t.seq " OLD_OF(                                                    \
        table_) ") o WHERE true "                                                                  \
                "GROUP BY o.collection ON CONFLICT (collection) DO UPDATE SET seq = excluded.seq " \
                "WHERE excluded.seq > tail_floors.seq"
/* Who follows a collection is told of what leaves it. */
#define TELL(collection_, n_)                                                                      \
    "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "                                \
    "SELECT '" collection_ "', CAST(" n_ " AS TEXT), '', " n_ ", {seq}, " BOUND("at_us") " "
#define ONCE           " ON CONFLICT (collection, key) DO NOTHING"
#define IS_BARE(link_) "NOT EXISTS (SELECT 1 FROM post_links x WHERE x.link_id = " link_ ".id)"
#define HAS_OLD_POSTS  "EXISTS (SELECT 1 FROM post p WHERE p.shared_us < " BOUND("posts_us") ")"
/* Links that were not looked at for a day, a slice of them: whether they are still kept. */
#define DUE_LINKS(limit_)                                                                          \
    "(SELECT l.id AS id, l.share_count_total AS total FROM links l WHERE l.below_us < " BOUND(     \
        "below_us") " "                                                                            \
                    "ORDER BY l.below_us LIMIT " limit_ ") l"
/* For a question that goes through a whole table: nothing, as long as another slice is to come. */
#define AT_THE_END                                                                                 \
    "LIMIT (SELECT CASE WHEN " HAS_OLD_POSTS " "                                                   \
    "OR (SELECT count(*) FROM tombstones t {by tombstones_seq} "                                   \
    "WHERE t.collection = 'links' AND t.seq = {seq}) >= 500 THEN 0 ELSE 5000 END)"

/* clang-format off */
static const struct statement statements[] = {
    /* A trigger does not know the time. */
    {.kind = RECORD_PRUNE, .sql =
     "UPDATE tombstones SET at_us = " BOUND("at_us") " WHERE (collection, key) IN "
     "(SELECT t.collection, t.key FROM tombstones t WHERE t.at_us = 0 LIMIT 500)"},
    {.kind = RECORD_PRUNE, .sql = RAISE_FLOORS("tombstones")},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM tombstones WHERE (collection, key) IN (SELECT t.collection, t.key "
     OLD_OF("tombstones") ")"},
    {.kind = RECORD_PRUNE, .sql = RAISE_FLOORS("past_rows")},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM past_rows WHERE (collection, seq, key) IN "
     "(SELECT t.collection, t.seq, t.key " OLD_OF("past_rows") ")"},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM request_keys WHERE (collection, key) IN (SELECT k.collection, k.key "
     "FROM request_keys k WHERE k.at_us < " BOUND("tombstones_us") " ORDER BY k.at_us LIMIT 500)"},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM gaps WHERE id IN (SELECT g.id FROM gaps g "
     "WHERE g.closed_us < " BOUND("gaps_us") " ORDER BY g.closed_us LIMIT 500)"},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM follow_page WHERE (owner, listing, did) IN (SELECT f.owner, f.listing, f.did "
     "FROM follow_page f WHERE f.listing < " BOUND("pages_us") " LIMIT 500)"},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM poll_state WHERE " BOUND("polls") " = 1"},
    /* Posts go, what was shared by them is remembered. */
    {.kind = RECORD_PRUNE, .sql =
     "INSERT INTO touched_posts (n, own, keep_us) SELECT o.n, 0, (SELECT max(d.shared_us) "
     "FROM post d WHERE d.subject = o.uri AND d.shared_us >= " BOUND("posts_us") ") "
     "FROM (" OLD_POSTS ") o WHERE true ON CONFLICT (n) DO NOTHING"},
    {.after = 1U << RECORD_PRUNE, .sql =
     "UPDATE share SET old_posts = share.old_posts + m.posts, "
     "old_us = CASE WHEN share.old_us > m.last_us THEN share.old_us ELSE m.last_us END "
     "FROM (SELECT l.link_id AS link_id, l.actor AS actor, count(*) AS posts, "
     "max(p.shared_us) AS last_us FROM touched_posts t CROSS JOIN post p CROSS JOIN post_links l "
     "WHERE p.n = t.n AND l.post_id = t.n AND l.actor IS NOT NULL "
     "GROUP BY l.link_id, l.actor) m "
     "WHERE share.link_id = m.link_id AND share.actor = m.actor"},
    {.after = 1U << RECORD_PRUNE, .sql =
     "DELETE FROM post_links WHERE via <> 'post' AND post_id IN " KEPT},
    {.after = 1U << RECORD_PRUNE, .sql =
     "UPDATE post_links SET actor = NULL WHERE post_id IN " KEPT},
    {.after = 1U << RECORD_PRUNE, .sql =
     "UPDATE post SET kind = 2, shared_us = t.keep_us, seq = {seq} FROM touched_posts t "
     "WHERE post.n = t.n AND t.keep_us IS NOT NULL"},
    {.kind = RECORD_PRUNE, .sql = TELL("posts.n", "t.n")
     "FROM touched_posts t CROSS JOIN post p WHERE p.n = t.n AND p.kind < 2 "
     "AND t.keep_us IS NULL" ONCE},
    {.after = 1U << RECORD_PRUNE, .sql = NOTE_POSTS_GONE},
    {.after = 1U << RECORD_PRUNE, .sql =
     "DELETE FROM post WHERE n IN (SELECT t.n FROM touched_posts t WHERE t.keep_us IS NULL)"},
    {.after = 1U << RECORD_PRUNE, .sql = "DELETE FROM touched_posts"},
    /* Whoever took a share back began a link's last day, if it has become too little shared. */
    {.kind = RECORD_PRUNE, .sql =
     "UPDATE links SET below_us = " BOUND("at_us") " WHERE id IN "
     "(SELECT l.id FROM links l WHERE l.below_us IS NULL LIMIT 500)"},
    {.kind = RECORD_PRUNE, .sql = TELL("links", "l.id") "FROM " DUE_LINKS("500")
     " WHERE l.total < " BOUND("threshold") " AND " IS_BARE("l") ONCE},
    {.kind = RECORD_PRUNE, .sql = TELL("links", "l.id") "FROM (SELECT l.id FROM links l "
     "WHERE l.last_shared_us < " BOUND("links_us") " AND " IS_BARE("l")
     " ORDER BY l.last_shared_us LIMIT 500) l WHERE true" ONCE},
    {.after = 1U << RECORD_PRUNE, .sql = NOTE_LINKS_GONE},
    {.after = 1U << RECORD_PRUNE, .sql =
     "DELETE FROM links WHERE id IN (SELECT t.n FROM tombstones t {by tombstones_seq} "
     "WHERE t.collection = 'links' AND t.seq = {seq})"},
    /* Those that are kept are due again when their last post leaves; much shared ones in a day. */
    {.kind = RECORD_PRUNE, .sql =
     "UPDATE links SET below_us = CASE WHEN share_count_total < " BOUND("threshold")
     " AND last_shared_us > " BOUND("posts_us") " THEN last_shared_us + " BOUND("below_us") " - "
     BOUND("posts_us") " ELSE " BOUND("at_us") " END WHERE id IN (SELECT l.id FROM "
     DUE_LINKS("(SELECT CASE WHEN " HAS_OLD_POSTS " THEN 0 ELSE 500 END)")
     " WHERE l.total >= " BOUND("threshold") " OR NOT " IS_BARE("l") ")"},
    /* Nobody asks any more for what these would have told. */
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM owed WHERE id IN (SELECT o.id FROM owed o WHERE o.source = 'cards' "
     "AND o.stream = 'page' AND o.since_us < " BOUND("posts_us") " AND NOT EXISTS "
     "(SELECT 1 FROM links l WHERE l.normalized_url = o.item) " AT_THE_END ")"},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM owed WHERE id IN (SELECT o.id FROM owed o WHERE o.source = 'appview' "
     "AND o.stream = 'posts' AND o.since_us < " BOUND("posts_us") " AND NOT EXISTS "
     "(SELECT 1 FROM post d WHERE d.subject = o.item) " AT_THE_END ")"},
};
/* clang-format on */

const struct statement_group statements_retention = {statements,
                                                     sizeof statements / sizeof statements[0]};
