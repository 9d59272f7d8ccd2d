/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM tombstones WHERE (collection, key) IN (SELECT t.collection, t.key {rows with} "
     "tombstones t WHERE t.at_us < r.tombstones_us ORDER BY t.at_us LIMIT 500)"},
    {.kind = RECORD_PRUNE, .sql =
     "DELETE FROM gaps WHERE id IN (SELECT g.id {rows with} gaps g "
     "WHERE g.closed_us < r.gaps_us ORDER BY g.closed_us LIMIT 500)"},
};
/* clang-format on */

const struct statement_group statements_retention = {statements,
                                                     sizeof statements / sizeof statements[0]};
