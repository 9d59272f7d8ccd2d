/* SPDX-License-Identifier: Apache-2.0
 *
 * retry.h - what a failure means, and when to try again.
 *
 * A failure is one of four classes, found by HTTP status and never by reading prose: rules of the
 * source first, then the general table; the first rule that fits decides. A schedule is data: the
 * waits before the first, second, third ... attempt, the last one repeating. A failed attempt moves
 * one step along it, a success goes back to its beginning.
 *
 * Always holds: a wait differs from its schedule by at most the jitter, and is never shorter than
 * what the server asked for with Retry-After, up to a cap. Chance and time are passed in: equal
 * arguments give equal answers.
 *
 * Owner: whoever makes the attempts.  Never allocates, never waits, never reads a clock. */
#ifndef INGEST_RETRY_H
#define INGEST_RETRY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RETRY_STEPS_MAX      16
#define RETRY_ALERT_FAILURES 10
#define RETRY_JITTER_PERCENT 20
#define RETRY_AFTER_US_MAX   INT64_C(3600000000)
#define RETRY_DELAY_US_MAX   INT64_C(3600000000)

/* The random number that gives a wait without jitter. */
#define RETRY_CENTRE (UINT64_C(1) << 63)

enum retry_class {
    RETRY_PERMANENT,    /* the same request will fail again: go past it */
    RETRY_TRANSIENT,    /* back off, same request */
    RETRY_RATE_LIMITED, /* the same, and everybody who asks there slows down */
    RETRY_AUTH,         /* refresh the credentials, then the same request */
};

enum retry_cause {
    RETRY_BY_STATUS, /* the server answered: `status` counts */
    RETRY_NO_ANSWER, /* name, connection, TLS, reset, timeout */
    RETRY_REFUSED,   /* our own client refused it: address, size, protocol */
    RETRY_GARBLED,   /* the answer could not be understood */
};

struct retry_failure {
    enum retry_cause cause;
    int status;        /* HTTP status or websocket close code */
    const char *error; /* the error's machine name in the body ("ExpiredToken"); NULL: none */
};

/* Fits when the status lies in the closed range and, with an `error`, when the name is equal. */
struct retry_rule {
    int status_min, status_max;
    const char *error;
    enum retry_class class;
};

/* `rules` are the source's own and may be NULL; they are asked for answers only. */
enum retry_class retry_classify(const struct retry_failure *failure, const struct retry_rule *rules,
                                size_t rule_count);
/* "permanent", "transient", "rate-limited" or "auth". */
const char *retry_class_name(enum retry_class class);

struct retry_schedule {
    int64_t delays_us[RETRY_STEPS_MAX]; /* before attempt 1, 2, 3 ...; the last one repeats */
    uint32_t delay_count;
    uint32_t attempts_max;   /* failures after which it stops; 0: for ever */
    uint32_t alert_failures; /* failures after which people are told; 0: never */
    uint32_t jitter_percent;
    int64_t retry_after_us_max;
    bool stubborn; /* a permanent failure waits like any other: there is nothing to go past to */
};

/* A request in a cycle: at once, then `backoff_ms` doubling, `retries_max` times. */
struct retry_schedule retry_schedule_poll(uint32_t backoff_ms, uint32_t retries_max);
/* A connection that dropped: 5, 10, 30, 60 s scaled so that the first wait is `delay_seconds`, none
 * above 60 s unless the first one is. Stubborn. */
struct retry_schedule retry_schedule_reconnect(uint32_t delay_seconds, uint32_t attempts_max);

/* The wait before attempt `failures` + 1, jitter included. `retry_after_us` is what the server
 * asked for, -1 when it did not. */
int64_t retry_delay(const struct retry_schedule *schedule, uint32_t failures,
                    int64_t retry_after_us, uint64_t random);
/* No wait is longer than this. What is stored to be tried even later was stored before the clock
 * was set back: it is due. */
int64_t retry_longest(const struct retry_schedule *schedule);

struct retry {
    struct retry_schedule schedule;
    uint32_t failures; /* in a row */
    bool refreshed;    /* credentials were renewed since the last success */
};

enum retry_action {
    RETRY_WAIT,    /* try again at `at_us` */
    RETRY_REFRESH, /* renew the credentials, then try at `at_us` */
    RETRY_STOP,    /* no further attempt */
};

struct retry_decision {
    enum retry_action action;
    int64_t at_us; /* INT64_MAX with RETRY_STOP */
    bool alert;    /* true exactly once per row of failures: tell people now */
};

void retry_init(struct retry *retry, const struct retry_schedule *schedule);
/* When the first attempt may be made, at a start or after a connection dropped. */
int64_t retry_begin(const struct retry *retry, int64_t now_us, uint64_t random);
/* Counts a failed attempt and says what to do. The first auth failure since the last success only
 * asks for a refresh and is not counted; the next one is permanent. With RETRY_STOP `err` says why
 * in words. */
struct retry_decision retry_failed(struct retry *retry, enum retry_class class,
                                   int64_t retry_after_us, int64_t now_us, uint64_t random,
                                   struct err *err);
void retry_succeeded(struct retry *retry);
/* True from the failure that raised the alert until the next success. */
bool retry_alerting(const struct retry *retry);

#endif
