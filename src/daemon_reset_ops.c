/* SPDX-License-Identifier: Apache-2.0
 *
 * Those who follow a source, while its position is forgotten. */
#include "daemon_inside.h"

/* ---- forgetting a position ---- */

static void stop_for_reset(void *arg, const char *source)
{
    struct daemon *daemon = arg;
    struct part *part = parts_follower(&daemon->parts, source);
    if (part != NULL)
        part->ops->stop(part);
}

static bool stopped_for_reset(void *arg, const char *source)
{
    struct daemon *daemon = arg;
    struct part *part = parts_follower(&daemon->parts, source);
    return part == NULL || part->ops->stopped(part);
}

static void restart_after_reset(void *arg, const char *source)
{
    struct daemon *daemon = arg;
    struct part *part = parts_follower(&daemon->parts, source);
    struct err err;
    if (daemon->stopping)
        return;
    if (part == NULL) {
        daemon->env.tell(daemon->env.tell_arg, PART_NEWS_GAPS); /* nobody else ends it */
        return;
    }
    if (part->ops->restart(part, &err) != RC_OK) {
        daemon_say_failure("source_not_restarted", &err);
        daemon_fail(daemon);
        return;
    }
    daemon_look(daemon);
}

const struct reset_ops daemon_reset_ops = {.stop_source = stop_for_reset,
                                           .source_stopped = stopped_for_reset,
                                           .restart_source = restart_after_reset,
                                           .submit = daemon_submit};
