/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/visit.h"

#include <microhttpd.h>

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>

struct visit {
    struct runtime *runtime;
    const struct visit_limits *limits;
    struct MHD_Connection *connection;
    struct timer timer;
};

/* The library hears of the end by itself, and lets go of the connection in its own time. */
static void cut(void *arg)
{
    struct visit *visit = arg;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(visit->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info != NULL);
    (*visit->limits->cuts)++;
    shutdown(info->connect_fd, SHUT_RDWR);
}

struct visit *visit_new(struct runtime *runtime, const struct visit_limits *limits,
                        struct MHD_Connection *connection)
{
    struct visit *visit = memory_new_zeroed(1, sizeof *visit);
    visit->runtime = runtime;
    visit->limits = limits;
    visit->connection = connection;
    visit->timer = (struct timer){.fn = cut, .arg = visit};
    visit_enter(visit, VISIT_HEADERS);
    return visit;
}

void visit_free(struct visit *visit)
{
    visit->runtime->ops->timer_disarm(visit->runtime, &visit->timer);
    free(visit);
}

void visit_enter(struct visit *visit, enum visit_stage stage)
{
    int64_t us_max = visit->limits->us_max[stage];
    if (us_max == 0)
        visit->runtime->ops->timer_disarm(visit->runtime, &visit->timer);
    else
        visit_allow(visit, us_max);
}

void visit_allow(struct visit *visit, int64_t us)
{
    visit->runtime->ops->timer_arm(visit->runtime, &visit->timer, us);
}
