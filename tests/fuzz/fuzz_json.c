/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes: they are refused with a sentence, or every value can be visited, every string is valid
 * UTF-8 without U+0000, and what is printed reads and prints the same again. What is taken is taken
 * by SQLite's own reader, too; what only we refuse has a number, a depth or bytes of that kind. */
#include "base/arena.h"
#include "base/json.h"

#include <assert.h>
#include <sqlite3.h>
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

/* ---- another reader ---- */

static bool other_takes(struct bytes input)
{
    static sqlite3_stmt *question;
    sqlite3 *db;
    if (question == NULL) {
        int code = sqlite3_open(":memory:", &db);
        assert(code == SQLITE_OK);
        code = sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &question, NULL);
        assert(code == SQLITE_OK);
    }
    sqlite3_bind_text(question, 1, input.data, (int)input.len, SQLITE_STATIC);
    int code = sqlite3_step(question);
    assert(code == SQLITE_ROW);
    bool takes = sqlite3_column_int(question, 0) != 0;
    sqlite3_reset(question);
    return takes;
}

static bool is_utf8(const unsigned char *at, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t more = at[i] < 0x80 ? 0 : at[i] < 0xe0 ? 1 : at[i] < 0xf0 ? 2 : 3;
        uint32_t point = more == 0 ? at[i] : at[i] & (0x3fu >> more);
        if ((at[i] >= 0x80 && at[i] < 0xc0) || at[i] >= 0xf8 || more >= len - i)
            return false;
        for (size_t k = 1; k <= more; k++) {
            if ((at[i + k] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (at[i + k] & 0x3f);
        }
        if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ||
            (more > 0 && point < (more == 1   ? 0x80u
                                  : more == 2 ? 0x800u
                                              : 0x10000u)))
            return false;
        i += more + 1;
    }
    return true;
}

/* Whether all may take it: no number is large, nothing lies deep, and it is text. What has an
 * object for a key (which SQLite 3.40 takes, if a string ends it) is for nobody. */
static bool is_harmless(const unsigned char *at, size_t len)
{
    size_t digits = 0, opened = 0;
    unsigned char before = 0; /* the last that is no blank */
    for (size_t i = 0; i < len; i++) {
        if (at[i] == ':' && (before == '}' || before == ']'))
            return false;
        before = at[i] > ' ' ? at[i] : before;
        digits = at[i] >= '0' && at[i] <= '9' ? digits + 1 : 0;
        opened += at[i] == '[' || at[i] == '{';
        if (digits > 18 || ((at[i] == 'e' || at[i] == 'E') && i > 0 && at[i - 1] <= '9'))
            return false;
    }
    return opened < JSON_DEPTH_MAX && is_utf8(at, len);
}

static void check_with_other(const uint8_t *data, size_t size, bool taken)
{
    /* To the other reader a NUL is an end, and a byte order mark is none of JSON. */
    if (size == 0 || memchr(data, '\0', size) != NULL || data[0] == 0xef)
        return;
    bool other = other_takes(bytes_make(data, size));
    assert(other || !taken);
    assert(taken || !other || size > BYTES_MAX || !is_harmless(data, size));
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
    check_with_other(data, size, rc == RC_OK);
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
