/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include <assert.h>
#include <stdlib.h>

static void tell(struct sim_question *question, struct lookup_answer *answer)
{
    struct sim_life *life = question->life;
    struct sim_question **link = &life->questions;
    while (*link != question)
        link = &(*link)->next;
    *link = question->next;
    timer_heap_disarm(&life->timers, &question->timer);
    question->fn(question->arg, answer);
    for (size_t i = 0; i < LOOKUP_PARAMS_MAX; i++)
        text_free(&question->words[i]);
    free(question);
}

static void answer_question(void *arg)
{
    struct sim_question *question = arg;
    struct sim_world *world = question->life->world;
    struct lookup_answer answer = {.rc = RC_OK};
    if (sim_strikes(&world->swarm, FAULT_LOOKUP_FAILS)) {
        answer.rc = sim_between(&world->swarm, 0, 1) == 0 ? RC_RETRY : RC_AGAIN;
        err_set(&answer.err, answer.rc, "the store cannot be read now");
    } else if (!sim_ledger_look_up(world, question->sql, question->params, &answer) &&
               !sim_content_look_up(world, question->sql, question->params, &answer)) {
        sim_fail(world, "nobody knows: %s", question->sql);
    }
    sim_trace(world, "told %zu rows", answer.rows);
    tell(question, &answer);
}

enum rc sim_lookup_ask(void *arg, const char *sql, const struct field *params, size_t param_count,
                       lookup_fn *fn, void *fn_arg)
{
    struct sim_life *life = arg;
    if (life->ended)
        return RC_AGAIN;
    struct sim_question *question = memory_new_zeroed(1, sizeof *question);
    assert(param_count <= LOOKUP_PARAMS_MAX);
    *question = (struct sim_question){.next = life->questions,
                                      .life = life,
                                      .sql = sql,
                                      .fn = fn,
                                      .arg = fn_arg,
                                      .timer = {.fn = answer_question, .arg = question}};
    life->questions = question;
    for (size_t i = 0; i < param_count; i++) {
        question->params[i] = params[i];
        if (params[i].null || (params[i].type != FIELD_TEXT && params[i].type != FIELD_BLOB))
            continue;
        text_append(&question->words[i], params[i].b.data, params[i].b.len);
        question->params[i].b = bytes_of(text_string(&question->words[i]));
    }
    timer_heap_arm(&life->timers, &question->timer,
                   life->world->now_us + sim_between(&life->world->swarm, 100, 30000));
    return RC_OK;
}

enum rc sim_lookup_ask_steadily(void *arg, const struct lookup_question *question, lookup_fn *fn,
                                void *fn_arg)
{
    return sim_lookup_ask(arg, question->sql, question->params, question->param_count, fn, fn_arg);
}

void sim_lookup_free(struct sim_life *life)
{
    struct lookup_answer none = {.rc = RC_AGAIN};
    err_set(&none.err, RC_AGAIN, "the program ends");
    while (life->questions != NULL)
        tell(life->questions, &none);
}
