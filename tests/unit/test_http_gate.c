/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/http_gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PASSES = 200, HOSTS = 12, HOST_MAX = 3, TOTAL_MAX = 10, QUEUE_MAX = 40 };

/* The model: for each pass whether it is out, waiting (since when) or in, and for which host. */
struct model {
    enum { OUT, WAITING, IN } is[PASSES];
    int host[PASSES];
    long since[PASSES];
};

static size_t count(const struct model *model, int is, int host)
{
    size_t n = 0;
    for (int i = 0; i < PASSES; i++)
        n += (int)model->is[i] == is && (host < 0 || model->host[i] == host);
    return n;
}

static bool has_room(const struct model *model, int host)
{
    return count(model, IN, -1) < TOTAL_MAX && count(model, IN, host) < HOST_MAX;
}

/* Whom the gate must let in next, or -1. */
static int next_of(const struct model *model)
{
    int best = -1;
    for (int i = 0; i < PASSES; i++)
        if (model->is[i] == WAITING && has_room(model, model->host[i]) &&
            (best < 0 || model->since[i] < model->since[best]))
            best = i;
    return best;
}

static void enter(struct http_gate *gate, struct http_gate_pass *pass, struct model *model, int i,
                  long now)
{
    char origin[32];
    int host = rand() % HOSTS;
    snprintf(origin, sizeof origin, "https://h%d:443", host);
    enum rc want = has_room(model, host)                   ? RC_OK
                   : count(model, WAITING, -1) < QUEUE_MAX ? RC_AGAIN
                                                           : RC_RETRY;
    assert_int_equal(http_gate_enter(gate, pass, origin), want);
    model->host[i] = host;
    model->since[i] = now;
    model->is[i] = want == RC_OK ? IN : want == RC_AGAIN ? WAITING : OUT;
}

static void it_behaves_like_a_plain_model(void **state)
{
    (void)state;
    static struct http_gate_pass passes[PASSES];
    struct http_gate gate;
    struct model model = {0};
    http_gate_init(&gate, HOST_MAX, TOTAL_MAX, QUEUE_MAX);
    srand(5);
    for (long step = 0; step < 20000; step++) {
        int i = rand() % PASSES;
        if (model.is[i] == OUT && step < 19000) {
            enter(&gate, &passes[i], &model, i, step);
        } else {
            http_gate_leave(&gate, &passes[i]);
            model.is[i] = OUT;
        }
        for (int want; (want = next_of(&model)) >= 0;) {
            assert_ptr_equal(http_gate_next(&gate), &passes[want]);
            model.is[want] = IN;
        }
        assert_null(http_gate_next(&gate));
        assert_int_equal(gate.running, count(&model, IN, -1));
        assert_int_equal(gate.waiting, count(&model, WAITING, -1));
    }
    for (int i = 0; i < PASSES; i++)
        http_gate_leave(&gate, &passes[i]);
    http_gate_deinit(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_behaves_like_a_plain_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
