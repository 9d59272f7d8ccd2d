/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_gauges.h"

#include "daemon_view.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>

#define EVERY_US INT64_C(5000000)

enum { SIZE, GAPS, FOLLOWS, QUEUE, URGENT_SINCE, OWED, DEAD, QUARANTINE, NUMBERS };

static const char numbers_sql[] =
    "SELECT (SELECT count(*) FROM gaps WHERE closed_us IS NULL), (SELECT count(*) FROM follows), "
    "(SELECT count(*) FROM backfill_queue), "
    "(SELECT min(queued_us) FROM backfill_queue WHERE priority <= 1), "
    "(SELECT count(*) FROM owed WHERE state = 'owed'), "
    "(SELECT count(*) FROM owed WHERE state = 'dead'), (SELECT count(*) FROM quarantine)";

struct gauges {
    struct part part;
    const struct part_env *env;
    int64_t due_us;
    unsigned under_way;
    bool told; /* that the numbers cannot be read */
    int64_t numbers[NUMBERS];
};

static void take(struct gauges *gauges, const struct lookup_answer *answer, unsigned first,
                 unsigned count)
{
    gauges->under_way--;
    if (answer->rc != RC_OK) {
        if (!gauges->told)
            log_event(LOG_WARN, "daemon", "not_counted",
                      (struct log_field[]){log_string("reason", answer->err.text), LOG_END});
        gauges->told = true;
        return;
    }
    assert(answer->rows == 1 && answer->columns == count);
    gauges->told = false;
    for (unsigned i = 0; i < count; i++)
        gauges->numbers[first + i] = answer->fields[i].null ? -1 : answer->fields[i].i;
}

static void take_numbers(void *arg, const struct lookup_answer *answer)
{
    take(arg, answer, GAPS, NUMBERS - GAPS);
}

static void take_size(void *arg, const struct lookup_answer *answer)
{
    take(arg, answer, SIZE, 1);
}

static void ask(struct gauges *gauges, const char *sql, lookup_fn *fn)
{
    const struct source_env *env = &gauges->env->source;
    if (env->ask(env->ask_arg, sql, NULL, 0, fn, gauges) == RC_OK)
        gauges->under_way++;
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct gauges *gauges = (struct gauges *)part;
    (void)view;
    if (now_us < gauges->due_us || gauges->under_way > 0)
        return;
    gauges->due_us = now_us + EVERY_US;
    ask(gauges, store_size_sql(gauges->env->config->store.url), take_size);
    ask(gauges, numbers_sql, take_numbers);
}

/* Something changed: look at once. */
static void heed(struct part *part, unsigned news)
{
    struct gauges *gauges = (struct gauges *)part;
    (void)news;
    gauges->due_us = 0;
}

static void show(struct part *part, struct daemon_view *view)
{
    const struct gauges *gauges = (const struct gauges *)part;
    const int64_t *numbers = gauges->numbers;
    view->stored = (struct stored_view){.size = numbers[SIZE],
                                        .gaps_open = numbers[GAPS],
                                        .follows = numbers[FOLLOWS],
                                        .backfill_queue = numbers[QUEUE],
                                        .urgent_since_us = numbers[URGENT_SINCE],
                                        .owed = numbers[OWED],
                                        .dead = numbers[DEAD],
                                        .quarantined = numbers[QUARANTINE]};
    view->size_alert = gauges->env->config->store.size_alert_gb * INT64_C(1000000000);
}

static bool stopped(const struct part *part)
{
    return ((const struct gauges *)part)->under_way == 0;
}

static void free_all(struct part *part)
{
    free(part);
}

static const struct part_ops gauges_ops = {
    .look = look,
    .heed = heed,
    .view = show,
    .stopped = stopped,
    .free = free_all,
};

struct part *gauges_part_new(const struct part_env *env)
{
    struct gauges *gauges = memory_new_zeroed(1, sizeof *gauges);
    gauges->part.ops = &gauges_ops;
    gauges->env = env;
    for (unsigned i = 0; i < NUMBERS; i++)
        gauges->numbers[i] = -1;
    return &gauges->part;
}
