/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_uptime.h - how long a connection has been up, and how much came over it in a day.
 *
 * Told a few times a second how things are; between two tellings they are taken to have been as at
 * the first of them. A day's bytes are those of the hour that runs and of the 23 before it.
 *
 * Owner: whoever has the connection.  Never reads a clock. */
#ifndef DAEMON_UPTIME_H
#define DAEMON_UPTIME_H

#include <stdbool.h>
#include <stdint.h>

#define UPTIME_HOURS 24

struct uptime {
    int64_t since_us, seen_us; /* monotonic; 0: nothing told yet */
    int64_t up_us;             /* of the time between the two */
    int64_t down_since_us;     /* 0: it is up */
    bool up;
    uint64_t bytes; /* ever, when last told */
    uint64_t hours[UPTIME_HOURS];
    int64_t hour; /* that runs, counted from `since_us` */
};

/* `bytes` counts from the beginning of the connection's owner; a smaller number begins anew. */
void uptime_tell(struct uptime *uptime, bool up, uint64_t bytes, int64_t now_us);
/* Share of the time so far, 0 to 100. */
double uptime_percent(const struct uptime *uptime);
/* How long it has been down; 0 when it is up. */
int64_t uptime_down_us(const struct uptime *uptime, int64_t now_us);
uint64_t uptime_day_bytes(const struct uptime *uptime);

#endif
