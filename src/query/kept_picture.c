/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept_picture.h"

#include "base/digest.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char find_sql[] =
    "SELECT l.image_url, p.at_us, p.reason, p.data FROM links l "
    "LEFT JOIN pictures p ON p.link_id = l.id WHERE l.id = ?1 AND l.image_url IS NOT NULL";

struct search {
    const struct picture_name *name;
    int64_t again_us;
    struct kept_picture *out;
};

/* ---- names ---- */

static void make_key(struct bytes url, char key[PICTURE_KEY_SIZE])
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_sha256(url, digest);
    digest_hex(digest, hex);
    snprintf(key, PICTURE_KEY_SIZE, "%.16s", hex);
}

bool picture_name_parse(struct bytes text, struct picture_name *name)
{
    const char *dash = text.len == 0 ? NULL : memchr(text.data, '-', text.len);
    size_t id_len = dash == NULL ? 0 : (size_t)(dash - text.data);
    if (dash == NULL || text.len - id_len - 1 != PICTURE_KEY_SIZE - 1)
        return false;
    snprintf(name->key, sizeof name->key, "%.16s", dash + 1);
    return bytes_to_i64(bytes_make(text.data, id_len), &name->link);
}

void picture_name_print(struct bytes link, struct bytes url, struct text *out)
{
    char key[PICTURE_KEY_SIZE];
    make_key(url, key);
    text_appendf(out, "%.*s-%s", (int)link.len, link.data, key);
}

/* ---- what is kept ---- */

static void append(struct text *text, const struct field *column)
{
    text_append(text, column->b.data, column->b.len);
}

static bool take_row(void *arg, const struct field *columns, size_t count)
{
    const struct search *search = arg;
    struct kept_picture *out = search->out;
    char key[PICTURE_KEY_SIZE];
    assert(count == 4);
    make_key(columns[0].b, key);
    if (strcmp(key, search->name->key) != 0)
        return false;
    if (!columns[3].null) {
        out->state = PICTURE_KEPT;
        append(&out->data, &columns[3]);
    } else if (!columns[1].null && columns[1].i >= search->again_us) {
        out->state = PICTURE_FAILED;
        utf8_copy(columns[2].null ? bytes_of("nobody knows why") : columns[2].b, out->reason,
                  sizeof out->reason);
    } else {
        out->state = PICTURE_MISSING;
        append(&out->url, &columns[0]);
    }
    return false;
}

enum rc kept_picture_find(struct store *store, const struct picture_name *name, int64_t again_us,
                          struct kept_picture *out, struct err *err)
{
    const struct field link = field_int(name->link);
    struct search search = {.name = name, .again_us = again_us, .out = out};
    text_clear(&out->url);
    text_clear(&out->data);
    out->state = PICTURE_UNKNOWN;
    return store_query(store, find_sql, &link, 1, take_row, &search, err);
}

void kept_picture_deinit(struct kept_picture *picture)
{
    text_free(&picture->url);
    text_free(&picture->data);
}
