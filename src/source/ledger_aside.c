/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_aside.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct ledger_aside ledger_aside_none(void)
{
    return (struct ledger_aside){.top = -1, .waits = -1, .total = -1, .hold_ms = -1};
}

struct ledger_aside ledger_aside_read(struct json_doc *doc, const char *custom)
{
    struct ledger_aside aside = ledger_aside_none();
    struct json root;
    struct err ignored;
    if (*custom == '\0' || json_parse_copy(doc, bytes_of(custom), &root, &ignored) != RC_OK)
        return aside;
    (void)json_i64(json_get(root, "top"), &aside.top);
    (void)json_i64(json_get(root, "waits"), &aside.waits);
    (void)json_i64(json_get(root, "total"), &aside.total);
    (void)json_i64(json_get(root, "hold"), &aside.hold_ms);
    aside.parts = json_string_or_absent(json_get(root, "parts"));
    return aside;
}

void ledger_aside_write(const struct ledger_aside *aside, char custom[CURSOR_EXTRA_MAX + 1])
{
    struct text words = {0};
    assert(aside->parts.len <= LEDGER_ASIDE_PARTS_MAX);
    if (aside->top >= 0)
        text_appendf(&words, ",\"top\":%" PRId64, aside->top);
    if (aside->top >= 0 || aside->waits >= 0)
        text_appendf(&words, ",\"waits\":%" PRId64, aside->waits);
    if (aside->total >= 0)
        text_appendf(&words, ",\"total\":%" PRId64, aside->total);
    if (aside->hold_ms >= 0)
        text_appendf(&words, ",\"hold\":%" PRId64, aside->hold_ms);
    if (aside->parts.len > 0)
        text_appendf(&words, ",\"parts\":\"%.*s\"", (int)aside->parts.len, aside->parts.data);
    if (words.len > 0) {
        words.data[0] = '{';
        text_append_char(&words, '}');
    }
    assert(words.len <= CURSOR_EXTRA_MAX);
    memcpy(custom, text_string(&words), words.len + 1);
    text_free(&words);
}
