/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_DOCUMENT, .sql =
     "INSERT INTO ipfs_cache (n, seq, uri, data, is_errored, block, space) "
     "SELECT r.n, {seq}, r.uri, r.data, r.whole = 0, r.block, r.space {rows} WHERE true "
     "ON CONFLICT (uri) DO UPDATE SET data = excluded.data, is_errored = excluded.is_errored, "
     "seq = excluded.seq WHERE ipfs_cache.is_errored AND NOT excluded.is_errored"},
};
/* clang-format on */

const struct statement_group statements_content = {statements,
                                                   sizeof statements / sizeof statements[0]};
