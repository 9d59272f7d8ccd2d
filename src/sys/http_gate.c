/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/http_gate.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct http_gate_host {
    struct http_gate_host *next;
    size_t running, passes; /* it lives while it has passes, running or waiting */
    char origin[];
};

void http_gate_init(struct http_gate *gate, size_t host_max, size_t total_max, size_t queue_max)
{
    assert(host_max > 0 && total_max > 0);
    *gate =
        (struct http_gate){.host_max = host_max, .total_max = total_max, .queue_max = queue_max};
}

void http_gate_deinit(struct http_gate *gate)
{
    assert(gate->running == 0 && gate->waiting == 0);
    (void)gate;
}

static struct http_gate_host **bucket_of(struct http_gate *gate, const char *origin)
{
    size_t hash = 14695981039346656037u;
    for (const char *c = origin; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return &gate->hosts[hash % HTTP_GATE_BUCKETS];
}

static struct http_gate_host *find_host(struct http_gate *gate, const char *origin)
{
    struct http_gate_host **bucket = bucket_of(gate, origin);
    for (struct http_gate_host *host = *bucket; host != NULL; host = host->next)
        if (strcmp(host->origin, origin) == 0)
            return host;
    size_t size = strlen(origin) + 1;
    struct http_gate_host *host = memory_new_zeroed(1, sizeof *host + size);
    memcpy(host->origin, origin, size);
    host->next = *bucket;
    *bucket = host;
    return host;
}

static void drop_host(struct http_gate *gate, struct http_gate_host *host)
{
    assert(host->running == 0);
    struct http_gate_host **at = bucket_of(gate, host->origin);
    while (*at != host)
        at = &(*at)->next;
    *at = host->next;
    free(host);
}

static bool has_room(const struct http_gate *gate, const struct http_gate_host *host)
{
    return gate->running < gate->total_max && host->running < gate->host_max;
}

static void unlink_waiting(struct http_gate *gate, struct http_gate_pass *pass)
{
    assert(pass->waiting && gate->waiting > 0);
    *(pass->previous == NULL ? &gate->first : &pass->previous->next) = pass->next;
    *(pass->next == NULL ? &gate->last : &pass->next->previous) = pass->previous;
    pass->previous = pass->next = NULL;
    pass->waiting = false;
    gate->waiting--;
}

static void start_running(struct http_gate *gate, struct http_gate_host *host)
{
    gate->running++;
    host->running++;
}

enum rc http_gate_enter(struct http_gate *gate, struct http_gate_pass *pass, const char *origin)
{
    assert(pass->host == NULL);
    struct http_gate_host *host = find_host(gate, origin);
    bool room = has_room(gate, host);
    if (!room && gate->waiting >= gate->queue_max) {
        if (host->passes == 0)
            drop_host(gate, host);
        return RC_RETRY;
    }
    host->passes++;
    *pass = (struct http_gate_pass){.host = host};
    if (room) {
        start_running(gate, host);
        return RC_OK;
    }
    pass->waiting = true;
    pass->previous = gate->last;
    *(gate->last == NULL ? &gate->first : &gate->last->next) = pass;
    gate->last = pass;
    gate->waiting++;
    return RC_AGAIN;
}

void http_gate_leave(struct http_gate *gate, struct http_gate_pass *pass)
{
    struct http_gate_host *host = pass->host;
    if (host == NULL)
        return;
    if (pass->waiting) {
        unlink_waiting(gate, pass);
    } else {
        assert(gate->running > 0 && host->running > 0);
        gate->running--;
        host->running--;
    }
    pass->host = NULL;
    if (--host->passes == 0)
        drop_host(gate, host);
}

struct http_gate_pass *http_gate_next(struct http_gate *gate)
{
    if (gate->running >= gate->total_max)
        return NULL;
    for (struct http_gate_pass *pass = gate->first; pass != NULL; pass = pass->next)
        if (has_room(gate, pass->host)) {
            unlink_waiting(gate, pass);
            start_running(gate, pass->host);
            return pass;
        }
    return NULL;
}
