/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/row_list.h"

#include "base/timestamp.h"

#include <stdio.h>

static const struct table_column columns[] = {
    {"BLOCK", NULL, TABLE_NUMBER, 0}, {"TIME", NULL, TABLE_TEXT, 0},
    {"KIND", NULL, TABLE_TEXT, 16},   {"HASH", NULL, TABLE_TEXT, 20},
    {"FROM", NULL, TABLE_TEXT, 20},   {"TO", NULL, TABLE_TEXT, 20},
    {"ASSET", NULL, TABLE_TEXT, 20},  {"AMOUNT", NULL, TABLE_NUMBER, 0},
    {"FEE", NULL, TABLE_NUMBER, 0},   {"STATUS", NULL, TABLE_TEXT, 0},
};
static const char *const keys[] = {"block", "time",  "kind",   "hash", "from",
                                   "to",    "asset", "amount", "fee",  "status"};
#define CELLS (sizeof columns / sizeof columns[0])

void row_list_init(struct row_list *list)
{
    *list = (struct row_list){.json = {0}};
    table_init(&list->table, columns, CELLS);
    json_writer_init(&list->rows, &list->json);
    json_writer_init(&list->refusals, &list->refused);
    json_begin_array(&list->rows);
    json_begin_array(&list->refusals);
}

void row_list_deinit(struct row_list *list)
{
    table_deinit(&list->table);
    text_free(&list->json);
    text_free(&list->refused);
}

static void add_row(struct row_list *list, const struct ledger_row *row)
{
    char time[TIMESTAMP_TEXT_MAX] = "", block[DECIMAL_MAX];
    if (row->time_us < 0 || !timestamp_format(row->time_us, time))
        time[0] = '\0';
    const struct bytes cells[CELLS] = {row->block < 0 ? BYTES_ABSENT
                                                      : decimal_of(row->block, block),
                                       time[0] == '\0' ? BYTES_ABSENT : bytes_of(time),
                                       bytes_of(row->kind),
                                       row->hash,
                                       row->from,
                                       row->to,
                                       row->asset,
                                       row->amount,
                                       row->fee,
                                       bytes_of(row->status)};
    json_begin_object(&list->rows);
    for (size_t i = 0; i < CELLS; i++) {
        table_add(&list->table, cells[i].data == NULL ? bytes_of("") : cells[i]);
        json_key(&list->rows, keys[i]);
        if (i == 0 && row->block >= 0)
            json_put_i64(&list->rows, row->block);
        else
            json_put_string(&list->rows, cells[i]);
    }
    json_key(&list->rows, "id");
    json_put_string(&list->rows, row->id);
    json_end_object(&list->rows);
}

static void add_refusal(struct row_list *list, const char *reason, struct bytes raw)
{
    json_begin_object(&list->refusals);
    json_key(&list->refusals, "reason");
    json_put_cstring(&list->refusals, reason);
    json_key(&list->refusals, "raw");
    json_put_string(&list->refusals, raw);
    json_end_object(&list->refusals);
    fprintf(stderr, "refused: %s\n", reason);
}

void row_list_read(struct row_list *list, struct connector_page *page)
{
    struct ledger_row row;
    struct err err;
    enum rc rc;
    while ((rc = connector_page_next(page, &row, &err)) != RC_AGAIN) {
        if (rc == RC_OK)
            add_row(list, &row);
        else
            add_refusal(list, err.text, row.raw);
    }
}

void row_list_end(struct row_list *list)
{
    json_end_array(&list->rows);
    json_end_array(&list->refusals);
}
