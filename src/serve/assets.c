/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/assets.h"

#include "serve/page_frame.h"
#include "serve/routes.h"

#include <assert.h>
#include <string.h>

const struct asset *asset_find(const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < asset_count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

const char *asset_address(const char *name)
{
    const struct asset *asset = asset_find(name);
    assert(asset != NULL && asset->lasting != NULL);
    return asset->lasting;
}

static void send_asset(struct request *request, const struct asset *asset)
{
    request->policy = PAGE_POLICY;
    if (asset->lasting == NULL)
        request->caching = KEPT_FOR_EVER;
    request_send_known(request, asset->content_type, asset->etag,
                       bytes_make(asset->data, asset->len));
}

void openapi_begin(struct request *request)
{
    const struct asset *asset = asset_find("openapi.json");
    assert(asset != NULL);
    send_asset(request, asset);
}

void asset_begin(struct request *request)
{
    const struct asset *asset = asset_find(request->path_part);
    if (asset == NULL)
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing is at this address");
    else
        send_asset(request, asset);
}
