/* SPDX-License-Identifier: Apache-2.0
 *
 * trending_people.h - whose shares count, as a condition on `shares s`.
 *
 * An account that is gone counts no more from the moment the store knows, although its shares leave
 * the counts little by little. Muted accounts never count; those with a weight of their own are
 * left to a question of their own.
 *
 * Owner: one answer.  Thread: any one that owns the store's connection. */
#ifndef QUERY_TRENDING_PEOPLE_H
#define QUERY_TRENDING_PEOPLE_H

#include "config.h"
#include "store/store.h"

#define PEOPLE_WEIGHTS_MAX 1000

/* SQLite takes tables in the order of a CROSS JOIN: there are many more actors than others. */
#define PEOPLE_CHANGED(active_)                                                                    \
    "(SELECT w.actor FROM standing w CROSS JOIN actors a WHERE a.id = w.actor "                    \
    "AND a.active = " active_ ")"
/* SQL: the account of a share is there, as far as the store knows, without a look at its row. */
#define PEOPLE_ARE_THERE                                                                           \
    "(s.counted = 1 OR s.actor IN " PEOPLE_CHANGED("1") ") AND s.actor NOT IN " PEOPLE_CHANGED("0")

struct person {
    int64_t actor;
    double weight;
};

struct people {
    struct text counts;   /* SQL: the share counts at all */
    struct text plain;    /* SQL: and for what most people's does */
    struct text weighted; /* SQL: and by a weight of its own; "" when nobody has one */
    struct person *persons;
    size_t person_count;
    double weight_max; /* of anybody */
};

/* `degree`: 1, whom ours follow; 2, also whom those follow. */
must_check enum rc people_init(struct people *people, struct store *store,
                               const struct config *config, int64_t degree, struct err *err);
/* The account's number, by its DID or handle; 0: the store does not know it. */
must_check enum rc people_find(struct store *store, struct bytes name, int64_t *actor,
                               struct err *err);
void people_deinit(struct people *people);
double people_weight(const struct people *people, int64_t actor);

#endif
