/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept_picture.h"

#include "base/digest.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORDS_OF(what_, from_)                                                                     \
    "SELECT " what_ ", p.at_us, p.reason, p.data FROM " from_ " o "                                \
    "LEFT JOIN pictures p ON p.name = ?2 WHERE " what_ " IS NOT NULL AND "

static const char link_sql[] = WORDS_OF("o.image_url", "links") "o.id = ?1";
/* Whoever is gone is not shown. */
static const char person_sql[] = WORDS_OF("o.avatar", "actors") "o.did = ?1 AND o.active = 1";

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

static bool owner_fits(struct bytes owner)
{
    for (size_t i = 0; i < owner.len; i++) {
        char c = owner.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr(":._-", c) == NULL))
            return false;
    }
    return owner.len > 0 && owner.len + PICTURE_KEY_SIZE < PICTURE_NAME_SIZE;
}

bool picture_name_parse(struct bytes text, struct picture_name *name)
{
    const size_t tail = PICTURE_KEY_SIZE; /* the dash and the key */
    if (text.len <= tail || text.data[text.len - tail] != '-')
        return false;
    struct bytes owner = bytes_make(text.data, text.len - tail);
    if (!owner_fits(owner))
        return false;
    *name = (struct picture_name){.link = 0};
    snprintf(name->key, sizeof name->key, "%.16s", text.data + text.len - tail + 1);
    if (bytes_starts_with(owner, "did:"))
        snprintf(name->owner, sizeof name->owner, "%.*s", (int)owner.len, owner.data);
    else if (bytes_to_i64(owner, &name->link) && name->link > 0)
        snprintf(name->owner, sizeof name->owner, "%" PRId64, name->link);
    else
        return false;
    snprintf(name->words, sizeof name->words, "%.*s-%s", (int)owner.len, name->owner, name->key);
    return true;
}

bool picture_name_print(struct bytes owner, struct bytes url, struct text *out)
{
    char key[PICTURE_KEY_SIZE];
    if (!owner_fits(owner))
        return false;
    make_key(url, key);
    text_appendf(out, "%.*s-%s", (int)owner.len, owner.data, key);
    return true;
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
    const struct field params[] = {name->link != 0 ? field_int(name->link)
                                                   : field_text(bytes_of(name->owner)),
                                   field_text(bytes_of(name->words))};
    struct search search = {.name = name, .again_us = again_us, .out = out};
    text_clear(&out->url);
    text_clear(&out->data);
    out->state = PICTURE_UNKNOWN;
    return store_query(store, name->link != 0 ? link_sql : person_sql, params, 2, take_row, &search,
                       err);
}

void kept_picture_deinit(struct kept_picture *picture)
{
    text_free(&picture->url);
    text_free(&picture->data);
}
