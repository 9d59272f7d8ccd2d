/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/csv.h"

#include "base/json_write.h"

#include <string.h>

enum cell_end { CELL_MORE, CELL_LAST, CELL_BAD };

/* One cell from the front of `rest` into `csv->cell`, with the comma or line end behind it. */
static enum cell_end read_cell(struct csv *csv, const char **wrong)
{
    const char *data = csv->rest.data, *end = data + csv->rest.len, *at = data;
    bool quoted = at < end && *at == '"';
    text_clear(&csv->cell);
    text_append(&csv->cell, "", 0);
    for (at += quoted ? 1 : 0; at < end; at++) {
        if (quoted && *at == '"') {
            if (at + 1 == end || at[1] != '"')
                break;
            at++;
        } else if (!quoted && (*at == ',' || *at == '\n' || *at == '\r')) {
            break;
        } else if (!quoted && *at == '"') {
            *wrong = "a quote in a cell that does not begin with one";
            return CELL_BAD;
        }
        csv->next_line += *at == '\n' ? 1 : 0;
        text_append_char(&csv->cell, *at);
    }
    if (quoted && at == end) {
        *wrong = "a quote that is never closed";
        return CELL_BAD;
    }
    at += quoted ? 1 : 0;
    if (csv->cell.len > CSV_CELL_BYTES_MAX) {
        *wrong = "a cell that is too long";
        return CELL_BAD;
    }
    bool comma = at < end && *at == ',';
    if (!comma && at + 1 < end && at[0] == '\r' && at[1] == '\n')
        at++;
    if (at < end && *at != ',' && *at != '\n') {
        *wrong = quoted ? "text behind a closing quote" : "a carriage return inside a line";
        return CELL_BAD;
    }
    csv->next_line += at < end && *at == '\n' ? 1 : 0;
    at += at < end ? 1 : 0;
    csv->rest = bytes_make(at, (size_t)(end - at));
    return comma ? CELL_MORE : CELL_LAST;
}

/* To the line after `begin`, whatever stands in it. */
static void skip_line(struct csv *csv, struct bytes begin)
{
    const char *end = memchr(begin.data, '\n', begin.len);
    size_t line = end == NULL ? begin.len : (size_t)(end - begin.data) + 1;
    csv->rest = bytes_make(begin.data + line, begin.len - line);
    csv->next_line = csv->line + 1;
}

static bool name_taken(const struct csv *csv, size_t new_name)
{
    for (size_t at = 0; at < new_name; at += strlen(csv->names.data + at) + 1)
        if (strcmp(csv->names.data + at, csv->names.data + new_name) == 0)
            return true;
    return false;
}

enum rc csv_open(struct csv *csv, struct bytes file, struct err *err)
{
    const char *wrong = "";
    enum cell_end ended;
    *csv = (struct csv){.line = 1, .next_line = 1};
    if (bytes_starts_with(file, "\xef\xbb\xbf"))
        file = bytes_make(file.data + 3, file.len - 3);
    if (file.len == 0 || file.data[0] == '\n' || bytes_starts_with(file, "\r\n"))
        return err_set(err, RC_REJECT, "line 1: a header was expected");
    csv->rest = file;
    do {
        ended = read_cell(csv, &wrong);
        if (ended == CELL_BAD)
            return err_set(err, RC_REJECT, "line 1: %s", wrong);
        size_t begin = csv->names.len;
        bool usable = csv->cell.len > 0 && memchr(csv->cell.data, 0, csv->cell.len) == NULL;
        if (!usable || csv->column_count++ == CSV_COLUMNS_MAX)
            return err_set(err, RC_REJECT, "line 1: %s",
                           usable ? "too many columns" : "a column without a name");
        text_append(&csv->names, csv->cell.data, csv->cell.len + 1);
        text_append_string(&csv->columns, csv->column_count == 1 ? "" : ",");
        text_append(&csv->columns, csv->cell.data, csv->cell.len);
        if (name_taken(csv, begin))
            return err_set(err, RC_REJECT, "line 1: the column \"%.60s\" is there twice",
                           csv->names.data + begin);
    } while (ended == CELL_MORE);
    return RC_OK;
}

void csv_close(struct csv *csv)
{
    text_free(&csv->names);
    text_free(&csv->columns);
    text_free(&csv->cell);
}

static void skip_empty_lines(struct csv *csv)
{
    while (csv->rest.len > 0 &&
           (csv->rest.data[0] == '\n' || bytes_starts_with(csv->rest, "\r\n"))) {
        size_t line = csv->rest.data[0] == '\n' ? 1 : 2;
        csv->rest = bytes_make(csv->rest.data + line, csv->rest.len - line);
        csv->next_line++;
    }
}

enum rc csv_next(struct csv *csv, struct text *json, struct bytes *raw, struct err *err)
{
    struct json_writer writer;
    const char *wrong = NULL, *name = csv->names.data;
    size_t before = json->len, cells = 0;
    enum cell_end ended = CELL_MORE;
    skip_empty_lines(csv);
    struct bytes begin = csv->rest;
    csv->line = csv->next_line;
    if (begin.len == 0)
        return RC_AGAIN;
    json_writer_init(&writer, json);
    json_begin_object(&writer);
    for (; ended == CELL_MORE; cells++) {
        ended = read_cell(csv, &wrong);
        if (ended == CELL_BAD || cells >= csv->column_count)
            continue;
        json_key(&writer, name);
        json_put_string(&writer, text_bytes(&csv->cell));
        name += strlen(name) + 1;
    }
    json_end_object(&writer);
    if (ended == CELL_BAD)
        skip_line(csv, begin);
    *raw = bytes_make(begin.data, begin.len - csv->rest.len);
    if (ended != CELL_BAD && cells == csv->column_count)
        return RC_OK;
    json->len = before;
    json->data[before] = '\0';
    if (ended == CELL_BAD)
        return err_set(err, RC_REJECT, "line %llu: %s", (unsigned long long)csv->line, wrong);
    return err_set(err, RC_REJECT, "line %llu: %zu cells where the header has %zu",
                   (unsigned long long)csv->line, cells, csv->column_count);
}
