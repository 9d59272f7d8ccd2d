/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/assets.h"

#include "serve/request.h"

#include <assert.h>
#include <string.h>

/* No inline script or style, nothing from elsewhere, and no text that becomes markup. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                    \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "            \
    "require-trusted-types-for 'script'"

const struct asset *asset_find(const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < asset_count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

static void send_asset(struct request *request, const struct asset *asset)
{
    request->policy = PAGE_POLICY;
    request_send_known(request, asset->content_type, asset->etag,
                       bytes_make(asset->data, asset->len));
}

static void send_asset_named(struct request *request, const char *name)
{
    const struct asset *asset = asset_find(name);
    assert(asset != NULL);
    send_asset(request, asset);
}

void home_begin(struct request *request)
{
    send_asset_named(request, "index.html");
}

void openapi_begin(struct request *request)
{
    send_asset_named(request, "openapi.json");
}

void asset_begin(struct request *request)
{
    const struct asset *asset = asset_find(request->path_part);
    if (asset == NULL)
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing is at this address");
    else
        send_asset(request, asset);
}
