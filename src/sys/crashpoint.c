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

#define CRASHPOINT_NAME(id, name) [id] = name,
static const char *const names[CRASHPOINT_COUNT] = {CRASHPOINTS(CRASHPOINT_NAME)};
#undef CRASHPOINT_NAME

/* What the environment asked for, read once. */
static struct {
    bool awake;
    int fatal; /* the point that kills, -1: none */
    uint64_t hit;
    const char *trace;
} plan;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t hits[CRASHPOINT_COUNT];

/* A plan that names no place is a mistake in a test: better no run than one that proves nothing. */
static void refuse_plan(const char *text)
{
    fprintf(stderr, "TIDEMARK_CRASH_AT: no such place: %s\n", text);
    abort();
}

static void read_plan(void)
{
    const char *text = getenv("TIDEMARK_CRASH_AT");
    plan.trace = getenv("TIDEMARK_CRASH_TRACE");
    plan.fatal = -1;
    plan.awake = text != NULL || plan.trace != NULL;
    if (text == NULL)
        return;
    const char *colon = strchr(text, ':');
    size_t len = colon == NULL ? strlen(text) : (size_t)(colon - text);
    for (int i = 0; i < CRASHPOINT_COUNT; i++)
        if (bytes_equal_string(bytes_make(text, len), names[i]))
            plan.fatal = i;
    plan.hit = 1;
    if (plan.fatal < 0 || (colon != NULL && !bytes_to_u64(bytes_of(colon + 1), &plan.hit)))
        refuse_plan(text);
}

static void note(const char *name)
{
    char line[64];
    int len = snprintf(line, sizeof line, "%s\n", name);
    int fd = open(plan.trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)len) != len)
        refuse_plan(plan.trace);
    close(fd);
}

const char *crashpoint_name(enum crashpoint point)
{
    assert(point < CRASHPOINT_COUNT);
    return names[point];
}

void crashpoint(enum crashpoint point)
{
    assert(point < CRASHPOINT_COUNT);
    pthread_once(&read_once, read_plan);
    if (!plan.awake)
        return;
    uint64_t hit = atomic_fetch_add(&hits[point], 1) + 1;
    if (hit == 1 && plan.trace != NULL)
        note(names[point]);
    if ((int)point == plan.fatal && hit == plan.hit)
        kill(getpid(), SIGKILL);
}
