/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_condition.h"

#include <string.h>

#define FIGURE_SCRATCH_BYTES 1024

/* ---- what comes after a page ---- */

/* The target of the link with rel="next" in `<URL>; rel="next", <URL>; rel="last"`. */
static struct bytes next_link(struct bytes header)
{
    while (header.len > 0) {
        const char *open = memchr(header.data, '<', header.len);
        const char *end = header.data + header.len;
        const char *shut = open == NULL ? NULL : memchr(open, '>', (size_t)(end - open));
        if (shut == NULL)
            break;
        const char *after = memchr(shut, '<', (size_t)(end - shut));
        struct bytes words = bytes_make(shut, (size_t)((after == NULL ? end : after) - shut));
        static const char wanted[] = "rel=\"next\"";
        for (size_t i = 0; i + sizeof wanted - 1 <= words.len; i++)
            if (memcmp(words.data + i, wanted, sizeof wanted - 1) == 0)
                return bytes_make(open + 1, (size_t)(shut - open - 1));
        header = bytes_make(words.data + words.len, (size_t)(end - words.data) - words.len);
    }
    return BYTES_ABSENT;
}

static bool keep(struct bytes token, struct text *out)
{
    if (token.len == 0)
        return false;
    text_append(out, token.data, token.len);
    return true;
}

bool connector_page_token(struct connector_page *page, const struct connector_answer *answer,
                          struct text *token)
{
    const struct connector_stream *stream = page->stream;
    bool last = stream->page.next == NEXT_LAST_RECORD;
    struct connector_ground ground = {
        .body = last ? page->last : answer->root,
        .key_as = last && page->key.data != NULL ? stream->records.key_as : NULL,
        .key = page->key};
    text_clear(token);
    if (stream->page.next == NEXT_NONE || (last && page->record_count == 0))
        return false;
    if (stream->page.next == NEXT_HEADER) {
        struct bytes value = connector_header_value(answer->headers, stream->page.next_at);
        return keep(stream->page.by == PAGE_LINK ? next_link(value) : value, token);
    }
    arena_reset(&page->scratch);
    struct connector_scalar found =
        connector_find(&ground, stream->page.next_at, false, &page->scratch);
    if (stream->page.next_cast == CAST_JSON && found.kind != SCALAR_ABSENT) {
        json_print(found.json, token);
        return token->len > 0;
    }
    int64_t number;
    if (stream->page.next_add != 0 && connector_cast_number(&found, CAST_DEC, &number)) {
        text_append_i64(token, number + stream->page.next_add);
        return true;
    }
    return found.kind != SCALAR_TREE && found.kind != SCALAR_REAL && keep(found.text, token);
}

static bool flag_holds(struct connector_page *page, const struct connector_answer *answer)
{
    struct connector_scope scope = {page->connector, page->stream, page->platform, page->vars};
    struct connector_ground ground = {.body = answer->root, .answer = answer};
    arena_reset(&page->scratch);
    return connector_holds(&page->stream->page.flag, &ground, &scope, &page->scratch,
                           &page->identity);
}

bool connector_page_last(struct connector_page *page, const struct connector_answer *answer)
{
    const struct connector_stream *stream = page->stream;
    unsigned stop = stream->page.stop;
    if (stream->page.by == PAGE_NONE)
        return true;
    if ((stop & STOP_EMPTY) != 0 && page->record_count == 0)
        return true;
    if ((stop & STOP_SHORT_PAGE) != 0 && page->record_count < (size_t)stream->page.size)
        return true;
    if ((stop & STOP_FLAG) != 0 && flag_holds(page, answer))
        return true;
    struct text token = {0};
    bool lost = (stream->page.by == PAGE_TOKEN || stream->page.by == PAGE_LINK) &&
                !connector_page_token(page, answer, &token);
    text_free(&token);
    return lost;
}

/* ---- figures and details ---- */

bool connector_figure_read(const struct connector_figure *figure, struct json root, int64_t *out)
{
    struct arena arena;
    arena_init(&arena, FIGURE_SCRATCH_BYTES);
    struct connector_scalar found = connector_scalar(json_pointer(root, figure->pointer), &arena);
    bool read = connector_cast_number(&found, figure->cast, out) && *out >= 0;
    arena_deinit(&arena);
    return read;
}

struct bytes connector_detail_key(const struct connector_stream *stream, struct json record)
{
    return json_string_or_absent(json_pointer(record, stream->detail.for_each));
}

bool connector_detail_merge(const struct connector_stream *stream, struct json record,
                            struct json root, struct text *out)
{
    struct json detail = json_pointer(root, stream->detail.pointer);
    enum json_type type = json_type(detail);
    if (type == JSON_ABSENT || type == JSON_NULL || json_type(record) != JSON_OBJECT)
        return false;
    json_print(record, out);
    out->data[--out->len] = '\0'; /* the closing brace */
    text_append_string(out, json_count(record) > 0 ? ",\"detail\":" : "\"detail\":");
    json_print(detail, out);
    text_append_char(out, '}');
    return true;
}
