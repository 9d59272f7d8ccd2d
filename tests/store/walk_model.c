/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_model.h"

#include <assert.h>
#include <string.h>

static const char *const texts[] = {NULL, "", "A", "Aa", "a", "z", "\xc3\xa4"};
static const double reals[] = {0, -1.5, 0, 2.25, 1e9};

static void append_values(const struct thing *thing, struct text *sql)
{
    text_appendf(sql, "a = %d, b = ", thing->a);
    text_appendf(sql, thing->b == 0 ? "NULL, f = " : "'%s', f = ", texts[thing->b]);
    text_appendf(sql, thing->f == 0 ? "NULL" : "%g", reals[thing->f]);
}

static void choose_values(struct walk_model *model, struct thing *thing)
{
    thing->a = model->ties ? 1 : (int)chance_below(model->chance, 3);
    thing->b = model->ties ? 2 : (int)chance_below(model->chance, 7);
    thing->f = model->ties ? 2 : (int)chance_below(model->chance, 5);
}

void walk_model_insert(struct walk_model *model)
{
    struct thing *thing = model->things;
    while (thing < model->things + THINGS_MAX && thing->alive)
        thing++;
    if (thing == model->things + THINGS_MAX)
        return;
    *thing = (struct thing){.n = model->next_n++, .alive = true};
    choose_values(model, thing);
    text_appendf(&model->bench->script, "INSERT INTO thing (n, a) VALUES (%" PRId64 ", 0);",
                 thing->n);
    text_append_string(&model->bench->script, "UPDATE thing SET ");
    append_values(thing, &model->bench->script);
    text_appendf(&model->bench->script, " WHERE n = %" PRId64 ";", thing->n);
}

void walk_model_change(struct walk_model *model, struct thing *thing, thing_changed_fn *changed,
                       void *arg)
{
    struct text *script = &model->bench->script;
    struct thing before = *thing;
    if (!thing->alive)
        return;
    if (chance_below(model->chance, 2) == 0) {
        thing->alive = false;
        text_appendf(script, "DELETE FROM thing WHERE n = %" PRId64 ";", thing->n);
    } else {
        choose_values(model, thing);
        text_append_string(script, "UPDATE thing SET ");
        append_values(thing, script);
        text_appendf(script, " WHERE n = %" PRId64 ";", thing->n);
    }
    changed(arg, &before, thing);
}

void walk_model_apply(struct walk_model *model)
{
    struct text *script = &model->bench->script;
    text_appendf(script, "UPDATE engine SET next_n = %" PRId64, model->next_n);
    walk_bench_run(model->bench, text_string(script));
    text_clear(script);
}

struct thing *walk_model_find(struct walk_model *model, int64_t n)
{
    for (size_t i = 0; i < THINGS_MAX; i++)
        if (model->things[i].alive && model->things[i].n == n)
            return &model->things[i];
    return NULL;
}

/* ---- orders ---- */

void walk_order_choose(struct walk_order *order, struct chance *chance, struct text *json)
{
    static const char *const names[] = {"id", "a", "b", "f"};
    static const char *const nulls[] = {"", ",\"nulls\":\"first\"", ",\"nulls\":\"last\""};
    bool used[4] = {false};
    size_t count = 1 + chance_below(chance, 3);
    text_clear(json);
    order->count = 0;
    while (order->count < count) {
        int field = (int)chance_below(chance, 12);
        field = field == 0 ? 0 : 1 + field % 3; /* the number itself seldom */
        if (used[field])
            continue;
        used[field] = true;
        bool desc = chance_below(chance, 2) == 0;
        uint32_t place = chance_below(chance, 3); /* 1: NULLs first, 2: last */
        order->terms[order->count].field = field;
        order->terms[order->count].desc = desc;
        order->terms[order->count].nulls_high = place != 0 && (place == 2) != desc;
        text_appendf(json, "%s{\"field\":\"%s\",\"direction\":\"%s\"%s}",
                     order->count == 0 ? "[" : ",", names[field], desc ? "desc" : "asc",
                     nulls[place]);
        order->count++;
    }
    text_append_char(json, ']');
    /* What is named after the number itself belongs to no row's place. */
    for (size_t i = 0; i < order->count; i++)
        if (order->terms[i].field == 0)
            order->count = i + 1;
}

static int64_t rank_of(const struct thing *thing, int field, bool nulls_high)
{
    const int64_t values[] = {thing->n, thing->a, thing->b, thing->f};
    assert(field >= 0 && field < 4);
    int64_t value = values[field];
    bool null = (field == 2 || field == 3) && value == 0;
    return null && nulls_high ? INT64_MAX : value;
}

int walk_order_compare(const struct walk_order *order, const struct thing *a, const struct thing *b)
{
    for (size_t i = 0; i < order->count; i++) {
        bool high = order->terms[i].nulls_high;
        int64_t x = rank_of(a, order->terms[i].field, high);
        int64_t y = rank_of(b, order->terms[i].field, high);
        if (x != y)
            return (x < y) == order->terms[i].desc ? 1 : -1;
    }
    /* Ties: the number, as the last field goes. */
    bool desc = order->terms[order->count - 1].desc;
    return a->n == b->n ? 0 : (a->n < b->n) == desc ? 1 : -1;
}

static int rank_of_text(const struct field *part)
{
    int rank = 0;
    while (!part->null && (rank == 0 || !bytes_equal_string(part->b, texts[rank])))
        rank++;
    return rank;
}

static int rank_of_real(const struct field *part)
{
    int rank = 0;
    while (!part->null && (rank == 0 || part->d != reals[rank]))
        rank++;
    return rank;
}

struct thing walk_order_thing_at(const struct walk_order *order, const struct row_key *place)
{
    struct thing thing = {.n = place->parts[place->count - 1].i};
    for (size_t i = 0; i < order->count; i++) {
        const struct field *part = &place->parts[i];
        if (order->terms[i].field == 1)
            thing.a = (int)part->i;
        else if (order->terms[i].field == 2)
            thing.b = rank_of_text(part);
        else if (order->terms[i].field == 3)
            thing.f = rank_of_real(part);
    }
    return thing;
}

/* ---- filters ---- */

const char *const walk_filters[FILTER_COUNT] = {
    "null",
    "{\"a\":1}",
    "{\"b\":null}",
    "{\"b\":{\"$ne\":\"A\"}}",
    "{\"f\":{\"$gt\":-1.5}}",
    "{\"$or\":[{\"a\":2},{\"b\":{\"$prefix\":\"A\"}}]}",
    "{\"a\":{\"$in\":[0,2]},\"f\":{\"$not\":{\"$lte\":2}}}",
    "{\"b\":\"z\",\"a\":{\"$gte\":1.5}}",
    "{\"b\":{\"$gte\":\"A\",\"$lt\":\"z\"}}",
};

bool walk_filter_matches(int filter, const struct thing *thing)
{
    switch (filter) {
    case 0:
        return true;
    case 1:
        return thing->a == 1;
    case 2:
        return thing->b == 0;
    case 3:
        return thing->b != 2;
    case 4:
        return thing->f > 1;
    case 5:
        return thing->a == 2 || thing->b == 2 || thing->b == 3;
    case 6:
        return thing->a != 1 && (thing->f == 0 || thing->f > 2);
    case 7:
        return thing->b == 5 && thing->a == 2;
    default:
        return thing->b >= 2 && thing->b < 5;
    }
}

size_t walk_model_list(struct walk_model *model, const struct walk_order *order, int filter,
                       int64_t fence, struct thing **out)
{
    size_t count = 0;
    for (size_t i = 0; i < THINGS_MAX; i++) {
        struct thing *thing = &model->things[i];
        if (!thing->alive || thing->n >= fence || !walk_filter_matches(filter, thing))
            continue;
        size_t at = count++;
        for (; at > 0 && walk_order_compare(order, out[at - 1], thing) > 0; at--)
            out[at] = out[at - 1];
        out[at] = thing;
    }
    return count;
}
