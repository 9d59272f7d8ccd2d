/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_host.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define V1_PATH         "/subscribe"
#define V2_PREFIX       "/xrpc/network.bsky.jetstream."
#define V2_METHOD       "subscribeEvents"
#define DICTIONARY_PATH V2_PREFIX "getZstdDictionary"

static bool ends_with(struct bytes text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* Splits "/path?query" and decides what the path says about the wire. */
static void take_path(struct jetstream_host *host, const char *rest)
{
    size_t len = strcspn(rest, "?");
    struct bytes path = bytes_make(rest, len);
    if (rest[len] == '?')
        text_append_string(&host->query, rest + len + 1);
    if (len == 0 || bytes_equal_string(path, "/"))
        return;
    if (ends_with(path, V2_PREFIX V2_METHOD)) {
        host->fixed = JETSTREAM_WIRE_V2;
        text_append(&host->root, path.data, len - strlen(V2_PREFIX V2_METHOD));
        return;
    }
    host->fixed = ends_with(path, V2_METHOD) ? JETSTREAM_WIRE_V2 : JETSTREAM_WIRE_V1;
    text_append(&host->path, path.data, len);
}

enum rc jetstream_host_init(struct jetstream_host *host, const char *endpoint, struct err *err)
{
    *host = (struct jetstream_host){0};
    const char *rest = strstr(endpoint, "://");
    bool wire = strncmp(endpoint, "ws://", 5) == 0 || strncmp(endpoint, "wss://", 6) == 0;
    if (!wire)
        return err_set(err, RC_REJECT, "jetstream endpoint \"%s\" is not a ws:// or wss:// address",
                       endpoint);
    size_t len = strcspn(rest + 3, "/?");
    if (len == 0 || len >= sizeof host->name)
        return err_set(err, RC_REJECT, "jetstream endpoint \"%s\" has no usable host", endpoint);
    memcpy(host->name, rest + 3, len);
    host->name[len] = '\0';
    text_append(&host->root, endpoint, (size_t)(rest + 3 - endpoint) + len);
    take_path(host, rest + 3 + len);
    return RC_OK;
}

void jetstream_host_deinit(struct jetstream_host *host)
{
    text_free(&host->root);
    text_free(&host->path);
    text_free(&host->query);
}

enum jetstream_wire jetstream_host_wire(const struct jetstream_host *host)
{
    if (host->fixed != JETSTREAM_WIRE_UNKNOWN)
        return host->fixed;
    return host->known == JETSTREAM_WIRE_UNKNOWN ? JETSTREAM_WIRE_V2 : host->known;
}

void jetstream_host_agreed(struct jetstream_host *host, enum jetstream_wire wire)
{
    assert(wire != JETSTREAM_WIRE_UNKNOWN);
    host->known = wire;
}

bool jetstream_host_refused(struct jetstream_host *host, int status, bool named)
{
    bool nothing_there = status == 404 || status == 405 || status == 501;
    bool strange = !named && (status == 400 || (status >= 200 && status < 300));
    if (host->fixed != JETSTREAM_WIRE_UNKNOWN || (!nothing_there && !strange))
        return false;
    if (jetstream_host_wire(host) == JETSTREAM_WIRE_V2) {
        host->known = JETSTREAM_WIRE_V1;
        return true;
    }
    host->known = JETSTREAM_WIRE_UNKNOWN; /* neither: from the beginning, after a wait */
    return false;
}

static void put_v1(const struct jetstream_ask *ask, char *mark, struct text *out)
{
    for (size_t i = 0; i < ask->collection_count; i++, *mark = '&')
        text_appendf(out, "%cwantedCollections=%s", *mark, ask->collections[i]);
    if (ask->compress) {
        text_appendf(out, "%ccompress=true", *mark);
        *mark = '&';
    }
    if (ask->hello) {
        text_appendf(out, "%crequireHello=true", *mark);
        *mark = '&';
    }
}

static void put_v2(const struct jetstream_ask *ask, char *mark, struct text *out)
{
    static const char *const kinds[] = {"commit", "identity", "account"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++, *mark = '&')
        text_appendf(out, "%ckinds=%s", *mark, kinds[i]);
    for (size_t i = 0; i < ask->collection_count; i++)
        text_appendf(out, "&collections=%s", ask->collections[i]);
    if (ask->dictionary != 0)
        text_appendf(out, "&zstdDictionary=%" PRIu32, ask->dictionary);
}

void jetstream_host_stream(const struct jetstream_host *host, const struct jetstream_ask *ask,
                           struct text *out)
{
    char mark = '?';
    bool v2 = jetstream_host_wire(host) == JETSTREAM_WIRE_V2;
    text_append_string(out, text_string(&host->root));
    if (host->path.len > 0)
        text_append_string(out, text_string(&host->path));
    else
        text_append_string(out, v2 ? V2_PREFIX V2_METHOD : V1_PATH);
    if (host->query.len > 0) {
        text_appendf(out, "?%s", text_string(&host->query));
        mark = '&';
    }
    if (v2)
        put_v2(ask, &mark, out);
    else
        put_v1(ask, &mark, out);
    if (ask->cursor > 0)
        text_appendf(out, "%ccursor=%" PRId64, mark, ask->cursor);
}

void jetstream_host_dictionary(const struct jetstream_host *host, struct text *out)
{
    const char *root = text_string(&host->root);
    assert(root[0] == 'w' && root[1] == 's');
    text_appendf(out, "http%s%s", root + 2, DICTIONARY_PATH);
}
