/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* The link an address stands for now, through any number of others. */
#define LINK_OF(url_)                                                                              \
    "(WITH RECURSIVE step (id) AS (SELECT coalesce("                                               \
    "(SELECT al.link_id FROM link_aliases al WHERE al.normalized_url = " url_ "), "                \
    "(SELECT k.id FROM links k WHERE k.normalized_url = " url_ ")) UNION ALL "                     \
    "SELECT al.link_id FROM step CROSS JOIN links k CROSS JOIN link_aliases al "                   \
    "WHERE k.id = step.id AND al.normalized_url = k.normalized_url) "                              \
    "SELECT step.id FROM step WHERE NOT EXISTS (SELECT 1 FROM links k CROSS JOIN "                 \
    "link_aliases al WHERE k.id = step.id AND al.normalized_url = k.normalized_url))"
/* Links that this commit found to be others: still there, to be taken over and removed. */
#define MERGED                                                                                     \
    "FROM link_aliases al CROSS JOIN links l WHERE al.seq = {seq} "                                \
    "AND l.normalized_url = al.normalized_url"
#define MERGED_WITH(table_)                                                                        \
    "FROM link_aliases al CROSS JOIN links l CROSS JOIN " table_ " x WHERE al.seq = {seq} "        \
    "AND l.normalized_url = al.normalized_url AND x.link_id = l.id"

/* A card names a page's other address: both are one link from then on. The names are settled one
 * after another before anything is moved, so chains that meet in one commit end in one link and
 * never lead in a circle. */
/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_CARD, .sql =
     "INSERT INTO links (id, normalized_url, original_url, domain, flags, below_us, seq) "
     "SELECT r.n, r.same_as, coalesce(r.same_reader_url, r.same_as), r.same_domain, "
     "coalesce(r.same_flags, 0), r.at_us, {seq} {rows} WHERE r.same_as IS NOT NULL "
     "AND " LINK_OF("r.url") " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM link_aliases al "
     "WHERE al.normalized_url = r.same_as) ON CONFLICT (normalized_url) DO NOTHING"},
    {.kind = RECORD_CARD, .each = true, .sql =
     "INSERT INTO link_aliases (normalized_url, link_id, seq) "
     "SELECT l.normalized_url, " LINK_OF("r.same_as") ", {seq} {rows with} links l "
     "WHERE r.same_as IS NOT NULL AND l.id = " LINK_OF("r.url") " AND " LINK_OF("r.same_as")
     " <> l.id ON CONFLICT (normalized_url) DO NOTHING"},
    {.after = 1U << RECORD_CARD, .sql =
     "UPDATE link_aliases SET link_id = " LINK_OF("link_aliases.normalized_url") ", seq = {seq} "
     "WHERE link_id IN (SELECT l.id " MERGED ")"},
    {.kind = RECORD_CARD, .sql =
     "UPDATE links SET title = coalesce(links.title, m.title), "
     "description = coalesce(links.description, m.description), "
     "image_url = coalesce(links.image_url, m.image_url), card_us = m.at_us, seq = {seq} "
     "FROM (SELECT " LINK_OF("r.url") " AS id, max(r.title) AS title, "
     "max(r.description) AS description, max(r.image_url) AS image_url, max(r.at_us) AS at_us "
     "{rows} GROUP BY 1) m WHERE links.id = m.id"},
    {.after = 1U << RECORD_CARD, .sql =
     "UPDATE links SET title = coalesce(links.title, m.title), "
     "description = coalesce(links.description, m.description), "
     "image_url = coalesce(links.image_url, m.image_url), "
     "reader_url = coalesce(links.reader_url, m.reader_url), "
     "first_shared_us = CASE WHEN links.first_shared_us < m.first_us THEN links.first_shared_us "
     "ELSE coalesce(m.first_us, links.first_shared_us) END, seq = {seq} "
     "FROM (SELECT al.link_id AS id, max(l.title) AS title, max(l.description) AS description, "
     "max(l.image_url) AS image_url, max(l.reader_url) AS reader_url, "
     "min(l.first_shared_us) AS first_us " MERGED " GROUP BY al.link_id) m WHERE links.id = m.id"},
    {.after = 1U << RECORD_CARD, .sql =
     "INSERT INTO touched_shares (link_id, actor) SELECT al.link_id, x.actor "
     MERGED_WITH("share") " ON CONFLICT (link_id, actor) DO NOTHING"},
    {.after = 1U << RECORD_CARD, .sql =
     "INSERT INTO touched_shares (link_id, actor) SELECT al.link_id, x.actor "
     MERGED_WITH("post_links") " AND x.actor IS NOT NULL ON CONFLICT (link_id, actor) DO NOTHING"},
    {.after = 1U << RECORD_CARD, .sql =
     "INSERT INTO share (link_id, actor, last_us, n_posts, old_posts, old_us) "
     "SELECT al.link_id, x.actor, max(x.last_us), sum(x.old_posts), sum(x.old_posts), "
     "max(x.old_us) " MERGED_WITH("share") " GROUP BY al.link_id, x.actor "
     "ON CONFLICT (link_id, actor) DO UPDATE SET "
     "old_posts = share.old_posts + excluded.old_posts, "
     "old_us = CASE WHEN share.old_us > excluded.old_us THEN share.old_us "
     "ELSE coalesce(excluded.old_us, share.old_us) END"},
    /* 'post' comes before 'quote' and 'repost': own beats inherited. */
    {.after = 1U << RECORD_CARD, .sql =
     "INSERT INTO post_links (post_id, link_id, via, actor) "
     "SELECT x.post_id, al.link_id, min(x.via), max(x.actor) " MERGED_WITH("post_links")
     " GROUP BY x.post_id, al.link_id ON CONFLICT (post_id, link_id) DO UPDATE SET "
     "via = excluded.via WHERE excluded.via < post_links.via"},
    {.kind = RECORD_CARD, .sql =
     "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
     "SELECT 'links', CAST(l.id AS TEXT), '', l.id, {seq}, (SELECT max(r.at_us) {rows}) " MERGED
     " ON CONFLICT (collection, key) DO NOTHING"},
    {.after = 1U << RECORD_CARD, .sql = NOTE_LINKS_GONE},
    {.after = 1U << RECORD_CARD, .sql = "DELETE FROM links WHERE id IN (SELECT l.id " MERGED ")"},
};
/* clang-format on */

const struct statement_group statements_cards = {statements,
                                                 sizeof statements / sizeof statements[0]};
