/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/crashpoint.h"

#include "base/bytes.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME(point, name) [point] = (name),
static const char *const names[CRASHPOINT_COUNT] = {CRASHPOINTS(NAME)};
#undef NAME

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct order {
    enum crashpoint point;
    uint64_t pass;
} crash = {CRASHPOINT_COUNT, 0}, stop = {CRASHPOINT_COUNT, 0};
static int trace_fd = -1;
static bool idle; /* none of the variables is set */
static atomic_uint_fast64_t passes[CRASHPOINT_COUNT];

static void refuse(const char *what, const char *value)
{
    fprintf(stderr, "crashpoint: %s: \"%s\"\n", what, value);
    abort();
}

static void read_order(const char *value, struct order *order)
{
    const char *colon = strchr(value, ':');
    struct bytes name = bytes_make(value, colon == NULL ? strlen(value) : (size_t)(colon - value));
    order->pass = 1;
    if (colon != NULL && (!bytes_to_u64(bytes_of(colon + 1), &order->pass) || order->pass == 0))
        refuse("no pass number", value);
    for (int i = 0; i < CRASHPOINT_COUNT; i++)
        if (bytes_equal_string(name, names[i]))
            order->point = (enum crashpoint)i;
    if (order->point == CRASHPOINT_COUNT)
        refuse("no such point", value);
}

static void read_environment(void)
{
    const char *crash_at = getenv("TIDEMARK_CRASH_AT"), *stop_at = getenv("TIDEMARK_STOP_AT");
    const char *trace = getenv("TIDEMARK_CRASH_TRACE");
    if (crash_at != NULL)
        read_order(crash_at, &crash);
    if (stop_at != NULL)
        read_order(stop_at, &stop);
    if (trace != NULL) {
        trace_fd = open(trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (trace_fd < 0)
            refuse("cannot open the trace", trace);
    }
    idle = crash_at == NULL && stop_at == NULL && trace == NULL;
}

static void write_trace(enum crashpoint point)
{
    char line[64];
    int len = snprintf(line, sizeof line, "%s\n", names[point]);
    assert(len > 0 && (size_t)len < sizeof line);
    if (write(trace_fd, line, (size_t)len) != len)
        refuse("cannot write the trace", names[point]);
}

void crashpoint(enum crashpoint point)
{
    assert(point < CRASHPOINT_COUNT);
    pthread_once(&once, read_environment);
    if (idle)
        return;
    uint64_t pass = atomic_fetch_add(&passes[point], 1) + 1;
    if (pass == 1 && trace_fd >= 0)
        write_trace(point);
    if (point == stop.point && pass == stop.pass)
        kill(getpid(), SIGTERM);
    if (point == crash.point && pass == crash.pass) {
        kill(getpid(), SIGKILL);
        /* The signal may take a moment to arrive; nothing may happen in it. */
        for (;;)
            pause();
    }
}

const char *crashpoint_name(enum crashpoint point)
{
    assert(point < CRASHPOINT_COUNT);
    return names[point];
}
