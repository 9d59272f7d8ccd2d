/* SPDX-License-Identifier: Apache-2.0
 *
 * row_list.h - the rows of a ledger that a page has, as a table and as JSON, and what of it was
 * refused.
 *
 * Owner: the command. */
#ifndef CLI_ROW_LIST_H
#define CLI_ROW_LIST_H

#include "base/json_write.h"
#include "cli/table.h"
#include "decode/connector_page.h"

struct row_list {
    struct table table;
    struct text json, refused; /* arrays, whole once it was ended */
    struct json_writer rows, refusals;
};

void row_list_init(struct row_list *list);
void row_list_deinit(struct row_list *list);
/* Takes all that the page has; what is refused is also said on stderr. */
void row_list_read(struct row_list *list, struct connector_page *page);
void row_list_end(struct row_list *list);

#endif
