/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#define TOUCHED_WITH_POSTS                                                                         \
    "FROM touched_shares t CROSS JOIN post_links l CROSS JOIN post p "                             \
    "WHERE l.link_id = t.link_id AND l.actor = t.actor AND p.n = l.post_id"
#define TOUCHED_WITH_SHARES                                                                        \
    "FROM touched_shares t CROSS JOIN share s CROSS JOIN actors a "                                \
    "WHERE s.link_id = t.link_id AND s.actor = t.actor AND a.id = s.actor"

/* Last of the news: whatever was touched is counted anew from the posts it rests on. */
/* clang-format off */
static const struct statement statements[] = {
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "INSERT INTO touched_shares (link_id, actor) SELECT l.link_id, l.actor "
     "FROM touched_posts t CROSS JOIN post_links l WHERE l.post_id = t.n AND l.actor IS NOT NULL "
     "ON CONFLICT (link_id, actor) DO NOTHING"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "INSERT INTO share (link_id, actor, last_us, n_posts) "
     "SELECT t.link_id, t.actor, max(p.shared_us), count(*) " TOUCHED_WITH_POSTS
     " GROUP BY t.link_id, t.actor ON CONFLICT (link_id, actor) DO UPDATE SET "
     "n_posts = share.old_posts + excluded.n_posts, "
     "last_us = CASE WHEN share.old_us > excluded.last_us THEN share.old_us "
     "ELSE excluded.last_us END"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE share SET n_posts = share.old_posts, "
     "last_us = coalesce(share.old_us, share.last_us) "
     "FROM touched_shares t WHERE share.link_id = t.link_id AND share.actor = t.actor "
     "AND NOT EXISTS (SELECT 1 FROM post_links l WHERE l.link_id = t.link_id "
     "AND l.actor = t.actor)"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE links SET share_count_total = links.share_count_total + m.delta, "
     "last_shared_us = coalesce((SELECT max(s.last_us) FROM share s WHERE s.link_id = links.id "
     "AND s.n_posts > 0), links.last_shared_us), seq = {seq} "
     "FROM (SELECT t.link_id AS id, sum(CASE WHEN s.n_posts = 0 THEN -s.counted "
     "WHEN a.active = 1 THEN 1 - s.counted ELSE 0 END) AS delta " TOUCHED_WITH_SHARES
     " GROUP BY t.link_id) m WHERE links.id = m.id"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE links SET first_shared_us = m.first_us FROM (SELECT t.link_id AS id, "
     "min(p.shared_us) AS first_us " TOUCHED_WITH_POSTS " GROUP BY t.link_id) m "
     "WHERE links.id = m.id "
     "AND (links.first_shared_us IS NULL OR links.first_shared_us > m.first_us)"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE share SET counted = 1 WHERE counted = 0 AND n_posts > 0 AND (link_id, actor) IN "
     "(SELECT t.link_id, t.actor FROM touched_shares t CROSS JOIN actors a "
     "WHERE a.id = t.actor AND a.active = 1)"},
    /* Having lost somebody, a link may be too little shared from now on. */
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE links SET below_us = NULL WHERE id IN (SELECT s.link_id FROM touched_shares t "
     "CROSS JOIN share s WHERE s.link_id = t.link_id AND s.actor = t.actor AND s.n_posts = 0)"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "DELETE FROM share WHERE n_posts = 0 AND (link_id, actor) IN "
     "(SELECT t.link_id, t.actor FROM touched_shares t)"},
    /* Whoever has shared five links, none of another site than the first, pushes that site. */
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "UPDATE actors SET pusher = m.pusher FROM (SELECT x.actor AS actor, CASE WHEN "
     "(SELECT count(*) FROM (SELECT 1 FROM share s WHERE s.actor = x.actor LIMIT 5) y) = 5 "
     "AND NOT EXISTS (SELECT 1 FROM share s CROSS JOIN links l WHERE s.actor = x.actor "
     "AND l.id = s.link_id AND l.domain IS DISTINCT FROM x.domain) THEN 1 ELSE 0 END AS pusher "
     "FROM (SELECT t.actor AS actor, min(l.domain) AS domain FROM touched_shares t "
     "CROSS JOIN links l WHERE l.id = t.link_id GROUP BY t.actor) x) m "
     "WHERE actors.id = m.actor AND actors.pusher <> m.pusher"},
    {.after = STATEMENT_AFTER_NEWS, .sql = "DELETE FROM touched_shares"},
    {.after = STATEMENT_AFTER_NEWS, .sql = "DELETE FROM touched_posts"},
};
/* clang-format on */

const struct statement_group statements_shares = {statements,
                                                  sizeof statements / sizeof statements[0]};
