/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes: they are refused with a sentence, or every value can be visited, every string is valid
 * UTF-8 without U+0000, and what is printed reads and prints the same again. */
#include "base/arena.h"
#include "base/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes with shifts and ranges of code points, other than the product does. */
static void check_string(struct bytes string)
{
    const unsigned char *at = (const unsigned char *)string.data;
    for (size_t i = 0; i < string.len;) {
        size_t more = at[i] < 0x80 ? 0 : at[i] < 0xe0 ? 1 : at[i] < 0xf0 ? 2 : 3;
        uint32_t point = more == 0 ? at[i] : at[i] & (0x3fu >> more);
        assert(at[i] < 0x80 || (at[i] >= 0xc0 && at[i] < 0xf8));
        assert(more < string.len - i);
        for (size_t k = 1; k <= more; k++) {
            assert((at[i + k] & 0xc0) == 0x80);
            point = point << 6 | (at[i + k] & 0x3f);
        }
        assert(point != 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff));
        assert(more == 0 || point >= (more == 1 ? 0x80u : more == 2 ? 0x800u : 0x10000u));
        i += more + 1;
    }
}

static void visit(struct json value, unsigned level)
{
    struct json_walk walk = json_walk(value);
    struct bytes key, string;
    struct json child;
    size_t count = 0;
    int64_t i;
    uint64_t u;
    double d;
    bool b;
    enum json_type type = json_type(value);
    assert(level <= JSON_DEPTH_MAX && type != JSON_ABSENT);
    assert(json_i64(value, &i) == (type == JSON_INT));
    assert(!json_u64(value, &u) || type == JSON_UINT || (type == JSON_INT && i >= 0));
    assert(json_real(value, &d) == (type >= JSON_INT && type <= JSON_REAL));
    assert(json_bool(value, &b) == (type == JSON_BOOL));
    assert(json_string(value, &string) == (type == JSON_STRING));
    if (type == JSON_STRING)
        check_string(string);
    while (json_walk_next(&walk, &key, &child)) {
        if (type == JSON_OBJECT) {
            check_string(key);
            assert(json_type(json_get_bytes(value, key)) != JSON_ABSENT);
        } else {
            assert(key.data == NULL);
        }
        visit(child, level + 1);
        count++;
    }
    assert(count == json_count(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc, *again;
    struct text first = {0}, second = {0};
    struct err err = {""}, err_copy = {""};
    struct json root, root_copy;
    if (doc == NULL) {
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
        again = json_doc_new(BYTES_MAX * 8, JSON_DEPTH_MAX);
    }
    /* An allocation of its own each time, so that reading past the padding is seen. */
    char *padded = memory_new(size + ARENA_PAD);
    if (size > 0)
        memcpy(padded, data, size);
    memset(padded + size, 'x', ARENA_PAD);
    enum rc rc = json_parse(doc, bytes_make(padded, size), &root, &err);
    enum rc rc_copy = json_parse_copy(again, bytes_make(data, size), &root_copy, &err_copy);
    assert(size > BYTES_MAX || rc == rc_copy);
    assert(size == 0 || memcmp(padded, data, size) == 0);
    free(padded);
    if (rc == RC_OK) {
        visit(root, 1);
        json_print(root, &first);
        json_print(root_copy, &second);
        assert(bytes_equal(text_bytes(&first), text_bytes(&second)));
        text_clear(&second);
        rc = json_parse_copy(again, text_bytes(&first), &root, &err);
        assert(rc == RC_OK);
        json_print(root, &second);
        assert(bytes_equal(text_bytes(&first), text_bytes(&second)));
    } else {
        assert(rc == RC_REJECT && err.text[0] != '\0');
    }
    text_free(&first);
    text_free(&second);
    return 0;
}
