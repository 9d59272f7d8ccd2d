/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* The lines of a list that stands since this commit, because all of them are there. */
#define STANDING                                                                                   \
    "listings l, follow_page p WHERE l.owner = r.owner AND l.listing = r.id AND p.owner = "        \
    "r.owner "                                                                                     \
    "AND p.listing = r.id "
/* A list that an AppView showed says all of an account: what it leaves out is gone. What was moved
 * from elsewhere says little. */
#define SAID(field_, table_)                                                                       \
    "CASE WHEN p.owner LIKE 'did:%' THEN p." field_ " ELSE coalesce(p." field_                     \
    ", (SELECT k." field_ " FROM " table_ " k WHERE k.did = p.did)) END"
/* The list's own number; those after it are its lines'. What somebody wrote by hand may have taken
 * some of them. */
#define FIRST_NUMBER "(SELECT CASE WHEN max(f.n) > r.n THEN max(f.n) ELSE r.n END FROM follows f)"
/* Whom we follow. */
#define FIRST_DEGREE                                                                               \
    "SELECT e.did FROM listings l JOIN follow_edge e ON e.owner = l.owner WHERE l.degree = 1 "
/* Those whose lists made the second degree and who are not followed any more. */
#define STRAY                                                                                      \
    "SELECT l.owner FROM listings l WHERE l.degree = 2 AND (NOT EXISTS (SELECT 1 FROM circle c "   \
    "WHERE c.did = l.owner AND c.degree = 1) OR EXISTS (SELECT 1 {rows} WHERE r.sources_min = "    \
    "0)) "

/* clang-format off */
static const struct statement statements[] = {
    /* ---- the pages of a list that is being read ---- */
    {.kind = RECORD_FOLLOW, .sql =
     "DELETE FROM follow_page WHERE (owner, listing, did) IN "
     "(SELECT p.owner, p.listing, p.did {rows with} follow_page p "
     "WHERE p.owner = r.owner AND p.listing < r.listing)"},
    {.kind = RECORD_FOLLOW, .sql =
     "INSERT INTO follow_page (owner, listing, did, handle, display_name, avatar, n) "
     "SELECT r.owner, r.listing, r.did, r.handle, r.display_name, r.avatar, r.n {rows} WHERE true "
     "ON CONFLICT (owner, listing, did) DO UPDATE SET handle = excluded.handle, "
     "display_name = excluded.display_name, avatar = excluded.avatar"},
    /* ---- it is whole: it takes the place of the one before, or the owner is gone ---- */
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO listings (owner, listing, degree, at_us, actor) "
     "SELECT r.owner, r.id, r.degree, r.at_us, r.actor {rows} WHERE r.degree > 0 AND r.entries = "
     "(SELECT count(*) FROM follow_page p WHERE p.owner = r.owner AND p.listing = r.id) "
     "ON CONFLICT (owner) DO UPDATE SET listing = excluded.listing, degree = excluded.degree, "
     "at_us = excluded.at_us, actor = excluded.actor WHERE excluded.listing > listings.listing"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM listings WHERE owner IN (SELECT r.owner {rows} WHERE r.degree = 0)"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM follow_edge WHERE owner IN (SELECT r.owner {rows} WHERE r.degree = 0)"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM follow_edge WHERE (owner, did) IN (SELECT e.owner, e.did {rows with} "
     "listings l, follow_edge e WHERE l.owner = r.owner AND l.listing = r.id "
     "AND e.owner = r.owner AND NOT EXISTS (SELECT 1 FROM follow_page p "
     "WHERE p.owner = r.owner AND p.listing = r.id AND p.did = e.did))"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO follow_edge (owner, did, since_us) SELECT p.owner, p.did, r.at_us {rows with} "
     STANDING "ON CONFLICT (owner, did) DO NOTHING"},
    /* ---- what is known of those on it ---- */
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO actors (id, did, handle, handle_us, display_name, avatar, profile_us) "
     "SELECT p.n, p.did, p.handle, r.id, " SAID("display_name", "actors") ", "
     SAID("avatar", "actors") ", r.id {rows with} " STANDING
     "AND r.degree = 1 ON CONFLICT (did) DO UPDATE SET "
     "handle = CASE WHEN actors.handle_us > excluded.handle_us THEN actors.handle "
     "ELSE excluded.handle END, "
     "handle_us = CASE WHEN actors.handle_us > excluded.handle_us THEN actors.handle_us "
     "ELSE excluded.handle_us END, "
     "display_name = excluded.display_name, avatar = excluded.avatar, "
     "profile_us = excluded.profile_us "
     "WHERE actors.profile_us IS NULL OR excluded.profile_us > actors.profile_us"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO backfill_queue (actor_did, priority, since_us, reason, next_us, queued_us, "
     "asked_us) SELECT p.did, r.priority, r.since_us, 'newly followed', r.at_us, r.at_us, r.at_us "
     "{rows with} " STANDING "AND r.degree = 1 AND r.since_us IS NOT NULL "
     "AND NOT EXISTS (SELECT 1 FROM follows f WHERE f.did = p.did) "
     "ON CONFLICT (actor_did) DO UPDATE SET "
     "priority = CASE WHEN excluded.priority < backfill_queue.priority THEN excluded.priority "
     "ELSE backfill_queue.priority END, "
     "since_us = CASE WHEN excluded.since_us < backfill_queue.since_us THEN excluded.since_us "
     "ELSE backfill_queue.since_us END"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO follows (n, did, handle, display_name, added_at) "
     "SELECT " FIRST_NUMBER " + row_number() OVER (ORDER BY p.n), "
     "p.did, coalesce(a.handle, p.handle), " SAID("display_name", "follows") ", {time r.at_us} "
     "{rows with} actors a, " STANDING "AND a.did = p.did AND r.degree = 1 "
     "ON CONFLICT (did) DO UPDATE SET handle = excluded.handle, "
     "display_name = excluded.display_name"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM follow_page WHERE owner IN (SELECT r.owner {rows}) "
     "AND listing <= (SELECT r.id {rows})"},
    /* ---- whose sharing counts; the record is the outermost loop, so that what is none of its
     * business costs nothing ---- */
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM follows WHERE did IN (SELECT f.did {rows with} follows f WHERE r.degree < 2 "
     "AND f.did NOT IN (" FIRST_DEGREE ") AND (EXISTS (SELECT 1 FROM circle c "
     "WHERE c.did = f.did AND c.degree = 1) OR (r.degree = 1 AND r.actors <= "
     "(SELECT count(*) FROM listings l WHERE l.degree = 1))))"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM circle WHERE did IN (SELECT c.did {rows with} circle c WHERE r.degree < 2 "
     "AND c.degree = 1 AND c.did NOT IN (" FIRST_DEGREE "))"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO circle (did, degree, sources) SELECT e.did, 1, count(*) {rows with} "
     "listings l, follow_edge e WHERE r.degree < 2 AND l.degree = 1 AND e.owner = l.owner "
     "GROUP BY e.did ON CONFLICT (did) DO UPDATE SET degree = 1, sources = excluded.sources "
     "WHERE circle.degree <> 1 OR circle.sources <> excluded.sources"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM follow_edge WHERE owner IN (" STRAY ")"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM listings WHERE owner IN (" STRAY ")"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "DELETE FROM circle WHERE did IN (SELECT c.did {rows with} circle c "
     "WHERE r.sources_min IS NOT NULL AND c.degree = 2)"},
    {.kind = RECORD_LISTING, .each = true, .sql =
     "INSERT INTO circle (did, degree, sources) SELECT s.did, 2, s.sources FROM "
     "(SELECT e.did AS did, count(*) AS sources, r.second_max AS most, "
     "row_number() OVER (ORDER BY count(*) DESC, e.did) AS place {rows with} "
     "listings l, follow_edge e WHERE r.sources_min > 0 AND l.degree = 2 AND e.owner = l.owner "
     "AND NOT EXISTS (SELECT 1 FROM circle c WHERE c.did = e.did) "
     "GROUP BY e.did, r.sources_min, r.second_max HAVING count(*) >= r.sources_min) s "
     "WHERE s.place <= s.most ON CONFLICT (did) DO NOTHING"},
};
/* clang-format on */

const struct statement_group statements_follows = {statements,
                                                   sizeof statements / sizeof statements[0]};
