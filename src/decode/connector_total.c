/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_total.h"

#include <string.h>

struct total {
    const struct connector_field *field;
    const struct connector_scope *scope;
    struct arena *arena;
    struct text *scratch;
    char digits[EXACT_DECIMAL_MAX];
    size_t len;
    bool any;
};

static bool add_item(struct total *total, const struct connector_sum *sum,
                     const struct connector_ground *ground)
{
    struct bytes amount;
    char digits[EXACT_DECIMAL_MAX];
    if (!connector_where_holds(&sum->where, ground, total->scope, total->arena, total->scratch))
        return true;
    struct connector_scalar found = connector_find(ground, sum->at, false, total->arena);
    if (found.kind == SCALAR_ABSENT)
        return true;
    if (!connector_cast_text(&found, total->field->cast, 0, total->arena, &amount) ||
        !exact_add(bytes_make(total->digits, total->len), amount, sum->less, digits, &total->len))
        return false;
    total->any = true;
    memcpy(total->digits, digits, total->len);
    return true;
}

/* However long the list, the arena is as it was after each item. */
static bool add_list(struct total *total, const struct connector_sum *sum,
                     const struct connector_ground *ground)
{
    if (sum->each == NULL)
        return add_item(total, sum, ground);
    struct json list = json_pointer(ground->body, sum->each);
    struct json_walk walk = json_walk(list);
    struct connector_ground item = {.above = ground->body};
    struct bytes key;
    size_t mark = total->arena->used;
    bool good = true;
    if (json_type(list) != JSON_ARRAY)
        return true;
    total->any = true;
    while (good && json_walk_next(&walk, &key, &item.body)) {
        good = add_item(total, sum, &item);
        total->arena->used = mark;
    }
    return good;
}

static enum rc multiply(struct total *total, const struct connector_ground *ground)
{
    struct bytes factors[2];
    for (unsigned i = 0; i < 2; i++) {
        struct connector_scalar found =
            connector_find(ground, total->field->factors[i], false, total->arena);
        if (found.kind == SCALAR_ABSENT)
            return RC_AGAIN;
        if (!connector_cast_text(&found, total->field->cast, 0, total->arena, &factors[i]))
            return RC_REJECT;
    }
    return exact_multiply(factors[0], factors[1], total->digits, &total->len) ? RC_OK : RC_REJECT;
}

int connector_scale(const struct connector_field *field, const struct connector_scope *scope)
{
    if (field->scales == NULL || scope->platform == NULL)
        return field->scale;
    return field->scales[scope->platform - scope->connector->platforms];
}

enum rc connector_total(const struct connector_field *field, const struct connector_ground *ground,
                        const struct connector_scope *scope, struct arena *arena,
                        struct text *scratch, struct bytes *out)
{
    struct total total = {field, scope, arena, scratch, "0", 1, false};
    char scaled[EXACT_DECIMAL_MAX];
    size_t len;
    enum rc rc = RC_OK;
    if (field->factors[0] != NULL)
        rc = multiply(&total, ground);
    for (size_t i = 0; rc == RC_OK && i < field->sum_count; i++)
        if (!add_list(&total, &field->sums[i], ground))
            rc = RC_REJECT;
    if (rc == RC_OK && field->sum_count > 0 && !total.any)
        rc = RC_AGAIN;
    if (rc != RC_OK)
        return rc;
    if (!exact_decimal(bytes_make(total.digits, total.len), connector_scale(field, scope), scaled,
                       &len))
        return RC_REJECT;
    *out = arena_copy(arena, bytes_make(scaled, len));
    return out->data == NULL ? RC_REJECT : RC_OK;
}
