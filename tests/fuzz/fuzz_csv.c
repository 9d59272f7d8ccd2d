/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of comma-separated values: refused with a sentence, or read to its end with
 * no byte left out; every row is JSON with a cell for each column, and the file written anew, every
 * cell in quotes, reads as the same rows. */
#include "base/json.h"
#include "decode/csv.h"

#include <assert.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 14)
#define JSON_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_quoted(struct text *out, struct bytes cell)
{
    text_append_char(out, '"');
    for (size_t i = 0; i < cell.len; i++) {
        if (cell.data[i] == '"')
            text_append_char(out, '"');
        text_append_char(out, cell.data[i]);
    }
    text_append_char(out, '"');
}

static void put_header(const struct csv *csv, struct text *out)
{
    const char *name = csv->names.data;
    for (size_t i = 0; i < csv->column_count; i++, name += strlen(name) + 1) {
        text_append_string(out, i == 0 ? "" : ",");
        put_quoted(out, bytes_of(name));
    }
    text_append_string(out, "\n");
}

/* A row's JSON as a line of the file. */
static void put_row(const struct csv *csv, struct bytes row, struct text *out)
{
    static struct json_doc *doc;
    struct json root, cell;
    struct bytes key, value;
    size_t count = 0;
    if (doc == NULL)
        doc = json_doc_new(JSON_MAX, JSON_DEPTH_MAX);
    enum rc rc = json_parse_copy(doc, row, &root, NULL);
    assert(rc == RC_OK && json_type(root) == JSON_OBJECT);
    for (struct json_walk walk = json_walk(root); json_walk_next(&walk, &key, &cell); count++) {
        bool text = json_string(cell, &value);
        assert(text);
        text_append_string(out, count == 0 ? "" : ",");
        put_quoted(out, value);
    }
    assert(count == csv->column_count);
    text_append_string(out, "\n");
}

static bool is_line_end(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i] != '\n' && bytes.data[i] != '\r')
            return false;
    return true;
}

/* Reads all rows: the good ones into `rows`, a line each, and into `again` as a file. */
static bool read_file(struct bytes file, struct text *rows, struct text *again, size_t *refused)
{
    struct csv csv;
    struct bytes raw = BYTES_ABSENT;
    struct err err = {""};
    enum rc rc = csv_open(&csv, file, &err);
    if (rc == RC_OK)
        put_header(&csv, again);
    for (size_t before; rc == RC_OK;) {
        const char *left = csv.rest.data;
        before = rows->len;
        rc = csv_next(&csv, rows, &raw, &err);
        if (rc == RC_AGAIN)
            break;
        /* Between two rows there is nothing but empty lines. */
        assert(raw.len > 0 && is_line_end(bytes_make(left, (size_t)(raw.data - left))));
        assert(raw.data + raw.len == csv.rest.data);
        assert(rc == RC_OK || (rc == RC_REJECT && err.text[0] != '\0' && rows->len == before));
        *refused += rc != RC_OK;
        if (rc == RC_OK) {
            put_row(&csv, bytes_make(rows->data + before, rows->len - before), again);
            text_append_char(rows, '\n');
        }
        rc = RC_OK;
    }
    assert(rc == RC_AGAIN || (rc == RC_REJECT && err.text[0] != '\0'));
    assert(rc != RC_AGAIN || is_line_end(csv.rest));
    csv_close(&csv);
    return rc == RC_AGAIN;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text rows = {0}, rows_again = {0}, file = {0}, file_again = {0};
    size_t refused = 0, refused_again = 0;
    if (size <= FILE_MAX && read_file(bytes_make(data, size), &rows, &file, &refused)) {
        bool read = read_file(text_bytes(&file), &rows_again, &file_again, &refused_again);
        assert(read && refused_again == 0);
        assert(bytes_equal(text_bytes(&rows), text_bytes(&rows_again)));
        assert(bytes_equal(text_bytes(&file), text_bytes(&file_again)));
    }
    text_free(&rows);
    text_free(&rows_again);
    text_free(&file);
    text_free(&file_again);
    return 0;
}
