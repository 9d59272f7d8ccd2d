/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* What a row costs beside its bytes, so that rows without any are bounded as well (I6). */
#define ROW_COST "4096"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_PICTURE, .sql =
     "INSERT INTO pictures (name, link_id, at_us, size, reason, data) "
     "SELECT r.name, r.link, r.at_us, coalesce(length(r.data), 0), r.reason, r.data {rows} "
     "WHERE r.link IS NULL OR EXISTS (SELECT 1 FROM links l WHERE l.id = r.link) "
     "ON CONFLICT (name) DO UPDATE SET at_us = excluded.at_us, size = excluded.size, "
     "reason = excluded.reason, data = excluded.data WHERE pictures.data IS NULL"},
    {.kind = RECORD_PICTURE, .sql =
     "DELETE FROM pictures WHERE name IN (SELECT o.name FROM (SELECT p.name AS name, "
     "sum(p.size + " ROW_COST ") OVER (ORDER BY p.at_us DESC, p.name DESC) AS kept "
     "FROM pictures p) o WHERE o.kept > (SELECT max(r.keep_bytes) {rows}))"},
};
/* clang-format on */

const struct statement_group statements_pictures = {statements,
                                                    sizeof statements / sizeof statements[0]};
