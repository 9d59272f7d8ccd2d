/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_ROWS 500

void ledger_file_name_columns(struct csv *csv, const struct connector_stream *shape)
{
    const char *header = shape->csv.header;
    assert(strlen(header) == csv->columns.len);
    for (size_t i = 0; i < csv->columns.len; i++)
        if (csv->names.data[i] != '\0')
            csv->names.data[i] = header[i];
}

enum rc ledger_file_open(struct ledger_providers *providers, struct text *content,
                         struct ledger_file **out, struct err *err)
{
    struct ledger_file *file = memory_new_zeroed(1, sizeof *file);
    file->content = *content;
    *content = (struct text){0};
    enum rc rc = csv_open(&file->csv, text_bytes(&file->content), err);
    if (rc == RC_OK)
        file->provider =
            ledger_providers_csv(providers, text_bytes(&file->csv.columns), &file->shape);
    if (rc == RC_OK && file->provider == NULL)
        rc = err_set(err, RC_REJECT, "no connector knows a file with these columns: %.200s",
                     text_string(&file->csv.columns));
    else if (rc == RC_OK && file->shape->csv.skip)
        rc = err_set(err, RC_REJECT, "%s exports such a file, but it is no part of a ledger",
                     file->provider->connector->provider);
    if (rc != RC_OK) {
        ledger_file_free(file);
        return rc;
    }
    ledger_file_name_columns(&file->csv, file->shape);
    *out = file;
    return RC_OK;
}

void ledger_file_free(struct ledger_file *file)
{
    if (file == NULL)
        return;
    csv_close(&file->csv);
    text_free(&file->content);
    free(file);
}

void ledger_file_read(struct ledger_file *file, struct text *list)
{
    enum rc rc = RC_OK;
    file->bad = BYTES_ABSENT;
    text_append_char(list, '[');
    for (unsigned rows = 0; rows < GROUP_ROWS && rc == RC_OK; rows++) {
        size_t before = list->len;
        struct bytes raw;
        if (rows > 0)
            text_append_char(list, ',');
        rc = csv_next(&file->csv, list, &raw, &file->why);
        if (rc == RC_OK)
            continue;
        list->len = before;
        if (rc == RC_REJECT)
            file->bad = raw;
    }
    file->ended = rc == RC_AGAIN;
    text_append_char(list, ']');
}
