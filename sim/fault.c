/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/fault.h"
#include "sim/query_string.h"

#include <assert.h>
#include <string.h>

static const struct fault_defaults {
    const char *name;
    uint64_t ms, bytes;
    unsigned status;
    bool lossy, sticky;
} defaults[FAULT_COUNT] = {
    [FAULT_RESET] = {.name = "reset"},
    [FAULT_DISCONNECT] = {.name = "disconnect"},
    [FAULT_CUT] = {.name = "cut"},
    [FAULT_CLOSE] = {.name = "close", .status = 1001},
    [FAULT_TOO_SLOW] = {.name = "too_slow"},
    [FAULT_STALL] = {.name = "stall", .ms = 10000},
    [FAULT_SLOW] = {.name = "slow", .ms = 1000, .bytes = 16},
    [FAULT_DUPLICATE] = {.name = "duplicate"},
    [FAULT_REORDER] = {.name = "reorder", .bytes = 3},
    [FAULT_DROP] = {.name = "drop", .lossy = true},
    [FAULT_OMIT] = {.name = "omit", .lossy = true, .sticky = true},
    [FAULT_SKEW] = {.name = "skew", .sticky = true},
    [FAULT_GARBAGE] = {.name = "garbage"},
    [FAULT_TRUNCATE] = {.name = "truncate"},
    [FAULT_HUGE] = {.name = "huge", .bytes = 40u << 20},
    [FAULT_WRONG_DICTIONARY] = {.name = "wrong_dictionary", .lossy = true},
    [FAULT_REFUSE] = {.name = "refuse", .status = 503},
    [FAULT_CUTOVER] = {.name = "cutover", .bytes = 5, .lossy = true},
    [FAULT_HTTP] = {.name = "http", .status = 500},
    [FAULT_HTTP_TRUNCATE] = {.name = "http_truncate"},
    [FAULT_HTTP_STALL] = {.name = "http_stall", .ms = 10000},
    [FAULT_WEB] = {.name = "web", .status = 500},
    [FAULT_WEB_GARBAGE] = {.name = "web_garbage"},
    [FAULT_WEB_HUGE] = {.name = "web_huge", .bytes = 4u << 20},
    [FAULT_WEB_STALL] = {.name = "web_stall", .ms = 10000},
    [FAULT_WEB_SLOW] = {.name = "web_slow", .ms = 1000, .bytes = 16},
    [FAULT_TLS] = {.name = "tls"},
    [FAULT_LEDGER_HTTP] = {.name = "ledger_http", .status = 503},
    [FAULT_LEDGER_ERROR] = {.name = "ledger_error"},
    [FAULT_LEDGER_EMPTY] = {.name = "ledger_empty"},
    [FAULT_LEDGER_PARTIAL] = {.name = "ledger_partial"},
    [FAULT_LEDGER_TRUNCATE] = {.name = "ledger_truncate"},
    [FAULT_LEDGER_STALL] = {.name = "ledger_stall", .ms = 10000},
    [FAULT_LEDGER_EXPIRE] = {.name = "ledger_expire"},
    [FAULT_LEDGER_INSERT] = {.name = "ledger_insert", .bytes = 1},
    [FAULT_LEDGER_REORG] = {.name = "ledger_reorg", .bytes = 3},
    [FAULT_LEDGER_LAG] = {.name = "ledger_lag", .bytes = 10, .sticky = true},
    [FAULT_LEDGER_TRACE] = {.name = "ledger_trace", .sticky = true},
    [FAULT_LEDGER_NULL] = {.name = "ledger_null"},
};

const char *fault_name(enum fault_kind kind)
{
    assert(kind < FAULT_COUNT);
    return defaults[kind].name;
}

static enum fault_kind find(struct bytes name)
{
    enum fault_kind kind = 0;
    while (kind < FAULT_COUNT && !bytes_equal_string(name, defaults[kind].name))
        kind++;
    return kind;
}

enum rc fault_plan_arm(struct fault_plan *plan, struct bytes query, struct err *err)
{
    char name[32] = "";
    query_get(query, "name", name, sizeof name);
    enum fault_kind kind = find(bytes_of(name));
    if (kind == FAULT_COUNT)
        return err_set(err, RC_REJECT, "no fault is called '%s'", name);
    const struct fault_defaults *usual = &defaults[kind];
    struct fault *fault = &plan->faults[kind];
    plan->armed_count -= fault->armed;
    *fault = (struct fault){
        .lossy = usual->lossy || query_get_u64(query, "lossy", 0) == 1,
        .lasts = query_get_u64(query, "lasts", 0) == 1,
        .after = query_get_u64(query, "after", 0),
        .count = query_get_u64(query, "count", usual->sticky ? UINT64_MAX : 1),
        .ms = query_get_u64(query, "ms", usual->ms),
        .bytes = query_get_u64(query, "bytes", usual->bytes),
        .status = (unsigned)query_get_u64(query, "status", usual->status),
        .retry_after = (unsigned)query_get_u64(query, "retry_after", 0),
    };
    query_get(query, "collection", fault->collection, sizeof fault->collection);
    query_get(query, "error", fault->error, sizeof fault->error);
    char us[24];
    if (query_get(query, "us", us, sizeof us) && !bytes_to_i64(bytes_of(us), &fault->us))
        return err_set(err, RC_REJECT, "us takes a number, not '%s'", us);
    fault->armed = fault->count > 0;
    plan->armed_count += fault->armed;
    if ((kind == FAULT_SLOW || kind == FAULT_WEB_SLOW) && fault->bytes == 0)
        fault->bytes = 1;
    return RC_OK;
}

bool fault_plan_disarm(struct fault_plan *plan, struct bytes name)
{
    if (name.data != NULL && find(name) == FAULT_COUNT)
        return false;
    for (enum fault_kind kind = 0; kind < FAULT_COUNT; kind++) {
        if (name.data != NULL && kind != find(name))
            continue;
        plan->armed_count -= plan->faults[kind].armed;
        plan->faults[kind].armed = false;
    }
    return true;
}

/* `collection` is what the fault is bound to, or a part of that. */
static bool concerns(const struct fault *fault, const char *collection)
{
    size_t len = strlen(fault->collection);
    return strncmp(fault->collection, collection, len) == 0 &&
           (len == 0 || collection[len] == '\0' || collection[len] == '/');
}

const struct fault *fault_plan_fire(struct fault_plan *plan, enum fault_kind kind,
                                    const char *collection)
{
    struct fault *fault = &plan->faults[kind];
    if (!fault->armed || !concerns(fault, collection))
        return NULL;
    if (fault->passed < fault->after) {
        fault->passed++;
        return NULL;
    }
    if (!fault->lasts)
        fault->passed = 0;
    plan->fired[kind]++;
    if (--fault->count == 0) {
        fault->armed = false;
        plan->armed_count--;
    }
    return fault;
}
