/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/read_ahead.h"

#include <assert.h>

#define AHEAD_BYTES ((size_t)1 << 20)
#define SECOND_US   INT64_C(1000000)

/* Nothing is held back any more after the last of these. */
static const int64_t patience_us[] = {SECOND_US, 3 * SECOND_US};
#define STAGES (sizeof patience_us / sizeof patience_us[0])

static size_t first_limit(const struct read_ahead *ahead)
{
    return ahead->size / 16 < AHEAD_BYTES ? ahead->size / 16 : AHEAD_BYTES;
}

static size_t limit(const struct read_ahead *ahead)
{
    return ahead->stage == 0 ? first_limit(ahead) : ahead->size - ahead->size / 4;
}

static void set(struct read_ahead *ahead, bool held)
{
    if (ahead->held == held)
        return;
    ahead->held = held;
    if (held)
        ahead->runtime->ops->timer_arm(ahead->runtime, &ahead->patience, patience_us[ahead->stage]);
    else
        ahead->runtime->ops->timer_disarm(ahead->runtime, &ahead->patience);
    ahead->hold(ahead->arg, held);
}

static void run_out(void *arg)
{
    struct read_ahead *ahead = arg;
    assert(ahead->held && ahead->stage < STAGES);
    ahead->stage++;
    set(ahead, false);
}

void read_ahead_init(struct read_ahead *ahead, struct runtime *runtime, size_t size,
                     void (*hold)(void *arg, bool on), void *arg)
{
    assert(size > 0 && hold != NULL);
    *ahead = (struct read_ahead){.runtime = runtime, .size = size, .hold = hold, .arg = arg};
    ahead->patience = (struct timer){.fn = run_out, .arg = ahead};
}

void read_ahead_deinit(struct read_ahead *ahead)
{
    ahead->runtime->ops->timer_disarm(ahead->runtime, &ahead->patience);
}

void read_ahead_look(struct read_ahead *ahead, size_t waiting)
{
    assert(waiting <= ahead->size && ahead->stage <= STAGES);
    if (waiting <= first_limit(ahead) / 2) {
        set(ahead, false);
        ahead->stage = 0;
    } else if (ahead->stage < STAGES && waiting > limit(ahead)) {
        set(ahead, true);
    }
}
