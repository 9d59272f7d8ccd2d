/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_host.h"

#include "ingest/cursor.h"

#include <assert.h>
#include <string.h>

enum rc jetstream_host_add(struct failover *hosts, const char *endpoint, int32_t priority,
                           int64_t now_us, int *number, struct err *err)
{
    assert(endpoint != NULL && number != NULL);
    const char *rest = strstr(endpoint, "://");
    bool wire = strncmp(endpoint, "ws://", 5) == 0 || strncmp(endpoint, "wss://", 6) == 0;
    if (!wire)
        return err_set(err, RC_REJECT, "jetstream endpoint \"%s\" is not a ws:// or wss:// address",
                       endpoint);
    char name[PROVIDER_NAME_MAX];
    size_t len = strcspn(rest + 3, "/?");
    if (len == 0 || len >= sizeof name)
        return err_set(err, RC_REJECT, "jetstream endpoint \"%s\" has no usable host", endpoint);
    memcpy(name, rest + 3, len);
    name[len] = '\0';
    struct provider_spec spec = {.name = name,
                                 .kinds = cursor_bit(CURSOR_TIME_US),
                                 .kind_preferred = cursor_bit(CURSOR_TIME_US),
                                 .replay_us = JETSTREAM_CROSS_REPLAY_US,
                                 .priority = priority};
    return failover_add(hosts, &spec, now_us, number, err);
}

char *jetstream_host_address(const char *endpoint)
{
    struct text address = {0};
    const char *rest = strstr(endpoint, "://");
    assert(rest != NULL);
    text_append_string(&address, endpoint);
    if (strchr(rest + 3, '/') == NULL)
        text_append_string(&address, "/subscribe");
    return address.data;
}
