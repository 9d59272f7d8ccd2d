/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#define POST_OF_RECORD                                                                             \
    "a.did = r.did AND p.actor = a.id AND p.collection = r.collection AND p.rkey = r.rkey"
/* The post as this commit wrote it, in the version that carries the link; a feed tells none. */
#define CARRIER                                                                                    \
    POST_OF_RECORD " AND p.seq = {seq} AND p.late_seq IS DISTINCT FROM {seq} "                     \
                   "AND ((r.rev IS NULL AND p.asof_seq IS NOT NULL) "                              \
                   "OR (p.asof_seq IS NULL AND p.rev = r.rev))"
#define POST_URI "'at://' || a.did || '/' || p.collection || '/' || p.rkey"
/* Links that have to be found again: inherited ones, and a rewritten post's own. */
#define LINKS_TO_REDO                                                                              \
    "FROM touched_posts t CROSS JOIN post_links l WHERE l.post_id = t.n "                          \
    "AND (t.own = 1 OR l.via <> 'post')"

/* When a link was met: it may be new in this commit, not counted yet. */
#define LINK_SEEN_US "coalesce(l.last_shared_us, l.below_us, l.first_shared_us, 0)"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_LINK, .sql =
     "INSERT INTO touched_posts (n, subject_n, own) SELECT DISTINCT p.n, 0, 1 "
     "{rows with} actors a CROSS JOIN post p WHERE " CARRIER " "
     "ON CONFLICT (n) DO UPDATE SET own = 1"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "INSERT INTO touched_posts (n, subject_n, own) SELECT d.n, p.n, 0 "
     "FROM touched_posts t CROSS JOIN post p CROSS JOIN actors a CROSS JOIN post d "
     "WHERE t.own = 1 AND p.n = t.n AND a.id = p.actor AND d.subject = " POST_URI " "
     "ON CONFLICT (n) DO UPDATE SET subject_n = excluded.subject_n"},
    /* Nobody needs to fetch what is here. */
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "WITH paid AS MATERIALIZED (SELECT (SELECT o.id FROM owed o WHERE o.source = 'appview' "
     "AND o.stream = 'posts' AND o.item = " POST_URI ") AS id FROM touched_posts t "
     "CROSS JOIN post p CROSS JOIN actors a WHERE t.own = 1 AND p.n = t.n AND a.id = p.actor) "
     "DELETE FROM owed WHERE id IN (SELECT paid.id FROM paid WHERE paid.id IS NOT NULL)"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "INSERT INTO touched_shares (link_id, actor) SELECT l.link_id, l.actor " LINKS_TO_REDO " "
     "AND l.actor IS NOT NULL ON CONFLICT (link_id, actor) DO NOTHING"},
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "DELETE FROM post_links WHERE (post_id, link_id) IN "
     "(SELECT l.post_id, l.link_id " LINKS_TO_REDO ")"},
    /* Of several who name a link in one commit, the first with a title. */
    {.kind = RECORD_LINK, .sql =
     "INSERT INTO links (id, normalized_url, original_url, reader_url, domain, flags, title, "
     "description, image_url, below_us, seq) "
     "SELECT x.n, x.url, x.reader_url, x.gift_url, x.domain, x.flags, x.title, x.description, "
     "x.image_url, x.shared_us, {seq} FROM (SELECT r.n AS n, r.url AS url, "
     "coalesce(r.reader_url, r.url) AS reader_url, "
     "CASE WHEN r.flags & 1 = 1 THEN r.reader_url END AS gift_url, r.domain AS domain, "
     "coalesce(r.flags, 0) AS flags, r.title AS title, r.description AS description, "
     "r.image_url AS image_url, p.shared_us AS shared_us, "
     "row_number() OVER (PARTITION BY r.url ORDER BY r.title IS NULL, r.n) AS place "
     "{rows with} actors a CROSS JOIN post p WHERE " CARRIER ") x WHERE x.place = 1 "
     "AND NOT EXISTS (SELECT 1 FROM link_aliases al WHERE al.normalized_url = x.url) "
     "ON CONFLICT (normalized_url) DO UPDATE SET "
     "title = coalesce(links.title, excluded.title), "
     "description = coalesce(links.description, excluded.description), "
     "image_url = coalesce(links.image_url, excluded.image_url), "
     "reader_url = coalesce(links.reader_url, excluded.reader_url), "
     "flags = links.flags | excluded.flags, seq = excluded.seq "
     "WHERE (links.title IS NULL AND excluded.title IS NOT NULL) "
     "OR (links.reader_url IS NULL AND excluded.reader_url IS NOT NULL)"},
    {.kind = RECORD_LINK, .sql =
     "INSERT INTO post_links (post_id, link_id, via, actor) SELECT p.n, "
     "coalesce((SELECT al.link_id FROM link_aliases al WHERE al.normalized_url = r.url), "
     "(SELECT l.id FROM links l WHERE l.normalized_url = r.url)), 'post', "
     "CASE WHEN p.kind < 2 THEN p.actor END {rows with} actors a CROSS JOIN post p "
     "WHERE " CARRIER " ON CONFLICT (post_id, link_id) DO NOTHING"},
    /* Whether a subject lends its links is its own state, not its author's: that one may already
     * have changed again before the slice that would have told this post. */
    {.after = STATEMENT_AFTER_NEWS, .sql =
     "INSERT INTO post_links (post_id, link_id, via, actor) SELECT d.n, l.link_id, "
     "CASE d.kind WHEN 1 THEN 'repost' ELSE 'quote' END, d.actor "
     "FROM touched_posts t CROSS JOIN post d CROSS JOIN post s "
     "CROSS JOIN post_links l WHERE d.n = t.n AND d.kind < 2 AND s.n = t.subject_n "
     "AND d.subject IS NOT NULL AND s.lent = 1 AND l.post_id = s.n "
     "AND l.via = 'post' ON CONFLICT (post_id, link_id) DO NOTHING"},
    {.kind = RECORD_LINK, .sql =
     "INSERT INTO owed (id, source, stream, item, state, reason, next_us, since_us, seq) "
     "SELECT r.n, 'cards', 'page', r.url, 'owed', 'nobody has told its title', " LINK_SEEN_US ", "
     LINK_SEEN_US ", {seq} {rows with} links l WHERE l.normalized_url = r.url "
     "AND l.card_us IS NULL AND (l.title IS NULL OR l.flags & 4 <> 0) AND l.flags & 56 = 0 "
     "ON CONFLICT (source, stream, item) DO NOTHING"},
};
/* clang-format on */
_Static_assert(LINK_IS_GIFT == 1 && LINK_IS_SHORTENER == 4 && LINK_IS_NO_NEWS == 56,
               "the statements above say these numbers");

const struct statement_group statements_links = {statements,
                                                 sizeof statements / sizeof statements[0]};
