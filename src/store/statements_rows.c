/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* What holds for the rows of every declared collection; the rest is made for each of them. */
/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_ROW, .has = ROW_KEY, .sql =
     "INSERT INTO request_keys (collection, key, digest, seq, at_us) "
     "SELECT r.collection, r.key, r.digest, {seq}, r.at_us {rows} WHERE true "
     "ON CONFLICT (collection, key) DO UPDATE SET digest = excluded.digest, seq = excluded.seq, "
     "at_us = excluded.at_us"},
    {.kind = RECORD_ROW, .has = ROW_WAS, .sql =
     "INSERT INTO past_rows (collection, seq, key, at_us, item) "
     "SELECT r.collection, {seq}, r.id, r.at_us, r.was {rows}"},
};
/* clang-format on */

const struct statement_group statements_rows = {statements,
                                                sizeof statements / sizeof statements[0]};
