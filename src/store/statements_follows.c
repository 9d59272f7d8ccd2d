/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_FOLLOW, .sql =
     "INSERT INTO follow_page (owner, listing, did, handle, display_name, avatar) "
     "SELECT r.owner, r.listing, r.did, r.handle, r.display_name, r.avatar {rows} WHERE true "
     "ON CONFLICT (owner, listing, did) DO UPDATE SET handle = excluded.handle, "
     "display_name = excluded.display_name, avatar = excluded.avatar"},
};
/* clang-format on */

const struct statement_group statements_follows = {statements,
                                                   sizeof statements / sizeof statements[0]};
