/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a connector: refused with its place and a sentence, or loaded whole; then its
 * requests can be built for every platform and stream, whatever the account. */
#include "decode/connector_request.h"

#include <assert.h>
#include <string.h>

#define KEY "0b7c4f1e-canary-9d2a"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void build_all(const struct connector *connector)
{
    struct connector_http http = {0};
    struct text shown = {0};
    struct err err = {{0}};
    for (size_t p = 0; p < connector->platform_count && p < 3; p++) {
        for (size_t s = 0; s < connector->stream_count && s < 4; s++) {
            const struct connector_stream *stream = &connector->streams[s];
            struct connector_vars vars = connector_vars_first(
                stream, bytes_of(connector->platforms[p].name), bytes_of("a/b c"));
            if (stream->request == NULL)
                continue;
            vars.api_key = bytes_of(KEY);
            vars.api_secret = bytes_of("Y2FuYXJ5");
            vars.token = bytes_of("https://x.example/?a=b");
            vars.from = vars.now_ms = vars.nonce = 1700000000000;
            text_clear(&shown);
            if (connector_build(connector, stream, stream->request, &vars, NULL, &http, &err) ==
                RC_OK)
                connector_http_show(connector, &http, &vars, &shown);
            else
                assert(err.text[0] != '\0');
            assert(strstr(text_string(&shown), KEY) == NULL);
        }
    }
    connector_http_free(&http);
    text_free(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct connector *connector = NULL;
    struct err err = {{0}};
    if (memmem(data, size, KEY, strlen(KEY)) != NULL)
        return -1; /* it was seen below; what names the key itself says nothing */
    if (connector_load(bytes_make(data, size), "f", &connector, &err) != RC_OK) {
        assert(connector == NULL && strncmp(err.text, "f:", 2) == 0);
        return 0;
    }
    assert(connector->stream_count > 0 && connector->platform_count > 0);
    build_all(connector);
    connector_free(connector);
    return 0;
}
