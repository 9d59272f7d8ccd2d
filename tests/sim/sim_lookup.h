/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_lookup.h - questions to the store that are answered some time later, or cannot be.
 *
 * Thread: one. */
#ifndef TESTS_SIM_LOOKUP_H
#define TESTS_SIM_LOOKUP_H

#include "base/timer_heap.h"
#include "store/lookup.h"

struct sim_life;

struct sim_question {
    struct sim_question *next;
    struct sim_life *life;
    const char *sql;
    struct field params[LOOKUP_PARAMS_MAX];
    struct text words[LOOKUP_PARAMS_MAX]; /* of the parameters */
    lookup_fn *fn;
    void *arg;
    struct timer timer;
};

/* As a source's environment has them; the argument is the life. */
enum rc sim_lookup_ask(void *arg, const char *sql, const struct field *params, size_t param_count,
                       lookup_fn *fn, void *fn_arg);
enum rc sim_lookup_ask_steadily(void *arg, const struct lookup_question *question, lookup_fn *fn,
                                void *fn_arg);
/* Answers what is under way with RC_AGAIN, as a lookup that is freed does. */
void sim_lookup_free(struct sim_life *life);

#endif
