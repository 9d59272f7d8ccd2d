/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_POLL, .each = true, .sql =
     "INSERT INTO poll_state (user_handle, last_cursor, last_polled_at, posts_fetched_count) "
     "SELECT r.user_handle, r.cursor, {time r.at_us}, r.fetched {rows} WHERE true "
     "ON CONFLICT (user_handle) DO UPDATE SET "
     "last_cursor = coalesce(excluded.last_cursor, poll_state.last_cursor), "
     "last_polled_at = excluded.last_polled_at, "
     "posts_fetched_count = poll_state.posts_fetched_count + excluded.posts_fetched_count"},
};
/* clang-format on */

const struct statement_group statements_backfill = {statements,
                                                    sizeof statements / sizeof statements[0]};
