/* SPDX-License-Identifier: Apache-2.0
 *
 * visit.h - one connection, and how long it may keep the server waiting.
 *
 * The library closes a connection that is silent. One that drips, a byte at a time, is never
 * silent: so each stage of a request has a time in which it must be over, and a connection that is
 * not through by then is cut and counted. While an answer is being made nothing is asked of the
 * client.
 *
 * Owner: the library's connection.  Thread: the serving loop. */
#ifndef SERVE_VISIT_H
#define SERVE_VISIT_H

#include "sys/runtime.h"

enum visit_stage {
    VISIT_HEADERS, /* a fresh connection's first request */
    VISIT_BODY,
    VISIT_ANSWER, /* ours; no limit */
    VISIT_NEXT,   /* the next request, which may not have begun */
    VISIT_STAGES,
};

/* For how long each stage may last; 0: no limit. */
struct visit_limits {
    int64_t us_max[VISIT_STAGES];
    uint64_t *cuts; /* how many were cut */
};

struct visit;
struct MHD_Connection;

/* The limits stay in place until it is freed. */
struct visit *visit_new(struct runtime *runtime, const struct visit_limits *limits,
                        struct MHD_Connection *connection);
void visit_free(struct visit *visit);
void visit_enter(struct visit *visit, enum visit_stage stage);
/* What is under way has to be over in `us`. */
void visit_allow(struct visit *visit, int64_t us);

#endif
