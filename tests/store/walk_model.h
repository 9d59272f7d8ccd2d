/* SPDX-License-Identifier: Apache-2.0
 *
 * walk_model.h - the things of a walk_bench as an array, and what orders and filters mean to it.
 *
 * Values are small numbers that rank the real ones, so comparing needs neither text nor doubles nor
 * SQL. Changes go to the array at once and to the store with walk_model_apply(). */
#ifndef TESTS_WALK_MODEL_H
#define TESTS_WALK_MODEL_H

#include "chance.h"
#include "walk_bench.h"

#define THINGS_MAX   64
#define FILTER_COUNT 9

struct thing {
    int64_t n;
    int a, b, f; /* ranks; 0 of b and f is NULL */
    bool alive;
};

struct walk_order {
    struct {
        int field; /* 0 n, 1 a, 2 b, 3 f */
        bool desc, nulls_high;
    } terms[4];
    size_t count;
};

struct walk_model {
    struct bench *bench;
    struct chance *chance;
    struct thing things[THINGS_MAX];
    int64_t next_n;
    bool ties; /* all things that come are equal */
};

/* One way in which a thing changed; the caller hears of it before it goes to the store. */
typedef void thing_changed_fn(void *arg, const struct thing *before, const struct thing *after);

void walk_model_insert(struct walk_model *model);
/* Deletes the thing or gives it other values. */
void walk_model_change(struct walk_model *model, struct thing *thing, thing_changed_fn *changed,
                       void *arg);
void walk_model_apply(struct walk_model *model);
struct thing *walk_model_find(struct walk_model *model, int64_t n);

/* A random order, and its JSON. */
void walk_order_choose(struct walk_order *order, struct chance *chance, struct text *json);
int walk_order_compare(const struct walk_order *order, const struct thing *a,
                       const struct thing *b);
/* The thing that stands at a place. */
struct thing walk_order_thing_at(const struct walk_order *order, const struct row_key *place);

extern const char *const walk_filters[FILTER_COUNT]; /* as JSON */
bool walk_filter_matches(int filter, const struct thing *thing);
/* What is there for a query, in its order. */
size_t walk_model_list(struct walk_model *model, const struct walk_order *order, int filter,
                       int64_t fence, struct thing **out);

#endif
