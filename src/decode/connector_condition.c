/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_condition.h"

#include <string.h>
#include <strings.h>

struct connector_scalar connector_find(const struct connector_ground *ground, const char *pointer,
                                       bool above, struct arena *arena)
{
    bool entry = above == (ground->above.doc != NULL) && ground->key_as != NULL;
    if (entry && pointer[0] == '/' && strcmp(pointer + 1, ground->key_as) == 0)
        return connector_scalar_text(ground->key);
    return connector_scalar(json_pointer(above ? ground->above : ground->body, pointer), arena);
}

struct bytes connector_header_value(struct bytes headers, const char *name)
{
    size_t name_len = strlen(name);
    while (headers.len > 0) {
        const char *end = memchr(headers.data, '\n', headers.len);
        size_t line = end == NULL ? headers.len : (size_t)(end - headers.data);
        if (line > name_len && headers.data[name_len] == ':' &&
            strncasecmp(headers.data, name, name_len) == 0) {
            struct bytes value = bytes_make(headers.data + name_len + 1, line - name_len - 1);
            while (value.len > 0 && value.data[0] == ' ')
                value = bytes_make(value.data + 1, value.len - 1);
            while (value.len > 0 && strchr(" \r", value.data[value.len - 1]) != NULL)
                value.len--;
            return value;
        }
        size_t step = end == NULL ? line : line + 1;
        headers = bytes_make(headers.data + step, headers.len - step);
    }
    return BYTES_ABSENT;
}

static bool contains(struct bytes text, struct bytes part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (strncasecmp(text.data + i, part.data, part.len) == 0)
            return true;
    return false;
}

static bool status_fits(const struct connector_condition *condition,
                        const struct connector_answer *answer)
{
    for (size_t i = 0; i < condition->status_count; i++)
        if (answer != NULL && condition->statuses[i] == answer->status)
            return true;
    return condition->status_count == 0;
}

static bool matches_one(const struct connector_condition *condition, struct bytes value,
                        const struct connector_scope *scope, struct text *scratch)
{
    for (size_t i = 0; i < condition->text_count; i++) {
        text_clear(scratch);
        if (!connector_expand(scope, &condition->texts[i], false, scratch))
            continue;
        struct bytes text = text_bytes(scratch);
        if (condition->test >= TEST_CONTAINS ? contains(value, text)
            : condition->cast == CAST_LOWER
                ? value.len == text.len && strncasecmp(value.data, text.data, text.len) == 0
                : bytes_equal(value, text))
            return true;
    }
    return false;
}

bool connector_holds(const struct connector_condition *condition,
                     const struct connector_ground *ground, const struct connector_scope *scope,
                     struct arena *arena, struct text *scratch)
{
    struct connector_scalar value;
    if (!status_fits(condition, ground->answer))
        return false;
    if (condition->test == TEST_NONE)
        return true;
    if (condition->header != NULL)
        value = connector_scalar_text(
            connector_header_value(ground->answer->headers, condition->header));
    else
        value = connector_find(ground, condition->pointer, condition->parent, arena);
    if (condition->test == TEST_EXISTS || condition->test == TEST_ABSENT)
        return (value.kind != SCALAR_ABSENT) == (condition->test == TEST_EXISTS);
    bool worded = value.kind != SCALAR_REAL && value.kind != SCALAR_TREE;
    struct bytes text = worded && value.text.data != NULL ? value.text : bytes_of("");
    bool one = worded && matches_one(condition, text, scope, scratch);
    return one == (condition->test != TEST_NOT_IN && condition->test != TEST_LACKS);
}

bool connector_where_holds(const struct connector_where *where,
                           const struct connector_ground *ground,
                           const struct connector_scope *scope, struct arena *arena,
                           struct text *scratch)
{
    bool any = where->any_count == 0;
    for (size_t i = 0; i < where->all_count; i++)
        if (!connector_holds(&where->all[i], ground, scope, arena, scratch))
            return false;
    for (size_t i = 0; !any && i < where->any_count; i++)
        any = connector_holds(&where->any[i], ground, scope, arena, scratch);
    return any;
}
